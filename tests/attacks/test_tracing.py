"""Informed tracing: what it certifies, its false alarms where the whole claim is spent, and what it finds."""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import binom

from dpjax.accounting import Guarantee
from dpjax.attacks import trace
from dpjax.attacks.response import Response, boldness, sensitive, weights, width_of
from dpjax.attacks.tied import TiedRows, answers_of
from dpjax.baselines import ERM
from dpjax.concepts import Finite, Hypothesis
from dpjax.core import keys, random
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.learners import KLN, Independent
from dpjax.learners.base import OfColumns

BITS = Finite.of([[0], [1]])
COLUMNS = Independent(KLN(BITS), 1000, "zcdp")
BUDGET = Privacy(8.855, 1e-6)  # epsilon .1 for each of 1000 columns
TRUE = 8.285  # the epsilon of the traced databases at delta 1e-6
UNIT = 2.0**32


@dataclass(frozen=True)
class LastLabels(OfColumns):
    """Answers the last row's labels, each flipped with probability 1 / (1 + e^epsilon): k epsilon-private, tightly.

    leak: columns that are not flipped, and not paid for.
    """

    k: int
    leak: int = 0
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    concepts: Any = field(default=BITS, init=False)
    spends = "pure"

    def _plan(self, privacy, accuracy, n=None) -> Any:
        return np.float32(privacy.epsilon / self.k)

    def _guarantee(self, plan):
        return Guarantee(float(plan) * self.k, 0.0, self.neighboring, "the last row's labels")

    def _sample_size(self, privacy, accuracy):
        return 1

    def _learn(self, key, sample, plan):
        high, _ = random.words(key, (self.k,))
        flip = high.astype(jnp.float32) / UNIT < 1 / (1 + jnp.exp(plan))
        exposed = jnp.arange(self.k) < self.leak
        label = jnp.where(sample.mask[-1], sample.y[-1] ^ (flip & ~exposed), (high & 1).astype(bool))
        return Hypothesis.of(jnp.stack([jnp.zeros(self.k, jnp.uint32), label.astype(jnp.uint32)], axis=1))


@dataclass(frozen=True)
class AlwaysOne(LastLabels):
    """Answers 1."""

    def _learn(self, key, sample, plan):
        return Hypothesis.of(jnp.ones((self.k, 2), jnp.uint32) * jnp.asarray([0, 1], jnp.uint32))


def test_the_true_epsilon_of_the_traced_databases():
    """Of each column's answers 1/2 and 1 / (1 + e^.1) are 1; the victim's labels are 1 in half of the columns."""
    ones, near = np.arange(501), 1 / (1 + np.exp(0.1))
    loss = ones * np.log(0.5 / near) + (500 - ones) * np.log(0.5 / (1 - near))
    losses = np.add.outer(loss, -loss)
    weights = np.multiply.outer(binom.pmf(ones, 500, 0.5), binom.pmf(ones, 500, near))
    low, high = (np.sum(weights * np.maximum(0, -np.expm1(epsilon - losses))) for epsilon in (TRUE, TRUE - 0.01))
    assert low <= 1e-6 < high


@pytest.mark.optimized  # half of the time
def test_it_certifies_much_of_the_epsilon_of_many_columns():
    """16 rows, epsilon .1 in each of 1000 columns: separation 1.58."""
    plan = COLUMNS.plan(BUDGET, Accuracy(0.1, 0.1), 16)
    assert float(plan.one.epsilon) == pytest.approx(0.1, abs=1e-3)
    found = trace(COLUMNS, 1000, 16, BUDGET, trials=2000)
    assert found.details["separation"] == pytest.approx(1.58, abs=0.08)
    assert 1.7 <= found.epsilon_found <= TRUE and not found.violated
    assert found.claim.delta == pytest.approx(1e-6)


@pytest.mark.slow
def test_a_million_trials_certify_more():
    found = trace(COLUMNS, 1000, 16, BUDGET, trials=1_000_000)
    assert 5 <= found.epsilon_found <= TRUE


def false_alarms(runs, k, epsilon, confidence):
    learner = LastLabels(k)
    return sum(
        trace(learner, k, 4, Privacy(epsilon, 0.0), trials=1000, confidence=confidence, seed=seed).violated
        for seed in range(runs)
    )


def test_correct_claims_are_rarely_refuted():
    """A tight claim at confidence 1/2, where alarms are common: more than 40 of 50 with probability below 1e-5."""
    alarms = false_alarms(50, 1, 1.0, 0.5)
    assert alarms <= 40 and binom.sf(40, 50, 0.5) < 1e-5
    assert alarms >= 3  # a test that never fires tests nothing


@pytest.mark.slow
def test_false_alarms_in_a_thousand_runs():
    """At confidence .95 at most 86 of 1000, else with probability below 1e-6."""
    alarms = false_alarms(1000, 1, 1.0, 0.95)
    assert 5 <= alarms <= 86 and binom.sf(86, 1000, 0.05) < 1e-6


def test_a_planted_leak_is_found():
    """One of 50 columns is answered without noise; the claim counts it as the others."""
    honest, leaky = LastLabels(50), LastLabels(50, leak=1)
    budget = Privacy(2.0, 0.0)
    assert not trace(honest, 50, 4, budget, trials=4000, confidence=1 - 1e-6).violated
    found = trace(leaky, 50, 4, budget, trials=4000)
    assert found.violated and found.epsilon_found > 4


@pytest.mark.parametrize("relation", list(Neighboring), ids=str)
def test_both_relations(relation):
    learner = LastLabels(1, neighboring=relation)
    found = trace(learner, 1, 3, Privacy(2.0, 0.0), trials=4000, confidence=1 - 1e-6)
    assert 0.2 < found.epsilon_found <= 2.0
    words = found.witness["neighbor"]
    assert ("without" in words) == (relation is Neighboring.ADD_OR_REMOVE_ONE)


def test_a_constant_learner_says_nothing():
    seen = []
    watch = lambda done, total, what: seen.append((done, total))  # noqa: E731
    found = trace(AlwaysOne(3), 3, 4, Privacy(1.0, 0.0), trials=1000, watch=watch)
    assert seen[0][0] == 0 and seen[-1][0] == seen[-1][1] == 2000, "progress ends at its total"
    assert found.epsilon_found == 0.0 and found.verdict.startswith("vacuous")


@pytest.mark.optimized
def test_the_same_answers_whatever_the_batch():
    database = TiedRows(Independent(KLN(BITS), 5, "zcdp"), 5, 4, 0)
    plan = database.learner.plan(Privacy(3.0, 1e-6), Accuracy(0.1, 0.1), 4)
    given = plan, keys.root(1), jnp.arange(40, dtype=jnp.uint32), jnp.int32(1), jnp.arange(5) % 2 == 1
    one, other = (answers_of(database, batch, *given) for batch in (1, 16))
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("rows", [2, 16, 33, 66, 3000, 100_000])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.999])
def test_the_steepest_place_is_found(rows, share):
    """Answers 1 from m = step + 1 ones on: the others must have ``step``."""
    step, looks = min(rows - 1, int(share * rows)), []

    def respond(low, count):
        width = width_of(count)
        numbers = low + np.arange(count + 1)
        bins = (numbers - low) // width
        trials = 1000 * np.bincount(bins, minlength=33)
        looks.append(count)
        return Response(trials, 1000 * np.bincount(bins, numbers > step, minlength=33), low, width)

    ones, seen = sensitive(respond, rows)
    assert ones == step and len(looks) == len(seen) <= 5


def test_a_flat_response_is_tied():
    flat = Response(np.full(17, 1000), np.full(17, 500), 0, 1)
    assert sensitive(lambda low, count: flat, 16)[0] in (7, 8)


def test_weights_are_log_likelihood_ratios():
    rng = np.random.default_rng(0)
    victim = np.arange(400) % 2 == 1
    first = rng.random((2000, 400)) < np.where(victim, 0.6, 0.5)
    second = rng.random((2000, 400)) < np.where(victim, 0.5, 0.6)
    one, zero, unit = weights(first, second, victim)
    expected = np.where(victim, 1, -1) * np.log(0.6 / 0.5)
    np.testing.assert_allclose(one / unit, expected, atol=0.01)
    np.testing.assert_allclose(zero / unit, np.where(victim, 1, -1) * np.log(0.4 / 0.5), atol=0.01)
    assert np.sum(np.maximum(abs(one), abs(zero))) <= 2**23 + 400


def test_a_column_that_differs_keeps_its_own_rate():
    rng = np.random.default_rng(0)
    first, second = rng.random((500, 100)) < 0.5, rng.random((500, 100)) < 0.5
    first[:, 0], second[:, 0] = True, False
    one, zero, _ = weights(first, second, np.zeros(100, bool))
    assert one[0] > 10 * np.max(np.abs(one[1:])) and zero[0] < 0


def test_equal_scores_are_all_guesses_or_none():
    scores, coins = np.array([2.0, 2.0, -2.0, 1.0, 0.0]), np.array([True, True, False, False, True])
    assert boldness(scores, coins, 1.0, 100) == 2.0
    assert boldness(np.zeros(5), coins, 1.0, 100) > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "k: expected"),
        ({"rows": 1}, "rows: expected"),
        ({"trials": 999}, "trials: expected"),
        ({"confidence": 1.0}, "confidence: expected"),
        ({"seed": -1}, "seed: expected"),
        ({"learner": ERM(BITS)}, "a learner that claims privacy"),
        ({"learner": 3}, "learner"),
        ({"learner": KLN(Finite.of([[1]]))}, "two concepts that differ"),
    ],
)
def test_what_cannot_be_traced(arguments, message):
    given = {"learner": KLN(BITS), "k": 2, "rows": 4, "privacy": Privacy(1.0, 0.0)} | arguments
    with pytest.raises(InputError, match=message):
        trace(**given)
