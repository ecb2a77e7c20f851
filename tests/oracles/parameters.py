"""The combinatorial parameters of the collection in tests/data for ``bool[m, N]`` with distinct rows.

The dimensions of `dpjax.dimensions` are computed by it, the other parameters straight from their definitions, for which
rows and sets of elements are whole numbers with a bit per element. The trace of rows on a set S is what they are on S.
"""

from fractions import Fraction
from functools import cache
from itertools import combinations
from math import log2

import numpy as np

from dpjax import dimensions


def sets(matrix):
    return frozenset(sum(1 << x for x in np.flatnonzero(row).tolist()) for row in matrix)


def elements(matrix):
    """The set with each element alone."""
    return [1 << x for x in range(matrix.shape[1])]


def parts(elements, sizes):
    """The sets of so many elements."""
    return (sum(chosen) for size in sizes for chosen in combinations(elements, size))


def trace(rows, part):
    return {row & part for row in rows}


def split(rows, element):
    """The rows without the element and with it."""
    ones = frozenset(row for row in rows if row & element)
    return rows - ones, ones


def shatters(rows, part):
    return len(trace(rows, part)) == 1 << part.bit_count()


def largest_over_traces(matrix, parameter):
    """The largest value of a parameter, at most the number of elements, over the traces on all sets."""
    best, seen = 0, set()
    for size in range(matrix.shape[1], 0, -1):
        for points in combinations(range(matrix.shape[1]), size):
            if best >= size:
                return best
            part = np.unique(matrix[:, points], axis=0)
            if (known := part.tobytes()) not in seen:
                seen.add(known)
                best = max(best, parameter(part))
        seen.clear()
    return best


def effective_range(matrix):
    return int((matrix != matrix[0]).any(axis=0).sum())


def size(matrix):
    return len(matrix)


def log_size(matrix):
    return log2(len(matrix))


def oriented_diameter(matrix):
    """The most elements that one row has and another has not."""
    return max((a & ~b).bit_count() for a in sets(matrix) for b in sets(matrix))


def diameter(matrix):
    return max((a ^ b).bit_count() for a in sets(matrix) for b in sets(matrix))


def hamming_radius(matrix):
    """The distance of the farthest row from the best center, a row or not."""
    centers = np.arange(1 << matrix.shape[1])
    return int(np.max([np.bitwise_count(centers ^ row) for row in sets(matrix)], axis=0).min())


def longest_chain(rows, elements, starts):
    """The longest sequence of elements all of whose prefixes, added to or removed from one start, are in the trace."""

    def grow(prefixes):
        used, seen = prefixes[-1], trace(rows, prefixes[-1])
        if not any(all(start & used ^ prefix in seen for prefix in prefixes) for start in starts):
            return -1
        return max((1 + grow([*prefixes, used | x]) for x in elements if not x & used), default=0)

    return grow([0])


def threshold_dimension(matrix):
    """The largest d with points x_1, ..., x_d and d + 1 rows whose traces are the prefixes, the empty one included."""
    return longest_chain(sets(matrix), elements(matrix), [0])


def path_dimension(matrix):
    return longest_chain(sets(matrix), elements(matrix), sets(matrix))


def neighbors(matrix):
    """The one-inclusion graph: the rows at distance one from each row."""
    rows = sets(matrix)
    return {row: {row ^ x for x in elements(matrix)} & rows for row in rows}


def double_density_or_average_degree(matrix):
    return Fraction(sum(map(len, neighbors(matrix).values())), len(matrix))


def minimum_degree(matrix):
    return min(map(len, neighbors(matrix).values()))


def maximum_degree(matrix):
    return max(map(len, neighbors(matrix).values()))


def maximum_positive_degree(matrix):
    """The most neighbors that are subsets of a row."""
    return max(sum(other < row for other in others) for row, others in neighbors(matrix).items())


def degeneracy(matrix):
    """The largest minimum degree of a subgraph, by removal of a vertex of least degree again and again."""
    graph, largest = neighbors(matrix), 0
    while graph:
        least = min(graph, key=lambda row: len(graph[row]))
        largest = max(largest, len(graph[least]))
        for other in graph.pop(least):
            graph[other].discard(least)
    return largest


def projected_minimum_degree(matrix):
    return largest_over_traces(matrix, minimum_degree)


def projected_double_density_or_projected_average_degree(matrix):
    return largest_over_traces(matrix, double_density_or_average_degree)


def log_shattering(matrix):
    """log2 of the number of shattered sets, among them the empty one."""
    rows, sizes = sets(matrix), range(len(matrix).bit_length())
    return log2(sum(shatters(rows, part) for part in parts(elements(matrix), sizes)))


def vc_dimension(matrix):
    return dimensions.vc_dimension(matrix).value


def dual_vc_dimension(matrix):
    return dimensions.dual_vc_dimension(matrix).value


def effective_vc_radius(matrix):
    """The largest k for which all sets of k elements, on which rows differ, are shattered."""
    rows = sets(matrix)
    varying = [x for x in elements(matrix) if all(split(rows, x))]
    radius = 0
    while radius < len(varying) and all(shatters(rows, part) for part in parts(varying, [radius + 1])):
        radius += 1
    return radius


def largest_strongly_shattered_set(matrix):
    """The dimension of the largest cube of rows that agree on all other elements."""
    rows = sets(matrix)
    everything = sum(elements(matrix))

    def full(part):
        outside = [row & everything & ~part for row in rows]
        return max(map(outside.count, outside)) == 1 << part.bit_count()

    sizes = range(len(matrix).bit_length())
    return max(part.bit_count() for part in parts(elements(matrix), sizes) if full(part))


def covc_dimension(matrix):
    """The largest S with a set that is not in the trace on S while all its neighbors within S are."""
    rows, points = sets(matrix), elements(matrix)

    def hollow(part):
        seen, inside = trace(rows, part), [x for x in points if x & part]
        centers = {row ^ inside[0] for row in seen} - seen
        return any(all(center ^ x in seen for x in inside) for center in centers)

    sizes = range(min(len(matrix), len(points)), 0, -1)
    return next((part.bit_count() for part in parts(points, sizes) if hollow(part)), 0)


def star_number(matrix):
    return dimensions.star_number(matrix).value


def combinatorial_eluder_dimension(matrix):
    """The longest sequence of elements, each with a row that differs from a base there and on no earlier one."""

    @cache
    def longest(rows, base):
        agreeing = (split(rows, x)[base & x != 0] for x in elements(matrix))
        return max((1 + longest(left, base) for left in set(agreeing) if left != rows), default=0)

    return max(longest(sets(matrix), base) for base in sets(matrix))


def littlestone_dimension(matrix):
    return dimensions.littlestone_dimension(matrix).value


def dual_littlestone_dimension(matrix):
    return dimensions.littlestone_dimension(np.unique(matrix.T, axis=0)).value


def randomized_littlestone_dimension(matrix):
    return dimensions.randomized_littlestone_dimension(matrix).value


def equivalence_queries_complexity(matrix):
    """The most counterexamples until one row is left, for the best hypotheses, any functions.

    What a hypothesis says at an element matters only if the counterexample is there: each label is chosen by itself.
    """

    @cache
    def cost(rows):
        if len(rows) < 2:
            return 0
        return 1 + max(min(map(cost, halves)) for x in elements(matrix) if all(halves := split(rows, x)))

    return cost(sets(matrix))


def membership_query_complexity(matrix):
    """The least depth of a tree of labels that identifies every row."""

    @cache
    def cost(rows):
        if len(rows) == 1:
            return 0
        return min(1 + max(map(cost, halves)) for x in elements(matrix) if all(halves := split(rows, x)))

    return cost(sets(matrix))


def teaching_dimension(matrix):
    return dimensions.teaching_dimension(matrix).value


def minimum_teaching_set_size(matrix):
    return min(map(len, dimensions.teaching_dimension(matrix).witness.sets))


def average_teaching_dimension(matrix):
    return Fraction(sum(map(len, dimensions.teaching_dimension(matrix).witness.sets)), len(matrix))


def recursive_teaching_dimension(matrix):
    return dimensions.recursive_teaching_dimension(matrix).value


def monotone_recursive_teaching_dimension(matrix):
    return largest_over_traces(matrix, recursive_teaching_dimension)


def extended_teaching_dimension(matrix):
    """The most elements, over all labelings, that leave at most one row that agrees with the labeling on them."""
    rows, left, size = np.array(sorted(sets(matrix))), np.arange(1 << matrix.shape[1]), -1
    while len(left):
        size += 1
        for part in parts(elements(matrix), [size]):
            agreeing = np.bincount(rows & part, minlength=part + 1)
            left = left[agreeing[left & part] > 1]
    return size


def distinguishing_range(matrix):
    """The least number of elements on which all rows differ."""
    rows, points = sets(matrix), elements(matrix)
    return next(
        part.bit_count() for part in parts(points, range(len(points) + 1)) if len(trace(rows, part)) == len(rows)
    )


def interpolation_degree(matrix):
    """The least degree of real polynomials that take all values on the rows."""
    rows, degree = sets(matrix), -1
    rank = 0
    while rank < len(rows):
        degree += 1
        monomials = [[row & part == part for part in parts(elements(matrix), range(degree + 1))] for row in rows]
        rank = np.linalg.matrix_rank(np.array(monomials, float))
    return degree
