"""The two-level table of `Categorical.sample`: whole-number bounds of columns of candidates, and a tree of sums."""

import functools
from dataclasses import dataclass
from math import log

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core import wide

_CELLS = 8  # candidates of a column; with 8, XLA's CPU code for the sums is several times faster than with 16 or 32
_BRANCHES = 16  # children of every node above the columns
LANES = 8  # neighbouring columns whose sums a CPU makes at once
_BITS = 22  # a weight of exp(0) has 2**22 units: all that fits in the fraction of a float32
_ONE = 0x4B000000  # the bits of 2**23 as a float32
# 2**f on [0, 1], relative error below 7.5e-5
_POWER = (0.9999252186, 0.6958335400, 0.2260671568, 0.0780245217)


@dataclass(frozen=True)
class Bounds:
    """Columns of 8 candidates under whole-number bounds of their weight, and a tree of sums above them.

    A table of it is an array [blocks, rows, lanes] in the order of its entries; its columns are what has the same
    block and the same lane. The order in which a running sum meets the candidates does not depend on how many of
    weight 0 there are at the end: the two lowest tables have a fixed shape of block, those above have one lane.
    """

    cells: Array  # float[., 8, 8], log-weights; -inf in the padding
    largest: Array
    possible: Array  # bool[], some weight is finite and none is NaN
    bounds: Array  # uint32[columns], below 2**26
    levels: tuple[Array, ...]  # integers [., 16, 8] over the columns, [., 16, 1] over these, and so on
    top: Array  # int64[at most 16]

    @staticmethod
    def of(log_weights: Array, known: Array | None = None) -> "Bounds":
        """From ``float[m]``; ``known``: their maximum, where the caller has it."""
        cells = _blocks(log_weights, _CELLS, LANES, -jnp.inf)
        largest = fold_max(log_weights) if known is None else known
        possible = jnp.isfinite(largest)
        largest = jnp.where(possible, largest, jnp.zeros_like(largest))
        units = jnp.sum(rounded_units(cells - largest), axis=1, dtype=jnp.uint32) - jnp.uint32(_CELLS * _ONE % 2**32)
        # 8 halves for the rounding to whole numbers, 8 for the + 1 of `weights`, 2 for what follows, and 2**-12 of
        # the sum for the relative error, 1e-4, of the float32 arithmetic
        bounds = units + (units >> jnp.uint32(12)) + jnp.uint32(_CELLS + _CELLS // 2 + 2)
        exists = jnp.max(cells, axis=1) > -jnp.inf
        bounds = jnp.where(exists, bounds, jnp.uint32(0)).reshape(-1)
        levels = [_blocks(bounds, _BRANCHES, LANES, 0)]
        top = jnp.sum(levels[0], axis=1, dtype=jnp.uint32).reshape(-1).astype(jnp.int64)
        while top.shape[0] > _BRANCHES:
            levels.append(_blocks(top, _BRANCHES, 1, 0))
            top = jnp.sum(levels[-1], axis=1).reshape(-1)
        return Bounds(cells, largest, possible, bounds, tuple(levels), top)

    def weights(self, cells: Array) -> tuple[Array, Array]:
        """2**22 exp(w - max) in float64, and the next larger whole number."""
        exact = jnp.exp(cells.astype(jnp.float64) - self.largest.astype(jnp.float64)) * 2.0**_BITS
        return jnp.floor(exact) + 1.0, exact

    def propose(self, high: Array, low: Array) -> tuple[Array, Array]:
        """A candidate's index and its acceptance probability, from 64 random bits."""
        total = jnp.sum(self.top).astype(jnp.uint64)
        target = jax.lax.mulhi(wide.word(high, low), total).astype(jnp.int64)
        column, target = _descend(self.top, target)
        for level in reversed(self.levels):
            row, target = _descend(_column(level, column).astype(jnp.int64), target)
            column = _entry(level, column, row)
        units, exact = self.weights(_column(self.cells, column))
        row, _ = _descend(units, target.astype(jnp.float64))
        inside = jnp.minimum(row, jnp.int32(_CELLS - 1))
        accept = jnp.where(row < _CELLS, _item(exact, inside) / _item(units, inside), 0.0)
        return _entry(self.cells, column, inside), accept


@jax.jit
def realised_units(log_weights: Array, known: Array | None = None) -> tuple[Array, Array, Array]:
    """Bounds of the columns, units and weights of the cells, compiled as they are in `Categorical.sample`."""
    table = Bounds.of(log_weights, known)
    return table.bounds, *table.weights(table.cells)


def fold_max(values: Array) -> Array:
    """``jnp.max`` of a vector, folded in halves of halves: on a CPU several times faster than XLA's own reduction."""
    while values.shape[0] >= 128:
        width = values.shape[0] // 16
        parts = [values[i * width : (i + 1) * width] for i in range(16)]
        folded = functools.reduce(jnp.maximum, parts)
        rest = values[16 * width :]
        values = jnp.concatenate([folded, rest]) if rest.shape[0] else folded
    return jnp.max(values)


def rounded_units(logs: Array) -> Array:
    """For w <= 0, the bits of 2**23 + round(2**22 p), ``uint32``, with p within 1.2e-4 of exp(w), or both below 2**-99.

    The exponent of the power of two is read from the low bits of whole + 1.5 * 2**23: shifts and additions only.
    """
    power = jnp.maximum(logs.astype(jnp.float32) * jnp.float32(1 / log(2)), jnp.float32(-100))
    whole = jnp.floor(power)
    fraction = power - whole
    shifted = whole + jnp.float32(1.5 * 2**23)
    value = jnp.float32(_POWER[3])
    for coefficient in _POWER[2::-1]:
        value = value * fraction + jnp.float32(coefficient)
    exponent = jax.lax.bitcast_convert_type(shifted, jnp.uint32) << jnp.uint32(23)
    value = jax.lax.bitcast_convert_type(jax.lax.bitcast_convert_type(value, jnp.uint32) + exponent, jnp.float32)
    return jax.lax.bitcast_convert_type(value * jnp.float32(2.0**_BITS) + jnp.float32(2.0**23), jnp.uint32)


def _blocks(values: Array, rows: int, lanes: int, filler: float) -> Array:
    padding = -values.shape[0] % (rows * lanes)
    if padding:
        values = jnp.concatenate([values, jnp.full(padding, filler, values.dtype)])
    return values.reshape(-1, rows, lanes)


def _column(table: Array, column: Array) -> Array:
    _, rows, lanes = table.shape
    start = (column // lanes, jnp.int32(0), column % lanes)
    return jax.lax.dynamic_slice(table, start, (1, rows, 1)).reshape(rows)


def _entry(table: Array, column: Array, row: Array) -> Array:
    """The place of an entry among those of the table."""
    _, rows, lanes = table.shape
    return (column // lanes * rows + row) * lanes + column % lanes


def _item(values: Array, index: Array) -> Array:
    return jax.lax.dynamic_index_in_dim(values, index, 0, keepdims=False)


def _descend(parts: Array, target: Array) -> tuple[Array, Array]:
    """The first part whose running sum exceeds the target (their number if none does), and what is left of it."""
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
