"""The median learner: depths against brute force, its law, and how many records it takes."""

from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax

from dpjax import audit
from dpjax.concepts import Domain, Points, Thresholds
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.core.plans import down, widened
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.evidence.learners import World
from dpjax.learners import ThresholdInterior, ThresholdMedian, database
from dpjax.mechanisms.exponential import effective_epsilon
from dpjax.theory import thresholds as theory

CAPACITY, LINE = 10, Thresholds(Domain(3))
SIZES = [1, 2, 5, 9, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 2**64]


def depth(rows, m, size, z):
    """min(records <= z, records >= z): the m largest positives, the m smallest negatives one step down, padded."""
    ones = sorted((x for x, y in rows if y), reverse=True)[:m]
    zeros = sorted(max(x, 1) - 1 for x, y in rows if not y)[:m]
    records = [-1] * (m - len(ones)) + ones + zeros + [size] * (m - len(zeros))
    return min(sum(r <= z for r in records), sum(r >= z for r in records))


@lru_cache
def pieces_of(size):
    learner = ThresholdMedian(Thresholds(Domain(size)))
    return jax.jit(jax.vmap(lambda s, m: learner._depth_pieces(s, s.y[:, 0], m)))


def interesting(size):
    marks = [0, 1, 2, size // 2 - 1, size // 2, size - 3, size - 2, size - 1, 2**32 - 1, 2**32, 2**63]
    return sorted({m for m in marks if 0 <= m < size})


def random_rows(generator, size, n):
    pool = interesting(size)
    rows = []
    for _ in range(n):
        value = int(generator.integers(0, size - 1, dtype=np.uint64, endpoint=True)) if size > 1 else 0
        if generator.random() < 0.6:
            value = pool[generator.integers(len(pool))]
        rows.append((value, bool(generator.integers(2))))
    return rows


def buffer(size, rows, generator):
    """Real rows scattered over the buffer, garbage in the rest."""
    domain = Domain(size)
    x = generator.integers(0, 2**32, (CAPACITY, domain.limbs)).astype(np.uint32)
    y, mask = generator.random((CAPACITY, 1)) < 0.5, np.zeros(CAPACITY, bool)
    for place, (value, positive) in zip(generator.permutation(CAPACITY), rows, strict=False):
        x[place], y[place, 0], mask[place] = domain.encode([value])[0], positive, True
    return Sample(x, y, mask)


def assert_depths(pieces, i, rows, m, size):
    first, last = (wide.decode(np.asarray(part)[i]) for part in (pieces.first, pieces.last))
    alive, errors = np.asarray(pieces.alive)[i], np.asarray(pieces.errors)[i]
    found = sorted((int(first[j]), int(last[j]), int(errors[j])) for j in np.flatnonzero(alive))
    assert found[0][0] == 0 and found[-1][1] == size - 1
    assert all(a[1] + 1 == b[0] for a, b in pairwise(found)), "a partition of the domain"
    for start, end, lost in found:
        for z in {start, end, (start + end) // 2}:
            assert lost == m - depth(rows, m, size, z), (z, start, end)


@pytest.mark.parametrize(
    "size", [pytest.param(size, marks=pytest.mark.slow) if size in (2, 9, 2**63) else size for size in SIZES]
)
def test_depths_against_brute_force(size):
    generator = np.random.default_rng(size % 997)
    cases = [(random_rows(generator, size, n), m) for m in (1, 2, 3, 6, 40) for n in range(CAPACITY + 1)]
    cases += [([(size - 1, True)] * 5 + [(0, False)] * 5, m) for m in (1, 3, 5)]  # no threshold agrees with these
    cases += [([(0, False)] * 4, 2), ([(size - 1, True)] * 4, 2), ([(0, True)] * 3, 5)]
    samples = jax.tree.map(lambda *parts: np.stack(parts), *(buffer(size, rows, generator) for rows, _ in cases))
    pieces = pieces_of(size)(samples, jnp.asarray([m for _, m in cases], jnp.int32))
    for i, (rows, m) in enumerate(cases):
        assert_depths(pieces, i, rows, m, size)


@pytest.mark.parametrize("size", [5, 2**64])
def test_depths_of_any_database(size):
    value = st.one_of(st.integers(0, size - 1), st.sampled_from(interesting(size)))

    @settings(max_examples=80, deadline=None, derandomize=True, database=None)
    @given(st.lists(st.tuples(value, st.booleans()), max_size=CAPACITY), st.integers(1, 12))
    def check(rows, m):
        samples = jax.tree.map(lambda part: jnp.asarray(part)[None], buffer(size, rows, np.random.default_rng(m)))
        assert_depths(pieces_of(size)(samples, jnp.asarray([m], jnp.int32)), 0, rows, m, size)

    check()


@pytest.mark.parametrize("size", [3, 4])
def test_one_replaced_row_moves_a_depth_by_two_at_most_and_does(size):
    """The sensitivity of the exponential mechanism, over every database of three rows and every neighbor."""
    rows = [(x, y) for x in range(size) for y in (False, True)]
    worst = 0
    for m in (1, 2, 3):
        for a in rows:
            for b in rows:
                table = [[depth([a, b, c], m, size, z) for z in range(size)] for c in rows]
                worst = max(worst, int(np.max(np.ptp(table, axis=0))))
    assert worst == 2


@pytest.mark.parametrize("size", [3, 4])
def test_one_added_row_moves_a_depth_by_one_at_most_and_does(size):
    """The sensitivity under add-or-remove-one: it is half of the other."""
    rows = [(x, y) for x in range(size) for y in (False, True)]
    worst = 0
    for m in (1, 2, 3):
        for a in rows:
            for b in rows:
                before = np.array([depth([a, b], m, size, z) for z in range(size)])
                table = np.array([[depth([a, b, c], m, size, z) for z in range(size)] for c in rows])
                worst = max(worst, int(np.max(np.abs(table - before))))
    assert worst == 1


@pytest.mark.parametrize("learner", [ThresholdMedian(LINE), ThresholdInterior(LINE, "exponential", 2)])
def test_the_claim_is_that_of_each_relation_and_not_twice_what_it_costs(learner):
    """Exact audits, at epsilon 1, and at the plan of epsilon 2, which breaks the claim."""
    for relation in Neighboring:
        world = World(replace(learner, neighboring=relation)).target("median")
        report = audit.exact(world, Privacy(1.0))
        assert report.claim.neighboring is relation and float(report.claim.epsilon) == 1
        assert not report.violated and report.epsilon_found > 0.5
        twice = replace(world, plan=lambda privacy, plan=world.plan: plan(Privacy(2 * float(privacy.epsilon))))
        assert audit.exact(twice, Privacy(1.0)).violated


def test_added_rows_need_half_of_the_records():
    """Each is one record, a replaced row up to two."""
    for learner in (
        ThresholdMedian(Thresholds(Domain(2**32))),
        ThresholdInterior(Thresholds(Domain(2**32)), "recprefix"),
    ):
        added = replace(learner, neighboring=Neighboring.ADD_OR_REMOVE_ONE)
        budget = Privacy(1.0, 1e-6), Accuracy(0.1, 0.1)
        one, two = (int(each.plan(*budget).records) for each in (added, learner))
        assert one < 0.6 * two and added.sample_size(*budget) < 0.65 * learner.sample_size(*budget)
        whole = added.guarantee(added.plan(*budget))
        assert 0.99 < whole.epsilon <= 1 and whole.delta <= 1e-6
        assert whole.neighboring is Neighboring.ADD_OR_REMOVE_ONE


@pytest.mark.grid
@pytest.mark.parametrize("size", [1, 5, 9])
@pytest.mark.parametrize(("epsilon", "beta"), [(0.5, 0.1), (4.0, 0.5), (20.0, 0.9)])
def test_the_law_is_the_exponential_mechanism_on_depths(size, epsilon, beta):
    learner = ThresholdMedian(Thresholds(Domain(size)))
    generator = np.random.default_rng(size)
    cases = [random_rows(generator, size, n) for n in range(CAPACITY + 1)]
    samples = jax.tree.map(lambda *parts: np.stack(parts), *(buffer(size, rows, generator) for rows in cases))
    elements = jnp.asarray(wide.encode(range(size)))

    def law(sample, plan):
        return jax.vmap(learner.output_law(sample, plan).log_prob)(elements)

    plan = learner.plan(Privacy(epsilon), Accuracy(0.1, beta))
    m, epsilon = int(plan.records), float(plan.epsilon)
    with jax.enable_x64(True):
        got = np.asarray(jax.jit(jax.vmap(law, (0, None)))(samples, widened(plan)))
    assert m == theory.median_records(size, epsilon, beta)
    for rows, row in zip(cases, got, strict=True):
        scores = np.array([depth(rows, m, size, z) for z in range(size)])
        np.testing.assert_allclose(row, log_softmax(epsilon / 4 * scores), rtol=0, atol=1e-11)


def test_the_number_of_records_is_the_theorems_at_the_epsilon_that_runs():
    for size in (1, 2, 1000, 2**64):
        learner = ThresholdMedian(Thresholds(Domain(size)))
        for epsilon in (1e-3, 0.1, 1.0, 7.3, 1e4):
            for beta in (1e-9, 0.05, 0.9):
                privacy, accuracy = Privacy(epsilon), Accuracy(0.3, beta)
                plan = learner.plan(privacy, accuracy)
                assert plan.records.dtype == np.int32 and float(plan.epsilon) == float(down(epsilon))
                assert (
                    int(plan.records) == theory.median_records(size, effective_epsilon(float(plan.epsilon)), beta) >= 1
                )
                n = learner.sample_size(privacy, accuracy)
                assert n == (1 if size == 1 else theory.interior(int(plan.records), 0.3, beta))
    assert int(learner.plan(Privacy(1e-30), Accuracy(0.1, 0.1)).records) == 2**30
    with pytest.raises(InputError, match="epsilon"):
        learner.plan(Privacy(1e-50), Accuracy(0.1, 0.1))  # 0 as a float32


def test_the_guarantee_is_one_mechanism_at_the_epsilon_of_the_plan():
    learner = ThresholdMedian(Thresholds(Domain(9)))
    plan = learner.plan(Privacy(0.1, 1e-6), Accuracy(0.1, 0.1))
    assert (learner.guarantee(plan).epsilon, learner.guarantee(plan).delta) == (float(down(0.1)), 0)
    assert learner.guarantee(replace(plan, epsilon=np.float32(3))).epsilon == 3
    assert learner.guarantee(replace(plan, records=np.int32(1))) == learner.guarantee(plan)


def test_an_interior_point_has_few_errors_on_both_sides(key):
    """With a large budget the answer lies between the two classes, up to m - 1 records."""
    domain = Domain(2**64)
    learner = ThresholdMedian(Thresholds(domain))
    positives, negatives = [2**50 + i for i in range(200)], [2**50 + 2**20 + i for i in range(200)]
    sample = database(domain, positives + negatives, [1] * 200 + [0] * 200)
    learn = jax.jit(jax.vmap(lambda k, p: learner.learn(k, sample, p).concept[0], (0, None)))
    plan = learner.plan(Privacy(2.0), Accuracy(0.1, 1e-6))
    m = int(plan.records)
    answers = wide.decode(learn(jax.random.split(key, 100), plan)).astype(object)
    assert np.all(answers >= 2**50 + 200 - m) and np.all(answers < 2**50 + 2**20 + m)


def test_only_thresholds():
    with pytest.raises(InputError, match="Thresholds"):
        ThresholdMedian(Points(Domain(5)))
