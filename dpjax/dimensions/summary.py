"""All dimensions of one class."""

from collections.abc import Iterator

import numpy as np

from dpjax.core.matrices import class_matrix
from dpjax.dimensions import psi
from dpjax.dimensions.families import bit
from dpjax.dimensions.littlestone import littlestone_dimension, psi_littlestone_dimension
from dpjax.dimensions.randomized import randomized_littlestone_dimension
from dpjax.dimensions.result import Dimension
from dpjax.dimensions.sets import dual_vc_dimension, psi_dimension, vc_dimension
from dpjax.dimensions.star import star_number
from dpjax.dimensions.teaching import recursive_teaching_dimension, teaching_dimension
from dpjax.dimensions.threshold import threshold_dimension
from dpjax.dimensions.uniform import uniform_psi_littlestone_dimension


def summary(matrix, seconds: float | None = None) -> Iterator[Dimension]:
    """The dimensions of ``int[m, N]``, one after the other; ``seconds`` limits each of them.

    A binary class has VC, dual VC, threshold dimension and star number; one with more labels has the Natarajan
    dimension, the Psi-Littlestone dimensions, and the dimensions of its bits.
    """
    table = class_matrix(matrix)
    binary = int(table.max(initial=0)) <= 1
    yield littlestone_dimension(table, seconds)
    yield from _binary(table, seconds) if binary else _multiclass(table, seconds)
    yield randomized_littlestone_dimension(table, seconds)
    yield teaching_dimension(table, seconds)
    yield recursive_teaching_dimension(table, seconds)


def _binary(table: np.ndarray, seconds: float | None) -> Iterator[Dimension]:
    yield vc_dimension(table, seconds)
    if table.shape[1]:
        yield dual_vc_dimension(table, seconds)
    yield threshold_dimension(table, seconds)
    yield star_number(table, seconds)


def _multiclass(table: np.ndarray, seconds: float | None) -> Iterator[Dimension]:
    yield psi_dimension(table, psi.natarajan, seconds).named("Natarajan dimension")
    families = {"bin": psi.bits}
    if all(len(np.unique(column)) <= psi.MOST_LABELS for column in table.T):
        families["B"] = psi.bipartitions
    for name, family in families.items():
        yield psi_littlestone_dimension(table, family, seconds).named(f"Psi^{name}-Littlestone dimension")
    found = uniform_psi_littlestone_dimension(table, psi.bits, seconds)
    yield found.named("uniform Psi^bin-Littlestone dimension")
    for number in range(int(table.max()).bit_length()):
        for dimension in (littlestone_dimension, vc_dimension):
            found = dimension(bit(table, number), seconds)
            yield found.named(f"{found.name} of bit {number}")
