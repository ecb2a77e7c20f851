"""Joint quantiles: their law against its definition, and the sums that it is drawn from."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.audit.enumeration.outcomes import exact_law
from dpjax.core.plans import widened
from dpjax.core.types import Accuracy, Privacy
from dpjax.sanitizers import JointQuantiles, error, joint_law

EPSILON = 2.0
DATABASES = [(), (0,), (3,), (1, 1), (0, 3, 3), (0, 1, 2, 3), (2, 2, 2, 2, 2), (0, 0, 3, 3, 3), (0, 1, 1, 2, 3)]


@pytest.fixture(autouse=True)
def strict():
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


def by_definition(rows, count, size):
    """Probabilities of sorted tuples: independent uniform elements, sorted, times exp(-epsilon / 4 x L1 distance)."""
    asked = np.diff([i * len(rows) // (count + 1) for i in range(count + 2)])
    law = {}
    for drawn in itertools.product(range(size), repeat=count):
        points = tuple(sorted(drawn))
        ranks = [0, *(sum(row <= point for row in rows) for point in points), len(rows)]
        distance = np.abs(np.diff(ranks) - asked).sum()
        law[points] = law.get(points, 0) + math.exp(-EPSILON / 4 * distance)
    total = sum(law.values())
    return {points: weight / total for points, weight in law.items()}


def exact(sanitizer):
    """`exact_law` of the points on all databases, without the two ends."""
    x, mask = np.full((len(DATABASES), 5, 1), 0xDEADBEEF, np.uint32), np.zeros((len(DATABASES), 5), bool)
    for at, rows in enumerate(DATABASES):
        x[at, : len(rows), 0], mask[at, : len(rows)] = rows, True

    def run(key, base, plan):
        return sanitizer.sanitize(key, *base, plan).points[1:-1]

    plan = widened(sanitizer.plan(Privacy(EPSILON), Accuracy(0.5, 0.1)))
    table, outputs = exact_law(run, (jnp.asarray(x), jnp.asarray(mask)), plan)
    points = outputs.view(np.uint32).reshape(len(outputs), sanitizer.count)
    return table, [tuple(int(value) for value in row) for row in points]


@pytest.mark.parametrize("count", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_the_law_is_the_exponential_mechanism_over_sorted_tuples(count):
    table, points = exact(JointQuantiles(2, count=count, ties=0))
    for rows, log_p in zip(DATABASES, table, strict=True):
        expected = by_definition(rows, count, 4)
        assert len(points) == len(expected)
        np.testing.assert_allclose(np.exp(log_p), [expected[point] for point in points], rtol=1e-12)


def test_a_sampler_without_the_weight_of_equal_places_is_caught(monkeypatch):
    plain = joint_law._continued
    monkeypatch.setattr(joint_law, "_continued", lambda width, ended, run: plain(width, ended, jnp.zeros_like(run)))
    table, points = exact(JointQuantiles(2, count=2, ties=0))
    expected = by_definition(DATABASES[-1], 2, 4)
    assert np.max(np.abs(np.exp(table[-1]) - [expected[point] for point in points])) > 0.01


def test_points_in_the_order_drawn_would_give_a_row_away():
    """Two points of one place come in any order, two of different places ascend: no epsilon covers that."""
    targets, rate = jnp.asarray([0, 1, 1], jnp.int32), jnp.float32(EPSILON / 2)

    def run(key, rows, plan):
        return joint_law.JointLaw.of(rows, jnp.int32(2), targets, plan, 2).sample(key)

    table, outputs = exact_law(run, jnp.asarray([[[0], [0]], [[0], [2]]], jnp.uint32), rate)
    descending = [row.view(np.uint32).tolist() == [3, 1] for row in outputs]
    assert np.isfinite(table[0, descending]) and np.isneginf(table[1, descending])


def by_sums(begun, target, rate):
    size = len(begun)
    with np.errstate(divide="ignore"):
        return np.array(
            [
                np.logaddexp.reduce(
                    [begun[i + d] - rate * max(d - target, 0) for d in range(1, size - i)], initial=-np.inf
                )
                for i in range(size)
            ]
        )


def test_moves_are_sums_of_positive_terms_over_any_range_of_weights():
    generator = np.random.default_rng(4)
    with jax.enable_x64(True):
        moves = jax.jit(joint_law._moves)
        for size, spread in ((1, 1), (13, 5), (30, 700)):
            begun = generator.normal(0, spread, size)
            begun[generator.random(size) < 0.2] = -np.inf
            longer = np.append(begun, np.full(40 - size, -np.inf))
            for target in {0, 1, 3, size // 2, size - 1}:
                moved = moves(jnp.asarray(begun), jnp.int32(target), jnp.float64(0.3))
                np.testing.assert_allclose(moved, by_sums(begun, target, 0.3), rtol=1e-12, atol=1e-12)
                padded = moves(jnp.asarray(longer), jnp.int32(target), jnp.float64(0.3))
                np.testing.assert_array_equal(padded[:size], moved)


@pytest.mark.slow
def test_the_published_algorithm_fails_on_atoms(run, key):
    """Every row is one value: no tuple has less loss than another with all points on one side of it."""
    x, mask = np.full((512, 1), 40000, np.uint32), np.ones(512, bool)
    assert error(run(JointQuantiles(16, count=4, ties=0))(key, x, mask, 4.0), x, mask) > 0.4
