"""The VC dimension of ORs and ANDs of a class, against those of small classes, and its order."""

from itertools import combinations_with_replacement, product
from math import comb, log2

import numpy as np
import pytest

from dpjax.core.checks import InputError
from dpjax.dimensions import families, vc_dimension
from dpjax.theory.generalization import combined_vc


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(
    "matrix",
    [
        families.thresholds(8),
        families.points(8),
        families.intervals(8),
        families.halfspaces(list(product(range(3), range(2)))),
    ],
)
def test_small_classes(matrix, k):
    bound = combined_vc(vc_dimension(matrix).value, k)
    for combine in (np.max, np.min):
        rows = np.unique(
            [combine(matrix[list(some)], 0) for some in combinations_with_replacement(range(len(matrix)), k)], axis=0
        )
        assert vc_dimension(rows).value <= bound


@pytest.mark.parametrize(("vc", "k"), [(0, 1), (0, 9), (1, 1), (1, 4), (3, 7), (10, 2), (3, 1000)])
def test_the_largest_number(vc, k):
    """The definition; a class of dimension vc is combined from itself; Blumer et al. have 2 vc k log2(3 k)."""
    bound = combined_vc(vc, k)
    restrictions = [sum(comb(m, i) for i in range(vc + 1)) ** k for m in (bound, bound + 1)]
    assert 2**bound <= restrictions[0] and restrictions[1] < 2 ** (bound + 1)
    assert vc <= bound <= 2 * vc * k * log2(3 * k)
    assert combined_vc(vc, 1) == vc


def test_numbers_are_checked():
    for vc, k in ((-1, 1), (1, 0), (0.5, 1)):
        with pytest.raises(InputError):
            combined_vc(vc, k)
