"""Output laws. What is sampled, what is audited and what is priced is one object.

A law is a pytree, so it can be built inside jit and vmapped. Log-weights and locations are float32,
or float64 where an exact audit builds them so.
"""

from dataclasses import dataclass, field
from math import ceil, log2

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax import random
from dpjax.random import GeometricTable

_ATTEMPTS = 64
_SLACK = 1 + 2.0**-18  # covers the rounding of a float32 exp and of the difference it is taken of


@register_dataclass
@dataclass(frozen=True)
class Categorical:
    """A law on {0, ..., m-1} with probabilities proportional to exp(log_weights).

    log_weights: ``float[m]``; any spread; -inf is an impossible outcome.
    no_answer: static; True where the last cell means "no answer", which is sampled as -1.
    """

    log_weights: Array
    no_answer: bool = field(default=False, metadata={"static": True})

    def log_probs(self) -> Array:
        """Normalised log-probabilities, ``float64[m]``; all -inf where no outcome is possible."""
        with jax.enable_x64(True):
            weights = self.log_weights.astype(jnp.float64)
            total = jax.scipy.special.logsumexp(weights)
            return weights - jnp.where(jnp.isneginf(total), 0.0, total)

    def sample(self, key: Array) -> Array:
        """One draw, ``int32[]``; -1 for "no answer" and where no outcome is possible.

        Two-level inverse CDF on whole-number weights, corrected by rejection, so the law is exact to float64:
        a proposal from floor(2**s exp(w - max)) + 1 units, taken in float32 at full speed, is accepted with
        the probability, computed in float64 for that one candidate, that makes up for its rounding. Sums of
        units stay below 2**53 and are exact, so their order does not matter. About one proposal in 1e5 is
        rejected. The +1 keeps every candidate reachable at its true probability, however small.
        """
        table = _Units.of(self.log_weights)
        with jax.enable_x64(True):
            columns = jnp.cumsum(table.column_sums())
            total = columns[-1].astype(jnp.uint64)

            def attempt(state):
                tries = state[0]
                high, low = random.words(key, (2,), start=2 * tries)
                index, accept = table.propose(high[0], low[0], columns, total)
                uniform = high[1].astype(jnp.float64) * 2.0**-32 + low[1].astype(jnp.float64) * 2.0**-64
                return tries + jnp.uint32(1), index, uniform < accept

            _, index, done = jax.lax.while_loop(
                lambda state: ~state[2] & table.possible & (state[0] < _ATTEMPTS),
                attempt,
                (jnp.uint32(0), jnp.int32(-1), jnp.bool_(False)),
            )
        return self._outcome(jnp.where(done, index, jnp.int32(-1)))

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
            table = _Units.of(jnp.asarray(self.log_weights))
            rows = jnp.arange(table.cells.shape[0])
            units, accept = jax.vmap(lambda cells: table.accept(cells))(table.cells[rows])
        realised = np.asarray(units, np.longdouble) * np.asarray(accept, np.longdouble)
        size = self.log_weights.shape[0]
        return np.asarray((realised / realised.sum()).reshape(-1)[:size], np.float64)

    def _outcome(self, index: Array) -> Array:
        if self.no_answer:
            index = jnp.where(index == self.log_weights.shape[0] - 1, jnp.int32(-1), index)
        return index


@dataclass(frozen=True)
class _Units:
    """The whole-number weights of a Categorical, laid out in columns so that one draw reads one column twice."""

    cells: Array  # float[rows, columns], -inf in the padding
    largest: Array
    possible: Array  # bool[], some weight is finite and none is NaN
    bits: int

    @staticmethod
    def of(log_weights: Array) -> "_Units":
        size = log_weights.shape[0]
        rows = 1 << max(0, int(log2(size)) // 2 - 1)
        columns = ceil(size / rows)
        padding = rows * columns - size
        if padding:
            log_weights = jnp.concatenate([log_weights, jnp.full(padding, -jnp.inf, log_weights.dtype)])
        cells = log_weights.reshape(rows, columns)
        largest = jnp.max(jnp.max(cells, axis=0))
        possible = jnp.isfinite(largest)
        bits = 51 - ceil(log2(rows * columns))
        return _Units(cells, jnp.where(possible, largest, jnp.zeros_like(largest)), possible, bits)

    def units(self, cells: Array) -> Array:
        """floor(2**bits exp(w - max)) + 1, whole numbers held in float64."""
        scale = jnp.asarray(2.0**self.bits, cells.dtype)
        return jnp.floor(jnp.exp(cells - self.largest) * scale).astype(jnp.float64) + 1.0

    def column_sums(self) -> Array:
        return jnp.sum(self.units(self.cells), axis=0)

    def accept(self, cells: Array) -> tuple[Array, Array]:
        """Units of the given cells and the probability with which a proposal of each is accepted."""
        units = self.units(cells)
        exact = jnp.exp(cells.astype(jnp.float64) - self.largest.astype(jnp.float64)) * 2.0**self.bits
        return units, exact / (_SLACK * units)

    def propose(self, high: Array, low: Array, columns: Array, total: Array) -> tuple[Array, Array]:
        """A candidate's index and its acceptance probability, from 64 random bits."""
        word = (high.astype(jnp.uint64) << jnp.uint64(32)) | low.astype(jnp.uint64)
        target = jax.lax.mulhi(word, total).astype(jnp.int64).astype(jnp.float64)
        before = columns <= target
        column = jnp.sum(before, dtype=jnp.int32)
        target = target - jnp.max(jnp.where(before, columns, 0.0))
        cells = jax.lax.dynamic_index_in_dim(self.cells, column, 1, keepdims=False)
        units, accept = self.accept(cells)
        row = jnp.sum(jnp.cumsum(units) <= target, dtype=jnp.int32)
        chosen = jnp.arange(cells.shape[0], dtype=jnp.int32) == row
        return row * jnp.int32(columns.shape[0]) + column, jnp.sum(jnp.where(chosen, accept, 0.0))


@register_dataclass
@dataclass(frozen=True)
class Laplace:
    """The Laplace law with density exp(-|x - loc| / scale) / (2 scale); loc and scale are ``float[...]``."""

    loc: Array
    scale: Array

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
