"""Packing over all targets: closed forms, learners within their claims, one that is not, and the theorem's numbers."""

import itertools
from dataclasses import dataclass
from math import exp, log

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import binom

from dpjax.accounting import Guarantee
from dpjax.attacks.packing import _answer, _count, _databases, least_epsilon, pack
from dpjax.baselines import ERM
from dpjax.concepts import Domain, Finite, Points, Thresholds
from dpjax.core import keys
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.learners import KLN, Independent, PointLearner
from dpjax.theory import packing

BITS = Finite.of([[0], [1]])
ACCURACY = Accuracy(0.1, 0.1)


@dataclass(frozen=True)
class Liar(ERM):
    """The most accurate concept, with a claim."""

    def _guarantee(self, plan):
        return Guarantee(0.5, 0.0, Neighboring.REPLACE_ONE, "a lie")


@pytest.mark.grid(keep=2)
@pytest.mark.parametrize(("rows", "epsilon"), [(1, 1.0), (4, 0.3), (9, 2.0)])
def test_two_concepts_of_the_exponential_mechanism(rows, epsilon):
    """s = 1 / (1 + e^(-epsilon m / 2)), which asks for half of epsilon."""
    found = pack(KLN(BITS), 1, rows, Privacy(epsilon, 0.0), ACCURACY)
    np.testing.assert_allclose(found.successes, 1 / (1 + exp(-epsilon * rows / 2)), rtol=1e-5)
    assert found.epsilon == pytest.approx(epsilon / 2, rel=1e-5) and not found.violated and found.trials == 0


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_the_least_epsilon_by_hand(delta):
    """M targets with success s each: s + (M - 1) e^(-epsilon m) (s - delta_m) = 1."""
    found = least_epsilon(np.full(8, 0.9), 5, delta)
    free = 5 * delta if found == 0 else delta * np.expm1(5 * found) / np.expm1(found)
    assert 0.9 + 7 * exp(-5 * found) * (0.9 - free) == pytest.approx(1, abs=1e-9)
    if not delta:
        assert found == pytest.approx(log(63) / 5)


def test_impossible_and_easy_successes():
    assert least_epsilon([1.0, 1.0], 3, 0.0) > 9  # up to rounding no epsilon is enough
    assert least_epsilon([0.5, 0.5], 3, 0.0) == 0.0
    assert least_epsilon([1.0, 0.0], 3, 0.0) == 0.0
    assert least_epsilon([0.6, 0.6], 1, 0.2) == 0.0  # .6 + .4 = 1


SHORT = {(1, 1, 1, 0.1), (4, 1, 1, 40.0), (1, 6, 6, 1.0), (2, 6, 6, 8.0), (2, 6, 2, 1.0), (4, 6, 2, 0.1)}


@pytest.mark.parametrize(
    ("k", "rows", "different", "budget"),
    [
        pytest.param(k, *sizes, budget, marks=() if (k, *sizes, budget[0]) in SHORT else pytest.mark.slow)
        for k, sizes, budget in itertools.product(
            (1, 2, 4), ((1, 1), (6, 6), (6, 2)), ((0.1, 0.0), (1.0, 1e-3), (8.0, 0.0), (40.0, 1e-12))
        )
    ],
)
def test_learners_keep_their_claims(k, rows, different, budget):
    for concepts in (Points(Domain(3)), Thresholds(Domain(3))):
        found = pack(KLN(concepts), k, rows, Privacy(*budget), ACCURACY, different=different)
        assert not found.violated and found.successes.shape == (2**k,)
        least = float(found.successes.min())
        if 0 < least < 1 and different == rows:
            needed = packing.separated(packing.TWO, k, found.claim.epsilon, 1 - least, found.claim.delta)
            assert needed <= rows


def test_runs_where_the_law_cannot_be_listed():
    """The point learner at 40 rows: lower bounds that hold together, and no violation."""
    found = pack(PointLearner(Points(Domain(3))), 2, 40, Privacy(4.0, 0.01), ACCURACY, trials=2000)
    assert found.trials == 2000 and found.confidence == 0.95
    assert not found.violated and 0.9 < found.successes.min() < 1


def test_runs_agree_with_the_exact_law():
    learner = Independent(KLN(BITS), 2)
    plan = learner.plan(Privacy(1.0, 0.0), ACCURACY, 5)
    samples, element = _databases(learner, 2, 5, 5)
    run = jax.tree_util.Partial(_answer, learner, element)
    counts = np.asarray(_count(run, samples, jax.tree.map(jnp.asarray, plan), keys.root(0), 4000))
    exact = pack(learner, 2, 5, Privacy(1.0, 0.0), ACCURACY).successes
    for count, chance in zip(counts, exact, strict=True):
        assert 1e-6 < binom.cdf(count, 4000, chance) < 1 - 1e-6


def test_a_false_claim_is_refuted():
    found = pack(Liar(BITS), 1, 3, Privacy(0.5, 0.0), ACCURACY)
    assert found.violated and found.epsilon > 5


def test_other_rows_are_the_same_for_all_targets():
    samples, element = _databases(Independent(KLN(Thresholds(Domain(4))), 3), 3, 5, 2)
    x = np.asarray(samples.x)[..., -1]
    assert np.all(x[:, :2] == element) and np.all(x[:, 2:] == x[0, 2]) and x[0, 2] != element
    y = np.asarray(samples.y)
    assert np.all(y[:, 2:] == y[0, 2, 0]) and len(np.unique(y[:, 0], axis=0)) == 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "k: expected"),
        ({"k": 11}, "k: expected"),
        ({"rows": 0}, "rows: expected"),
        ({"different": 9}, "different: expected"),
        ({"trials": 0}, "trials"),
        ({"confidence": 0.0}, "confidence"),
        ({"learner": KLN(Finite.of([[1, 1]]))}, "two concepts that differ"),
        ({"different": 2}, "and agree on another one"),
        ({"learner": 1}, "learner"),
    ],
)
def test_what_cannot_be_packed(arguments, message):
    given = {"learner": KLN(BITS), "k": 2, "rows": 4, "privacy": Privacy(1.0, 0.0), "accuracy": ACCURACY} | arguments
    with pytest.raises(InputError, match=message):
        pack(**given)
