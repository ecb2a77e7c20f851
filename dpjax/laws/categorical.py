"""A law on finitely many outcomes."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import random, wide
from dpjax.core.draws import drawn
from dpjax.laws.base import Law, Support
from dpjax.laws.table import Bounds, unit, whole

_ATTEMPTS = 1 << 16
_FARTHEST = 80.0  # exp(80) times any draw is a float32


@register_dataclass
@dataclass(frozen=True)
class Categorical(Law):
    """A law on {0, ..., m-1} with probabilities proportional to exp(log_weights).

    log_weights: ``float[m]``; any spread; -inf is an impossible outcome.
    no_answer: static; True if the last cell means "abstain", which is sampled as -1.
    largest: optional precomputed max(log_weights), ``float[]`` (not finite if one is NaN); saves one reduction.
    exact, unit: optional correction of float32 rounding: ``exact`` is ``float[m]``, added to the log-weights; or, with
        ``unit: float[]``, ``exact`` is ``int32[m]`` and the log-weights are unit x exact (-inf for `table.NEVER`).
    """

    log_weights: Array
    no_answer: bool = field(default=False, metadata={"static": True})
    largest: Array | None = None
    exact: Array | None = None
    unit: Array | None = None

    @staticmethod
    def of(log_weights: Array, dtype, no_answer: bool = False) -> "Categorical":
        """From ``float64[m]``. With float32, two parts represent each log-weight to a relative error of 2**-48."""
        with jax.enable_x64(True):
            rounded = log_weights.astype(dtype)
            rest = jnp.where(jnp.isfinite(rounded), log_weights - rounded.astype(jnp.float64), 0).astype(dtype)
            return Categorical(rounded, no_answer, None, None if rounded.dtype == jnp.float64 else rest)

    def log_probs(self) -> Array:
        """Normalized log-probabilities, ``float64[m]``; all -inf if no outcome is possible."""
        with jax.enable_x64(True):
            weights = whole(self.log_weights, self.exact, self.unit)
            total = jax.scipy.special.logsumexp(weights)
            return weights - jnp.where(jnp.isneginf(total), 0.0, total)

    def log_prob(self, outcome: Array) -> Array:
        """The log mass of an ``int32[]`` as `sample` returns it, ``float64[]``."""
        with jax.enable_x64(True):
            log_probs = self.log_probs()
            size = log_probs.shape[0]
            impossible = jnp.where(jnp.any(log_probs > -jnp.inf), -jnp.inf, 0.0)  # if none is, the outcome is -1
            of_none = jnp.logaddexp(log_probs[-1], impossible) if self.no_answer else impossible
            inside = (outcome >= 0) & (outcome < size - self.no_answer)
            log_mass = jnp.where(inside, log_probs[jnp.clip(outcome, 0, size - 1)], -jnp.inf)
            return jnp.where(outcome == -1, of_none, log_mass)

    def support(self, limit: int) -> Support | None:
        """0, 1, ..., then -1; without ``no_answer``, -1 is the outcome of a law without possible outcomes."""
        if self.log_weights.shape[0] >= limit:
            return None
        with jax.enable_x64(True):
            index = jnp.arange(self.log_weights.shape[0] - self.no_answer, dtype=jnp.int32)
            outcomes = jnp.append(index, jnp.int32(-1))
            log_probs = self.log_probs()[: index.shape[0]]
            return Support(outcomes, jnp.append(log_probs, self.log_prob(jnp.int32(-1))))

    @drawn
    def sample(self, key: Array) -> Array:
        """One draw, ``int32[]``; -1 for "abstain" and if no outcome is possible.

        Rejection sampling from upper bounds, exact to float64. One pass in float32 gives each column of 8 candidates an
        integer upper bound of its weight. A column is proposed with probability proportional to its bound, then one of
        its candidates by the integer weights floor(2**22 exp(w - max)) + 1, computed in float64; the acceptance
        probability, also in float64, corrects the rounding. If the integer weights do not fill the column's bound, the
        draw can miss and a new proposal follows. All sums are of integers, so their order does not matter. About one
        proposal in 4000 is rejected, and a further 2 m / 2**22 if a single candidate outweighs all others.

        The number of candidates determines how much of the table is evaluated, not the draw: the program for up to 64
        candidates scans 8 bounds, then one column, and returns for each key what a larger buffer, padded with -inf,
        returns.
        """
        stream = random.stream_of(key)
        with jax.enable_x64(True):
            weights, null = self._parts(self.log_weights, -jnp.inf)
            exact = (None, None) if self.exact is None else self._parts(self.exact, 0)
            table = Bounds.of(weights, self.largest, null, *exact, self.unit)

            def attempt(state):  # the index once found; before that, -1 - attempts so far
                high, low = random.words_from(stream, (4,), 4 * (-1 - state).astype(jnp.uint32))
                index, accept = table.propose(wide.word(high[0], low[0]), wide.word(high[3], low[3]))
                return jnp.where(unit(high[1:3], low[1:3]) < accept, index, state - 1)

            index = jax.lax.while_loop(
                lambda state: (state < 0) & table.possible & (state >= -_ATTEMPTS), attempt, jnp.int32(-1)
            )
        return jnp.maximum(index - 1 if self.no_answer else index, -1)

    def _parts(self, values: Array, filler: float) -> tuple[Array, Array | None]:
        """The candidates' entries, and separately that of "abstain", whose position must not depend on padding."""
        if not self.no_answer:
            return values, None
        return (values[:-1] if values.shape[0] > 1 else jnp.full(1, filler, values.dtype)), values[-1]

    @drawn
    def sample_race(self, key: Array) -> Array:
        """One draw by the exponential race, an independent implementation: the smallest E_i / exp(w_i) wins.

        Uses the rounded log-weights; exact to 44 nats below the largest. Several times slower than `sample` on a CPU.
        """
        weights = self.log_weights
        largest = jnp.max(weights) if self.largest is None else self.largest
        behind = largest - weights
        behind = jnp.where((behind < _FARTHEST) | (behind == jnp.inf), behind, _FARTHEST)
        u = random.uniform(key, weights.shape, weights.dtype)
        rest = 1 - u
        lost = u - (1 - rest)  # what the rounding of rest took; -log1p(-u) = lost - log(rest), to a relative 2**-22
        rest = jnp.where(rest > 0, rest, jnp.finfo(rest.dtype).epsneg / 2)
        arrival = (lost - jnp.log(rest)) * jnp.exp(behind)
        first = jnp.min(arrival)
        size = weights.shape[0]
        index = jnp.min(jnp.where(arrival == first, jnp.arange(size, dtype=jnp.int32), jnp.int32(size)))
        answered = jnp.isfinite(first + largest) & (index < size - self.no_answer)
        return jnp.where(answered, index, jnp.int32(-1))
