"""The reduction of many labels to bits: blocks, plans, inner learners, clipping."""

import json
import time
from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax as dp
from dpjax import audit, evidence
from dpjax.concepts import Domain, Finite, Multiclass, Points, distributions
from dpjax.core.checks import InputError
from dpjax.dimensions import families, littlestone_dimension
from dpjax.experiments.config.builder import Builder
from dpjax.experiments.config.to_spec import spec_of
from dpjax.experiments.sweep.hard_tasks import hard_bits
from dpjax.experiments.sweep.task import Task
from dpjax.learners import KLN, BitReduction, PointLearner
from dpjax.testing import runs
from dpjax.testing.under_test import LearnerUnderTest
from tests.trials import jit_draw, jit_learn, successes

CLASS = Multiclass.of(families.independent_bits(3, 1, 4))
GAP = Multiclass.of(families.one_bit_gap(15))
BUDGET, GOAL = dp.Privacy(1.0), dp.Accuracy(0.1, 0.1)


def noisy(concepts):
    """A learner of one bit under another name: made by a function."""
    return KLN(concepts)


def test_each_bit_is_learned_from_its_own_rows():
    """The other rows may say anything."""
    learner = BitReduction(CLASS)
    plan = learner.plan(dp.Privacy(1e4), GOAL)
    sample, _ = jit_draw(Task(CLASS, distributions.uniform(CLASS.domain)), jax.random.key(1), 240, 1)
    found = jit_learn(learner, jax.random.key(2), sample, plan)
    wrong = np.array(sample.y)
    for i in range(3):
        others = np.arange(240) % 3 != i
        wrong[others, i] = ~wrong[others, i]
    again = jit_learn(learner, jax.random.key(2), dp.Sample(sample.x, wrong, sample.mask), plan)
    assert np.array_equal(found.concept, again.concept)


@pytest.mark.parametrize(
    "concepts", [pytest.param(CLASS, marks=pytest.mark.slow), GAP], ids=["equal bits", "one large bit"]
)
def test_the_answer_is_that_of_a_loop_over_bits(concepts):
    """One bit after another, with the same keys, from the rows that its block names; also in a larger buffer."""
    learner = BitReduction(concepts)
    plan = learner.plan(dp.Privacy(0.3), GOAL)

    def loop(key, sample):
        keys, rows = jax.random.split(key, concepts.columns), np.arange(sample.capacity)
        bits = []
        for i, one in enumerate(learner.learners):
            own = np.equal(learner.blocks.order, i)[rows % len(learner.blocks.order)]
            block = dp.Sample(sample.x[own], sample.y[own, i : i + 1], sample.mask[own])
            found = one.learn(keys[i], block, plan.bits[i])
            bits.append(one.predict(found, jnp.arange(concepts.width, dtype=jnp.uint32)[:, None])[:, 0])
        return concepts.of_bits(jnp.stack(bits, axis=-1))

    task, keys = Task(concepts, distributions.uniform(concepts.domain)), jax.random.split(jax.random.key(7), 64)
    expected, answers = [], []
    for capacity, run, into in ((150, loop, expected), (700, learner.learn, answers)):
        sample, _ = jit_draw(task, jax.random.key(1), 150, 1, capacity)
        given = (plan,) if run == learner.learn else ()
        into.append(jax.jit(jax.vmap(lambda key, run=run, rest=(sample, *given): run(key, *rest)))(keys))
    for found in answers:
        assert np.array_equal(found.concept[:, 0], expected[0])
    assert len(np.unique(expected[0], axis=0)) > 1


def test_bits_with_equal_learners_are_one_program():
    """The size of the traced program does not grow with the number of bits."""
    sizes = []
    for bits in (2, 6):
        concepts = Multiclass.of(np.arange(1 << bits)[:, None])
        learner = BitReduction(concepts)
        sample, _ = jit_draw(Task(concepts, distributions.uniform(concepts.domain)), jax.random.key(1), 24, 1)
        traced = jax.make_jaxpr(learner.learn)(jax.random.key(0), sample, learner.plan(BUDGET, GOAL))
        sizes.append(str(traced).count("dpjax_draw"))
    assert sizes[0] == sizes[1] > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "bit", [dp.Thresholds(Domain(2**64)), dp.Points(Domain(2**64)), Finite.of(families.intervals(20))]
)
def test_2_to_the_16_labels_compile(bit):
    """In less than 30 CPU seconds."""
    concepts = dp.Bitwise(bit, 16)
    law = distributions.from_weights(concepts.domain, [3, 5, 7], [1, 1, 1])
    learner, task = BitReduction(concepts), Task(concepts, law)
    plan, drawn = learner.plan(BUDGET, GOAL), jit_draw(task, jax.random.key(0), 640, 1)[0]
    start = time.process_time()
    jax.jit(learner.learn).lower(jax.random.key(0), drawn, plan).compile()
    assert time.process_time() - start < 30


def test_rows_in_proportion_to_sample_sizes():
    """The sum of the theorem, up to a few percent, where the largest bit would otherwise decide for all."""
    learner = BitReduction(GAP)
    each = [KLN(bit).sample_size(BUDGET, dp.Accuracy(0.1 / 4, 0.1 / 4)) for bit in GAP.bit_classes]
    n = learner.sample_size(BUDGET, GOAL)
    assert sum(each) <= n <= 1.04 * sum(each) < 0.87 * 4 * max(each)
    assert all(learner.blocks.rows(i, n) >= size for i, size in enumerate(each))
    assert any(learner.blocks.rows(i, n - 1) < size for i, size in enumerate(each))
    even = BitReduction(GAP, weights=(1, 1, 1, 1))
    assert even.blocks.order == (0, 1, 2, 3) and even.sample_size(BUDGET, GOAL) == 4 * max(each) - 3
    assert BitReduction(CLASS).blocks.order == (0, 1, 2)
    assert Builder().build("learner", json.loads(json.dumps(spec_of(even)))) == even


@dataclass(frozen=True)
class ByDimension(KLN):
    """A generic learner whose sample size is a function of the Littlestone dimension, alpha and beta."""

    @staticmethod
    def size(dimension, alpha, beta):
        """Grows with each of the three demands."""
        return round(dimension**2 / float(alpha) + 1 / float(beta))

    def _sample_size(self, privacy, accuracy):
        dimension = littlestone_dimension(self.concepts.matrix()).value
        return self.size(dimension, accuracy.alpha, accuracy.beta)


@pytest.mark.parametrize("concepts", [CLASS, GAP, Multiclass.of(families.one_bit_gap(255))], ids=str)
def test_rows_add_over_the_dimensions_of_the_bits(concepts):
    """Corollary 3.3, up to 1/32 of the largest size for each other bit, in whole rows."""
    dimensions = [littlestone_dimension(bit.matrix()).value for bit in concepts.bit_classes]
    count = len(dimensions)
    sizes = [ByDimension.size(d, 0.1 / count, 0.1 / count) for d in dimensions]
    learner = BitReduction(concepts, ByDimension, tuple(sizes))
    assert sum(sizes) <= learner.sample_size(BUDGET, GOAL) <= sum(sizes) + (count - 1) * max(sizes) / 32 + count
    assert (max(dimensions) > min(dimensions)) is (concepts != CLASS)


@pytest.mark.parametrize("weights", [(1, 2), (1, 2, 0), (1, 2, 0.5), [1, 2, 3], 3])
def test_weights_that_are_none(weights):
    with pytest.raises(InputError, match="weight"):
        BitReduction(CLASS, weights=weights)


def test_the_inner_learners_and_their_plans():
    learner = BitReduction(CLASS, noisy)
    assert learner == BitReduction(CLASS, noisy) != BitReduction(CLASS)
    plan = learner.plan(BUDGET, GOAL, 100)
    assert [one.concepts for one in learner.learners] == list(CLASS.bit_classes) and len(plan.bits) == 3
    assert learner.guarantee(plan).epsilon == 1.0 and learner.spends == "pure"
    each = KLN(CLASS.bit_classes[0]).sample_size(BUDGET, dp.Accuracy(0.1 / 3, 0.1 / 3))
    assert learner.sample_size(BUDGET, GOAL) == 3 * each


@pytest.mark.parametrize(("own", "other"), [(2, 3), (3, 2)])
def test_the_plan_of_another_number_of_bits_is_refused(own, other):
    learner, another = (BitReduction(Multiclass.of(np.arange(1 << bits)[:, None])) for bits in (own, other))
    sample, _ = jit_draw(
        Task(learner.concepts, distributions.uniform(learner.concepts.domain)), jax.random.key(1), 9, 1
    )
    plan = another.plan(BUDGET, GOAL)
    for use in (learner.guarantee, partial(learner.learn, jax.random.key(2), sample)):
        with pytest.raises(InputError, match=f"plan: expected {own} bits, got {other}; make it with this learner"):
            use(plan)


def test_a_tiny_sample_and_an_empty_one_have_answers():
    learner = BitReduction(CLASS)
    plan = learner.plan(BUDGET, GOAL)
    for n, capacity in ((0, 1), (1, 1), (2, 2), (2, 8)):
        sample, _ = jit_draw(Task(CLASS, distributions.uniform(CLASS.domain)), jax.random.key(1), n, 1, capacity)
        found = jit_learn(learner, jax.random.key(3), sample, plan)
        assert np.isin(found.concept, range(8)).all()


def by_points(concepts):
    """Abstains often on 40 rows, whatever the bit is."""
    return PointLearner(Points(Domain(concepts.width)))


def test_a_bit_that_abstains_makes_the_labels_zero():
    subject = LearnerUnderTest(BitReduction(CLASS, by_points), 1)
    found = subject.learn(subject.draw(), 15.0)
    silent = np.asarray(found.outcome[:, 0]) == -1
    assert 0 < silent.sum() < len(silent)
    assert not np.asarray(found.concept)[silent].any() and np.asarray(found.zero)[silent].all()
    assert np.asarray(found.concept)[~silent].any()
    runs.every_database_and_budget_has_an_answer(subject)


def test_what_is_no_binary_learner_is_refused():
    with pytest.raises(InputError, match="a class or function"):
        BitReduction(CLASS, KLN(Finite.of([[0, 1]])))
    with pytest.raises(InputError, match="Learner"):
        BitReduction(CLASS, lambda concepts: concepts)
    with pytest.raises(InputError, match="Multiclass"):
        BitReduction(Finite.of([[0, 1]]))
    with pytest.raises(InputError, match="replace-one"):
        BitReduction(CLASS, added)


def added(concepts):
    return KLN(concepts, dp.Neighboring.ADD_OR_REMOVE_ONE)


@dataclass(frozen=True)
class Spendthrift(KLN):
    """Runs at 40 times the epsilon of its guarantee."""

    def _learn(self, key, sample, plan):
        return KLN(self.concepts).learn(key, sample, replace(plan, epsilon=40 * plan.epsilon))


THREE = Multiclass.of([[0, 1], [1, 2], [2, 2], [4, 4], [7, 7]])  # three bits with different classes


def one_spends(concepts, number):
    return (Spendthrift if concepts == THREE.bit_classes[number] else KLN)(concepts)


def first_spends(concepts):
    return one_spends(concepts, 0)


def second_spends(concepts):
    return one_spends(concepts, 1)


def third_spends(concepts):
    return one_spends(concepts, 2)


@pytest.mark.parametrize(
    ("binary", "violated"),
    [
        pytest.param(first_spends, True, marks=pytest.mark.slow),
        (second_spends, True),
        (third_spends, True),
        (KLN, False),
    ],
)
def test_an_exact_audit_reaches_every_bit(binary, violated):
    """Also on samples of fewer rows than bits."""
    target = evidence.learner_target(BitReduction(THREE, binary, (1, 1, 1)), "planted", rows=1)
    assert audit.exact(target, BUDGET).violated == violated


@pytest.mark.slow  # an exact audit reaches all bits
def test_a_statistical_audit_reaches_the_second_bit():
    target = evidence.learner_target(BitReduction(THREE, second_spends, (1, 1, 1)), "planted", rows=1)
    of_three = [pair for pair in target.pairs() if pair.first.capacity == 3]
    target = replace(target, pairs=lambda: of_three)
    assert audit.statistical(target, BUDGET, trials=4000, confidence=1 - 1e-6).violated


@pytest.mark.parametrize(("weights", "hard"), [((1, 1, 1), 3), ((32, 1, 32), 33), ((1, 4, 4), 5)])
def test_hard_neighbors_differ_in_a_row_of_each_bit(weights, hard):
    learner = BitReduction(THREE, weights=weights)
    assert learner.hard_rows == hard
    for rows in (1, hard - 1, hard, 40):
        order, found = np.resize(learner.blocks.order, rows), set()
        for one, other in learner.hard_neighbors(rows):
            differs = np.any(one.x != other.x, axis=1) | np.any(one.y != other.y, axis=1)
            assert np.sum(differs) == 1 and one.capacity == rows
            found.add(int(order[np.argmax(differs)]))
        assert found == set(order) and (len(found) == 3) == (rows >= hard)
    pairs = evidence.learner_target(learner, "hard").pairs()
    assert max(pair.first.capacity for pair in pairs) == max(24, hard)


@pytest.mark.slow  # tests/conformance/test_utility.py has a short one
@pytest.mark.statistical
@pytest.mark.parametrize(("bits", "trials"), [(2, 2000), (4, 2000), (6, 2000)])
def test_success_at_the_sample_size(bits, trials, stats):
    """4, 16 and 64 labels; a single wrong bit misses alpha."""
    task = hard_bits(bits, 0.1)
    for learner in (BitReduction(task.concepts), KLN(task.concepts)):
        n = learner.sample_size(BUDGET, GOAL)
        stats.mostly(successes(learner, task, n, learner.plan(BUDGET, GOAL, n), 0.1, trials, k=1, seed=5), trials, 0.1)
