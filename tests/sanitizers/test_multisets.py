"""BLR by counts: the law of the program against all multisets, privacy, its own rows at 16 values, and limits."""

import dataclasses
import math
from functools import cache
from itertools import combinations_with_replacement

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax import audit, evidence
from dpjax.audit.enumeration.outcomes import exact_law
from dpjax.concepts import Domain, Finite, Parities, Points, Thresholds
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.plans import widened
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.learners import GenericLearner
from dpjax.mechanisms.exponential import LESS
from dpjax.sanitizers import BLR, multisets
from dpjax.sanitizers.multisets import MultisetLaw, resolved_rate
from dpjax.sanitizers.queries import error
from dpjax.theory import sanitizers as sizes

GOAL = Accuracy(0.2, 0.1)
KINDS = {"singles": (True, False), "prefixes": (False, True), "both": (True, True)}


def worst(kind, counts, rows):
    """The largest error of a multiset, in whole numbers."""
    n, m, found = sum(rows), sum(counts), [0]
    if KINDS[kind][0]:
        found += [abs(n * c - m * r) for c, r in zip(counts, rows, strict=True)]
    if KINDS[kind][1]:
        found += [abs(n * sum(counts[:j]) - m * sum(rows[:j])) for j in range(1, len(rows) + 1)]
    return max(found)


@cache
def all_counts(values, points):
    chosen = combinations_with_replacement(range(values), points)
    return [tuple(c.count(v) for v in range(values)) for c in chosen]


def brute(kind, rows, points, rate):
    logs = {c: -rate * worst(kind, c, rows) for c in all_counts(len(rows), points)}
    total = math.log(math.fsum(map(math.exp, logs.values())))
    return {c: log - total for c, log in logs.items()}


ROWS = [(0, 0, 0, 0), (0, 0, 0, 1), (3, 0, 0, 4), (1, 2, 0, 5), (7, 7, 7, 7), (3,)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("points", [pytest.param(1, marks=pytest.mark.slow), 5])
def test_the_law_is_that_of_the_definition(kind, points):
    listed = jax.jit(lambda rows, rate: MultisetLaw(rows, rate, points, *KINDS[kind]).support(1000))
    for rows in ROWS:
        for rate in (0.0, 0.02, 0.7):
            with jax.enable_x64(True):
                support = listed(jnp.asarray(rows, jnp.int32), jnp.float64(rate))
            want = brute(kind, rows, points, rate)
            assert [tuple(c) for c in np.asarray(support.outcomes).tolist()] == list(want)
            np.testing.assert_allclose(support.log_mass, list(want.values()), atol=1e-12)
    assert MultisetLaw(jnp.asarray(ROWS[1], jnp.int32), jnp.float32(1), points, True, False).support(3) is None


@pytest.mark.parametrize("kind", ["singles", "prefixes", pytest.param("both", marks=pytest.mark.slow)])
def test_what_is_drawn_has_this_law_exactly(kind):
    """The program's own draws, of a level and of each partial sum, enumerated."""
    points, rate = 3, 0.11

    def run(key, data, plan):
        return MultisetLaw(data.x[:, 0].astype(jnp.int32), plan, points, *KINDS[kind]).sample(key)

    for rows in ((0, 0, 0), (3, 0, 1), (1, 2, 4)):
        x = jnp.asarray(rows, jnp.uint32)[None, :, None]
        data = Sample(x, jnp.zeros((1, 3, 1), bool), jnp.ones((1, 3), bool))
        with jax.enable_x64(True):
            logs, outcomes = exact_law(run, data, jnp.float64(rate))
        found = {
            tuple(np.frombuffer(o.tobytes(), np.int32)[-3:].tolist()): p for p, o in zip(logs[0], outcomes, strict=True)
        }
        want = brute(kind, rows, points, rate)
        assert found.keys() == want.keys()
        assert max(abs(found[c] - want[c]) for c in want) < 1e-10


@pytest.mark.parametrize("kind", KINDS)
def test_counts_have_the_error_that_is_paid_for(kind):
    """The numbers of multisets below a level, against whole numbers of any size."""
    points, rows = 150, np.random.default_rng(3).multinomial(4000, np.random.default_rng(2).dirichlet(np.ones(16)))
    law = MultisetLaw(jnp.asarray(rows, jnp.int32), jnp.float32(1.0), points, *KINDS[kind])
    n, sums = int(rows.sum()), np.cumsum(rows)
    with jax.enable_x64(True):
        of_level = jax.jit(law._partial_counts)
        for level in (n // 2, 3 * n, 20 * n, points * n):
            ways = [1] + [0] * points
            for j, count in enumerate(rows.tolist()):
                allowed = [c for c in range(points + 1) if not law.singles or abs(n * c - points * count) <= level]
                ways = [
                    sum(ways[total - c] for c in allowed if c <= total)
                    if not law.prefixes or abs(n * total - points * int(sums[j])) <= level
                    else 0
                    for total in range(points + 1)
                ]
            found = float(of_level(jnp.int32(level))[-1, -1])
            assert found == ways[-1] or abs(found / ways[-1] - 1) < 2.0**-52 * 16 * (points + 2)
    assert ways[-1] == math.comb(165, 15)  # the last level has them all


def test_a_rate_that_rounding_would_eat_is_0():
    for epsilon, runs in ((1.0, True), (1e-5, True), (1e-9, False)):
        rate = float(resolved_rate(jnp.float32(epsilon), 16, 15))
        assert rate == (pytest.approx(epsilon * (1 - LESS) / 30, rel=1e-6) if runs else 0)


@pytest.mark.parametrize(
    "name", [pytest.param("sanitizer-blr-points", marks=pytest.mark.slow), "sanitizer-blr-thresholds"]
)
@pytest.mark.parametrize("epsilon", [1.0, pytest.param(4.0, marks=pytest.mark.slow)])
def test_exact_privacy(name, epsilon):
    """All databases of one to four rows: pure, and most of the budget is spent."""
    report = audit.exact(evidence.sanitizer_target(name), Privacy(epsilon, 1e-6))
    assert not report.violated and report.claim.delta == 0 and report.claim.epsilon == epsilon
    assert 0.6 * epsilon < report.epsilon_found <= epsilon * (1 + 1e-9)


def test_twice_the_rate_is_refuted(monkeypatch):
    right = multisets.resolved_rate
    monkeypatch.setattr("dpjax.sanitizers.blr.resolved_rate", lambda *given: 2 * right(*given))
    target = evidence.sanitizer_target("sanitizer-blr-thresholds")
    few = dataclasses.replace(target, universes=lambda: target.universes()[3:])
    assert audit.exact(few, Privacy(1.0)).violated


# --- accuracy ----------------------------------------------------------------------------------------------------

CLASSES = [Thresholds(Domain(16)), Points(Domain(16))]
LAWS = [np.eye(16)[3], np.eye(16)[15] / 2 + np.eye(16)[0] / 2, np.full(16, 1 / 16)]


@pytest.mark.statistical
@pytest.mark.parametrize("concepts", CLASSES, ids=lambda c: type(c).__name__)
def test_error_at_its_own_rows_over_16_values(concepts, stats, key):
    """Databases of one value, of two, of all, and random ones; at a sixth of the rows it fails."""
    sanitizer, privacy, trials = BLR(concepts), Privacy(1.0), 80
    plan, n = sanitizer.plan(privacy, GOAL), sanitizer.sample_size(privacy, GOAL)
    assert n == {"Thresholds": 224, "Points": 318}[type(concepts).__name__]
    generator, queries = np.random.default_rng(1), Finite.of(concepts.matrix())
    laws = [*LAWS, generator.dirichlet(np.full(16, 0.3))]
    x = np.array([generator.choice(16, (n, 1), p=laws[i % 4]) for i in range(trials)]).astype(np.uint32)
    run = jax.jit(jax.vmap(lambda k, x, m: sanitizer.sanitize(k, x, m, plan), (0, 0, None)))
    errors = {}
    for rows in (n, n // 6):
        mask = np.arange(n) < rows
        made = jax.tree.map(np.asarray, run(jax.random.split(key, trials), x, mask))
        errors[rows] = np.array(
            [float(error(queries, jax.tree.map(lambda a: a[t], made), x[t], mask)) for t in range(trials)]  # noqa: B023
        )
    stats.mostly(int(np.sum(errors[n] <= GOAL.alpha)), trials, GOAL.beta)
    assert np.mean(errors[n // 6] > GOAL.alpha) > GOAL.beta and errors[n].max() > GOAL.alpha / 5


@pytest.mark.parametrize("concepts", CLASSES, ids=lambda c: type(c).__name__)
def test_some_multiset_has_the_error_of_rounded_sums(concepts):
    """For every database of five rows over four values, and the bound is met."""
    kind = next(iter(concepts.sums))
    for points in (1, 2, 3):
        least = [min(worst(kind, c, rows) for c in all_counts(4, points)) / (5 * points) for rows in all_counts(4, 5)]
        assert max(least) <= sizes.rounded_error(points, kind == "singles")


def test_planned_points_need_the_fewest_rows():
    for concepts in CLASSES:
        found = BLR(concepts).sample_size(Privacy(1.0), GOAL)
        first = sizes.blr_points(BLR(concepts)._least_error, 0.2)
        assert first == (3 if concepts.sums == ("prefixes",) else 6)
        assert found == min(BLR(concepts, m).sample_size(Privacy(1.0), GOAL) for m in range(first, 40))


def test_a_generic_learner_with_it(key):
    concepts = Thresholds(Domain(16))
    learner = GenericLearner(concepts, 2, BLR(concepts))
    privacy = Privacy(8.0)
    n = learner.sample_size(privacy, Accuracy(0.3, 0.1))
    plan = learner.plan(privacy, Accuracy(0.3, 0.1))
    assert learner.guarantee(plan).epsilon <= 8 and learner.guarantee(plan).delta == 0
    x = np.random.default_rng(0).integers(0, 16, n)
    sample = Sample(
        jnp.asarray(concepts.domain.encode(x)), jnp.asarray(x[:, None] <= np.array([4, 11])), jnp.ones(n, bool)
    )
    found = jax.jit(learner.learn)(key, sample, plan)
    assert np.all(np.abs(np.asarray(found.concept)[:, -1].astype(int) - [4, 11]) <= 4)


# --- the same bits, and limits -----------------------------------------------------------------------------------


@pytest.mark.optimized
@pytest.mark.parametrize("concepts", [pytest.param(CLASSES[0], marks=pytest.mark.slow), CLASSES[1]], ids=str)
def test_neither_batch_nor_capacity_nor_order_nor_64_bit_types_matter(concepts, key):
    sanitizer, generator = BLR(concepts, 9), np.random.default_rng(5)
    plan = sanitizer.plan(Privacy(3.0), GOAL)
    x, keys = generator.integers(0, 16, (70, 1)).astype(np.uint32), jax.random.split(key, 12)
    run = jax.jit(lambda k, x, mask: sanitizer.sanitize(k, x, mask, plan).points)
    alone = np.stack([np.asarray(run(k, x, np.ones(70, bool))) for k in keys])
    assert len(np.unique(alone, axis=0)) > 8
    longer = np.concatenate([generator.permutation(x), np.full((9, 1), 77, np.uint32)])
    batch = jax.jit(jax.vmap(lambda k: run(k, longer, np.arange(79) < 70)))
    np.testing.assert_array_equal(batch(keys), alone)
    with jax.enable_x64(True):
        np.testing.assert_array_equal(batch(keys), alone)


def test_every_database_has_an_answer_of_one_program(key):
    for concepts in CLASSES:
        sanitizer = BLR(concepts, 6)
        run = jax.jit(lambda k, x, mask, plan, of=sanitizer: of.sanitize(k, x, mask, plan))
        for n in (0, 1, 5):
            for value, epsilon in ((0, 1.0), (15, 1e-6), (2**32 - 1, 1e4)):
                plan = sanitizer.plan(Privacy(epsilon), GOAL)
                made = run(key, np.full((5, 1), value, np.uint32), np.arange(5) < n, plan)
                points = np.asarray(made.points)[:, 0]
                assert points.shape == (6,) and points.max() < 16 and np.all(np.diff(points.astype(int)) >= 0)
                assert n == 0 or epsilon < 1e4 or np.all(points == min(value, 15))
        assert run._cache_size() == 1


def test_limits():
    for wrong, said in (
        (lambda: BLR(Thresholds(Domain(2048)), 3), "1024 values"),
        (lambda: BLR(Points(Domain(16)), 1100), "16777216 partial counts"),
        (lambda: BLR(Thresholds(Domain(16)), 2).sample_size(Privacy(1.0), GOAL), "at least 3"),
        (lambda: BLR(Parities(3), 2), "matrix"),
        (lambda: GenericLearner(Points(Domain(8)), 1, BLR(Points(Domain(16)))), "8 values|3 bits"),
    ):
        with pytest.raises(InputError, match=said):
            wrong()
    plan = widened(BLR(CLASSES[0], 2).plan(Privacy(1.0), GOAL))
    assert BLR(CLASSES[0], 2).most_rows(plan) == 2**24 - 1 and BLR(CLASSES[0], 500).databases(2) == 136


@pytest.mark.parametrize(
    ("concepts", "points", "epsilon", "alpha"),
    [(Thresholds, 127, 1.9e-4, 0.4), (Points, 127, 1.9e-4, 0.4), (Thresholds, 8, 2e-5, 0.5)],
)
def test_there_is_no_theorem_where_rounding_uses_epsilon_up(concepts, points, epsilon, alpha):
    sanitizer = BLR(concepts(Domain(1024)), points)
    with pytest.raises(NoTheoremError, match="epsilon"):
        sanitizer.sample_size(Privacy(epsilon), Accuracy(alpha, 0.1))
    assert sanitizer.sample_size(Privacy(8 * epsilon), Accuracy(alpha, 0.1)) > 0
