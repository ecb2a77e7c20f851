"""The median by prefixes of a majority: scores beside a slow count, their sensitivity, the lemma, and the failure."""

import itertools
import math
from collections import Counter
from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core import bit_strings as B
from dpjax.core.checks import InputError
from dpjax.mechanisms import median as m
from dpjax.mechanisms.exponential import effective_epsilon
from dpjax.mechanisms.median.majority import split_scores
from dpjax.mechanisms.median.plan_search import gate

from .families import cluster_and_uniform, constant, nested, uniform

EPSILON, DELTA, BETA = 1.0, 1e-6, 0.1


def slow_scores(rows, threshold, bits):
    """The scores of all lengths by their definition, for Python integers."""
    n, scores = len(rows), []
    for z in range(bits + 1):
        prefixes = Counter(row >> (bits - z) for row in rows)
        v, count = max(prefixes.items(), key=lambda item: item[1], default=(0, 0))
        beyond = count - max(threshold, (n + 1) // 2)
        end = ((2 * v + 1) << (bits - z - 1)) - 1 if z < bits else 0  # v0111...
        low = sum(row <= end for row in rows)
        split = min(low, n - low) if z < bits else n
        scores.append(max(0, min(beyond, split)) if beyond > 0 else 0)
    return scores


@cache
def program(bits):
    def run(rows, n, threshold):
        mask = jnp.arange(rows.shape[0]) < n
        return split_scores(B.sort_rows(rows, mask), n, threshold, bits)

    return jax.jit(jax.vmap(run))


def scores(databases, thresholds, bits, capacity):
    rows = np.zeros((len(databases), capacity, B.limbs(bits)), np.uint32)
    for place, database in enumerate(databases):
        if database:
            rows[place, : len(database)] = B.encode(list(database), bits)
    counts = np.array([len(database) for database in databases], np.int32)
    return np.asarray(program(bits)(rows, counts, np.asarray(thresholds, np.int32)))


@pytest.mark.grid(keep=4)
@pytest.mark.parametrize("bits", [1, 2, 3, 31, 33, 64, 96])
def test_scores_are_those_of_the_definition(bits):
    generator, databases = np.random.default_rng(bits), [()]
    for family in (nested, cluster_and_uniform, constant, uniform):
        for n in (1, 2, 7, 12):
            rows = family(generator, n, bits, 3)
            databases.append(tuple(int(row) for row in rows))
    thresholds = [int(generator.integers(0, 9)) for _ in databases]
    slow = [slow_scores(database, t, bits) for database, t in zip(databases, thresholds, strict=True)]
    np.testing.assert_array_equal(scores(databases, thresholds, bits, 12), slow)


@cache
def all_databases(bits, n):
    return list(itertools.combinations_with_replacement(range(1 << bits), n))


@pytest.mark.grid(per=["threshold"])
@pytest.mark.parametrize(("bits", "n"), [(2, 1), (2, 2), (2, 5), (2, 6), (3, 4), (3, 5)])
@pytest.mark.parametrize("threshold", [0, 3])
def test_scores_have_sensitivity_one(bits, n, threshold):
    databases = all_databases(bits, n)
    table = dict(zip(databases, scores(databases, [threshold] * len(databases), bits, 8), strict=True))
    for database in databases:
        for place, value in itertools.product(range(n), range(1 << bits)):
            other = tuple(sorted((*database[:place], value, *database[place + 1 :])))
            assert np.abs(table[database] - table[other]).max() <= 1


@pytest.mark.grid(keep=2)
@pytest.mark.parametrize(("n", "threshold"), [(8, 4), (9, 5), (11, 6), (10, 6)])
def test_some_length_has_a_third_of_what_is_beyond_the_threshold(n, threshold):
    databases = all_databases(3, n)
    best = scores(databases, [threshold] * len(databases), 3, 16).max(axis=1)
    assert best.min() >= (n - threshold + 2) // 3


def test_a_score_of_one_or_more_is_an_interior_point():
    for n in (3, 6):
        databases = all_databases(3, n)
        for database, row in zip(databases, scores(databases, [0] * len(databases), 3, 8), strict=True):
            for z, score in enumerate(row):
                if score > 0:
                    v = Counter(x >> (3 - z) for x in database).most_common(1)[0][0]
                    point = ((2 * v + 1) << (2 - z)) - 1 if z < 3 else v
                    assert database[0] <= point <= database[-1]


def exact_failure(design, rows):
    """The probability that no interior point is returned, from the two laws, by Python numbers."""
    bits, n = design.bits, len(rows)
    length, prefix = design.share * effective_epsilon(design.epsilon) / 2, (1 - design.share) * design.epsilon / 2
    of_lengths = np.exp(length * np.array(slow_scores(rows, design.threshold, bits)))
    of_lengths /= of_lengths.sum()
    null, failure = math.exp(prefix * gate(prefix, design.delta)), 0.0
    for z, mass in enumerate(of_lengths):
        counts = Counter(row >> (bits - z) for row in rows)
        weights = {v: math.exp(prefix * count) for v, count in counts.items()}
        bad = null
        for v, weight in weights.items():
            point = ((2 * v + 1) << (bits - z - 1)) - 1 if z < bits else v
            bad += weight * (not min(rows) <= point <= max(rows))
        failure += mass * bad / (null + sum(weights.values()))
    assert n == design.interior
    return failure


@pytest.mark.grid
@pytest.mark.parametrize(
    ("bits", "epsilon", "delta", "beta"),
    [(16, 1.0, 1e-6, 0.1), (64, 1.0, 1e-6, 0.1), (64, 4.0, 1e-9, 0.01), (64, 0.3, 1e-2, 0.3), (300, 2.0, 1e-12, 0.1)],
)
def test_no_database_fails_more_often_than_the_design_says(bits, epsilon, delta, beta):
    design = m.plan_majority(bits, epsilon, delta, beta)
    assert design.failure <= beta
    n, h = design.interior, design.threshold
    gap = (n - h + 2) // 3
    center, worst = 1 << (bits - 1), 0.0
    for left, below in itertools.product((0, gap - 1, gap, 2 * gap), (h - 1, h, h + gap - 1, h + gap, n)):
        below = min(below, n - left)
        rest = n - left - below
        path = [0] * left + [center] * below  # the left ones leave at the first bit, the rest at the last
        worst = max(worst, exact_failure(design, [*path, *[center + 1] * rest]))
        spread = [center + (1 << i % (bits - 1)) for i in range(rest)]  # the rest leaves at all bits
        worst = max(worst, exact_failure(design, [*path, *spread]))
    assert 0.02 * beta < worst <= design.failure


@pytest.mark.grid
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12])
def test_it_needs_fewer_records_than_the_recursions(epsilon, delta):
    for bits in (8, 64, 1024):
        fewest = m.plan_majority(bits, epsilon, delta, BETA).interior
        assert all(
            fewest < m.plan_for(method, bits, epsilon, delta, BETA).interior for method in ("recprefix", "treelog")
        )


@pytest.mark.slow
@pytest.mark.parametrize("bits", [1, 16, 256, 2**20])
def test_auto_leaves_out_no_better_one(bits):
    for epsilon, delta, beta in itertools.product((1e-3, 0.5, 4, 100), (1e-12, 1e-6, 1e-2), (1e-4, 0.1, 0.5)):
        rows = {
            name: m.plan_for(name, bits, epsilon, delta, beta).interior for name in ("auto", "recprefix", "treelog")
        }
        assert rows["auto"] == min(rows.values())


def test_half_of_the_records_of_recprefix_at_64_bits():
    assert m.plan_majority(64, EPSILON, DELTA, BETA).interior == 134
    assert m.plan_recprefix(64, EPSILON, DELTA, BETA).interior == 352


def test_the_failure_of_a_plan_is_that_of_its_design():
    for design in (m.plan_majority(64, EPSILON, DELTA, BETA), m.plan_majority(256, 0.1, 1e-8, 0.01)):
        found = m.failure_of(design.plan(), design.interior)
        assert design.failure * (1 - 1e-6) <= found <= design.failure * (1 + 1e-3)


@pytest.mark.parametrize(("beta", "blocks"), [(0.1, 27), (0.1, 29), (0.9, 27), (0.9, 30)])
def test_the_failure_of_more_than_twice_the_threshold_is_not_below_that_of_a_database(beta, blocks):
    """Two clusters below each child of the root's child 0 have most of the records: no length has a high score."""
    design, n = m.plan_majority(64, 1.0, 1e-6, beta), 22 * blocks
    clusters = [(2**63, 3), (0, 3), (2**62, 8), (2**62 + 2**61, 8)]
    rows = [start + i for start, size in clusters for i in range(size * blocks)]
    exact = exact_failure(replace(design, interior=n), rows)
    assert n > 2 * design.threshold and exact <= m.failure_of(design.plan(), n) <= 1e6 * exact


def test_a_design_like_another_one_needs_few_records_more():
    typical = m.plan_majority(256, 0.1, 1e-8, 0.01)
    for epsilon in (0.01, 0.3, 3.0):
        like, best = m.plan_majority_like(typical, epsilon), m.plan_majority(256, epsilon, 1e-8, 0.01)
        assert best.interior <= like.interior <= 1.03 * best.interior and like.failure <= 0.01


def test_more_records_never_fail_more_often():
    design = m.plan_majority(32, EPSILON, DELTA, BETA)
    center, failures = 1 << 31, []
    for more in (0, 1, 2, 10, 40):
        n = design.interior + more
        larger = replace(design, interior=n, threshold=max(design.threshold, (n + 1) // 2))
        gap = (n - larger.threshold + 2) // 3
        rows = [0] * (gap - 1) + [center] * (larger.threshold + gap)
        failures.append(exact_failure(larger, rows + [center + 1] * (n - len(rows))))
    assert failures == sorted(failures, reverse=True)


@pytest.mark.parametrize("bad", [(0, 1.0, 1e-6, 0.1), (8, 0.0, 1e-6, 0.1), (8, 1.0, 0.0, 0.1), (8, 1.0, 1e-6, 1.0)])
def test_bad_input(bad):
    with pytest.raises(InputError):
        m.plan_majority(*bad)
