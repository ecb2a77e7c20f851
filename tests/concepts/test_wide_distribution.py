"""Distributions over domains beyond 2**64 elements: exact masses and draws."""

from bisect import bisect_right

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chisquare

import dpjax as dp
from dpjax.concepts import Domain, distributions
from dpjax.concepts.wide_distribution import WideDistribution, of_blocks
from dpjax.core.checks import InputError

BITS = 100
DOMAIN = Domain(2**BITS)
SEGMENTS = [  # start, last, shift, weight
    (5, 5, 0, 7),
    (2**32 - 3, 2**32 + 4, 0, 2),
    (2**70, 2**70 + 2**68 - 1, 60, 3),
    (2**96, 2**97 - 1, 90, 5),
    (2**BITS - 1, 2**BITS - 1, 0, 11),
]
MASSES = [((last - start + 1) >> shift) * weight for start, last, shift, weight in SEGMENTS]
ELEMENTS = sorted(
    {x + d for s in SEGMENTS for x in s[:2] for d in (-1, 0, 1, 2**60 - 1, 2**60) if 0 <= x + d < 2**BITS}
)


@pytest.fixture(scope="module")
def law():
    return of_blocks(DOMAIN.limbs, SEGMENTS)


def mass_up_to(element):
    total = 0
    for start, last, shift, weight in SEGMENTS:
        if element >= start:
            total += ((min(element, last) - start + 1) >> shift) * weight
    return total


def test_masses_are_exact(law):
    assert law.total == sum(MASSES) and law.misfit(DOMAIN) is None and not law.atoms and law.blocks
    x = jnp.asarray(DOMAIN.encode(ELEMENTS))
    with jax.enable_x64(True):
        assert np.asarray(jax.jit(law.mass_up_to)(x)).tolist() == [mass_up_to(element) for element in ELEMENTS]
        assert np.asarray(jax.jit(law.reaches)(x)).tolist() == [mass_up_to(element) > 0 for element in ELEMENTS]
        at = {e: w for s, last, shift, w in SEGMENTS if shift == 0 for e in range(s, last + 1)}
        assert np.asarray(jax.jit(law.mass_at)(x)).tolist() == [at.get(element, 0) for element in ELEMENTS]
    assert law.single().tolist() == [5, 2**BITS - 1]


@pytest.mark.statistical
def test_draws_follow_the_masses(law):
    """False-alarm probability 1e-6 for each of two tests."""
    x = DOMAIN.decode(jax.jit(law.draw, static_argnums=1)(jax.random.key(7), 20000))
    starts = [s[0] for s in SEGMENTS]
    place = [bisect_right(starts, value) - 1 for value in x]
    assert all(SEGMENTS[i][0] <= value <= SEGMENTS[i][1] for i, value in zip(place, x, strict=True))
    counts = np.bincount(place, minlength=len(SEGMENTS))
    assert chisquare(counts, 20000 * np.array(MASSES) / sum(MASSES)).pvalue > 1e-6
    eighths = [(int(v) - 2**96) >> 93 for v, i in zip(x, place, strict=True) if i == 3]  # within the longest segment
    low = [int(v) >> 85 & 7 for v, i in zip(x, place, strict=True) if i == 3]  # below its blocks
    for part in (eighths, low):
        assert chisquare(np.bincount(part, minlength=8)).pvalue > 1e-6


def test_an_element_does_not_depend_on_the_count(law):
    draw = jax.jit(law.draw, static_argnums=1)
    few, many = (DOMAIN.decode(draw(jax.random.key(1), count)) for count in (3, 50))
    assert few.tolist() == many[:3].tolist()


@pytest.mark.grid(keep=2)
@pytest.mark.parametrize("bits", [65, 96, 1024, 2048])
def test_uniform_halves(bits):
    domain = Domain(2**bits)
    law = dp.uniform(domain)
    ends = [2 ** (bits - 1) - 1, 2 ** (bits - 2) - 1, 2**bits - 1]
    with jax.enable_x64(True):
        masses = np.asarray(jax.jit(law.mass_up_to)(jnp.asarray(domain.encode(ends)))).tolist()
    assert [mass / law.total for mass in masses] == [0.5, 0.25, 1.0]


def test_the_same_atoms_in_a_small_and_a_large_domain_are_drawn_alike():
    small, large = Domain(2**20), Domain(2**90)
    positions, weights = [3, 17, 2**19, 2**20 - 1], [1, 5, 9, 2]
    one = dp.from_weights(small, positions, weights).draw(jax.random.key(0), 64)
    law = dp.from_weights(large, [p << 70 for p in positions], weights)
    assert isinstance(law, WideDistribution) and law.atoms
    assert set(large.decode(law.draw(jax.random.key(0), 64))) <= {p << 70 for p in positions}
    assert one.shape == (64, 1)
    for build in (
        lambda d: distributions.heavy(d, 4, 0.1),
        lambda d: distributions.zipf(d, 9),
        lambda d: distributions.adversarial_points(d, 0.1),
        lambda d: distributions.adversarial_thresholds(d, 0.1),
    ):
        assert build(large).misfit(large) is None


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: dp.uniform(Domain(2**80 + 1)),
        lambda: dp.from_segments(DOMAIN, [(0, 2**80, 1)]),
        lambda: dp.from_segments(DOMAIN, [(0, 2**BITS, 1)]),
    ],
)
def test_what_has_no_whole_masses_is_refused(attempt):
    with pytest.raises(InputError):
        attempt()
