"""Ordered domains."""

import numpy as np
import pytest

from dpjax.concepts import Domain, PointSets
from dpjax.core.checks import InputError


@pytest.mark.parametrize(
    ("size", "limbs"),
    [
        (1, 1),
        (2, 1),
        (2**32 - 1, 1),
        (2**32, 1),
        (2**32 + 1, 2),
        (2**64, 2),
        (2**64 + 1, 3),
        (2**96, 3),
        (2**2048 - 1, 64),
        (2**2048, 64),
    ],
)
def test_limbs_and_round_trip(size, limbs):
    domain = Domain(size)
    assert domain.limbs == limbs
    values = sorted({0, size // 2, size - 1})
    encoded = domain.encode(values)
    assert encoded.shape == (len(values), limbs) and encoded.dtype == np.uint32
    assert [int(v) for v in domain.decode(encoded)] == values


@pytest.mark.parametrize("size", [0, -1, 2**2048 + 1, 1.0, True, "4", None])
def test_sizes_that_are_none(size):
    with pytest.raises(InputError, match="domain size"):
        Domain(size)


@pytest.mark.parametrize("value", [-1, 10, 2**64, 0.5, float("inf"), float("nan"), None, "3", [1, 2], b"\x01"])
def test_values_outside_are_refused(value):
    with pytest.raises(InputError, match="domain element"):
        Domain(10).encode([3, value])


@pytest.mark.parametrize("count", [1, 3, 5, 1000])
def test_spread_elements_are_the_middles_of_equal_parts(count):
    size = 2**70 * count
    assert Domain(size).spread(count) == [2**69 + i * 2**70 for i in range(count)]


def test_a_large_domain_s_error_is_short():
    with pytest.raises(InputError, match=r"in \[1, 2\*\*2048\]") as refused:
        Domain(2**3000)
    assert len(str(refused.value)) < 2000


def test_classes_without_larger_domains_refuse_them():
    with pytest.raises(InputError, match="at most 2\\*\\*64 elements"):
        PointSets(Domain(2**80), 2)


def test_domains_are_equal_by_value():
    assert Domain(5) == Domain(5) != Domain(6) and hash(Domain(5)) == hash(Domain(5))
