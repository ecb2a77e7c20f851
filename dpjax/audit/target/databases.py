"""All databases of a small universe, and which of them are neighbors."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from dpjax.audit.target.room import require_room
from dpjax.concepts.cube import Cube
from dpjax.concepts.domain import Domain
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring, Sample, require_relation

Pairs = np.ndarray
_MOST = 1 << 24  # databases, or pairs in one direction


@dataclass(frozen=True)
class Universe:
    """A stack of databases.

    databases: pytree of arrays whose leading axis is the index of the database.
    pairs: ``int64[p, 2]`` indices of neighbors, in both orders.
    relation: the neighboring relation of the pairs.
    what: description of the universe. show: describes one database (the pytree without the leading axis).
    """

    databases: Any
    pairs: Pairs
    relation: Neighboring
    what: str
    show: Callable[[Any], Any]


def histograms(votes: int, cells: int, relation: Neighboring, least: int = 0) -> Universe:
    """Counts ``int32[cells]`` of all databases of ``least`` to ``votes`` rows, each row in one cell.

    For mechanisms that ignore the order of rows.
    """
    require_relation(relation)
    checks.integer("cells", cells, 1, 8)
    checks.integer("votes", votes, max(least, 1))
    if math.comb(votes + cells, cells) > _MOST:
        raise InputError(
            "votes", f"at most {_MOST} databases", f"{votes} on {cells} cells", "take fewer votes or cells"
        )
    steps = cells * (cells - 1) if relation is Neighboring.REPLACE_ONE else 2 * cells
    pairs = 2 * math.comb(votes + cells, cells) * steps
    require_room("votes", pairs, f"the pairs of neighbors of {votes} rows on {cells} cells")
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
    """Integer vectors with coordinates in ``values``, and every vector that one of the moves leads to.

    For mechanisms whose input is scores or answers: a neighbor changes them by at most the sensitivity.
    """
    if (count := len(values) ** length * (1 + len(moves))) > _MOST:
        size = f"{count}: length {length} over {len(values)} values, and their neighbors"
        raise InputError("length", f"at most {_MOST} databases", size, "take fewer values or coordinates")
    start = np.array(list(itertools.product(values, repeat=length)), np.int64)
    steps = np.array(moves, np.int64)
    everything = np.unique(np.concatenate([start, (start[:, None, :] + steps).reshape(-1, length)]), axis=0)
    pairs = _moved(everything, [*steps, *-steps])
    what = f"all vectors of length {length} over {list(values)}, and their neighbors"
    return Universe(everything.astype(np.int32), pairs, relation, what, show_numbers)


def samples(
    domain: Domain | Cube,
    k: int,
    rows: int,
    relation: Neighboring,
    ordered: bool = True,
    elements: Sequence[int] | None = None,
) -> Universe:
    """Every k-labeled `Sample` over a tiny domain, or over a few ``elements`` of a large one.

    ordered: all sequences of 1 to ``rows`` rows. Otherwise all multisets of exactly ``rows`` rows (and of one less
    under ADD_OR_REMOVE_ONE), for learners that ignore the order of rows.
    """
    require_relation(relation)
    checks.integer("rows", rows, 1)
    added = relation is Neighboring.ADD_OR_REMOVE_ONE
    sizes = range(0 if added else 1, rows + 1) if ordered else range(rows - added, rows + 1)
    chosen, many = (range(domain.size), domain.size) if elements is None else (elements, len(elements))
    different, columns = many << k, f"{k} label column{'s' * (k != 1)}"
    counts = [different**n if ordered else math.comb(different + n - 1, n) for n in sizes]
    if sum(counts) > _MOST >> 4:
        size = f"{sum(counts)}: up to {rows} rows of {many} elements and {columns}"
        advice = "take fewer rows or elements, or audit by --method statistical"
        raise InputError("rows", f"at most {_MOST >> 4} databases", size, advice)
    kinds = [(x, labels) for x in chosen for labels in itertools.product((False, True), repeat=k)]
    places = range(len(kinds))
    listed = (
        itertools.product(places, repeat=n) if ordered else itertools.combinations_with_replacement(places, n)
        for n in sizes
    )
    table = list(itertools.chain.from_iterable(listed))
    filled = np.array([[*row, *[0] * (rows - len(row))] for row in table], np.int64).reshape(len(table), rows)
    mask = np.arange(rows) < np.array([len(row) for row in table])[:, None]
    pairs = _row_pairs(np.where(mask, filled + 1, 0), len(kinds), added, ordered)
    values, labels = np.array([x for x, _ in kinds], object), np.array([y for _, y in kinds])
    x = domain.encode(values[filled].ravel()).reshape(len(table), rows, domain.limbs)
    databases = Sample(jnp.asarray(x), jnp.asarray(labels[filled]), jnp.asarray(mask))
    order = "in every order" if ordered else "without regard to order"
    what = f"all samples of {sizes[0]} to {sizes[-1]} rows, {order}, over {many} elements and {columns}"
    return Universe(databases, pairs, relation, what, show_sample)


def _compositions(total: int, cells: int) -> np.ndarray:
    """All ways to write ``total`` as an ordered sum of ``cells`` numbers >= 0."""
    choices = list(itertools.combinations(range(total + cells - 1), cells - 1))
    bars = np.array(choices, np.int64).reshape(math.comb(total + cells - 1, cells - 1), cells - 1)
    edge = np.ones((len(bars), 1), np.int64)
    return np.diff(np.concatenate([-edge, bars, (total + cells - 1) * edge], axis=1), axis=1) - 1


def _moved(rows: np.ndarray, moves: Sequence[np.ndarray]) -> Pairs:
    """All ordered pairs (row, row + move) with both in ``rows``; rows are distinct."""
    low = rows.min(axis=0)
    spans = rows.max(axis=0) - low + 1
    weights = np.append(np.cumprod(spans[::-1])[::-1][1:], 1)
    codes = (rows - low) @ weights
    order = np.argsort(codes)
    parts = [np.zeros((0, 2), np.int64)]
    if not len(moves):
        return parts[0]
    for move in np.unique(np.array(moves, np.int64), axis=0):
        if not move.any():
            continue
        goal = rows + move
        inside = np.all((goal >= low) & (goal < low + spans), axis=1)
        wanted = (goal - low) @ weights
        at = order[np.minimum(np.searchsorted(codes, wanted, sorter=order), len(rows) - 1)]
        there = inside & (codes[at] == wanted)
        parts.append(np.stack([np.flatnonzero(there), at[there]], axis=1))
    return np.concatenate(parts)


def _row_pairs(digits: np.ndarray, kinds: int, added: bool, ordered: bool) -> Pairs:
    """digits: ``int64[databases, rows]``: 1 + the kind of each row, followed by 0 for absent rows."""
    count, rows = digits.shape

    def codes(some: np.ndarray) -> np.ndarray:
        aside = some == 0 if ordered else -some  # unordered: sorted in descending order, absent rows last
        if added or not ordered:
            some = np.take_along_axis(some, np.argsort(aside, axis=1, kind="stable"), axis=1)
        powers = [(kinds + 1) ** i for i in range(rows)]
        return some @ np.array(powers, np.int64 if (kinds + 1) ** rows < 2**62 else object)

    digit_codes = codes(digits)
    order = np.argsort(digit_codes)
    parts = [np.zeros(0, np.int64)]
    for at in range(rows):
        for new in [0] if added else range(1, kinds + 1):
            changed = np.flatnonzero((digits[:, at] > 0) & (digits[:, at] != new))
            other = digits[changed]
            other[:, at] = new
            wanted = codes(other)
            place = order[np.minimum(np.searchsorted(digit_codes, wanted, sorter=order), count - 1)]
            there = digit_codes[place] == wanted
            parts.append(changed[there] * count + place[there])
            if added:
                parts.append(place[there] * count + changed[there])
    return np.stack(np.divmod(np.unique(np.concatenate(parts)), count), axis=1)


def show_numbers(database: Any) -> Any:
    """A database that is one array, in readable and JSON-ready form."""
    return np.asarray(database).tolist()


def show_sample(sample: Sample) -> list[str]:
    """The unmasked rows of a sample as (x = value, y = labels), in readable and JSON-ready form."""
    rows = np.flatnonzero(np.asarray(sample.mask))
    value = [int.from_bytes(np.asarray(sample.x)[r].astype(">u4").tobytes(), "big") for r in rows]
    return [
        f"(x = {v}, y = {''.join(str(int(b)) for b in np.asarray(sample.y)[r])})"
        for v, r in zip(value, rows, strict=True)
    ]
