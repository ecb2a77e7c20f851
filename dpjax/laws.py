"""Output laws. What is sampled, what is audited and what is priced is one object.

A law is a pytree, so it can be built inside jit and vmapped. Log-weights and locations are float32,
or float64 where an exact audit builds them so.
"""

import functools
from dataclasses import dataclass, field
from math import log

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import random, wide
from dpjax.core.draws import drawn
from dpjax.core.random import GeometricTable

_ATTEMPTS = 1 << 16
_CELLS = 8  # candidates of a column; with 8, XLA's CPU code for the sums is several times faster than with 16 or 32
_BRANCHES = 16  # children of every node above the columns
_LANES = 8  # neighbouring columns whose sums a CPU makes at once
_BITS = 22  # a weight of exp(0) has 2**22 units: all that fits in the fraction of a float32
_ONE = 0x4B000000  # the bits of 2**23 as a float32
# 2**f on [0, 1], relative error below 7.5e-5
_POWER = (0.9999252186, 0.6958335400, 0.2260671568, 0.0780245217)


@register_dataclass
@dataclass(frozen=True)
class Categorical:
    """A law on {0, ..., m-1} with probabilities proportional to exp(log_weights).

    log_weights: ``float[m]``; any spread; -inf is an impossible outcome.
    no_answer: static; True where the last cell means "no answer", which is sampled as -1.
    largest: ``float[]``, the largest log-weight (NaN if one is), where the maker knows it: it saves a pass.
    """

    log_weights: Array
    no_answer: bool = field(default=False, metadata={"static": True})
    largest: Array | None = None

    def log_probs(self) -> Array:
        """Normalised log-probabilities, ``float64[m]``; all -inf where no outcome is possible."""
        with jax.enable_x64(True):
            weights = self.log_weights.astype(jnp.float64)
            total = jax.scipy.special.logsumexp(weights)
            return weights - jnp.where(jnp.isneginf(total), 0.0, total)

    @drawn
    def sample(self, key: Array) -> Array:
        """One draw, ``int32[]``; -1 for "no answer" and where no outcome is possible.

        Rejection sampling from bounds, so the law is exact to float64: one pass at full speed gives each column of 8
        candidates a whole number that its weight cannot exceed; a column is proposed in proportion to that bound, one
        of its candidates by whole-number weights floor(2**22 exp(w - max)) + 1 computed in float64, and accepted with
        the probability, likewise in float64, that makes up for the rounding. Where the column's candidates do not
        fill its bound there is a new proposal. All sums are of integers, so their order does not matter. About one
        proposal in 4000 is rejected, and one in 2 m / 2**22 more where a single candidate outweighs all others.
        """
        stream = random.stream_of(key)
        with jax.enable_x64(True):
            table = _Bounds.of(self._null_first())

            def attempt(state):
                tries, _, _ = state
                high, low = random.words_from(stream, (3,), 3 * tries)
                index, accept = table.propose(high[0], low[0])
                return tries + jnp.uint32(1), index, _unit(high[1:], low[1:]) < accept

            _, index, done = jax.lax.while_loop(
                lambda state: ~state[2] & table.possible & (state[0] < _ATTEMPTS),
                attempt,
                (jnp.uint32(0), jnp.int32(-1), jnp.bool_(False)),
            )
        index = jnp.where(done, index, jnp.int32(-1))
        return jnp.where(index > 0, index - 1, jnp.int32(-1)) if self.no_answer else index

    def _null_first(self) -> "Categorical":
        """With "no answer" as cell 0: behind the padding its place would depend on the buffer, and with it the draw."""
        if not self.no_answer:
            return self
        return Categorical(jnp.concatenate([self.log_weights[-1:], self.log_weights[:-1]]), largest=self.largest)

    @drawn
    def sample_race(self, key: Array) -> Array:
        """One draw by the exponential race, an independent path: the least E_i / exp(w_i) wins.

        Exact to 44 nats below the largest weight. Several times slower than `sample` on a CPU.
        """
        weights = self.log_weights
        arrival = jnp.log(random.exponential(key, weights.shape, weights.dtype)) - weights
        first = jnp.min(arrival)
        size = weights.shape[0]
        index = jnp.min(jnp.where(arrival == first, jnp.arange(size, dtype=jnp.int32), jnp.int32(size)))
        return self._outcome(jnp.where(jnp.isfinite(first), index, jnp.int32(-1)))

    def sampler_probabilities(self) -> np.ndarray:
        """The probabilities that `sample` realises, from its own whole-number units, ``float64[m]``, on the host."""
        with jax.enable_x64(True):
            ordered = Categorical(jnp.asarray(self.log_weights), self.no_answer, self.largest)._null_first()
            parts = _realised_units(ordered)
        bounds, units, weights = (np.asarray(part, np.longdouble) for part in parts)
        ends = np.minimum(np.cumsum(units, axis=1), bounds.reshape(-1, 1, _LANES))
        realised = np.diff(ends, axis=1, prepend=0) * weights / units
        size = self.log_weights.shape[0]
        found = np.asarray((realised / realised.sum()).reshape(-1)[:size], np.float64)
        return np.roll(found, -1) if self.no_answer else found

    def _outcome(self, index: Array) -> Array:
        if self.no_answer:
            index = jnp.where(index == self.log_weights.shape[0] - 1, jnp.int32(-1), index)
        return index


@dataclass(frozen=True)
class _Bounds:
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
    def of(law: Categorical) -> "_Bounds":
        cells = _blocks(law.log_weights, _CELLS, _LANES, -jnp.inf)
        largest = fold_max(law.log_weights) if law.largest is None else law.largest
        possible = jnp.isfinite(largest)
        largest = jnp.where(possible, largest, jnp.zeros_like(largest))
        units = jnp.sum(_rounded_units(cells - largest), axis=1, dtype=jnp.uint32) - jnp.uint32(_CELLS * _ONE % 2**32)
        # 8 halves for the rounding to whole numbers, 8 for the + 1 of `weights`, 2 for what follows, and 2**-12 of
        # the sum for the relative error, 1e-4, of the float32 arithmetic
        bounds = units + (units >> jnp.uint32(12)) + jnp.uint32(_CELLS + _CELLS // 2 + 2)
        exists = jnp.max(cells, axis=1) > -jnp.inf
        bounds = jnp.where(exists, bounds, jnp.uint32(0)).reshape(-1)
        levels = [_blocks(bounds, _BRANCHES, _LANES, 0)]
        top = jnp.sum(levels[0], axis=1, dtype=jnp.uint32).reshape(-1).astype(jnp.int64)
        while top.shape[0] > _BRANCHES:
            levels.append(_blocks(top, _BRANCHES, 1, 0))
            top = jnp.sum(levels[-1], axis=1).reshape(-1)
        return _Bounds(cells, largest, possible, bounds, tuple(levels), top)

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
def _realised_units(law: Categorical) -> tuple[Array, Array, Array]:
    """Bounds of the columns, units and weights of the cells, compiled as they are in `Categorical.sample`."""
    table = _Bounds.of(law)
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


def _rounded_units(logs: Array) -> Array:
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


def _unit(high: Array, low: Array) -> Array:
    """Uniform on (0, 1] from 128 bits, float64 with full precision near 0."""
    parts = (high[0], low[0], high[1])
    total = (low[1].astype(jnp.float64) + 0.5) * 2.0**-128
    for part, exponent in zip(parts[::-1], (-96, -64, -32), strict=True):
        total = part.astype(jnp.float64) * 2.0**exponent + total
    return total


@register_dataclass
@dataclass(frozen=True)
class Laplace:
    """The Laplace law with density exp(-|x - loc| / scale) / (2 scale); loc and scale are ``float[...]``."""

    loc: Array
    scale: Array

    @drawn
    def sample(self, key: Array) -> Array:
        """One draw an element, tails exact (see `random.laplace`)."""
        shape = jnp.broadcast_shapes(jnp.shape(self.loc), jnp.shape(self.scale))
        return self.loc + self.scale * random.laplace(key, shape, jnp.result_type(self.scale))

    def log_density(self, value: Array) -> Array:
        """log f(value)."""
        return -jnp.abs(value - self.loc) / self.scale - jnp.log(2 * self.scale)

    def log_survival(self, value: Array) -> Array:
        """log P(X >= value), exact in both tails."""
        z = (value - self.loc) / self.scale
        upper = -jnp.abs(z) - jnp.log(jnp.asarray(2.0, z.dtype))
        return jnp.where(z > 0, upper, jnp.log1p(-jnp.exp(upper)))

    def log_cdf(self, value: Array) -> Array:
        """log P(X <= value), exact in both tails."""
        return Laplace(-self.loc, self.scale).log_survival(-value)


@register_dataclass
@dataclass(frozen=True)
class DiscreteLaplace:
    """The two-sided geometric law on integers, P(Z = z) proportional to exp(-|z - loc| / scale).

    loc: ``int32[...]``. scale: ``float[]``, the number that the table was made from (float64 where 64-bit types are
    enabled). The sampler uses integers only: the same bits on every backend. Its thresholds have 64 bits, so below a
    scale of 1/44 it always returns loc.
    """

    loc: Array
    scale: Array
    table: GeometricTable

    @staticmethod
    def of(loc: Array, scale: float, levels: int | None = None) -> "DiscreteLaplace":
        """Builds the table on the host; ``scale`` > 0 is a plain number."""
        table = random.geometric_table(scale, levels)
        dtype = jax.dtypes.canonicalize_dtype(jnp.float64)
        return DiscreteLaplace(jnp.asarray(loc, jnp.int32), jnp.asarray(scale, dtype), table)

    @drawn
    def sample(self, key: Array) -> Array:
        """One draw an element of loc, ``int32``."""
        return self.loc + random.discrete_laplace(key, self.table, jnp.shape(self.loc))

    def log_probability(self, value: Array) -> Array:
        """log P(Z = value)."""
        distance = jnp.abs(value - self.loc).astype(self.scale.dtype)
        return jnp.log(jnp.tanh(0.5 / self.scale)) - distance / self.scale

    def log_survival(self, value: Array) -> Array:
        """log P(Z >= value), exact in both tails."""
        z = (value - self.loc).astype(self.scale.dtype)
        inverse = 1 / self.scale
        normaliser = jnp.log1p(jnp.exp(-inverse))
        upper = -jnp.maximum(z, 1) * inverse - normaliser
        lower = jnp.log1p(-jnp.exp(-(1 - jnp.minimum(z, 0)) * inverse - normaliser))
        return jnp.where(z > 0, upper, lower)


@register_dataclass
@dataclass(frozen=True)
class Product:
    """Independent laws: a batched law whose leading axis is the product, or a tuple of laws."""

    parts: tuple

    def sample(self, key: Array) -> tuple:
        """A draw of each part, each from a key of its own."""
        keys = jax.random.split(key, len(self.parts))
        return tuple(part.sample(keys[i]) for i, part in enumerate(self.parts))

    def log_probs(self) -> Array:
        """Joint log-probabilities of finite parts, ``float64[m1, m2, ...]``."""
        with jax.enable_x64(True):
            total = jnp.zeros((), jnp.float64)
            for part in self.parts:
                total = total[..., None] + part.log_probs()
            return total
