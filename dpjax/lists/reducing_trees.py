"""Trees of queries that ask for the elements of some rows, and then reduce what errs little on them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

import numpy as np

from dpjax.concepts.versions import Versions
from dpjax.concepts.versions.base import Space

Counted = tuple[int, int, int]
"""An element, and its rows with label 0 and 1."""

_FEW = 4  # labelings


def largest_leaves(
    versions: Versions, counts: Sequence[Counted], most_errors: np.float32, depth: int
) -> Iterator[Space]:
    """The leaves of the largest dimension below all labelings of the elements with at most so many errors, where a tree
    of ``depth`` queries below each labeling reduces it as far as possible."""
    few = 0 if versions.tree_depth is None else _FEW  # to ask how far a matrix is reduced takes longer than to list it
    spaces = list(islice(_labelings(versions, counts, most_errors, depth, 0), few))
    if len(spaces) < few:  # all of them: often one, if functions differ much
        reduced = [versions.reduced(space, depth) for space in spaces]
        largest = (space for space, least in zip(spaces, reduced, strict=True) if least == max(reduced))
        yield from _leaves(versions, largest, depth)
        return
    for least in range(versions.reduced(versions.whole, depth), -1, -1):
        labelings = _labelings(versions, counts, most_errors, depth, least)
        if (first := next(labelings, None)) is not None:
            yield from _leaves(versions, chain([first], labelings), depth)
            return


def _leaves(versions: Versions, spaces: Iterable[Space], depth: int) -> Iterator[Space]:
    """Of spaces that are all reduced to the same dimension, the leaves that have it."""
    for space in spaces:
        least = versions.reduced(space, depth)
        yield from (leaf for leaf in versions.leaves(space, depth) if versions.dimension(leaf) == least)


def _labelings(
    versions: Versions, counts: Sequence[Counted], most_errors: np.float32, depth: int, least: int
) -> Iterator[Space]:
    """The spaces of the labelings of all elements that err little and are not reduced below ``least``.

    A query does not raise what a space is reduced to, so a label that would fall below is not looked at again.
    """
    nodes = [(versions.whole, counts, 0)]
    while nodes:
        narrowed = _narrowed(versions, *nodes.pop(), most_errors, depth, least)
        if narrowed is None:
            continue
        space, rest, errors = narrowed
        if not rest:
            yield space
            continue
        x, *wrong = max(rest, key=lambda item: _disagreement(versions, space, item) if least else item[1] + item[2])
        rest = [item for item in rest if item[0] != x]
        for y in (0, 1):
            nodes.append((versions.after(space, x, y), rest, errors + wrong[1 - y]))


def _narrowed(
    versions: Versions,
    space: Space,
    counts: Sequence[Counted],
    errors: int,
    most_errors: np.float32,
    depth: int,
    least: int,
) -> tuple[Space, Sequence[Counted], int] | None:
    """The space after all labels that are the only ones left, the elements with two, and the errors; None if an element
    has none."""
    while True:
        labels, rest = dict[int, int](), list[Counted]()
        for x, *wrong in counts:
            sides = [
                y for y in (0, 1) if errors + wrong[1 - y] <= most_errors and versions.keeps(space, x, y, depth, least)
            ]
            if not sides:
                return None
            if len(sides) == 2:
                rest.append((x, wrong[0], wrong[1]))
            else:
                labels[x] = sides[0]
                errors += wrong[1 - sides[0]]
        if not labels:
            return space, rest, errors
        space, counts = versions.restricted(space, labels), rest
        if space is None or (least > 0 and versions.reduced(space, depth) < least):
            return None


def _disagreement(versions: Versions, space: Space, item: Counted) -> tuple[int, int, int]:
    """Rows that differ from the optimal prediction, all rows, and the element."""
    x, *rows = item
    return rows[1 - versions.prediction(space, x)], sum(rows), x
