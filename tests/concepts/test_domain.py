"""Ordered domains of up to 2**64 elements."""

import numpy as np
import pytest

from dpjax.concepts import Domain
from dpjax.core.checks import InputError


@pytest.mark.parametrize(("size", "limbs"), [(1, 1), (2, 1), (2**32 - 1, 1), (2**32, 1), (2**32 + 1, 2), (2**64, 2)])
def test_limbs_and_round_trip(size, limbs):
    domain = Domain(size)
    assert domain.limbs == limbs
    values = sorted({0, size // 2, size - 1})
    encoded = domain.encode(values)
    assert encoded.shape == (len(values), limbs) and encoded.dtype == np.uint32
    assert [int(v) for v in domain.decode(encoded)] == values


@pytest.mark.parametrize("size", [0, -1, 2**64 + 1, 1.0, True, "4", None])
def test_sizes_that_are_none(size):
    with pytest.raises(InputError, match="domain size"):
        Domain(size)


@pytest.mark.parametrize("value", [-1, 10, 2**64, 0.5, float("inf"), float("nan")])
def test_values_outside_are_refused(value):
    with pytest.raises(InputError, match="domain element"):
        Domain(10).encode([3, value])


def test_domains_are_equal_by_value():
    assert Domain(5) == Domain(5) != Domain(6) and hash(Domain(5)) == hash(Domain(5))
