"""Matrices of usual classes and of the extremal classes of the multiclass paper: a row per concept, ``int64[m, N]``."""

from collections.abc import Sequence
from itertools import combinations, product
from math import comb
from operator import index

import numpy as np

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.matrices import LARGEST, class_matrix, first_rows


def thresholds(elements: int) -> np.ndarray:
    """The functions 1[x >= t] for t = 0, ..., N: N + 1 rows. Littlestone dimension floor(log2(N + 1)).

    One more than the N concepts of `concepts.Thresholds`, which has no empty concept; elements are in reverse order.
    """
    checks.integer("elements", elements, 1)
    _require_size(elements + 1, elements)
    return (np.arange(elements) >= np.arange(elements + 1)[:, None]).astype(np.int64)


def points(elements: int, most: int = 1, exactly: bool = True) -> np.ndarray:
    """The functions with ``most`` ones, or with at most so many: d-points.

    With exactly d ones the Littlestone and VC dimensions are min(d, N - d).
    """
    checks.integer("elements", elements, 1)
    checks.integer("most", most, 0, elements)
    checks.instance("exactly", exactly, bool, "give True for exactly so many ones, False for at most so many")
    counts = range(most if exactly else 0, most + 1)
    _require_size(sum(comb(elements, count) for count in counts), elements)
    rows = [ones for count in counts for ones in combinations(range(elements), count)]
    table = np.zeros((len(rows), elements), np.int64)
    for row, ones in enumerate(rows):
        table[row, list(ones)] = 1
    return table


def intervals(elements: int) -> np.ndarray:
    """The functions 1[a <= x < b], the empty one once: N (N + 1) / 2 + 1 rows."""
    checks.integer("elements", elements, 1)
    _require_size(elements * (elements + 1) // 2 + 1, elements)
    x = np.arange(elements)
    ends = [(0, 0), *((a, b) for a in range(elements) for b in range(a + 1, elements + 1))]
    return np.array([(a <= x) & (x < b) for a, b in ends], np.int64)


def rectangles(width: int, height: int) -> np.ndarray:
    """The products of two intervals on a grid, the empty one once; element x + width y is (x, y)."""
    across, up = intervals(width)[1:], intervals(height)[1:]
    _require_size(len(across) * len(up) + 1, width * height)
    rows = [np.outer(b, a).reshape(-1) for a in across for b in up]
    return np.array([np.zeros(width * height, np.int64), *rows])


def halfplanes(places: Sequence[tuple[int, int]]) -> np.ndarray:
    """The ways in which halfplanes cut distinct points with whole coordinates, exactly.

    Every cut other than none and all has a line through two of the points next to it: what is strictly on one side,
    with an initial or a final part of the points on the line.
    """
    plane = np.array(_places(places), object)
    rows = {(0,) * len(plane), (1,) * len(plane)}
    for i, j in combinations(range(len(plane)), 2):
        along = plane[j] - plane[i]
        away = (plane - plane[i]) @ np.array([-along[1], along[0]], object)
        place = (plane - plane[i]) @ along
        for at in (place[k] for k in range(len(plane)) if away[k] == 0):
            for on in (place <= at, place >= at, place < at, place > at):
                cut = (away > 0) | ((away == 0) & on)
                rows |= {tuple(cut.astype(int).tolist()), tuple((~cut.astype(bool)).astype(int).tolist())}
    return np.array(sorted(rows), np.int64)


def _places(places: Sequence[tuple[int, int]]) -> list[tuple[int, ...]]:
    try:
        pairs = [tuple(map(index, place)) for place in places]
    except TypeError:
        pairs = []
    if not pairs or len(set(pairs)) < len(pairs) or any(len(pair) != 2 for pair in pairs):
        expected = "distinct points (x, y) with whole coordinates"
        raise InputError("places", expected, repr(places)[:60], "list every point once, for example [(0, 0), (1, 2)]")
    return pairs


def parities(dimension: int) -> np.ndarray:
    """The functions <a, x> mod 2 for all a on all x of {0, 1}^d: 2^d rows and columns."""
    checks.integer("dimension", dimension, 1, 14)
    numbers = np.arange(1 << dimension)
    return (np.bitwise_count(numbers[:, None] & numbers) & 1).astype(np.int64)


def one_bit_gap(largest: int) -> np.ndarray:
    """Multiclass Littlestone dimension 1, and a bit of Littlestone dimension floor(log2 m), for labels 0..largest.

    largest >= 5, m = ceil(largest / 2): row t labels element x by 2 t + 1[t >= x], x and t in 0..m-1. The threshold is
    in bit 0, which isolates it whatever m is. Reference: Bun, Gaboardi, Sivakumar 2021, Theorem 6.1 for d = 1.
    """
    checks.integer("largest", largest, 5)
    half = (largest + 1) // 2
    _require_size(half, half)
    t, x = np.arange(half)[:, None], np.arange(half)
    return 2 * t + (t >= x)


def copies(matrix, count: int) -> np.ndarray:
    """Independent copies of a class: a row for each tuple of rows, columns side by side; dimensions multiply by count.

    Reference: Bun, Gaboardi, Sivakumar 2021, Claim 6.2; of `one_bit_gap`, Theorem 6.1.
    """
    table = class_matrix(matrix)
    checks.integer("count", count, 1)
    _require_size(len(table) ** count, table.shape[1] * count)
    return np.array([np.concatenate(rows) for rows in product(table, repeat=count)])


def independent_bits(bits: int, most: int, elements: int | None = None) -> np.ndarray:
    """Labels of L bits, each an independent function with exactly d ones: dimension d L, and d for each bit.

    elements: by default the least for which that is proved, d (L + 1). binomial(N, d)^L rows.
    Reference: Bun, Gaboardi, Sivakumar 2021, Theorem 7.2.
    """
    checks.integer("bits", bits, 1, 32)
    bit_class = points(most * (bits + 1) if elements is None else elements, checks.integer("most", most, 1))
    _require_size(len(bit_class) ** bits, bit_class.shape[1])
    weights = 1 << np.arange(bits)
    return np.array([weights @ np.array(rows) for rows in product(bit_class, repeat=bits)])


def bit(matrix, number: int) -> np.ndarray:
    """Bit ``number`` of the labels, 0 the least significant: ``int64[m', N]``, equal rows once, in order."""
    table = class_matrix(matrix) >> checks.integer("number", number, 0, 62) & 1
    return table[first_rows(table)]


def _require_size(rows: int, columns: int) -> None:
    if rows * columns > LARGEST:
        raise InputError(
            "class", f"at most {LARGEST} entries", f"{rows} rows and {columns} columns", "choose smaller numbers"
        )
