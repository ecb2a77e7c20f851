"""Smooth distributions: the exact projection, its cap, and how far one row moves it."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.mechanisms.projection import ROUNDING, capped_mass, projected
from dpjax.mechanisms.resample import WeightedResample

UNIT = 2**62
run = jax.jit(projected, static_argnums=4)


def exact(correct, shrink, least):
    """min(1 / least, C shrink^c) with sum 1, in rational numbers, by trying every number of capped rows."""
    weights = sorted((Fraction(float(shrink)) ** int(c) for c in correct), reverse=True)
    for capped in range(least + 1):
        rest = sum(weights[capped:])
        if rest and (scale := (1 - Fraction(capped, least)) / rest) * weights[capped] <= Fraction(1, least):
            return [min(Fraction(1, least), scale * Fraction(float(shrink)) ** int(c)) for c in correct]
    return [Fraction(1, least) if c == min(correct) else Fraction(0) for c in correct]


def weights_of(correct, shrink, least, rounds, capacity=None):
    n, whole = len(correct), capacity is None
    capacity = 40 if whole else capacity
    counts = jnp.asarray(np.pad(np.asarray(correct, np.int32), (0, capacity - n)))
    mask = jnp.arange(capacity) < n
    found = wide.decode(run(counts, mask, jnp.float32(shrink), jnp.int32(least), rounds))
    return found[:n] if whole else found


def drawn_cases(count):
    generator = np.random.default_rng(5)
    for _ in range(count):
        n, rounds = int(generator.integers(1, 40)), int(generator.integers(0, 30))
        highest = int(generator.integers(0, rounds + 1))
        shrink = np.float32(np.exp(-generator.uniform(0.01, 2)))
        yield generator.integers(0, highest + 1, n), shrink, int(generator.integers(1, n + 1)), rounds


def test_it_is_the_exact_projection():
    """Each probability to 2**-40 relative or 2**-60, the sum to 2**-40, none above the cap."""
    for correct, shrink, least, rounds in drawn_cases(300):
        found, right = weights_of(correct, shrink, least, 30), exact(correct, shrink, least)
        assert rounds <= 30
        assert max(int(one) for one in found) <= UNIT // least
        assert abs(sum(map(int, found)) - UNIT) <= UNIT / 2**40
        for one, p in zip(found, right, strict=True):
            assert abs(int(one) - UNIT * p) <= UNIT * p / 2**40 + 4


def test_one_row_moves_it_by_at_most_the_cap(record_property):
    """Neighbors have the same counts but for one row; the mass that distinguishes them reaches the cap, 1 / least."""
    ratios = []
    generator = np.random.default_rng(6)
    for correct, shrink, least, rounds in drawn_cases(1000):
        other = correct.copy()
        place = int(generator.integers(len(correct)))
        other[place] = generator.integers(0, rounds + 1)
        sides = [weights_of(one, shrink, least, 30) for one in (correct, other)]
        totals = [sum(map(int, side)) for side in sides]
        common = sum(
            min(Fraction(int(a), totals[0]), Fraction(int(b), totals[1]))
            for i, (a, b) in enumerate(zip(*sides, strict=True))
            if i != place
        )
        special = 1 - common
        assert special <= Fraction(capped_mass(least)) and special - Fraction(1, least) <= ROUNDING / 2
        ratios.append(float(special * least))
    assert max(ratios) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    ("correct", "least", "expected"),
    [
        ([0, 0, 0], 3, [1 / 3] * 3),
        ([0, 5, 5], 1, [1, 0.5**5, 0.5**5]),
        ([0, 1, 1], 2, [0.5, 0.25, 0.25]),
        ([7], 1, [1]),
        ([0, 30, 30, 30], 4, [0.25] * 4),
        ([0, 0, 30], 2, [0.5, 0.5, 0.0]),
    ],
)
def test_known_projections(correct, least, expected):
    found = weights_of(correct, 0.5, least, 30) / UNIT
    expected = np.asarray(expected) / sum(expected)
    np.testing.assert_allclose(found, expected, atol=2e-9)


def test_too_few_rows_have_no_distribution():
    assert not weights_of([0, 1], 0.5, 3, 5).any()
    assert not weights_of([], 0.5, 1, 5, capacity=4).any()


@pytest.mark.optimized
def test_padding_changes_nothing():
    for correct, shrink, least, _ in drawn_cases(8):
        found = [weights_of(correct, shrink, least, 30, capacity) for capacity in (None, 64)]
        for one in found[1:]:
            assert np.array_equal(one[: len(correct)], found[0]) and not one[len(correct) :].any()
        rows = [WeightedResample(jnp.asarray(wide.encode(one)), 20).sample(jax.random.key(3)) for one in found]
        assert all(np.array_equal(rows[0], other) for other in rows)


def test_too_many_rows_or_rounds_are_refused():
    with pytest.raises(InputError, match="4096 rounds"):
        jax.eval_shape(lambda: projected(jnp.zeros(3, jnp.int32), jnp.ones(3, bool), 0.5, jnp.int32(1), 5000))
