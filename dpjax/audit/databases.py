"""All databases of a small world, and which of them are neighbors."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from dpjax.concepts.cube import Cube
from dpjax.concepts.domain import Domain
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring, Sample, require_relation

Pairs = np.ndarray
_MOST = 1 << 24  # databases, or pairs in one direction


@dataclass(frozen=True)
class Universe:
    """Databases side by side.

    databases: pytree whose arrays lead with the databases' axis.
    pairs: ``int64[p, 2]`` places of neighbors, in both orders.
    relation: under which they are neighbors.
    what: the universe in words. show: one database (the pytree without the leading axis) in words.
    """

    databases: Any
    pairs: Pairs
    relation: Neighboring
    what: str
    show: Callable[[Any], Any]


def histograms(votes: int, cells: int, relation: Neighboring, least: int = 0) -> Universe:
    """Counts ``int32[cells]`` of all databases of ``least`` to ``votes`` rows, each row in one cell.

    For mechanisms that do not see the order of rows.
    """
    require_relation(relation)
    checks.integer("cells", cells, 1, 8)
    checks.integer("votes", votes, max(least, 1))
    if math.comb(votes + cells, cells) > _MOST:
        raise InputError(
            "votes", f"at most {_MOST} databases", f"{votes} on {cells} cells", "take fewer votes or cells"
        )
    counts = np.concatenate([_compositions(n, cells) for n in range(least, votes + 1)])
    unit = np.eye(cells, dtype=np.int64)
    if relation is Neighboring.REPLACE_ONE:
        moves = [unit[b] - unit[a] for a in range(cells) for b in range(cells) if a != b]
    else:
        moves = [*unit, *-unit]
    what = f"all histograms of {least} to {votes} rows on {cells} cells"
    return Universe(
        counts.astype(np.int32), _moved(counts, moves), relation, what, lambda row: np.asarray(row).tolist()
    )


def vectors(values: Sequence[int], length: int, moves: Sequence[Sequence[int]], relation: Neighboring) -> Universe:
    """Whole-number vectors with coordinates among ``values``, and every one that a move leads to from there.

    For mechanisms that are given scores or answers: a neighbor moves them by what the sensitivity allows.
    """
    start = np.array(list(itertools.product(values, repeat=length)), np.int64)
    steps = np.array(moves, np.int64)
    everything = np.unique(np.concatenate([start, (start[:, None, :] + steps).reshape(-1, length)]), axis=0)
    pairs = _moved(everything, [*steps, *-steps])
    what = f"all vectors of length {length} over {list(values)}, and their neighbors"
    return Universe(everything.astype(np.int32), pairs, relation, what, show_numbers)


def samples(domain: Domain | Cube, k: int, rows: int, relation: Neighboring, ordered: bool = True) -> Universe:
    """Every k-labeled `Sample` over a tiny domain.

    ordered: of 1 to ``rows`` rows, in every order. Otherwise of exactly ``rows`` rows (and one less under
    ADD_OR_REMOVE_ONE) without regard to order: for learners that do not see it.
    """
    require_relation(relation)
    checks.integer("rows", rows, 1)
    added = relation is Neighboring.ADD_OR_REMOVE_ONE
    sizes = range(0 if added else 1, rows + 1) if ordered else range(rows - added, rows + 1)
    different = domain.size << k
    counts = [different**n if ordered else math.comb(different + n - 1, n) for n in sizes]
    if sum(counts) > _MOST >> 4:
        given = f"{sum(counts)}: up to {rows} rows of {domain.size} elements and {k} labels"
        advice = "take fewer rows or elements, or audit by --method statistical"
        raise InputError("rows", f"at most {_MOST >> 4} databases", given, advice)
    kinds = [(x, labels) for x in range(domain.size) for labels in itertools.product((False, True), repeat=k)]
    places = range(len(kinds))
    listed = (
        itertools.product(places, repeat=n) if ordered else itertools.combinations_with_replacement(places, n)
        for n in sizes
    )  # fmt: skip
    table = list(itertools.chain.from_iterable(listed))
    filled = np.array([[*row, *[0] * (rows - len(row))] for row in table], np.int64).reshape(len(table), rows)
    mask = np.arange(rows) < np.array([len(row) for row in table])[:, None]
    pairs = _row_pairs(np.where(mask, filled + 1, 0), len(kinds), added, ordered)
    values, labels = np.array([x for x, _ in kinds], np.uint64), np.array([y for _, y in kinds])
    x = domain.encode(values[filled].ravel()).reshape(len(table), rows, domain.limbs)
    databases = Sample(jnp.asarray(x), jnp.asarray(labels[filled]), jnp.asarray(mask))
    order = "in every order" if ordered else "without regard to order"
    what = f"all samples of {sizes[0]} to {sizes[-1]} rows, {order}, over {domain.size} elements and {k} labels"
    return Universe(databases, pairs, relation, what, show_sample)


def _compositions(total: int, cells: int) -> np.ndarray:
    """All ways to write ``total`` as an ordered sum of ``cells`` numbers >= 0."""
    found = list(itertools.combinations(range(total + cells - 1), cells - 1))
    bars = np.array(found, np.int64).reshape(math.comb(total + cells - 1, cells - 1), cells - 1)
    edge = np.ones((len(bars), 1), np.int64)
    return np.diff(np.concatenate([-edge, bars, (total + cells - 1) * edge], axis=1), axis=1) - 1


def _moved(rows: np.ndarray, moves: Sequence[np.ndarray]) -> Pairs:
    """All ordered pairs (row, row + move) of which both are in ``rows``; rows are distinct."""
    low = rows.min(axis=0)
    spans = rows.max(axis=0) - low + 1
    weights = np.append(np.cumprod(spans[::-1])[::-1][1:], 1)
    codes = (rows - low) @ weights
    order = np.argsort(codes)
    found = [np.zeros((0, 2), np.int64)]
    if not len(moves):
        return found[0]
    for move in np.unique(np.array(moves, np.int64), axis=0):
        if not move.any():
            continue
        goal = rows + move
        inside = np.all((goal >= low) & (goal < low + spans), axis=1)
        wanted = (goal - low) @ weights
        at = order[np.minimum(np.searchsorted(codes, wanted, sorter=order), len(rows) - 1)]
        there = inside & (codes[at] == wanted)
        found.append(np.stack([np.flatnonzero(there), at[there]], axis=1))
    return np.concatenate(found)


def _row_pairs(digits: np.ndarray, kinds: int, added: bool, ordered: bool) -> Pairs:
    """digits: ``int64[databases, rows]``, the kind of every row plus 1, and 0 behind them where there are fewer."""
    count, rows = digits.shape

    def codes(some: np.ndarray) -> np.ndarray:
        aside = some == 0 if ordered else -some  # without order: the largest first, the absent last
        if added or not ordered:
            some = np.take_along_axis(some, np.argsort(aside, axis=1, kind="stable"), axis=1)
        powers = [(kinds + 1) ** i for i in range(rows)]
        return some @ np.array(powers, np.int64 if (kinds + 1) ** rows < 2**62 else object)

    own = codes(digits)
    order = np.argsort(own)
    found = [np.zeros(0, np.int64)]
    for at in range(rows):
        for new in [0] if added else range(1, kinds + 1):
            changed = np.flatnonzero((digits[:, at] > 0) & (digits[:, at] != new))
            other = digits[changed]
            other[:, at] = new
            wanted = codes(other)
            place = order[np.minimum(np.searchsorted(own, wanted, sorter=order), count - 1)]
            there = own[place] == wanted
            found.append(changed[there] * count + place[there])
            if added:
                found.append(place[there] * count + changed[there])
    return np.stack(np.divmod(np.unique(np.concatenate(found)), count), axis=1)


def show_numbers(database: Any) -> Any:
    """A database that is one array, for a person and for JSON."""
    return np.asarray(database).tolist()


def show_sample(sample: Sample) -> list[str]:
    """The real rows of a sample as (value; labels), for a person and for JSON."""
    rows = np.flatnonzero(np.asarray(sample.mask))
    value = [int.from_bytes(np.asarray(sample.x)[r].astype(">u4").tobytes(), "big") for r in rows]
    return [f"({v}; {''.join(str(int(b)) for b in np.asarray(sample.y)[r])})" for v, r in zip(value, rows, strict=True)]
