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


def halfspaces(places: Sequence[Sequence[int]]) -> np.ndarray:
    """The ways in which halfspaces cut distinct points with whole coordinates, in any dimension, exactly.

    In the plane these are halfplanes. N points that span r dimensions have at most 2 sum_{i <= r} binomial(N - 1, i)
    cuts. Every cut other than none and all has a hyperplane through r independent points next to it: what is strictly
    on one side, with a cut of the points on the hyperplane, which span fewer dimensions.

    `concepts.Finite.of` makes a class of it, which learners of finite classes learn for every distribution. As
    columns of literals, the cuts make conjunctions of convex polyhedra.

    Reference: Kaplan, Mansour, Matias, Stemmer 2019, Hyperplanes: for grids that are small enough to list.
    """
    return np.array(sorted(_cuts(_places(places))), np.int64)


def balls(places: Sequence[Sequence[int]]) -> np.ndarray:
    """The ways in which balls, discs in the plane, and their outsides cut distinct points, exactly.

    They are the halfspaces of the points (x, |x|^2), in one dimension more. Those of the points x are among them: a
    halfspace is a ball that is large enough.

    Reference: Kaplan, Mansour, Matias, Stemmer 2019, Linearization: of balls, for grids that are small enough to list.
    """
    return halfspaces([(*place, sum(part * part for part in place)) for place in _places(places)])


def polyhedra(places: Sequence[Sequence[int]], faces: int) -> np.ndarray:
    """The ways in which polyhedra of at most ``faces`` faces, ANDs of as many halfspaces, cut distinct points, exactly.

    With one face more than there are dimensions they are triangles in the plane and simplices in space, and unbounded
    sets of as many faces. As columns of literals they make disjunctions of unions of polyhedra, which
    `learners.ConjunctionLearner` learns for every distribution.

    Reference: Kaplan, Mansour, Matias, Stemmer 2019, SelectTriangle and Simplices: for grids that are small enough to
      list.
    """
    points = _places(places)
    checks.integer("faces", faces, 1)
    halves = {sum(bit << place for place, bit in enumerate(cut)) for cut in _cuts(points)}
    found, made = halves, set[int]()
    while faces > 1 and len(made) < len(found):
        _require_size(len(found), len(halves))  # the work of a face
        faces, made, found = faces - 1, found, {cut & half for cut in found for half in halves}
    return np.array(sorted([cut >> place & 1 for place in range(len(points))] for cut in found), np.int64)


def _cuts(points: list[tuple[int, ...]]) -> set[tuple[bool, ...]]:
    """The cuts of distinct points by halfspaces, each with its complement."""
    count, whole = len(points), np.array(points, object)
    axes = _axes(whole - whole[0])
    flat, rows, seen = whole[:, axes], {(False,) * count, (True,) * count}, set()
    _require_size(2 * sum(comb(count - 1, i) for i in range(len(axes) + 1)), count)
    if count == len(axes) + 1:  # independent points are cut in every way
        return set(product((False, True), repeat=count))
    for chosen in combinations(flat, len(axes)) if axes else ():
        away = (flat - chosen[0]) @ np.array(_normal([point - chosen[0] for point in chosen[1:]]), object)
        on = tuple(np.flatnonzero(away == 0).tolist())
        if len(on) == count or on in seen:  # the chosen points are dependent, or have been seen
            continue
        seen.add(on)
        for cut in _cuts([points[i] for i in on]):
            for side in (away > 0, away < 0):
                side[list(on)] = cut
                rows.add(tuple(side.tolist()))
    return rows


def _axes(vectors: np.ndarray) -> list[int]:
    """As many coordinates as the vectors have dimensions, in which they are as independent: the pivots of a matrix."""
    left, axes = vectors.copy(), []
    for axis in range(vectors.shape[1]):
        rows = np.flatnonzero(left[:, axis])
        if len(rows):
            pivot = left[rows[0]].copy()
            left = left * pivot[axis] - np.outer(left[:, axis], pivot)
            axes.append(axis)
    return axes


def _normal(vectors: list[np.ndarray]) -> list[int]:
    """A vector of whole numbers orthogonal to one vector fewer than there are dimensions; 0 if they are dependent."""
    across = range(len(vectors) + 1)
    return [(-1) ** axis * _determinant([np.delete(vector, axis) for vector in vectors]) for axis in across]


def _determinant(rows: list[np.ndarray]) -> int:
    """Of a square matrix of whole numbers, without fractions: every division is exact (Bareiss 1968)."""
    left, sign, before = [[int(entry) for entry in row] for row in rows], 1, 1
    for i in range(len(left) - 1):
        pivot = next((j for j in range(i, len(left)) if left[j][i]), None)
        if pivot is None:
            return 0
        if pivot > i:
            left[i], left[pivot], sign = left[pivot], left[i], -sign
        for row in left[i + 1 :]:
            row[i + 1 :] = [(row[k] * left[i][i] - row[i] * left[i][k]) // before for k in range(i + 1, len(left))]
        before = left[i][i]
    return sign * left[-1][-1] if left else 1


def _places(places: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    try:
        made = [tuple(map(index, place)) for place in places]
    except TypeError:
        made = []
    if not made or len(set(made)) < len(made) or len({len(place) for place in made}) > 1:
        expected = "distinct points of equally many whole coordinates"
        raise InputError("places", expected, repr(places)[:60], "list every point once, for example [(0, 0), (1, 2)]")
    return made


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
