"""Distributions by whole-number weights: masses, draws, and what the constructors promise and refuse."""

from bisect import bisect_left
from fractions import Fraction

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpjax.concepts import Domain
from dpjax.concepts import distributions as make
from dpjax.core import random, wide
from dpjax.core.checks import InputError

SEGMENTS = {
    "one point": (Domain(1), [(0, 0, 1)]),
    "one atom": (Domain(2**64), [(2**64 - 1, 2**64 - 1, 7)]),
    "uniform 6": (Domain(6), [(0, 5, 1)]),
    "heavy segment": (Domain(100), [(10, 19, 3)]),
    "all of 2**32": (Domain(2**32), [(0, 2**32 - 1, 1)]),
    "all of 2**64": (Domain(2**64), [(0, 2**64 - 1, 1)]),
    "half of 2**64, doubled": (Domain(2**64), [(2**63, 2**64 - 1, 2)]),
    "three": (Domain(2**40), [(0, 9, 5), (10, 10, 2**50), (2**39, 2**40 - 1, 3)]),
    "with holes, full mass": (Domain(2**64), [(0, 2**62 - 1, 2), (2**63, 2**64 - 1, 1)]),
    "atoms": (Domain(2**33), [(i * 2**27, i * 2**27, i + 1) for i in range(40)]),
    "many atoms": (Domain(2**20), [(3 * i, 3 * i, 1 + i % 5) for i in range(200)]),
    "many segments": (Domain(2**20), [(100 * i, 100 * i + i, 1 + i % 3) for i in range(90)]),
}
NAMES = list(SEGMENTS)


def build(name):
    domain, segments = SEGMENTS[name]
    return make.from_segments(domain, segments), segments


@jax.jit
def masses(distribution, element):
    """Of single elements, and of all up to them."""
    return distribution.mass_at(element), distribution.mass_up_to(element)


def mass_up_to(segments, element):
    return sum(weight * max(0, min(element, end) - start + 1) for start, end, weight in segments)


def probes(domain, segments):
    marks = {0, domain.size - 1, domain.size // 2} | {e + d for s in segments[:50] for e in s[:2] for d in (-1, 0, 1)}
    return sorted(m for m in marks if 0 <= m < domain.size)


@pytest.mark.parametrize("name", NAMES)
def test_masses_are_exact(name):
    distribution, segments = build(name)
    domain = SEGMENTS[name][0]
    at = probes(domain, segments)
    with jax.enable_x64(True):
        single, below = map(np.asarray, masses(distribution, np.array(at, np.uint64)))
    assert distribution.total == mass_up_to(segments, domain.size - 1)
    for x, s, b in zip(at, single, below, strict=True):
        assert int(s) == mass_up_to(segments, x) - mass_up_to(segments, x - 1), x
        assert int(b) == (mass_up_to(segments, x)) % 2**64, x


@pytest.mark.grid(keep=5)
@pytest.mark.parametrize("name", NAMES)
def test_draws_are_the_inverse_of_the_cumulated_mass(key, name):
    """Element by element, from the same words: unit floor(word x total / 2**64) belongs to the element holding it."""
    distribution, segments = build(name)
    domain = SEGMENTS[name][0]
    count = 200
    drawn, (high, low) = jax.jit(lambda d, k: (d.draw(k, count), random.words(k, (count,))))(distribution, key)
    assert drawn.shape == (count, domain.limbs) and drawn.dtype == jnp.uint32
    high, low = np.asarray(high), np.asarray(low)
    ends = [mass_up_to(segments, end) for _, end, _ in segments]
    total = ends[-1]
    for top, rest, element in zip(high, low, domain.decode(drawn), strict=True):
        unit = (((int(top) << 32) | int(rest)) * total) >> 64
        index = bisect_left(ends, unit + 1)
        start, _, weight = segments[index]
        before = ends[index - 1] if index else 0
        assert int(element) == start + (unit - before) // weight


def test_draws_are_prefix_stable(key):
    distribution, _ = build("three")
    many, few = jax.jit(lambda d, k: (d.draw(k, 300), d.draw(k, 77)))(distribution, key)
    np.testing.assert_array_equal(np.asarray(many)[:77], few)


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["uniform 6", "three", "with holes, full mass", "many atoms", "many segments"])
def test_draws_follow_the_masses(key, stats, name):
    distribution, segments = build(name)
    domain, count = SEGMENTS[name][0], 20_000
    drawn = domain.decode(jax.jit(lambda d, k: d.draw(k, count))(distribution, key))
    middle = {(s, e): (s + e) // 2 for s, e, _ in segments}  # long segments are looked at in two halves
    parts = [(s, middle[s, e], w) for s, e, w in segments]
    parts = sorted(parts + [(middle[s, e] + 1, e, w) for s, e, w in segments if s < e])
    starts = np.array([p[0] for p in parts], np.uint64)
    seen = np.bincount(np.searchsorted(starts, drawn, "right") - 1, minlength=len(parts))
    stats.chi_square(seen, [float(Fraction((e - s + 1) * w, distribution.total)) for s, e, w in parts])


@st.composite
def any_segments(draw):
    size = draw(st.sampled_from([3, 50, 2**32, 2**64]))
    marks = sorted(draw(st.lists(st.integers(0, size - 1), min_size=2, max_size=8, unique=True)))
    marks = marks[: len(marks) // 2 * 2]
    room = 2**64 // sum(b - a + 1 for a, b in zip(marks[::2], marks[1::2], strict=True))
    weights = [draw(st.integers(1, max(1, room))) for _ in marks[::2]]
    segments = [(a, b, min(w, room)) for a, b, w in zip(marks[::2], marks[1::2], weights, strict=True)]
    return Domain(size), segments


def test_masses_of_any_segments():
    @settings(max_examples=60, deadline=None, derandomize=True, database=None)
    @given(any_segments())
    def check(given_segments):
        domain, segments = given_segments
        distribution = make.from_segments(domain, segments)
        at = (probes(domain, segments) * 40)[:40]
        with jax.enable_x64(True):
            single, below = map(np.asarray, masses(distribution, np.array(at, np.uint64)))
        for x, s, b in zip(at, single, below, strict=True):
            assert int(s) == mass_up_to(segments, x) - mass_up_to(segments, x - 1)
            assert int(b) == min(mass_up_to(segments, x), 2**64 - 1)

    check()


def share(distribution, element):
    with jax.enable_x64(True):
        return Fraction(int(masses(distribution, np.uint64(element))[0]), distribution.total)


@pytest.mark.parametrize("size", [1, 2, 10, 2**32, 2**64])
def test_uniform_gives_everything_one(size):
    distribution = make.uniform(Domain(size))
    assert distribution.total == size
    assert share(distribution, 0) == share(distribution, size - 1) == Fraction(1, size)


def test_from_weights_sorts_and_leaves_zeros_out():
    distribution = make.from_weights(Domain(10), [7, 1, 4], [3, 2, 0])
    assert distribution.start.shape == (2, 2) and distribution.atoms and distribution.total == 5
    assert [share(distribution, e) for e in (1, 4, 7)] == [Fraction(2, 5), 0, Fraction(3, 5)]


@pytest.mark.parametrize(("size", "count"), [(1, 1), (5, 5), (10, 3), (2**64, 100), (2**64, 1)])
def test_spread_is_distinct_and_even(size, count):
    elements = make.spread(Domain(size), count)
    assert elements == sorted(set(elements)) and len(elements) == count
    assert elements[0] >= 0 and elements[-1] < size
    gaps = np.diff(np.array(elements, object)) if count > 1 else np.array([1])
    assert max(gaps) - min(gaps) <= 1


@pytest.mark.parametrize("size", [20, 1000, 2**32, 2**53])
@pytest.mark.parametrize(("atoms", "mass"), [(1, 0.5), (3, 0.1), (9, 0.11)])
def test_heavy_atoms_weigh_at_least_what_is_asked(size, atoms, mass):
    """And hardly more."""
    domain = Domain(size)
    distribution = make.heavy(domain, atoms, mass)
    for element in make.spread(domain, atoms):
        got = share(distribution, element)
        assert Fraction(str(mass)) <= got
        if size > 100:
            assert float(got) < mass * 1.05
    assert float(share(distribution, 0)) < mass


@pytest.mark.parametrize("size", [4, 100, 2**32, 2**53])
@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.3])
def test_adversarial_points_are_just_above_alpha(size, alpha):
    domain = Domain(size)
    assert_adversarial_points(domain, alpha)


def assert_adversarial_points(domain, alpha):
    distribution = make.adversarial_points(domain, alpha)
    starts, ends = (wide.decode(part) for part in (distribution.start, distribution.end))
    atoms = [int(s) for s, e in zip(starts, ends, strict=True) if s == e]
    heavy = [a for a in atoms if share(distribution, a) > Fraction(str(alpha))]
    fit = max(1, min(int(0.999 / (1.01 * alpha)), domain.size - 1))
    assert fit <= len(heavy) < 1 / alpha


def test_heavy_points_on_the_largest_domain():
    """Classes go up to 2**64 elements, and so should the distributions that are hard for them."""
    domain = Domain(2**64)
    assert share(make.heavy(domain, 3, 0.1), make.spread(domain, 3)[1]) >= Fraction(1, 10)
    assert_adversarial_points(domain, 0.1)


@pytest.mark.parametrize("size", [4, 5, 1000, 2**64])
@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.3])
def test_adversarial_thresholds_leave_one_good_threshold(size, alpha):
    domain = Domain(size)
    distribution = make.adversarial_thresholds(domain, alpha)
    middle = size // 2
    assert all(share(distribution, e) > Fraction(str(alpha)) for e in (middle - 1, middle))
    assert sum(share(distribution, e) for e in {0, middle - 1, middle, size - 1}) == 1
    for other in {2, size - 2}:
        distribution = make.adversarial_thresholds(domain, alpha, other)
        assert all(share(distribution, e) > Fraction(str(alpha)) for e in (other - 1, other))


def test_adversarial_finite_leaves_one_good_concept():
    distribution = make.adversarial_finite(Domain(30), 0.1)
    shares = [share(distribution, e) for e in range(30)]
    assert sum(shares) == 1 and sum(s > Fraction(1, 10) for s in shares[1:]) == 9


def test_zipf_weighs_by_rank():
    distribution = make.zipf(Domain(2**64), 50, 1.0)
    weights = sorted((int(w) for w in wide.decode(distribution.weight)), reverse=True)
    assert weights == [round(2**40 / r) for r in range(1, 51)]


def test_empirical_counts():
    distribution = make.empirical(Domain(10), [3, 3, 5, 9, 3])
    assert [share(distribution, e) for e in (3, 5, 9, 0)] == [Fraction(3, 5), Fraction(1, 5), Fraction(1, 5), 0]


def test_another_distribution_of_the_same_shape_compiles_nothing(key):
    traced = []

    @jax.jit
    def draw(distribution, k):
        traced.append(1)
        return distribution.draw(k, 4)

    for weight in (1, 5):
        draw(make.from_segments(Domain(50), [(0, 9, weight), (20, 20, 3)]), key)
    assert len(traced) == 1


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: make.from_segments(Domain(10), []),
        lambda: make.from_segments(Domain(10), [(0, 10, 1)]),
        lambda: make.from_segments(Domain(10), [(5, 4, 1)]),
        lambda: make.from_segments(Domain(10), [(-1, 4, 1)]),
        lambda: make.from_segments(Domain(10), [(0, 4, 1), (4, 6, 1)]),
        lambda: make.from_segments(Domain(10), [(5, 6, 1), (0, 4, 1)]),
        lambda: make.from_segments(Domain(10), [(0, 4, 0)]),
        lambda: make.from_segments(Domain(10), [(0, 4, -2)]),
        lambda: make.from_segments(Domain(10), [(0, 0, 2**64), (1, 1, 1)]),
        lambda: make.from_weights(Domain(10), [1, 1], [1, 2]),
        lambda: make.from_weights(Domain(10), [1], [0]),
        lambda: make.from_weights(Domain(10), [1], [-1]),
        lambda: make.from_weights(Domain(10), [10], [1]),
        lambda: make.heavy(Domain(10), 2, 0.5),
        lambda: make.heavy(Domain(10), 0, 0.1),
        lambda: make.heavy(Domain(10), 2, 0.0),
        lambda: make.spread(Domain(3), 4),
        lambda: make.zipf(Domain(10), 5, float("nan")),
        lambda: make.adversarial_points(Domain(10), 0.0),
        lambda: make.adversarial_thresholds(Domain(3), 0.1),
        lambda: make.adversarial_thresholds(Domain(10), 1.0),
        lambda: make.adversarial_thresholds(Domain(10), 0.1, 1),
        lambda: make.adversarial_thresholds(Domain(10), 0.1, 9),
        lambda: make.empirical(Domain(10), [10]),
        lambda: make.empirical(Domain(10), []),
        lambda: make.empirical(Domain(10), [-1]),
        lambda: make.empirical(Domain(10), [1.5]),
        lambda: make.empirical(Domain(10), np.array([-1, 2])),
        lambda: make.empirical(Domain(10), np.array([[1], [2]])),
        lambda: make.empirical(Domain(10), ["a"]),
        lambda: make.from_weights(Domain(10), [1, 2], [1]),
        lambda: make.from_weights(Domain(10), [1.5, 2], [1, 1]),
    ],
)
def test_what_is_no_distribution_is_refused(attempt):
    with pytest.raises(InputError):
        attempt()


def test_the_message_says_what_no_distribution_has():
    for attempt, words in (
        (lambda: make.from_weights(Domain(256), [300], [1]), r"elements in \[0, 256\), got 300; take a larger domain"),
        (lambda: make.empirical(Domain(256), [3, 300]), "got 300; take a larger domain"),
        (lambda: make.from_segments(Domain(9), [(3, 9, 1)]), "got 9; take a larger domain"),
        (lambda: make.empirical(Domain(256), []), "got none; give at least one value"),
        (lambda: make.from_weights(Domain(256), [3], [0]), "elements of positive mass, got none"),
        (lambda: make.from_segments(Domain(9), [(3, 5, 1), (4, 6, 1)]), "merge those that overlap"),
    ):
        with pytest.raises(InputError, match=words):
            attempt()


def test_fractions_are_not_cut_to_whole_weights():
    with pytest.raises(InputError):
        make.from_weights(Domain(10), [1, 2], [1.5, 2.5])


def test_one_atom_may_carry_the_largest_total():
    """A total of 2**64 is allowed, so this is a distribution, or else an InputError."""
    try:
        distribution = make.from_segments(Domain(10), [(3, 3, 2**64)])
    except InputError:
        return
    assert distribution.total == 2**64


def test_masses_are_right_outside_of_64_bit_mode():
    mixed = make.heavy(Domain(2**60), 4, 0.1)
    atom = make.spread(Domain(2**60), 4)[1]
    elements = np.array([atom, atom + 1, 0], np.uint64)
    look = jax.jit(lambda d: [read(elements) for read in (d.mass_at, d.mass_up_to, d.reaches)])
    with jax.enable_x64(True):
        inside = jax.device_get(look(mixed))
    with jax.enable_x64(False):
        outside = jax.device_get(look(mixed))
    chex.assert_trees_all_equal(inside, outside)
    assert outside[0][0] > 2**32 and outside[0][1] == 1
