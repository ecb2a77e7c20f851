"""The point sanitizer: the error it promises, whole and never negative weights, the same whatever the buffer."""

import dataclasses
import itertools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax import audit, evidence
from dpjax.audit.enumeration.outcomes import exact_law
from dpjax.concepts import Domain
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.evidence.worlds import rows_of
from dpjax.sanitizers import PointCounts, Sanitized
from dpjax.sanitizers.points import at_most, spread_over, value_counts
from dpjax.theory import sanitizers as sizes
from tests.oracles.points import points_error

FALSE_ALARM = 1e-6
TRIALS, ALPHA, BETA = 256, 0.2, 0.05
PRIVACY = Privacy(1.0, 1e-6)


@pytest.fixture(autouse=True)
def strict():
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


def uniform(generator, n, size):
    return [int(v) % size for v in generator.integers(0, 2**64, n, np.uint64)]


def zipf(generator, n, size):
    """Value i with probability like 1 / i, at places all over the domain, its ends included."""
    ranks = np.exp(generator.random(n) * math.log(min(size, 2**40))).astype(np.uint64)
    return [(int(rank) * 0x9E3779B97F4A7C15 + size - 1) % size for rank in ranks]


def atoms(generator, n, size):
    """Four values hold almost alpha each, one more than that, the rest is spread: what is hardest to rank."""
    heavy = generator.integers(0, 100, n)
    spread = uniform(generator, n, size)
    return [size - 1 if at < 30 else 7 * (at % 4) if at < 95 else v for at, v in zip(heavy, spread, strict=True)]


def distinct(generator, n, size):
    return [i * (size // n) if size > n else i % size for i in range(n)]


FAMILIES = (uniform, zipf, atoms, distinct)


@pytest.mark.statistical
@pytest.mark.parametrize("size", [2**8, pytest.param(2**32, marks=pytest.mark.slow), 2**64])
def test_the_error_is_at_most_alpha_from_the_proved_number_on(size, stats, key):
    """`TRIALS` of each family, a fresh database each; all databases of a family in one program."""
    sanitizer, accuracy = PointCounts(Domain(size)), Accuracy(ALPHA, BETA)
    plan, n = sanitizer.plan(PRIVACY, accuracy), sanitizer.sample_size(PRIVACY, accuracy)
    capacity = 1 << (n - 1).bit_length()
    mask = np.arange(capacity) < n
    program = jax.jit(jax.vmap(lambda k, x: sanitizer.sanitize(k, x, jnp.asarray(mask), plan)))
    worst = []
    for number, family in enumerate(FAMILIES):
        generator = np.random.default_rng([number, size % 1009])
        limbs = sanitizer.domain.limbs
        x = np.full((TRIALS, capacity, limbs), 0xFFFFFFFF, np.uint32)
        for trial in range(TRIALS):
            x[trial, :n] = wide.encode(family(generator, n, size), limbs)
        made = jax.tree.map(np.asarray, program(jax.random.split(key, TRIALS), x))
        errors = [points_error(of(made, trial), x[trial], mask) for trial in range(TRIALS)]
        stats.mostly(sum(error <= ALPHA for error in errors), TRIALS, BETA)
        np.testing.assert_array_equal(made.weights.sum(axis=1), n)
        assert made.weights.min() >= 0
        worst.append(max(errors))
    assert max(worst) > ALPHA / 4  # not so easy that anything would do


def of(made, trial):
    return jax.tree.map(lambda part: part[trial], made)


def test_far_fewer_rows_are_not_enough(key, run):
    """Below the threshold nothing is released, so a heavy value is missed."""
    plan = PointCounts(Domain(2**32))
    x, mask = np.full((64, 1), 2**31, np.uint32), np.arange(64) < 20
    assert points_error(run(plan)(key, x, mask), x, mask) > 0.5


def test_sizes_by_hand_and_refusals():
    n = sizes.points(1.0, 1e-6, 15, 10, 0.2, 0.05)
    bound = lambda n: (  # noqa: E731
        2 * math.log(n / 0.05)
        + 2
        + max(1 - 2 * math.log(2e-6) + 2 * math.log(n / 0.05), n / 15 + 4 * math.log(n / 0.05) + 1, n / 10)
    )
    assert bound(n) <= 0.2 * n and bound(n - 1) > 0.2 * (n - 1)
    assert n == PointCounts(Domain(2**64)).sample_size(PRIVACY, Accuracy(0.2, 0.05))
    rows = [
        PointCounts(Domain(9), 90, 60).sample_size(PRIVACY, Accuracy(a, b))
        for a, b in ((0.3, 0.1), (0.1, 0.1), (0.1, 0.01))
    ]
    assert rows[0] < rows[1] < rows[2]
    with pytest.raises(InputError, match="plan the sanitizer for this alpha"):
        PointCounts(Domain(9), 10, 5).sample_size(PRIVACY, Accuracy(0.2, 0.05))
    for wrong in (
        lambda: PointCounts(Domain(9), 0, 1),
        lambda: PointCounts(Domain(9), 1, 0),
        lambda: PointCounts(Domain(9), 9, 9).sample_size(Privacy(1.0, 0.0), Accuracy(0.5, 0.1)),
        lambda: PointCounts(Domain(9), 9, 9).plan(Privacy(1.0, 0.0), Accuracy(0.5, 0.1)),
    ):
        with pytest.raises(InputError):
            wrong()


@pytest.mark.parametrize("size", [1, 2**64, *(pytest.param(size, marks=pytest.mark.slow) for size in (2, 3, 2**32))])
def test_total_on_every_database(size, run, key):
    """No rows, one, all equal, all distinct, values beyond the domain, a buffer smaller than what is kept."""
    plan = PointCounts(Domain(size), 5, 2)
    for capacity in (1, 12):
        for n in {0, 1, min(2, capacity), capacity}:
            mask = np.arange(capacity) < n
            for values in ([0] * capacity, [size - 1] * capacity, range(capacity), [2**32 - 1] * capacity):
                inside = [v if v >= size and size < 2**32 else v % size for v in values]
                x = wide.encode(inside, plan.domain.limbs)
                for epsilon, delta in ((1e-3, 1e-30), (100.0, 0.9), (4.0, 0.3)):
                    made = run(plan)(key, x, mask, epsilon, delta)
                    weights, points = np.asarray(made.weights), wide.decode(np.asarray(made.points))
                    assert weights.min() >= 0 and (weights.sum() == n if n else np.all(weights == 1))
                    assert np.all(np.asarray(made.outcome) == 0) and set(points) <= {*range(min(size, 9)), *inside}
                    carried = points[weights > 0]
                    assert n == 0 or len(carried) == len(set(carried))
                    assert 0 <= points_error(made, x, mask) <= 1
    assert run(plan).program._cache_size() == 2


@pytest.mark.parametrize(
    ("size", "error"),
    [(1, 0), (3, Fraction(7, 32)), *(pytest.param(*case, marks=pytest.mark.slow) for case in ((2, 0),))],
)
def test_a_domain_of_few_values_shares_what_is_missing(size, error, run, key):
    """Two values are kept, at a huge epsilon. Of three, the rows of the third are given to all of them."""
    plan = PointCounts(Domain(size), 2, 4)
    x, mask = (np.arange(64, dtype=np.uint32) % size)[:, None], np.ones(64, bool)
    assert points_error(run(plan)(key, x, mask, 1e4, 1e-6), x, mask) == error


def test_the_heaviest_of_many_are_kept(run, key):
    """More values than are kept, at a huge epsilon: the heaviest stay, lower ones first among equals."""
    plan = PointCounts(Domain(2**40), 3, 2)
    counts = {2**39: 30, 5: 50, 1: 20, 0: 20, 9: 20, 2**40 - 1: 4}
    x = wide.encode([v for v, c in counts.items() for _ in range(c)], 2)
    made = run(plan)(key, x, np.ones(len(x), bool), 1e4, 1e-6)
    assert wide.decode(np.asarray(made.points)).tolist() == [5, 2**39, 0, 1, 2]
    assert np.asarray(made.weights).tolist() == [50, 30, 20, 22, 22]
    assert points_error(made, x, np.ones(len(x), bool)) == Fraction(22, 144)


@pytest.mark.optimized
@pytest.mark.parametrize("size", [pytest.param(2**20, marks=pytest.mark.slow), 2**64])
def test_neither_padding_nor_capacity_nor_order_nor_batch_matters(size, run, key):
    plan, n = PointCounts(Domain(size), 8, 6), 300
    generator = np.random.default_rng(5)
    values = zipf(generator, n, size)
    rows, found = wide.encode(values, plan.domain.limbs), []
    for capacity, filler in ((300, 0), (512, 0xFFFFFFFF), (512, 0)):
        x = np.full((capacity, plan.domain.limbs), filler, np.uint32)
        x[:n] = rows[generator.permutation(n)]
        made = run(plan)(key, x, np.arange(capacity) < n, 4.0, 1e-3)
        found.append([np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(made)])
    keys = jax.jit(lambda *keys: jnp.stack(keys))(jax.random.key(1), key, jax.random.key(2))
    numbers = plan.plan(Privacy(4.0, 1e-3), Accuracy(ALPHA, BETA))
    batch = jax.jit(jax.vmap(lambda k: plan.sanitize(k, jnp.asarray(x), jnp.arange(512) < n, numbers)))(keys)
    found.append([np.asarray(leaf)[1].tobytes() for leaf in jax.tree.leaves(batch)])
    assert all(entry == found[0] for entry in found)
    assert np.asarray(made.weights)[:8].max() > 0


def test_scattered_rows_count_as_their_values(run, key):
    """The mask need not be a prefix."""
    x = np.array([[7], [3], [7], [9], [3], [7]], np.uint32)
    counts, values = jax.jit(value_counts, static_argnums=2)(x, np.array([1, 1, 0, 0, 1, 1], bool), 10)
    assert np.asarray(counts).tolist() == [2, 2, 0, 0, 0, 0] and np.asarray(values)[:2, 0].tolist() == [3, 7]


def test_the_error_against_its_definition():
    generator = np.random.default_rng(2)
    for limbs, _ in itertools.product((1, 2), range(40)):
        n, lift = int(generator.integers(0, 9)), 2**33 + 1 if limbs == 2 else 1
        rows, points = generator.integers(0, 5, 9), generator.integers(0, 6, 4)
        weights = generator.integers(0, 4, 4)
        weights[0] += not weights.any()
        made = Sanitized.of(jnp.asarray(wide.encode(points * lift, limbs)), jnp.asarray(weights, jnp.int32))
        share = lambda v: Fraction(int(weights[points == v].sum()), int(weights.sum()))  # noqa: B023, E731
        gaps = [abs(share(v) - Fraction(int(np.sum(rows[:n] == v)), n)) for v in range(6)] if n else [Fraction(0)]
        assert points_error(made, wide.encode(rows * lift, limbs), np.arange(9) < n) == max(gaps)


def test_at_most_is_the_least_cut():
    cut = jax.jit(at_most)
    for weights in itertools.product((0, 1, 2, 5), repeat=3):
        for total in range(15):
            want = next(t for t in range(20) if sum(max(w - t, 0) for w in weights) <= total)
            found = np.asarray(cut(jnp.asarray(weights, jnp.int32), jnp.int32(total)))
            assert found.tolist() == [max(w - want, 0) for w in weights]
    huge = cut(np.full(64, 2**30, np.int32), jnp.int32(2**31 - 1))
    assert np.asarray(huge).tolist() == [(2**31 - 1) // 64] * 64


def test_spread_over_differs_by_one_at_most():
    spread = jax.jit(spread_over)
    for where in itertools.product((False, True), repeat=4):
        for total in range(10):
            found = np.asarray(spread(jnp.int32(total), jnp.asarray(where)))
            chosen = found[list(where)]
            assert not np.any(found[~np.array(where)])
            if len(chosen):
                assert (
                    chosen.sum() == total and chosen.max() - chosen.min() <= 1 and list(chosen) == sorted(chosen)[::-1]
                )
            else:
                assert not found.any()


BUDGETS = [(1.0, 1e-6), (4.0, 0.3), (4.0, 1e-3), (0.5, 0.05), (2.0, 0.7)]


def few(rows):
    target = evidence.sanitizer_target("sanitizer-points")
    return dataclasses.replace(target, universes=lambda: target.universes()[rows - 1 : rows])


@pytest.mark.parametrize("budget", BUDGETS)
def test_the_exact_law_keeps_the_claim_and_attains_delta(budget):
    report = audit.exact(few(2), Privacy(*budget))
    assert not report.violated, str(report)
    if budget[1] <= 0.5:  # otherwise noisy counts below 0 are released, and not used
        assert report.delta_found == pytest.approx(budget[1], rel=1e-6)  # a value that vanishes is all of delta


def test_a_threshold_one_too_low_is_refuted(monkeypatch):
    def eager(self, counts, rows, plan, kept=PointCounts.histogram):
        return kept(self, counts, rows, dataclasses.replace(plan, margin=plan.margin - plan.rate))

    assert not audit.exact(few(2), Privacy(1.0, 0.05)).violated
    monkeypatch.setattr(PointCounts, "histogram", eager)
    assert audit.exact(few(2), Privacy(1.0, 0.05)).violated


@pytest.mark.statistical
def test_the_listed_law_is_the_law_of_the_program(stats, key):
    """Four rows at (4, 0.3): outputs of `sanitize` against the table of the audit."""
    target, values, trials = evidence.sanitizer_target("sanitizer-points"), [0, 3, 3, 3], 40_000
    data, plan = rows_of(values, 2), target.plan(Privacy(4.0, 0.3))
    points, weights = jax.jit(jax.vmap(lambda k: target.run(k, data, plan)))(jax.random.split(key, trials))
    drawn = np.concatenate([np.asarray(points)[:, :, 0].astype(int), np.asarray(weights)], axis=1)
    base = jax.tree.map(lambda part: part[None], data)
    logs, outcomes = exact_law(target.run, base, plan)
    names = [tuple(np.frombuffer(raw.tobytes(), np.int32).tolist()) for raw in outcomes]
    law = {name: math.exp(log_p) for name, log_p in zip(names, logs[0], strict=True) if log_p > -np.inf}
    names = list(law)
    counts = [int(np.sum(np.all(drawn == np.array(name), axis=1))) for name in names]
    assert sum(counts) == trials and len(names) > 10
    stats.chi_square(counts, list(law.values()))
