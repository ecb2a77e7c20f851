"""Unions of polygons learned: success at 6000 rows, the same bits for any buffer, every database, an exact audit."""

from dataclasses import dataclass, replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.audit import exact
from dpjax.concepts import Domain, Hypothesis, Points
from dpjax.concepts.plane import UniformPlane
from dpjax.concepts.unions import Unions
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.plans import down, same_plan
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.evidence import learner_target
from dpjax.experiments.sweep.task import Task
from dpjax.learners.unions import UnionLearner, measured_rounds, rows_of_rounds
from dpjax.mechanisms.cover import Pieces, SlabWedges
from dpjax.mechanisms.cover.lines.halfplanes import HalfPlanes, Planar
from dpjax.mechanisms.cover.triangles.triangles import Triangles
from tests.hostile import beside_the_edges
from tests.trials import successes

D, ACCURACY, BUDGET = 2**10, Accuracy(0.1, 0.1), Privacy(1.0, 1e-6)
RICH = Privacy(50.0, 1e-6)
STARS = Unions(D, 7)  # of six and of five corners
ADD = Neighboring.ADD_OR_REMOVE_ONE
LEARNER = UnionLearner(STARS, 10, 4, ADD, family=Pieces(D))
SMALL = UnionLearner(STARS, 3, 3, ADD, family=Pieces(D, 4, 5))
WEDGES = UnionLearner(STARS, family=SlabWedges(D, Pieces(D)))
NOISY = UnionLearner(STARS, 3, 3, noisy=True, family=Pieces(D, 4, 5))


def right(learner, n, trials, alpha=0.1):
    """On targets that cover 0.28 to 0.34 of the square, so that a constant errs at least 0.28."""
    words, law = learner.concepts.targets(64), UniformPlane(D, 2**12)
    share = np.asarray(jax.jit(learner.concepts.predict)(Hypothesis.of(words), jnp.asarray(law.points()))).mean(axis=0)
    task = Task(learner.concepts, law, words[np.flatnonzero((share > 0.28) & (share < 0.34))[:8]])
    assert len(task.targets) == 8
    plan = learner.plan(Privacy(1.0, 1e-6), Accuracy(alpha, 0.1))
    return successes(learner, task, n, plan, alpha, trials, largest=6000, seed=4, batch=1)


def test_large_grids_are_learned_as_they_are(key):
    fine = Unions(2**64 - 1, 7)
    places = np.random.default_rng(1).integers(0, fine.d, (40, 2), np.uint64, endpoint=True)
    label, x = places[:, :1] < fine.d // 3, jnp.asarray(fine.domain.encode(places.tolist()))
    learner = replace(SMALL, concepts=fine, family=Pieces(fine.d, 4, 5))
    hypothesis = jax.jit(learner.learn)(key, Sample(x, label, np.ones(40, bool)), learner.plan(RICH, ACCURACY))
    found = np.asarray(jax.jit(fine.predict)(hypothesis, x))
    assert np.mean(found == label) > 0.8
    for row, says in zip(places.astype(object).tolist(), found[:, 0].tolist(), strict=True):
        far = fine.halfplanes(hypothesis.concept[0]) @ np.array([*map(float, row), -1.0])
        assert says == bool((far <= 0).all(axis=1).any())


@pytest.mark.slow
@pytest.mark.statistical
def test_two_star_polygons_are_learned_from_6000_rows(stats):
    """Nine of ten trials are right; with a sixth of the rows none."""
    stats.mostly(right(LEARNER, 6000, 16), 16, 0.1)
    assert right(LEARNER, 1000, 16) == 0


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(("noisy", "net"), [(False, (16, 24)), (True, (12, 16))])
def test_finer_lines_and_published_counts(stats, noisy, net):
    learner = replace(LEARNER, noisy=noisy, family=Pieces(D, *net))
    stats.mostly(right(learner, 6000, 12), 12, 0.1)


def sample(n, capacity, seed=0):
    generator = np.random.default_rng(seed)
    x = np.full((capacity, 2), 0xFFFFFFFF, np.uint32)
    y = generator.random((capacity, 1)) < 0.5
    x[:n] = np.random.default_rng(5).integers(0, D + 1, (n, 2))
    y[:n] = ((x[:n].astype(int) - 500) ** 2).sum(axis=1, keepdims=True) < 90_000
    return Sample(x, y, np.arange(capacity) < n)


@cache
def learned(learner):
    return jax.jit(learner.learn)


@pytest.mark.slow
@pytest.mark.parametrize("learner", [SMALL, pytest.param(NOISY, marks=pytest.mark.slow)])
def test_buffer_batch_and_64_bit_types_change_nothing(key, learner):
    plan = learner.plan(BUDGET, ACCURACY)
    found = learned(learner)(key, sample(100, 128, seed=1), plan).concept
    keys = jax.random.split(jax.random.key(8), 3).at[1].set(key)
    with jax.enable_x64(True):
        batch = jax.jit(jax.vmap(lambda k: learner.learn(k, sample(100, 100), plan).concept))(keys)
    assert np.array_equal(batch[1], found) and not np.array_equal(batch[0], batch[1])


@pytest.mark.parametrize("n", [0, 1, 100])
def test_every_database_has_an_answer(n, key):
    rows = sample(n, 100)
    for same in (rows, Sample(np.full_like(rows.x, 7), rows.y, rows.mask)):
        for epsilon, delta in ((1.0, 1e-6), (1e-9, 0.0), (1e6, 1e-12)):
            found = learned(SMALL)(key, same, SMALL.plan(Privacy(epsilon, delta), ACCURACY))
            assert found.concept.shape == (1, 20 * 3) and found.concept.dtype == jnp.uint32
    assert jax.jit(SMALL.predict)(found, same.x).shape == (100, 1)


def test_without_privacy_the_triangle_is_found(key):
    """epsilon = 1e6 and a triangle of the family as target: what is chosen covers all positives and no negative."""
    family, rows = Triangles(D, SMALL.family.directions, SMALL.family.bins), sample(100, 100)

    @jax.jit
    def inside(x):
        return family.hits(family.cuts(jnp.asarray([0, 1, 3], jnp.int32), jnp.asarray([2, 6, 3], jnp.int32)), x)

    label = np.asarray(inside(rows.x.astype(np.int32)))
    assert 10 < int(label.sum()) < 90
    plan = SMALL.plan(Privacy(1e6, 1e-6), ACCURACY)
    found = learned(SMALL)(key, Sample(rows.x, label[:, None], rows.mask), plan)
    np.testing.assert_array_equal(np.asarray(jax.jit(SMALL.predict)(found, rows.x))[:, 0], label)


@pytest.mark.slow
def test_no_database_exceeds_the_guarantee_and_more_would():
    """Exactly, all samples of up to three rows over four points; a learner with 1.6 times its epsilon is caught."""
    sound = learner_target(UnionLearner(Unions(1, 1), 1, family=Pieces(1, 3, 2)), "union", 1)
    louder = lambda privacy: {  # noqa: E731
        least: replace(plan, coefficient=1.6 * plan.coefficient) for least, plan in sound.plan(privacy).items()
    }
    assert not exact(sound, Privacy(4.0, 1e-6)).violated
    assert exact(replace(sound, plan=louder), Privacy(4.0, 1e-6)).violated


@dataclass(frozen=True)
class Complete(Pieces):
    """A family that claims to have the pieces of all targets: only the numbers of the theorem are tested with it."""

    complete = True


TRIANGLE = [(100, 100), (900, 200), (300, 850)]


@pytest.mark.parametrize("edges", [3, 4])
def test_no_theorem_is_claimed_for_a_finite_set_of_lines(edges):
    """Targets have other edges: where all rows are next to one of them, no number of rows is enough."""
    kind = Triangles if edges == 3 else Pieces
    for family in (kind(1023), kind(1023, 24, 64)):
        learner = UnionLearner(Unions(1023, 1, edges), family=family)
        for epsilon in (1.0, 100.0):
            with pytest.raises(NoTheoremError, match=r"family: expected a complete one.*pieces of unions"):
                learner.sample_size(Privacy(epsilon, 1e-6), ACCURACY)


@pytest.mark.parametrize(("numbers", "n"), [((5, 12), 1000), pytest.param((8, 16), 40_000, marks=pytest.mark.slow)])
def test_rows_next_to_an_edge_are_not_learned(numbers, n):
    """Without noise to speak of, a fifth of them or more are wrong in most runs, however many there are."""
    concepts = Unions(1023, 1, 3)
    law = beside_the_edges(1023, TRIANGLE, (-3, -2, 2, 3), edges=1)
    task = Task(concepts, law, jnp.asarray(concepts.of_polygons([TRIANGLE]))[None])
    learner = UnionLearner(concepts, 1, family=Triangles(1023, *numbers))
    plan = learner.plan(Privacy(100.0, 1e-6), ACCURACY)
    assert successes(learner, task, n, plan, 0.2, 4, seed=1, batch=4) <= 1


def test_rows_that_the_theorem_needs():
    accuracy, four = Accuracy(0.4, 0.1), UnionLearner(replace(STARS, triangles=4), 10, 4, ADD)
    sizes = [
        replace(four, family=Complete(D, directions, bins)).sample_size(BUDGET, accuracy)
        for directions, bins in ((3, 4), (8, 12), (32, 48))
    ]
    assert sizes[0] < sizes[1] < sizes[2] < 4 * sizes[0]
    with pytest.raises(NoTheoremError, match="rounds"):
        replace(four, family=Complete(D)).sample_size(BUDGET, Accuracy(0.01, 0.1))
    planned = UnionLearner(STARS, neighboring=ADD, family=Complete(D))
    plan = planned.plan(BUDGET, ACCURACY)
    assert planned.sample_size(BUDGET, ACCURACY) > 6000
    whole = planned.guarantee(plan)
    assert (whole.epsilon, whole.delta, whole.neighboring) == (1.0, float(down(1e-6)), ADD)
    triangles = UnionLearner(replace(STARS, edges=3), neighboring=ADD)
    assert triangles.functions == Triangles(D, 8, 16)
    assert triangles.theorem(plan, ACCURACY) < planned.theorem(plan, ACCURACY) <= planned.sample_size(BUDGET, ACCURACY)


@pytest.mark.parametrize("epsilon", [1.0, *(pytest.param(e, marks=pytest.mark.slow) for e in (0.3, 8.0, 100.0))])
def test_from_the_theorems_rows_on_its_plan_runs(epsilon):
    """For fewer rows the rounds are fewer and islands are removed; the theorem's are those of a plan without n."""
    learner, budget = UnionLearner(STARS, family=Complete(D)), Privacy(epsilon, 1e-6)
    n, theorems = learner.sample_size(budget, ACCURACY), learner.plan(budget, ACCURACY)
    assert (theorems.rounds, theorems.k, theorems.islands) == (24, 7, 0)
    for rows in (n, n + 1, 2 * n, 100 * n):
        assert same_plan(learner.plan(budget, ACCURACY, rows), theorems)
    fewer = learner.plan(budget, ACCURACY, max(1, round(6000 / epsilon)))
    assert (fewer.rounds, fewer.k) == (6, 3) and 0 < fewer.islands < 0.05
    assert replace(learner, islands=False).plan(budget, ACCURACY, max(1, round(6000 / epsilon))).islands == 0
    assert learner.guarantee(fewer).epsilon == float(down(epsilon))


def test_a_number_of_rows_that_is_not_public_is_not_used():
    """Under ADD_OR_REMOVE_ONE an estimate takes its place."""
    learner = UnionLearner(STARS, neighboring=ADD)
    assert same_plan(learner.plan(BUDGET, ACCURACY, 6000), learner.plan(BUDGET, ACCURACY))
    stated = replace(learner, estimate=6000, family=Complete(D))
    assert stated.plan(BUDGET, ACCURACY, 50).rounds == stated.plan(BUDGET, ACCURACY).rounds == 6
    with pytest.raises(NoTheoremError, match="estimate"):
        stated.sample_size(BUDGET, ACCURACY)


def test_measured_rounds_of_extreme_budgets():
    """A row more than 2**53 rows is no other float; the product of a budget and a number of rows may be infinite."""
    for epsilon in (1e-18, 3e-19, 1e-25, 7e-30):
        rows = rows_of_rounds(24, epsilon)
        assert measured_rounds(epsilon * rows) >= 24 and rows <= 110 * 24**2 / epsilon * (1 + 1e-12)
    assert measured_rounds(float("inf")) == measured_rounds(1e30) > 10**13


def test_measured_rounds():
    assert [measured_rounds(size) for size in (0.1, 989, 990, 1760, 6000, 7040, 28_160, 110 * 24**2)] == [
        2,
        2,
        3,
        4,
        6,
        8,
        16,
        24,
    ]
    for rounds, epsilon in ((1, 1.0), (5, 0.7), (24, 1.0), (24, 3e-7), (25, 1e9)):
        rows = rows_of_rounds(rounds, epsilon)
        assert measured_rounds(epsilon * rows) >= rounds
        assert rows == 1 or measured_rounds(epsilon * (rows - 2)) < rounds


def test_finer_grids_have_fewer_measured_rounds():
    """Wedges cost more nats there; the theorem's number of rows still has the theorem's rounds."""
    for d, rounds in ((63, 6), (1023, 6), (1024, 6), (2**20 - 1, 4), (2**64 - 1, 3)):
        assert UnionLearner(Unions(d, 1)).plan(BUDGET, ACCURACY, 6000).rounds == rounds
    assert [UnionLearner(Unions(d)).plan(BUDGET, ACCURACY, 6000).k for d in (1023, 2**16 - 1, 2**64 - 1)] == [3, 3, 3]
    fine, budget = UnionLearner(Unions(2**20 - 1, 1)), Privacy(16.0, 1e-6)
    assert fine.plan(budget, ACCURACY, fine.sample_size(budget, ACCURACY)).rounds == 6


@dataclass(frozen=True)
class Sharp(Planar):
    """A family from outside: triangles that all have one of three slopes, of a coarser family."""

    d: int
    edges = 3

    @property
    def planes(self):
        return HalfPlanes(self.d)

    def select(self, key, x, target, other, score):
        return Triangles(self.d, 3, 4).select(key, x, target, other, score)

    def hits(self, h, x):
        return Triangles(self.d, 3, 4).hits(h, x)


@pytest.mark.slow
def test_a_family_from_outside_is_the_same_as_the_same_from_inside(key):
    rows = sample(100, 100)
    triangles = replace(STARS, edges=3)
    ours, theirs = (UnionLearner(triangles, 2, family=family) for family in (Triangles(D, 3, 4), Sharp(D)))
    plan = ours.plan(Privacy(2.0), ACCURACY)
    found = [learned(learner)(key, rows, plan).concept for learner in (ours, theirs)]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("family", [HalfPlanes(D), Triangles(D + 1), Pieces(D + 1), SlabWedges(D - 1), 8, "Pieces"])
def test_families_of_another_hypothesis_are_refused(family):
    with pytest.raises(InputError, match="family"):
        UnionLearner(STARS, family=family)


def test_the_default_family():
    """Wedges with pieces beside them; their four cuts do not fit into pieces of three edges."""
    assert UnionLearner(STARS).functions == SlabWedges(D, Pieces(D))
    assert UnionLearner(replace(STARS, edges=6)).functions == SlabWedges(D, Pieces(D))
    assert UnionLearner(replace(STARS, edges=3)).functions == Triangles(D, 8)
    with pytest.raises(InputError, match="3 cut"):
        UnionLearner(replace(STARS, edges=3), family=SlabWedges(D))
    assert same_plan(UnionLearner(STARS).plan(BUDGET, ACCURACY, 6000), WEDGES.plan(BUDGET, ACCURACY, 6000))
    assert UnionLearner(STARS).passes == (2048 + 256) * UnionLearner(STARS).likely_rounds
    with pytest.raises(InputError, match=r"at most 1048576 rows.*family=Pieces\(1024\)"):
        UnionLearner(STARS).plan(BUDGET, ACCURACY, 2**20 + 1)
    assert LEARNER.plan(BUDGET, ACCURACY, 2**20 + 1).score is None


def test_few_rows_and_a_large_budget():
    """The coefficient is less than the budget allows: with it, a draw may take hours for random labels."""
    for n in (0, 32, 64, 128):
        plan, steep = (one.plan(RICH, ACCURACY, n) for one in (UnionLearner(STARS), LEARNER))
        assert plan.coefficient == 2 < steep.coefficient and UnionLearner(STARS).guarantee(plan).epsilon <= 50
    assert UnionLearner(STARS).plan(RICH, ACCURACY, 6000).coefficient < 2
    many = UnionLearner(STARS, neighboring=Neighboring.ADD_OR_REMOVE_ONE)  # without n: the theorem's numbers
    assert many.k is None and many.plan(Privacy(50.0, 1e-6), ACCURACY).coefficient == 1
    assert UnionLearner(Unions(D, 1)).plan(Privacy(50.0, 1e-6), ACCURACY).coefficient == 2


@pytest.mark.parametrize("d", [1, 1023, 2**20, 2**64 - 1])
def test_the_default_has_a_theorem(d):
    learner = UnionLearner(Unions(d, 1))
    n = learner.sample_size(Privacy(16.0, 1e-6), ACCURACY)
    assert n < 60_000
    plan = learner.plan(Privacy(16.0, 1e-6), ACCURACY, n)
    assert plan.k == learner.members == 2 and plan.islands == 0 and plan.scoring.nats > learner.functions.log_cost
    assert learner.guarantee(plan).epsilon <= 16


@pytest.mark.parametrize("relation", list(Neighboring))
def test_hard_neighbors_are_neighbors(relation):
    learner = UnionLearner(STARS, 3, 4, relation)
    for rows in (1, 5):
        for one, other in jax.tree.map(np.asarray, learner.hard_neighbors(rows)):
            differ = sum(
                bool((one.x[i] != other.x[i]).any() | (one.y[i] != other.y[i]).any() | (one.mask[i] != other.mask[i]))
                for i in range(rows)
            )
            assert differ == 1


def test_only_unions_and_one_concept():
    with pytest.raises(InputError, match="Unions"):
        UnionLearner(Points(Domain(4)))
    with pytest.raises(InputError, match="directions"):
        UnionLearner(STARS, family=Pieces(D, 2))
    two = Sample(jnp.zeros((3, 2), jnp.uint32), jnp.zeros((3, 2), bool), jnp.ones(3, bool))
    with pytest.raises(InputError, match="one concept"):
        LEARNER.learn(jax.random.key(0), two, SMALL.plan(Privacy(1.0), ACCURACY))


@pytest.mark.slow
@pytest.mark.statistical
def test_the_theorem_where_all_rows_are_beside_an_edge(stats):
    """At the theorem's n, rows within 3 steps of one edge of a triangle, where pieces of few lines err .4 at any n."""
    d, budget = 63, Privacy(16.0, 1e-6)
    learner = UnionLearner(Unions(d, 1))
    n = learner.sample_size(budget, ACCURACY)
    plan = learner.plan(budget, ACCURACY, n)
    errors = []
    for edge in range(3):
        test = beside_an_edge(d, edge, 99, 20_000)
        for seed in range(4):
            hypothesis = learned(learner)(jax.random.key(seed), beside_an_edge(d, edge, seed, n), plan)
            errors.append(np.mean(np.asarray(jax.jit(learner.predict)(hypothesis, test.x)) != test.y))
    stats.mostly(sum(error <= ACCURACY.alpha for error in errors), len(errors), ACCURACY.beta)
    assert np.median(errors) < 0.02


def beside_an_edge(d, edge, seed, count):
    """Rows on both sides of an edge of a triangle, labeled 1 inside."""
    corners = np.roll([(6, 6), (55, 13), (19, 52)], -edge, axis=0)
    start, along = corners[0], corners[1] - corners[0]
    inside = np.sign(cross(along, corners[2] - start))
    generator = np.random.default_rng(seed)
    points = start + generator.uniform(0.05, 0.95, (count, 1)) * along
    points[:, np.argmin(np.abs(along))] += generator.choice([-3, -2, -1, 1, 2, 3], count)
    points = np.clip(np.round(points), 0, d).astype(np.uint32)
    label = np.sign(cross(along, points.astype(int) - start)) == inside
    return Sample(points, label[:, None], np.ones(count, bool))


def cross(vector, others):
    """The sign tells on which side of a vector the others are."""
    return vector[..., 0] * others[..., 1] - vector[..., 1] * others[..., 0]
