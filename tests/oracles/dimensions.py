"""Dimensions of small classes straight from their definitions: recursion over all splits, enumeration of all sets."""

from fractions import Fraction
from functools import cache
from itertools import combinations, product


def pairs_of_labels(labels):
    """Psi^N."""
    return [({a}, {b}) for a, b in combinations(labels, 2)]


def bits_of_labels(labels):
    """Psi^bin, also the bits that do not distinguish."""
    return [({a for a in labels if not a & 1 << i}, {a for a in labels if a & 1 << i}) for i in range(4)]


def all_maps(labels):
    """Psi^B with the maps that use *."""
    values = [dict(zip(labels, images, strict=True)) for images in product("01*", repeat=len(labels))]
    return [({a for a in labels if one[a] == "0"}, {a for a in labels if one[a] == "1"}) for one in values]


def littlestone(table, maps):
    """Psi-Littlestone dimension: the recursion over all maps of all elements."""
    labels = sorted({int(label) for label in table.reshape(-1)})
    splits = {
        tuple(frozenset(r for r in range(len(table)) if table[r][x] in labels) for labels in map_)
        for x in range(table.shape[1])
        for map_ in maps(labels)
    }

    @cache
    def deepest(rows):
        best = 0
        for split in splits:
            low, high = [rows & side for side in split]
            if low and high:
                best = max(best, 1 + min(deepest(low), deepest(high)))
        return best

    return deepest(frozenset(range(len(table))))


def uniform(table, maps):
    """Uniform Psi-Littlestone dimension: all sequences of maps, each decided from its definition."""
    choices = maps(sorted({int(label) for label in table.reshape(-1)}))

    @cache
    def shatters(rows, levels):
        if not levels:
            return bool(rows)
        zeros, ones = choices[levels[0]]
        return any(
            shatters(frozenset(r for r in rows if table[r][x] in zeros), levels[1:])
            and shatters(frozenset(r for r in rows if table[r][x] in ones), levels[1:])
            for x in range(table.shape[1])
        )

    depth, everybody = 0, frozenset(range(len(table)))
    while any(shatters(everybody, levels) for levels in product(range(len(choices)), repeat=depth + 1)):
        depth += 1
    return depth


def psi(table, maps):
    """Psi-dimension: all sets of elements with all choices of maps."""
    options = [maps(sorted({int(label) for label in column})) for column in table.T]
    best = 0
    for size in range(1, table.shape[1] + 1):
        for points in combinations(range(table.shape[1]), size):
            for chosen in product(*(options[x] for x in points)):
                values = {
                    tuple(
                        0 if row[x] in zeros else 1 if row[x] in ones else 2
                        for x, (zeros, ones) in zip(points, chosen, strict=True)
                    )
                    for row in table
                }
                if sum(2 not in value for value in values) == 2**size:
                    best = size
    return best


def threshold(table):
    """Threshold dimension: every way to begin a chain, then the same among what is left."""

    def longest(rows, points):
        return max(
            (
                1 + longest([r for r in rows if not table[r][x]], [y for y in points if table[c][y] and y != x])
                for c in rows
                for x in points
                if table[c][x]
            ),
            default=0,
        )

    return longest(list(range(len(table))), list(range(table.shape[1])))


def star(table):
    """Star number: all centers and sets of elements."""
    for size in range(table.shape[1], 0, -1):
        for center in table:
            differs = table != center
            for points in combinations(range(table.shape[1]), size):
                part = differs[:, list(points)]
                if all(any(row[i] and row.sum() == 1 for row in part) for i in range(size)):
                    return size
    return 0


def teaching_set_size(table, row, others):
    """The size of a smallest set of elements that identifies a row among others."""
    for size in range(table.shape[1] + 1):
        for points in combinations(range(table.shape[1]), size):
            if all((table[other][list(points)] != table[row][list(points)]).any() for other in others if other != row):
                return size
    raise AssertionError("equal rows")


def recursive_teaching(table):
    """The largest of the least sizes, when the rows that are easiest to teach are removed again and again."""
    left, largest = list(range(len(table))), 0
    while left:
        sizes = {row: teaching_set_size(table, row, left) for row in left}
        least = min(sizes.values())
        largest, left = max(largest, least), [row for row in left if sizes[row] > least]
    return largest


def randomized_littlestone(table):
    """Half the largest expected depth: the recursion over all pairs of labels at all elements."""

    @cache
    def deepest(rows):
        best = Fraction(0)
        for x in range(table.shape[1]):
            for a, b in combinations(sorted({int(table[r][x]) for r in rows}), 2):
                low, high = (deepest(frozenset(r for r in rows if table[r][x] == label)) for label in (a, b))
                best = max(best, 1 + (low + high) / 2)
        return best

    return deepest(frozenset(range(len(table)))) / 2


def zero_cover(table, tree):
    """The smallest 0-cover by search over all trees of labels: for tiny classes."""
    labels = sorted({int(label) for label in table.reshape(-1)})

    def paths(node):
        if len(node) == 1:
            return [((), node)]
        return [((side, *turns), (node[0], *rest)) for side in (0, 1) for turns, rest in paths(node[1 + side])]

    def outputs(node):
        if len(node) == 1:
            return [(label,) for label in labels]
        return [(label, left, right) for label in labels for left in outputs(node[1]) for right in outputs(node[2])]

    wanted = frozenset((turns, tuple(int(row[x]) for x in path)) for turns, path in paths(tree) for row in table)
    covered = {wanted & frozenset(paths(output)) for output in outputs(tree)}
    covered = [one for one in covered if not any(one < other for other in covered)]

    def fewest(left, limit):
        if not left:
            return 0
        if limit == 0:
            return None
        first = min(left)
        found = [fewest(left - one, limit - 1) for one in covered if first in one]
        return min((1 + count for count in found if count is not None), default=None)

    limit = 1
    while (count := fewest(wanted, limit)) is None:
        limit += 1
    return count
