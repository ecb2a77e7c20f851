"""The learner from lists: batches and parts of rows, lists from outside, sizes, refusals."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax as dp
from dpjax.concepts import Finite, distributions
from dpjax.core.checks import InputError
from dpjax.core.plans import down, plan_type
from dpjax.dimensions import families
from dpjax.experiments.sweep.task import Task
from dpjax.learners import KLN, SparseAggregate
from dpjax.learners.sparse_aggregate import _compact
from dpjax.lists import Cells, GloballyStable, Irreducibility, ListPlan, Lists, MinimalSets, VersionSpace
from dpjax.papers.simulated_counts import errors
from dpjax.theory import global_stability, irreducibility

CLASS = Finite.of(families.thresholds(6))
BUDGET, GOAL = dp.Privacy(1.0, 1e-6), dp.Accuracy(0.1, 0.05)


@dataclass(frozen=True)
class Majority(Lists):
    """Lists from outside: the constant function of the more frequent label, and its opposite if there is a tie."""

    concepts: Finite

    def plan(self, accuracy):
        return _Plan(np.ones(1, np.int32))

    def names(self, key, cells, plan):
        of_label = jnp.sum(cells.counts, axis=(0, 1))
        ones = jnp.uint32((1 << self.concepts.width) - 1)
        names = jnp.where(of_label[1] >= of_label[0], jnp.stack([ones, jnp.uint32(0)]), jnp.uint32(0))
        return names[:, None], jnp.stack([jnp.bool_(True), of_label[0] == of_label[1]])

    def rows(self, accuracy):
        return 10

    def batches(self, privacy, accuracy):
        return 50


@plan_type
class _Plan(ListPlan):
    ends: Any

    @property
    def length(self):
        return 2


def rows_of(n, capacity, seed=1):
    return Task(CLASS, distributions.uniform(CLASS.domain), [4]).draw(jax.random.key(seed), n, 1, capacity)[0]


@pytest.mark.parametrize(
    ("n", "m", "capacity"),
    [(100, 7, 128), (0, 3, 1), *(pytest.param(*case, marks=pytest.mark.slow) for case in ((6, 7, 6), (64, 1, 64)))],
)
def test_every_row_is_in_one_batch_and_part(n, m, capacity):
    learner = SparseAggregate(GloballyStable(CLASS), m)
    plan = learner.plan(BUDGET, GOAL)
    sample = rows_of(n, capacity)
    counts = np.asarray(jax.jit(learner.cells)(sample, plan).counts)
    assert counts.shape == (plan.most, len(plan.lists.ends), 6, 2) and counts.sum() == n
    of_batch = counts.sum((1, 2, 3))
    assert of_batch[:m].tolist() == [len(range(b, n, m)) for b in range(m)] and not of_batch[m:].any()
    for b in range(m):
        own, parts = of_batch[b], counts[b].sum((1, 2))
        assert np.abs(parts - own / len(parts)).max() <= 1
        values, labels = np.asarray(sample.x)[b:n:m, 0], np.asarray(sample.y)[b:n:m, 0]
        assert np.array_equal(
            counts[b].sum(0), [[np.sum((values == x) & (labels == y)) for y in (0, 1)] for x in range(6)]
        )


@pytest.mark.parametrize("kind", [np.uint64, object], ids=["one word", "two limbs"])
def test_each_batch_has_its_own_elements(kind):
    """For domains without a cell for each element: counted by the definition, in memory of the order of the rows."""
    domain = dp.Domain(2**20 if kind is np.uint64 else 2**64)
    generator = np.random.default_rng(5)
    learner = SparseAggregate(MinimalSets(dp.PointSets(domain, 2)), 7)
    plan, scale = learner.plan(BUDGET, GOAL), domain.size // 5
    assert plan.least <= 7 <= plan.most
    for n, capacity in ((100, 128), (0, 1), (3, 3), (64, 64)):
        values = [int(v) * scale for v in generator.integers(0, 5, n)]
        labels = generator.integers(0, 2, n)
        sample = dp.database(domain, values, labels, capacity)
        cells = jax.jit(learner.cells)(sample, plan)
        width = -(-capacity // plan.least)
        assert cells.counts.shape == (plan.most, 1, width, 2) and cells.elements.shape[:2] == (plan.most, width)
        for b in range(plan.most):
            own = [(values[i], int(labels[i])) for i in range(b, n, 7)] if b < 7 else []
            some = sorted({v for v, _ in own})
            listed = [
                sum(int(w) << 32 * i for i, w in enumerate(reversed(row))) for row in np.asarray(cells.elements[b])
            ]
            assert listed == some + [0] * (width - len(some))
            expected = [[own.count((v, y)) for y in (0, 1)] for v in some] + [[0, 0]] * (width - len(some))
            assert np.asarray(cells.counts[b, 0]).tolist() == expected


def test_a_row_changes_one_batch():
    learner = SparseAggregate(Irreducibility(CLASS), 5)
    plan, sample = learner.plan(BUDGET, GOAL), rows_of(60, 64)
    before = np.asarray(learner.cells(sample, plan).counts)
    changed = dp.Sample(sample.x.at[13].set(0), sample.y.at[13].set(True), sample.mask)
    after = np.asarray(learner.cells(changed, plan).counts)
    assert np.flatnonzero((before != after).any((1, 2, 3))).tolist() == [13 % 5]


@pytest.mark.optimized
def test_the_capacity_and_the_buffer_change_no_answer():
    learner = SparseAggregate(Irreducibility(CLASS, 1), 6)
    plan = learner.plan(dp.Privacy(20.0, 0.1), GOAL)
    learn = jax.jit(learner.learn)
    for n in (0, 5, 48):
        found = [learn(jax.random.key(2), rows_of(n, capacity), plan) for capacity in (48, 200)]
        assert np.array_equal(found[0].concept, found[1].concept) and found[0].outcome == found[1].outcome


def test_lists_from_outside():
    learner = SparseAggregate(Majority(CLASS))
    plan = learner.plan(BUDGET, GOAL)
    assert learner.sample_size(BUDGET, GOAL) == 500 and learner.guarantee(plan).epsilon == 1.0
    sample = dp.database(CLASS.domain, [0] * 500, [1] * 500)
    found = jax.jit(learner.learn)(jax.random.key(3), sample, plan)
    assert found.outcome[0] == 0 and CLASS.labeling(found).all()


def test_without_agreement_it_abstains():
    learner = SparseAggregate(GloballyStable(CLASS), 3)
    plan = learner.plan(BUDGET, GOAL)
    found = jax.jit(learner.learn)(jax.random.key(1), rows_of(30, 30), plan)
    assert found.outcome[0] == -1 and not CLASS.labeling(found).any()
    assert CLASS.describe(found) == ["0 everywhere (no answer)"]


@pytest.mark.parametrize(
    ("matrix", "least", "most"), [(families.points(8), 7.4e4, 7.9e4), (families.thresholds(6), 2.6e6, 3e6)]
)
def test_sample_sizes_beside_the_exponential_mechanism(matrix, least, most):
    concepts = Finite.of(matrix)
    n = SparseAggregate(GloballyStable(concepts)).sample_size(BUDGET, GOAL)
    assert least < n < most
    d = GloballyStable(concepts).dimension
    assert n == global_stability.rows(d, 1.0, 1e-6, 0.1, 0.05)
    shape = concepts.size, concepts.width
    many = SparseAggregate(Irreducibility(concepts)).sample_size(BUDGET, GOAL)
    assert many == irreducibility.rows(d, *shape, 1.0, 1e-6, 0.1, 0.05)
    assert (many > n) is (d == 1)  # from dimension 2 on trees need fewer rows than tournaments
    assert KLN(concepts).sample_size(BUDGET, GOAL) < 200


@pytest.mark.parametrize(
    ("concepts", "words"),
    [(Finite.of([[0] * 4097]), "at most 4096 elements, got 4097"), (dp.Thresholds(dp.Domain(8)), "a finite class")],
)
def test_lists_whose_functions_have_no_names_are_refused(concepts, words):
    with pytest.raises(InputError, match=words):
        SparseAggregate(Majority(concepts), 2)


def test_a_function_outside_of_the_class_is_described():
    found = CLASS.of_labels(jnp.asarray([[0, 1, 0, 0, 0, 1]], bool), jnp.zeros(1, jnp.int32))
    assert CLASS.describe(found) == ["labels 010001"]


def test_what_cannot_be_run_says_how_many_rows_and_why():
    learner = SparseAggregate(GloballyStable(Finite.of(families.thresholds(15))))
    with pytest.raises(InputError, match=r"n = 2\.\d+e\+13 rows: \d+ batches of \d+, .* GiB of counts"):
        learner.plan(BUDGET, GOAL)
    assert learner.sample_size(BUDGET, GOAL) > 2e13
    no_theorem = SparseAggregate(Irreducibility(Finite.of(families.points(12)), longest=1), 1 << 24)
    with pytest.raises(InputError, match=r"got 16777216 batches, .* GiB of counts"):
        no_theorem.plan(BUDGET, GOAL)
    fewer = SparseAggregate(learner.lists, 100)
    assert fewer.plan(BUDGET, GOAL).batches == 100
    with pytest.raises(InputError, match="at least the theorem's"):
        fewer.sample_size(BUDGET, GOAL)


def test_wrong_inputs():
    with pytest.raises(InputError, match="lists"):
        SparseAggregate(CLASS)
    with pytest.raises(InputError, match="batches"):
        SparseAggregate(GloballyStable(CLASS), 0)
    with pytest.raises(InputError, match="delta"):
        SparseAggregate(GloballyStable(CLASS), 5).plan(dp.Privacy(1.0, 0.0), GOAL)
    two = SparseAggregate(GloballyStable(CLASS), 5)
    sample = rows_of(10, 10)
    twice = dp.Sample(sample.x, jnp.concatenate([sample.y, sample.y], 1), sample.mask)
    with pytest.raises(InputError, match="one concept"):
        two.learn(jax.random.key(1), twice, two.plan(BUDGET, GOAL))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("kind", "matrix", "trials"),
    [
        (GloballyStable, families.points(8), 100),
        *(
            pytest.param(*case, 200, marks=pytest.mark.slow)
            for case in (
                (GloballyStable, families.points(8)),
                (Irreducibility, families.points(12)),
                (Irreducibility, families.points(5, 2)),
                (GloballyStable, families.thresholds(6)),
            )
        ),
    ],
)
def test_success_at_the_theorems_size(kind, matrix, trials):
    """No failure: with the theorem's beta it would be allowed in one trial of 20, but its bounds are far from tight."""
    concepts = Finite.of(matrix)
    learner = SparseAggregate(kind(concepts))
    task = Task(concepts, distributions.zipf(concepts.domain, concepts.width, 1.0))
    plan = learner.plan(BUDGET, GOAL)
    found = list(errors(learner, task, plan, learner.lists.rows(GOAL), 11, trials))
    assert max(found) <= 0.1


@dataclass(frozen=True)
class Long(Majority):
    """Lists of one entry by their plan."""

    def plan(self, accuracy):
        return _Short(np.ones(1, np.int32))


@plan_type
class _Short(_Plan):
    @property
    def length(self):
        return 1


@dataclass(frozen=True)
class Backwards(Majority):
    def plan(self, accuracy):
        return _Plan(np.array([9, 1], np.int32))


def test_plans_of_lists_from_outside_say_what_runs():
    learner = SparseAggregate(Long(CLASS))
    with pytest.raises(InputError, match="1 entries, the plan's length, got 2 entries"):
        learner.learn(jax.random.key(0), rows_of(10, 10), learner.plan(BUDGET, GOAL))
    with pytest.raises(InputError, match="ascending"):
        SparseAggregate(Backwards(CLASS)).plan(BUDGET, GOAL)


@dataclass(frozen=True)
class Whole(Majority):
    """Says by numbers which entries are filled."""

    def names(self, key, cells, plan):
        names, filled = Majority.names(self, key, cells, plan)
        return names, filled.astype(jnp.int32)


@dataclass(frozen=True)
class Tuple(Majority):
    def plan(self, accuracy):
        return np.ones(1, np.int32), 2


def test_lists_and_plans_of_other_types_are_refused():
    learner = SparseAggregate(Whole(CLASS), 2)
    with pytest.raises(InputError, match="valid bool"):
        learner.learn(jax.random.key(0), rows_of(10, 10), learner.plan(BUDGET, GOAL))
    with pytest.raises(InputError, match="plan of the lists: expected ListPlan"):
        SparseAggregate(Tuple(CLASS), 2).plan(BUDGET, GOAL)


@dataclass(frozen=True)
class FirstCell(Majority):
    """From outside: the element of the first cell, whether the batch has it or not, and the number of cells with rows
    before the last."""

    concepts: Any

    @property
    def cells(self):
        return None

    @property
    def words(self):
        return 2

    def names(self, key, cells, plan):
        place = jnp.max(jnp.where(jnp.sum(cells.counts, axis=(0, 2)) > 0, jnp.arange(len(cells.elements)), 0))
        name = jnp.stack([cells.elements[0, -1], place.astype(jnp.uint32)])
        return jnp.stack([name, name]), jnp.array([True, False])

    def hypothesis(self, name, outcome):
        return dp.Hypothesis(name[None], jnp.zeros(1, bool), outcome[None])


@pytest.mark.parametrize("element", [0, 5, 9])
def test_a_list_from_outside_depends_on_its_own_batch(element):
    """A row of batch 1 changes; batches 0 and 2, which agree, win all the same, with the name that they had."""
    learner = SparseAggregate(FirstCell(dp.Points(dp.Domain(2**20))), 3)
    x = jnp.uint32([[7], [element], [7], [8], [element], [8]])
    sample = dp.Sample(x, jnp.ones((6, 1), bool), jnp.ones(6, bool))
    found = learner.learn(jax.random.key(0), sample, learner.plan(dp.Privacy(200.0, 0.5), GOAL))
    assert found.concept.tolist() == [[7, 1]]


def test_cells_and_names_of_a_class_that_is_too_large():
    for concepts, cells, word in (
        (Finite.of([[0] * 4097]), 4097, "at most 4096 elements"),
        (dp.Points(dp.Domain(2**20)), None, "a finite class"),
    ):
        own = type("Own", (Majority,), {"cells": property(lambda self, cells=cells: cells)})
        with pytest.raises(InputError, match=word):
            SparseAggregate(own(concepts), 2)
    short = type("Short", (FirstCell,), {"cells": property(lambda self: 5)})
    with pytest.raises(InputError, match="cells of the lists: expected None, or the 1048576 elements"):
        SparseAggregate(short(dp.Points(dp.Domain(2**20))), 2)


def test_a_plan_for_rows_that_would_not_fit_is_refused():
    learner = SparseAggregate(MinimalSets(dp.PointSets(dp.Domain(2**64), 12)))
    n = learner.sample_size(BUDGET, GOAL)
    assert n > 10**7 and learner.plan(BUDGET, GOAL, n).most >= learner.lists.batches(BUDGET, GOAL)
    little = dp.Privacy(0.05, 1e-6)
    with pytest.raises(InputError, match="counts and names"):
        learner.plan(little, GOAL, learner.sample_size(little, GOAL))
    assert learner.plan(little, GOAL).most >= learner.lists.batches(little, GOAL)


def test_the_plan_spends_what_its_size_is_for():
    """Numbers of a plan are rounded towards less; the number of batches is that for the rounded ones."""
    learner = SparseAggregate(VersionSpace(Finite.of(np.eye(3, dtype=int))))
    asked, spent = (dp.Privacy(epsilon, 1e-6) for epsilon in (1.11334e-05, float(down(1.11334e-05))))
    assert spent.epsilon < asked.epsilon
    assert learner.sample_size(asked, GOAL) == learner.lists.batches(dp.Privacy(spent.epsilon, float(down(1e-6))), GOAL)
    for size in (learner.sample_size, learner.plan):
        with pytest.raises(InputError, match="delta: expected at least 1e-45"):
            size(dp.Privacy(1.0, 1e-46), GOAL)


def test_a_batch_sees_neither_other_batches_nor_their_elements():
    """Cells in common, in which another batch has other elements, come out the same."""
    counts = jnp.zeros((1, 4, 2), jnp.int32).at[0, jnp.array([1, 3]), 1].set(jnp.array([2, 5]))
    first, second = (_compact(Cells(jnp.uint32(one)[:, None], counts)) for one in ([3, 7, 8, 9], [1, 7, 0, 9]))
    assert first.elements[:, 0].tolist() == second.elements[:, 0].tolist() == [7, 9, 0, 0]
    moved = _compact(Cells(jnp.uint32([[7], [9], [4], [4]]), counts[:, jnp.array([1, 3, 0, 2])]))
    assert np.array_equal(first.counts, moved.counts) and np.array_equal(first.elements, moved.elements)


def test_boosting_costs_more_than_it_saves():
    """Corollary A.3: it runs, within its budget."""
    learner = SparseAggregate(VersionSpace(Finite.of(families.thresholds(4))))
    privacy, boosted = dp.Privacy(0.25, 1e-6), dp.Boosted(learner)
    assert learner.sample_size(privacy, GOAL) < boosted.sample_size(privacy, GOAL)
    found = boosted.guarantee(boosted.plan(privacy, GOAL))
    assert found.epsilon <= 0.25 and found.delta <= 1e-6
