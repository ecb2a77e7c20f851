"""Families of collapsing maps: what the nodes of a tree, or the points of a set, distinguish.

A collapsing map sends some labels to 0, some to 1 and all others to *. A family is a function from a tuple of labels to
a list of groupings, each a tuple of disjoint sets of labels; its maps tell one set of a grouping from another one. Any
such function may be given wherever these are.

Reference: Bun, Gaboardi, Sivakumar 2021, Section 4.2; Ben-David, Cesa-Bianchi, Haussler, Long 1995.
"""

from collections.abc import Callable
from itertools import combinations

from dpjax.core.checks import InputError
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
    found: list[Grouping] = []
    for i in range(max(labels).bit_length()):
        ones = frozenset(label for label in labels if label >> i & 1)
        if ones and len(ones) < len(labels):
            found.append((frozenset(labels) - ones, ones))
    return found


def bipartitions(labels: tuple[int, ...]) -> list[Grouping]:
    """Psi^B, every map to {0, 1, *}, without those that use *: a map that does shatters nothing that these do not.

    InputError for more than 17 labels, which have more than 2^16 such maps.
    """
    if len(labels) > MOST_LABELS:
        raise InputError(
            "labels at one domain element", f"at most {MOST_LABELS} for the family of all maps",
            f"{len(labels)}, which have 2^{len(labels) - 1} maps", "take the family `natarajan` or `bits`",
        )  # fmt: skip
    first, rest = labels[0], labels[1:]
    found: list[Grouping] = []
    for chosen in range(1, 1 << len(rest)):
        ones = frozenset(label for i, label in enumerate(rest) if chosen >> i & 1)
        found.append((frozenset([first, *rest]) - ones, ones))
    return found


def maps(family: Family, labels: tuple[int, ...]) -> list[Sides]:
    """All maps of a family on some labels, one for each pair of sets of a grouping."""
    return [pair for grouping in family(labels) for pair in combinations(grouping, 2)] if len(labels) > 1 else []


def side(column: Cells, labels: frozenset[int]) -> int:
    """The rows of a column that have one of the labels."""
    rows = 0
    for label, members in column:
        if label in labels:
            rows |= members
    return rows
