"""Rounding to the nearest parity: exact within a quarter of the cube, at no price in rows or privacy."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax as dp
from dpjax.concepts.parities import nearest
from dpjax.core import wide
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.sweep.task import Task
from dpjax.learners import KLN, Boosted, Independent, NearestParity, ParityLearner
from tests.trials import jit_draw, jit_learn, successes

PRIVACY, GOAL = Privacy(2.0), Accuracy(0.01, 0.1)


def table(dimension):
    """``bool[concepts, elements]``."""
    size = 2**dimension
    return np.array([[bin(a & x).count("1") % 2 for x in range(size)] for a in range(size)], bool)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_no_parity_is_nearer(dimension):
    """To every function on the cube (to 64 random ones of 3 coordinates); of several the least number."""
    size, parities = 2**dimension, table(dimension)
    functions = np.array([[f >> x & 1 for x in range(size)] for f in range(1 << size)], bool)
    functions = np.random.default_rng(0).permutation(functions)[:64]
    found = np.asarray(jax.jit(jax.vmap(nearest))(functions))
    distance = np.sum(functions[:, None] != parities, axis=2)
    np.testing.assert_array_equal(found[:, 1], np.argmin(distance, axis=1))
    assert not found[:, 0].any()


def test_less_than_a_quarter_is_corrected_and_a_quarter_is_not():
    generator, parities = np.random.default_rng(1), table(6)
    labels = parities[generator.integers(0, 64, 200)]
    targets = np.array([np.flatnonzero(np.all(parities == row, axis=1))[0] for row in labels])
    spoiled = labels.copy()
    for row in spoiled:
        row[generator.choice(64, 15, replace=False)] ^= True
    assert np.array_equal(np.asarray(jax.jit(jax.vmap(nearest))(spoiled))[:, 1], targets)
    between = parities[5].copy()
    between[np.flatnonzero(parities[5] & ~parities[3])] = False  # as far from 5 as from 3
    assert np.sum(between != parities[5]) == 16 == np.sum(between != parities[3]) and int(nearest(between)[1]) < 5


@dataclass(frozen=True)
class Spoiled(KLN):
    """KLN, of whose hypotheses labels of elements below ``wrong`` are flipped: improper."""

    wrong: int = 0

    def predict(self, hypothesis, x):
        """Labels."""
        flipped = x[..., -1] < self.wrong
        return super().predict(hypothesis, x) ^ flipped[..., None]


@pytest.mark.statistical
@pytest.mark.parametrize("wrong", [0, 7])
def test_exact_from_the_learner_s_own_rows(wrong, stats):
    """Seven of 32 labels are always wrong, and no error is left."""
    concepts = dp.Parities(5)
    learner = NearestParity(Spoiled(concepts, wrong=wrong))
    n = learner.sample_size(PRIVACY, GOAL)
    assert (
        n == KLN(concepts).sample_size(PRIVACY, Accuracy(0.25 - 1e-9, 0.1)) < KLN(concepts).sample_size(PRIVACY, GOAL)
    )
    assert n == learner.sample_size(PRIVACY, Accuracy(0.4, 0.1))
    plan = learner.plan(PRIVACY, GOAL, n)
    assert learner.guarantee(plan) == learner.learner.guarantee(plan) and learner.spends == "bounded range"
    task = Task(concepts, dp.UniformCube(5))
    stats.mostly(successes(learner, task, n, plan, 1e-6, 400), 400, 0.1)
    assert successes(learner, task, max(1, n // 8), plan, 1e-6, 400, largest=n) < 340


def test_a_majority_of_parities_becomes_one(key):
    learner = NearestParity(Boosted(KLN(dp.Parities(3)), rounds=3, draws=64, kappa=0.3))
    sample, target = jit_draw(Task(learner.concepts, dp.UniformCube(3)), key, 400, 1)
    plan = learner.plan(Privacy(50.0), GOAL, 400)
    found = jit_learn(learner, key, sample, plan)
    np.testing.assert_array_equal(found.concept, target.concept)
    np.testing.assert_array_equal(learner.predict(found, sample.x), sample.y)
    assert learner.proper and not learner.learner.proper


def test_columns_and_no_answer(key):
    learner = NearestParity(KLN(dp.Parities(4))).for_concepts(3)
    assert isinstance(learner.learner, Independent) and learner.k == 3 == learner.number_of_concepts
    sample, target = jit_draw(Task(learner.concepts, dp.UniformCube(4)), key, 300, 3)
    found = jit_learn(learner, key, sample, learner.plan(Privacy(60.0), GOAL, 300))
    np.testing.assert_array_equal(wide.decode(found.concept), wide.decode(target.concept))
    silent = NearestParity(ParityLearner(dp.Parities(4), 3, 6))
    few = jit_learn(silent, key, jax.tree.map(lambda part: part[:2], sample), silent.plan(Privacy(1.0, 1e-6), GOAL))
    assert np.asarray(few.outcome).tolist() == [-1] * 3 and not np.asarray(few.concept).any()
    assert jnp.array_equal(silent.predict(few, sample.x), jnp.zeros((300, 3), bool))


def test_what_is_refused():
    for wrong, said in ((KLN(dp.Points(dp.Domain(8))), "Parities"), (ParityLearner(dp.Parities(17)), "at most 16")):
        with pytest.raises(InputError, match=said):
            NearestParity(wrong)
    with pytest.raises(NoTheoremError, match="agnostic"):
        NearestParity(KLN(dp.Parities(3))).agnostic_sample_size(PRIVACY, GOAL)
