"""All dimensions of one class."""

from collections.abc import Iterator
from math import comb

import numpy as np

from dpjax.core.matrices import class_matrix, first_rows
from dpjax.dimensions import psi
from dpjax.dimensions.littlestone import littlestone_dimension, psi_littlestone_dimension
from dpjax.dimensions.randomized import randomized_littlestone_dimension
from dpjax.dimensions.result import Dimension
from dpjax.dimensions.sets import dual_vc_dimension, psi_dimension, vc_dimension
from dpjax.dimensions.star import star_number
from dpjax.dimensions.teaching import recursive_teaching_dimension, teaching_dimension
from dpjax.dimensions.threshold import threshold_dimension
from dpjax.dimensions.uniform import uniform_psi_littlestone_dimension
from dpjax.dimensions.witnesses import NoSearch

_MOST_MAPS = 1 << 21


def summary(matrix, seconds: float | None = None) -> Iterator[Dimension]:
    """The dimensions of ``int[m, N]``, one after the other; ``seconds`` limits each of them.

    A binary class has VC, dual VC, threshold dimension and star number; one with more labels has the Natarajan
    dimension, the Psi-Littlestone dimensions, and the dimensions of its bits, with witnesses in the rows of the matrix.
    A family with more than 2^21 maps, over all columns, is not searched: bounds 0 and log2 m, witness `NoSearch`.

    Reference: Bun, Gaboardi, Sivakumar 2021, Theorems 1.3, 3.4 and 7.1, Claims 4.6 and 4.7, which compare the
    dimension of a class with those of its bits and of its maps.
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
    most = len(table).bit_length() - 1
    labels = [len(np.unique(column)) for column in table.T]
    if (count := sum(comb(size, 2) for size in labels)) <= _MOST_MAPS:
        yield psi_dimension(table, psi.natarajan, seconds).named("Natarajan dimension")
    else:
        yield _left_out("Natarajan dimension", most, f"{count} pairs of labels, more than {_MOST_MAPS}")
    yield psi_littlestone_dimension(table, psi.bits, seconds).named("Psi^bin-Littlestone dimension")
    name = "Psi^B-Littlestone dimension"
    if max(labels) > psi.MOST_LABELS:
        reason = f"{max(labels)} labels at one domain element, more than {psi.MOST_LABELS}"
        yield _left_out(name, most, reason)
    elif (count := sum((1 << size - 1) - 1 for size in labels)) > _MOST_MAPS:
        yield _left_out(name, most, f"{count} maps of labels, more than {_MOST_MAPS}")
    else:
        yield psi_littlestone_dimension(table, psi.bipartitions, seconds).named(name)
    result = uniform_psi_littlestone_dimension(table, psi.bits, seconds)
    yield result.named("uniform Psi^bin-Littlestone dimension")
    for number in range(int(table.max()).bit_length()):
        part = table >> number & 1
        rows = first_rows(part)
        for dimension in (littlestone_dimension, vc_dimension):
            result = dimension(part[rows], seconds).in_rows(rows)
            yield result.named(f"{result.name} of bit {number}")


def _left_out(name: str, most: int, reason: str) -> Dimension:
    return Dimension(name, 0, most, NoSearch(reason), 0.0)
