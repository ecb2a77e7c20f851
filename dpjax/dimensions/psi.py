"""Families of collapsing maps: what the nodes of a tree, or the points of a set, distinguish.

A collapsing map sends some labels to 0, some to 1 and all others to *. A family is a function from a tuple of labels to
a list of groupings, each a tuple of disjoint sets of labels; its maps tell one set of a grouping from another one. Any
such function may be given wherever these are.

Reference: Bun, Gaboardi, Sivakumar 2021, Section 4.2; Ben-David, Cesa-Bianchi, Haussler, Long 1995.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations

from dpjax.core.checks import InputError
from dpjax.dimensions.clock import Clock
from dpjax.dimensions.matrix import Cells
from dpjax.dimensions.witnesses import Sides

Grouping = tuple[frozenset[int], ...]
Family = Callable[[tuple[int, ...]], list[Grouping]]

MOST_LABELS = 17
"""The most labels at one domain element that `bipartitions` takes: 2^16 maps."""


def natarajan(labels: tuple[int, ...]) -> list[Grouping]:
    """Psi^N: any label against any other one."""
    return [tuple(frozenset([label]) for label in labels)]


def bits(labels: tuple[int, ...]) -> list[Grouping]:
    """Psi^bin: bit i of the label, for each i; bit 0 is the least significant one."""
    partitions: list[Grouping] = []
    for i in range(max(labels).bit_length()):
        ones = frozenset(label for label in labels if label >> i & 1)
        if ones and len(ones) < len(labels):
            partitions.append((frozenset(labels) - ones, ones))
    return partitions


def bipartitions(labels: tuple[int, ...]) -> list[Grouping]:
    """Psi^B, every map to {0, 1, *}, without those that use *: a map that does shatters nothing that these do not.

    InputError for more than 17 labels, which have more than 2^16 such maps.
    """
    if len(labels) > MOST_LABELS:
        expected = f"at most {MOST_LABELS} for the family of all maps"
        actual = f"{len(labels)}, which have 2^{len(labels) - 1} maps"
        raise InputError("labels at one domain element", expected, actual, "take the family `natarajan` or `bits`")
    first, rest = labels[0], labels[1:]
    partitions: list[Grouping] = []
    for chosen in range(1, 1 << len(rest)):
        ones = frozenset(label for i, label in enumerate(rest) if chosen >> i & 1)
        partitions.append((frozenset([first, *rest]) - ones, ones))
    return partitions


def groupings(family: Family, labels: tuple[int, ...]) -> list[Grouping]:
    """What a family makes of labels; InputError unless these are tuples of disjoint frozensets."""
    answer = family(labels) if callable(family) else None
    if not isinstance(answer, list | tuple):
        actual = (
            repr(family) if answer is None and not callable(family) else f"{type(answer).__name__} for {labels[:8]}"
        )
        raise InputError("family", _EXPECTED, actual, _ADVICE)
    for grouping in answer:
        if not isinstance(grouping, tuple) or not all(isinstance(part, frozenset) for part in grouping):
            raise InputError("family", _EXPECTED, f"the grouping {grouping!r}"[:120], _ADVICE)
        if len(frozenset().union(*grouping)) < sum(map(len, grouping)):
            actual = f"{str(tuple(map(sorted, grouping)))[:120]} for the labels {labels[:8]}"
            raise InputError("family", "groupings of disjoint sets", actual, "let every label be in one set at most")
    return list(answer)


_EXPECTED = "a function from a tuple of labels to a list of groupings, tuples of frozensets of labels"
_ADVICE = "take psi.natarajan, psi.bits or psi.bipartitions, or write [(frozenset({0}), frozenset({1, 2}))]"


def maps(family: Family, labels: tuple[int, ...], clock: Clock) -> Iterator[Sides]:
    """All maps of a family on some labels, one for each pair of sets of a grouping."""
    for grouping in groupings(family, labels) if len(labels) > 1 else []:
        clock.tick()
        for first, zeros in enumerate(grouping):
            clock.tick()
            for ones in grouping[first + 1 :]:
                yield zeros, ones


def splits(
    columns: Iterable[tuple[int, Cells]], family: Family, clock: Clock
) -> Iterator[tuple[int, Grouping, tuple[int, ...]]]:
    """(number of the column, grouping, the rows of each of its sets) for each grouping of each column."""
    known: dict[tuple[int, ...], list[Grouping]] = {}  # columns with equal labels share them
    for point, column in columns:
        labels = tuple(label for label, _ in column)
        if labels not in known:
            known[labels] = groupings(family, labels)
        rows_of = dict(column)
        for grouping in known[labels]:
            clock.tick()
            yield point, grouping, tuple([side(rows_of, group) for group in grouping])


def pairs(
    columns: Iterable[tuple[int, Cells]], family: Family, clock: Clock
) -> Iterator[tuple[int, Sides, tuple[int, int]]]:
    """The same for pairs of sets of a grouping: (number of the column, map, the rows of its sides)."""
    for point, grouping, parts in splits(columns, family, clock):
        for i, j in combinations(range(len(parts)), 2):
            if j == i + 1:
                clock.tick()
            yield point, (grouping[i], grouping[j]), (parts[i], parts[j])


def side(rows_of: dict[int, int], labels: frozenset[int]) -> int:
    """The rows of a column, by label, that have one of the labels."""
    rows = 0
    for label in labels:
        rows |= rows_of.get(label, 0)
    return rows
