"""Labels whose bits are concepts of one class, against the matrix of all their labels."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax as dp
from dpjax.concepts import Bitwise, Domain, Finite, Hypothesis, Multiclass, Points, PointSets, Thresholds, distributions
from dpjax.concepts.outside import describe
from dpjax.core.checks import InputError
from dpjax.dimensions import families, littlestone_dimension
from dpjax.learners import KLN, BitReduction, HashedPoints, PointLearner
from tests.trials import jit_draw, jit_learn

FAR = Domain(2**1024)
FEW = distributions.from_weights(FAR, FAR.spread(4), [3, 1, 2, 4])


def kln(concepts):
    return KLN(concepts)


def hashed(concepts):
    return HashedPoints(concepts, 1)


def seldom(concepts):
    """Abstains on few rows."""
    return PointLearner(concepts)


def elsewhere(concepts):
    return KLN(Finite.of(concepts.matrix()))


def labels_of(concepts, hypothesis, width):
    """``int[k, width]``."""
    x = jnp.arange(width, dtype=jnp.uint32)[:, None]
    bits = np.asarray(concepts.predict(hypothesis, x)).reshape(width, -1, concepts.columns)
    return (bits << np.arange(concepts.columns)).sum(-1).T


@pytest.mark.parametrize(
    ("one", "columns"),
    [(Points(Domain(4)), 3), (Thresholds(Domain(3)), 2), (PointSets(Domain(4), 2), 2), (Points(Domain(2)), 1)],
)
def test_all_concepts_and_errors_against_the_matrix(one, columns):
    concepts, width = Bitwise(one, columns), one.domain.size
    if isinstance(one, PointSets):
        everything = concepts.targets(one.size)  # consecutive ones only
    else:
        everything = concepts.numbered(range(concepts.size))
        assert len(everything) == concepts.size == one.size**columns
    table = labels_of(concepts, Hypothesis.of(jnp.asarray(everything)), width)
    assert len(np.unique(table, axis=0)) == len(table) and table.max() < concepts.labels == 1 << columns
    law = distributions.from_weights(one.domain, range(width), range(1, width + 1))
    generator = np.random.default_rng(0)
    ours, theirs = generator.integers(0, len(table), (2, 50))
    with jax.enable_x64(True):
        found = concepts.error(*(law, *(Hypothesis.of(jnp.asarray(everything[i])) for i in (ours, theirs))))
    assert np.array_equal(found, (table[ours] != table[theirs]) @ np.arange(1, width + 1))


def test_labels_over_a_large_domain():
    concepts = Bitwise(Points(FAR), 16)
    assert concepts.size == 2 ** (1024 * 16) and concepts.labels == 2**16
    task = dp.Task(concepts, FEW)
    assert task.targets.shape[1] == 16 * 32
    sample, target = task.draw(jax.random.key(0), 50)
    assert sample.y.shape == (50, 16) and float(task.error(target, target)[0]) == 0
    said = concepts.describe(target)[0]
    assert said.startswith("bit 0: 1 iff x = ") and "; bit 15: 1 iff" in said


def test_the_dimensions_of_theorem_7_2():
    """L points, with enough elements: L for the labels, and one for each bit."""
    concepts = Bitwise(Points(Domain(4)), 3)
    table = labels_of(concepts, Hypothesis.of(jnp.asarray(concepts.numbered(range(64)))), 4)
    assert littlestone_dimension(table).value == 3 and littlestone_dimension(families.points(4)).value == 1


def test_the_reduction_is_a_loop_over_bits():
    """The same keys, rows and plans; and the error of its answer is the mass of any wrong bit."""
    concepts = Bitwise(Thresholds(Domain(8)), 3)
    learner, law = BitReduction(concepts), distributions.uniform(Domain(8))
    plan = learner.plan(dp.Privacy(0.5), dp.Accuracy(0.1, 0.1))
    task, wrong = dp.Task(concepts, law), 0
    for seed in range(3):
        sample, target = jit_draw(task, jax.random.key(seed), 60, 1)
        found = jit_learn(learner, jax.random.key(100 + seed), sample, plan)
        keys, bits = jax.random.split(jax.random.key(100 + seed), 3), []
        for i, one in enumerate(learner.learners):
            rows = dp.Sample(sample.x[i::3], sample.y[i::3, i : i + 1], sample.mask[i::3])
            bits.append(labels_of(Bitwise(one.concepts, 1), jit_learn(one, keys[i], rows, plan.bits[i]), 8)[0])
        x = jnp.arange(8, dtype=jnp.uint32)[:, None]
        assert np.array_equal(np.asarray(learner.predict(found, x)).T, bits)
        truth = labels_of(concepts, target, 8)[0]
        off = (np.array(bits).T << np.arange(3)).sum(1) != truth
        assert float(task.error(found, target)[0]) == off.mean()
        wrong += off.any()
        assert describe(concepts, found)[0].count("bit ") == 3
    assert wrong


def test_a_bit_that_abstains_makes_all_labels_zero():
    concepts = Bitwise(Points(Domain(16)), 2)
    learner = BitReduction(concepts, seldom)
    plan = learner.plan(dp.Privacy(15.0, 1e-6), dp.Accuracy(0.1, 0.1))
    task, seen = dp.Task(concepts, distributions.adversarial_points(Domain(16), 0.2)), set()
    for seed in range(12):
        sample, _ = jit_draw(task, jax.random.key(seed), 40, 1)
        found = jit_learn(learner, jax.random.key(seed), sample, plan)
        silent = int(found.outcome[0]) < 0
        says = np.asarray(learner.predict(found, jnp.arange(16, dtype=jnp.uint32)[:, None]))
        assert says.shape == (16, 2) and bool(found.zero[0]) == silent and (silent <= (not says.any()))
        assert ("no answer" in describe(concepts, found)[0]) == silent
        seen.add(silent)
    assert seen == {True, False}


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (lambda: Bitwise(Multiclass.of([[0, 2]]), 2), "two labels"),
        (lambda: Bitwise(Points(Domain(4)), 17), "columns"),
        (lambda: Bitwise(7, 2), "concept class"),
        (lambda: BitReduction(Points(Domain(4))), "joined"),
        (lambda: Bitwise(Points(Domain(4)), 2).numbered([16]), "16"),
    ],
)
def test_what_is_refused(wrong, match):
    with pytest.raises(InputError, match=match):
        wrong()


def test_a_learner_of_another_class_is_refused():
    learner = BitReduction(Bitwise(Points(Domain(4)), 2), elsewhere)
    sample, _ = dp.Task(learner.concepts, distributions.uniform(Domain(4))).draw(jax.random.key(0), 9)
    with pytest.raises(InputError, match="a learner of Points"):
        jit_learn(learner, jax.random.key(1), sample, learner.plan(dp.Privacy(1.0), dp.Accuracy(0.1, 0.1)))


def test_one_program_for_all_bits_over_a_large_domain():
    """The number of draws of the traced program does not grow with the bits, nor does it with the domain."""
    draws = []
    for columns in (2, 6):
        learner = BitReduction(Bitwise(Points(FAR), columns), hashed)
        task = dp.Task(learner.concepts, FEW)
        plan = learner.plan(dp.Privacy(1.0), dp.Accuracy(0.1, 0.1))
        traced = jax.make_jaxpr(learner.learn)(jax.random.key(0), task.draw(jax.random.key(1), 60)[0], plan)
        draws.append(str(traced).count("dpjax_draw"))
    assert draws[0] == draws[1] > 0
