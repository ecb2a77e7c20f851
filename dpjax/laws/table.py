"""The two-level table of `Categorical.sample`: integer bounds of columns of candidates, and a tree of their sums."""

import functools
from dataclasses import dataclass
from math import log

import jax
import jax.numpy as jnp
from jax import Array

_CELLS = 8  # candidates per column; with 8, XLA's CPU code for the sums is several times faster than with 16 or 32
_BRANCHES = 16  # children of each node above the columns
_SHIFT = 3
LANES = 1 << _SHIFT  # adjacent columns that a CPU sums in one vector instruction
_BITS = 22  # a weight of exp(0) has 2**22 units, the most that a float32 fraction holds
_ONE = 0x4B000000  # the bits of 2**23 as a float32
_EXISTS = 1 << 27  # added to the units of an existing candidate; a column's units stay below it
NEVER = -(2**31)  # the entry of `Categorical.exact` of a candidate that does not exist
# 2**f on [0, 1], relative error below 7.5e-5
_POWER = (0.9999252186, 0.6958335400, 0.2260671568, 0.0780245217)


@dataclass(frozen=True)
class Bounds:
    """Columns of at most 8 candidates with integer upper bounds of their weight, and a tree of sums above them.

    A table is an array [blocks, rows, lanes] in the order of its entries; a column is the entries with one block and
    one lane. Candidate i is in block i // 64, lane i % 8, for every m; a single block has only the rows and
    lanes that it needs, and a level with one row is omitted. So m determines the program, but trailing candidates of
    weight 0 change neither a bound nor the order in which running sums visit the others.
    """

    cells: tuple[Array, ...]  # log-weights, float[., 8, 8] for whole blocks, then float[1, rows, lanes] for the others
    exact: tuple[Array, ...]  # the same for `Categorical.exact`, or ()
    unit: Array | None  # float[], see `Categorical`
    null: Array | None  # float[], the log-weight of an outcome before the candidates
    null_rest: Array | None
    largest: Array
    possible: Array  # bool[], True if some weight is finite and none is NaN
    null_bound: Array | None  # uint32[]
    bounds: Array  # uint32[columns], below 2**26
    levels: tuple[Array, ...]  # integers [., 16, 8] over the columns, [., 16, 1] over these, and so on
    ends: Array  # int64[at most 16], running sums of the top nodes

    @staticmethod
    def of(log_weights: Array, known: Array | None = None, null: Array | None = None, *lost: Array | None) -> "Bounds":
        """From ``float[m]``. ``known``: their maximum, if precomputed; ``null``: ``float[]``; ``lost``, a correction
        that the bounds leave room for: `Categorical.exact`, its entry of null, its unit, or none of them."""
        exact, null_rest, unit = lost or (None, None, None)
        if known is None:
            known = fold_max(log_weights) if null is None else jnp.maximum(fold_max(log_weights), null)
        possible = jnp.isfinite(known)
        largest = jnp.where(possible, known, jnp.zeros_like(known))
        cells = _segments(log_weights, -jnp.inf)
        parts = () if exact is None else _segments(exact, NEVER)
        columns = [_bounds(part, largest) for part in cells]
        bounds = columns[0] if len(columns) == 1 else jnp.concatenate(columns)
        null_bound = None if null is None else _bounds(null.reshape(1, 1, 1), largest)[0]
        levels, top = [], bounds
        if top.shape[0] > LANES:
            levels.append(_blocks(top, _BRANCHES, LANES))
            top = jnp.sum(levels[0], axis=1, dtype=jnp.uint32).reshape(-1)
        top = top.astype(jnp.int64)
        while top.shape[0] > _BRANCHES:
            levels.append(_blocks(top, _BRANCHES, 1))
            top = jnp.sum(levels[-1], axis=1).reshape(-1)
        bounded = largest, possible, null_bound, bounds, tuple(levels), _running(top)
        return Bounds(cells, parts, unit, null, null_rest, *bounded)

    def weights(self, cells: Array, rest: Array | None = None) -> tuple[Array, Array]:
        """The smallest integer above 2**22 exp(w - max), and 2**22 exp(w - max) itself, both float64."""
        exact = jnp.exp(whole(cells, rest, self.unit) - self.largest.astype(jnp.float64)) * 2.0**_BITS
        return jnp.floor(exact) + 1.0, exact

    def propose(self, word: Array, next_word: Array) -> tuple[Array, Array]:
        """An index and its acceptance probability, from 128 bits. With ``null``, index 0 is null, 1 + i candidate i."""
        total = self.ends[-1].astype(jnp.uint64)
        if self.null_bound is not None:
            total = total + self.null_bound.astype(jnp.uint64)
        low = word * total
        carry = low + jax.lax.mulhi(next_word, total) < low
        target = (jax.lax.mulhi(word, total) + carry.astype(jnp.uint64)).astype(jnp.int64)  # (128 bits x total) >> 128
        if self.null is None or self.null_bound is None:
            return self._descended(target)
        left = target - self.null_bound.astype(jnp.int64)
        index, accept = self._descended(left)
        units, exact = self.weights(self.null, self.null_rest)
        accept_null = jnp.where(target < units.astype(jnp.int64), exact / units, 0.0)
        return jnp.where(left < 0, jnp.int32(0), index + 1), jnp.where(left < 0, accept_null, accept)

    def _descended(self, target: Array) -> tuple[Array, Array]:
        passed = self.ends <= target
        column = jnp.sum(passed, dtype=jnp.int32)
        target = target - jnp.max(jnp.where(passed, self.ends, 0))
        for level in reversed(self.levels):
            row, target = _descend(_column(level, column).astype(jnp.int64), target)
            column = _entry(level, column, row)
        rest = _found(self.exact, column, NEVER) if self.exact else None
        units, exact = self.weights(_found(self.cells, column, -jnp.inf), rest)
        row, _ = _descend(units, target.astype(jnp.float64))
        inside = jnp.minimum(row, jnp.int32(units.shape[0] - 1))
        accept = jnp.where(row < units.shape[0], _item(exact, inside) / _item(units, inside), 0.0)
        return ((column >> _SHIFT) * _CELLS + inside) * LANES + (column & (LANES - 1)), accept


def whole(rounded: Array, exact: Array | None, unit: Array | None) -> Array:
    """Log-weights in float64, from the fields of `Categorical`."""
    wide, exact = rounded.astype(jnp.float64), jnp.float64(0) if exact is None else exact.astype(jnp.float64)
    return wide + exact if unit is None else jnp.where(exact == NEVER, -jnp.inf, unit.astype(jnp.float64) * exact)


def fold_max(values: Array) -> Array:
    """The largest entry of a vector; +inf if one is NaN, which XLA's vectorized reduction on CPUs may skip.

    Integers are folded in sixteenths, which is several times faster than XLA's reduction on a CPU.
    """
    if jnp.issubdtype(values.dtype, jnp.floating):
        infinity = jnp.asarray(jnp.inf, values.dtype)
        return jnp.max(jnp.where(values <= infinity, values, infinity))
    while values.shape[0] >= 128:
        size = values.shape[0]
        width = -(-size // 16)
        starts = [min(i * width, size - width) for i in range(16)]
        values = functools.reduce(jnp.maximum, [values[start : start + width] for start in starts])
    return jnp.max(values)


def rounded_units(logs: Array) -> Array:
    """The bits of 2**23 + round(2**22 p), ``uint32``, for w <= 0, with p within 1.2e-4 of exp(w), or both below 2**-99.

    The exponent of the power of two is in the low bits of whole + 1.5 * 2**23, so shifts and additions suffice.
    """
    power = logs.astype(jnp.float32) * jnp.float32(1 / log(2))
    power = jnp.where(power > jnp.float32(-100), power, jnp.float32(-100))  # one instruction, unlike jnp.maximum
    whole = jnp.floor(power)
    fraction = power - whole
    shifted = whole + jnp.float32(1.5 * 2**23)
    value = jnp.float32(_POWER[3])
    for coefficient in _POWER[2::-1]:
        value = value * fraction + jnp.float32(coefficient)
    exponent = jax.lax.bitcast_convert_type(shifted, jnp.uint32) << jnp.uint32(23)
    value = jax.lax.bitcast_convert_type(jax.lax.bitcast_convert_type(value, jnp.uint32) + exponent, jnp.float32)
    return jax.lax.bitcast_convert_type(value * jnp.float32(2.0**_BITS) + jnp.float32(2.0**23), jnp.uint32)


def _bounds(cells: Array, largest: Array) -> Array:
    """``uint32[columns]``: at least the units of the column's cells; 0 for a column without candidates."""
    exists = jnp.where(cells > -jnp.inf, jnp.uint32(_EXISTS), jnp.uint32(0))
    marked = jnp.sum(rounded_units(cells - largest) + exists, axis=1, dtype=jnp.uint32)
    marked = marked - jnp.uint32(cells.shape[1] * _ONE % 2**32)
    units = marked & jnp.uint32(_EXISTS - 1)
    # 8 halves for the rounding to integers, 8 for the + 1 of `weights`, 2 for the next line's rounding, and 2**-12
    # of the sum for the relative error, 1e-4, of the float32 arithmetic
    bounds = units + (units >> jnp.uint32(12)) + jnp.uint32(_CELLS + _CELLS // 2 + 2)
    return jnp.where(marked >= jnp.uint32(_EXISTS), bounds, jnp.uint32(0)).reshape(-1)


def _segments(values: Array, filler: float) -> tuple[Array, ...]:
    """Whole blocks, and the rest separately: on a CPU a copy into a padded array costs more than the arithmetic."""
    size = values.shape[0]
    whole = size - size % (_CELLS * LANES)
    parts = [values[:whole].reshape(-1, _CELLS, LANES)] if whole else []
    if size > whole:
        parts.append(_blocks(values[whole:], _CELLS, LANES, filler))
    return tuple(parts)


def _found(parts: tuple[Array, ...], column: Array, filler: float) -> Array:
    """A column of `_segments`."""
    first, entries = 0, jnp.full(parts[0].shape[1], filler, parts[0].dtype)
    for i, part in enumerate(parts):
        inside = _column(part, column - jnp.int32(first))
        inside = jnp.concatenate([inside, jnp.full(entries.shape[0] - inside.shape[0], filler, inside.dtype)])
        entries = inside if i == 0 else jnp.where(column < first, entries, inside)
        first += part.shape[0] * part.shape[2]
    return entries


def _blocks(values: Array, rows: int, lanes: int, filler: float = 0) -> Array:
    """The values padded to blocks; a single block has only the rows and lanes that it needs."""
    size = values.shape[0]
    if size < rows * lanes:
        lanes = min(lanes, size)
        rows = -(-size // lanes)
    padding = -size % (rows * lanes)
    if padding:
        values = jnp.concatenate([values, jnp.full(padding, filler, values.dtype)])
    return values.reshape(-1, rows, lanes)


def _running(values: Array) -> Array:
    """Running sums of a short vector; one reduction compiles faster than a chain of additions."""
    place = jnp.arange(values.shape[0], dtype=jnp.int32)
    return jnp.sum(jnp.where(place[:, None] <= place[None, :], values[:, None], 0), axis=0, dtype=values.dtype)


def _place(table: Array, column: Array) -> tuple[Array, Array]:
    """Block and lane of a column."""
    blocks, _, lanes = table.shape
    if blocks == 1:
        return jnp.zeros_like(column), column
    shift = jnp.int32(lanes.bit_length() - 1)  # several blocks have 8 lanes or one
    return column >> shift, column & jnp.int32(lanes - 1)


def _column(table: Array, column: Array) -> Array:
    block, lane = _place(table, column)
    return jax.lax.dynamic_slice(table, (block, jnp.int32(0), lane), (1, table.shape[1], 1)).reshape(-1)


def _entry(table: Array, column: Array, row: Array) -> Array:
    """The index of an entry within the table."""
    block, lane = _place(table, column)
    return (block * table.shape[1] + row) * table.shape[2] + lane


def _item(values: Array, index: Array) -> Array:
    return jax.lax.dynamic_index_in_dim(values, index, 0, keepdims=False)


def _descend(parts: Array, target: Array) -> tuple[Array, Array]:
    """The first part whose running sum exceeds the target (their number if none does), and the remaining target."""
    total = before = jnp.zeros((), parts.dtype)
    index = jnp.int32(0)
    for i in range(parts.shape[0]):
        total = total + parts[i]
        passed = total <= target
        index, before = index + passed.astype(jnp.int32), jnp.where(passed, total, before)
    return index, target - before


def unit(high: Array, low: Array) -> Array:
    """Uniform on (0, 1] from 128 bits, float64 with full precision near 0."""
    parts = (high[0], low[0], high[1])
    total = (low[1].astype(jnp.float64) + 0.5) * 2.0**-128
    for part, exponent in zip(parts[::-1], (-96, -64, -32), strict=True):
        total = part.astype(jnp.float64) * 2.0**exponent + total
    return total
