"""The exact law of the exponential mechanism over all multisets of m values of a line, by sums over partial counts.

A multiset has counts m_0 + ... + m_{d-1} = m and partial sums M_j. Its score is its largest error over the queries, of
counts ("singles", |n m_j - m n_j|) or of partial sums ("prefixes", |n M_j - m N_j|), n_j and N_j of the n rows. An
error has one of d (m + 1) values a kind, the levels s_1 <= s_2 <= ... . A_s multisets have errors of at most s. Since
exp(-r w) is the sum of exp(-r s_i) - exp(-r s_{i+1}) over all s_i >= w, the law is a mixture: level i with probability
proportional to A_{s_i} (exp(-r s_i) - exp(-r s_{i+1})), then a uniform one of the A_{s_i} multisets, whose partial sums
are drawn backward. All sums have positive terms, so in float64 A_s has a relative error of at most 2**-52 d (m + 2), as
each partial count is the result of at most m + 2 additions for each of d values.
"""

import math
from dataclasses import dataclass, field
from itertools import combinations_with_replacement

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import keys
from dpjax.laws import Categorical
from dpjax.laws.base import Law, Support, listed
from dpjax.mechanisms.exponential import LESS

_AT_ONCE = 1 << 20  # partial counts of the levels that are summed together


@register_dataclass
@dataclass(frozen=True)
class MultisetLaw(Law):
    """A law on counts ``int32[d]`` with sum ``points``, in float64 whether or not 64-bit types are enabled.

    counts: ``int32[d]``, of the rows, n of them; n x points is below 2**31. rate: ``float64[]``, r above.
    points, singles, prefixes: static; at least one of the latter is True.
    """

    counts: Array
    rate: Array
    points: int = field(metadata={"static": True})
    singles: bool = field(metadata={"static": True})
    prefixes: bool = field(metadata={"static": True})

    @property
    def n(self) -> Array:
        """The number of rows."""
        return jnp.sum(self.counts, dtype=jnp.int32)

    def sample(self, key: Array) -> Array:
        """The counts of one multiset, ``int32[d]``."""
        of_level, of_sums = keys.streams(key, "level", "sums")
        with jax.enable_x64(True):
            levels = self._levels()
            level = levels[jnp.maximum(Categorical(self._log_weights(levels)).sample(of_level), 0)]
            sums, partial = self._partial_counts(level), jnp.arange(self.points + 1, dtype=jnp.int32)
            before = jnp.concatenate([(partial == 0).astype(jnp.float64)[None], sums[:-1]])
            last = self.counts.shape[0] - 1

            def back(after: Array, inputs: tuple[Array, Array, Array]) -> tuple[Array, Array]:
                own, weight, rows = inputs
                least, most = self._steps(rows, level)
                step = after - partial
                log_weight = jnp.where((least <= step) & (step <= most), jnp.log(weight), -jnp.inf)
                previous = jnp.maximum(Categorical(log_weight).sample(own), 0)
                return previous, after - previous

            inputs = keys.per_index(of_sums, last + 1)[:last], before[:0:-1], self.counts[:0:-1]
            first, others = jax.lax.scan(back, jnp.int32(self.points), inputs)
        return jnp.concatenate([first[None], others[::-1]])

    def log_prob(self, outcome: Array) -> Array:
        """The log mass, ``float64[]``, of ``int32[d]``."""
        with jax.enable_x64(True):
            total = jax.scipy.special.logsumexp(self._log_weights(self._levels()))
            possible = jnp.all(outcome >= 0) & (jnp.sum(outcome, dtype=jnp.int32) == self.points)
            return jnp.where(possible, -self.rate * self._worst(outcome).astype(jnp.float64) - total, -jnp.inf)

    def support(self, limit: int) -> Support | None:
        """All multisets."""
        values = self.counts.shape[0]
        if math.comb(values + self.points - 1, self.points) > limit:
            return None
        chosen = np.array(list(combinations_with_replacement(range(values), self.points)))
        return listed(np.sum(chosen[:, :, None] == np.arange(values), axis=1, dtype=np.int32), self.log_prob)

    def _worst(self, counts: Array) -> Array:
        """The largest error of a multiset, ``int32[]``."""
        n, worst = self.n, jnp.int32(0)
        if self.singles:
            worst = jnp.maximum(worst, jnp.max(jnp.abs(n * counts - self.points * self.counts)))
        if self.prefixes:
            ours, theirs = (jnp.cumsum(part, dtype=jnp.int32) for part in (self.counts, counts))
            worst = jnp.maximum(worst, jnp.max(jnp.abs(n * theirs - self.points * ours)))
        return worst

    def _levels(self) -> Array:
        """All values that an error can have, ascending, ``int32[L]``."""
        scaled = self.n * jnp.arange(self.points + 1, dtype=jnp.int32)
        kinds = [self.counts] * self.singles + [jnp.cumsum(self.counts, dtype=jnp.int32)] * self.prefixes
        return jnp.sort(jnp.abs(scaled - self.points * jnp.concatenate(kinds)[:, None]).reshape(-1))

    def _log_weights(self, levels: Array) -> Array:
        """Of the levels, ``float64[L]``, with 64-bit types enabled."""
        at_once = max(1, _AT_ONCE // (self.points + 1))
        number = jax.lax.map(lambda level: self._partial_counts(level)[-1, -1], levels, batch_size=at_once)
        gaps = jnp.append(jnp.diff(levels).astype(jnp.float64), jnp.inf)
        kept = jnp.where(gaps < jnp.inf, -jnp.expm1(-self.rate * gaps), 1.0)
        return jnp.log(number) - self.rate * levels.astype(jnp.float64) + jnp.log(kept)

    def _partial_counts(self, level: Array) -> Array:
        """For each value the number of ways in which the counts up to it have a sum, with all errors at most ``level``:
        ``float64[d, points + 1]``, with 64-bit types enabled."""
        partial, n = jnp.arange(self.points + 1, dtype=jnp.int32), self.n

        def further(ways: Array, inputs: tuple[Array, Array]) -> tuple[Array, Array]:
            rows, sum_of_rows = inputs
            ways = _window(ways, *self._steps(rows, level)) if self.singles else _running(ways)
            if self.prefixes:
                ways = jnp.where(jnp.abs(n * partial - self.points * sum_of_rows) <= level, ways, 0.0)
            return ways, ways

        inputs = self.counts, jnp.cumsum(self.counts, dtype=jnp.int32)
        return jax.lax.scan(further, (partial == 0).astype(jnp.float64), inputs)[1]

    def _steps(self, rows: Array, level: Array) -> tuple[Array, Array]:
        """The least and the largest count of a value that has so many rows."""
        if not self.singles:
            return jnp.int32(0), jnp.int32(self.points)
        n, own, off = (part.astype(jnp.int64) for part in (jnp.maximum(self.n, 1), self.points * rows, level))
        least, most = jnp.maximum(own - off + n - 1, 0) // n, jnp.minimum((own + off) // n, self.points)
        return least.astype(jnp.int32), jnp.where(self.n > 0, most.astype(jnp.int32), self.points)


def resolved_rate(epsilon: Array, values: int, points: int) -> Array:
    """epsilon / (2 points), ``float64[]``, less the fraction `LESS`, which pays for rounding; 0 where it does not.

    An error of E in log-probabilities changes the privacy loss by at most 4 E. Here E is at most 2**-51 d (m + 2) for
    the sums, see above, and 2**-47 (nats + 1) for each of d draws from log-weights of up to ``nats``. The log-weights
    of the levels have the scores as well, up to 2**23 epsilon: half of the fraction is for their rounding.
    """
    nats = math.lgamma(values + points) - math.lgamma(values) - math.lgamma(points + 1)
    error = 2.0**-51 * values * (points + 2) + 2.0**-47 * values * (nats + 1)
    with jax.enable_x64(True):
        epsilon = epsilon.astype(jnp.float64)
        return jnp.where(LESS * epsilon >= 8 * error, epsilon * ((1 - LESS) / (2 * points)), 0.0)


def _running(ways: Array) -> Array:
    """Running sums, by doubling, in one order for every batch."""
    shift = 1
    while shift < ways.shape[0]:
        ways = ways + _moved(ways, shift)
        shift *= 2
    return ways


def _window(ways: Array, least: Array, most: Array) -> Array:
    """At each i the sum of ways[i - c] over least <= c <= most, by windows of doubling length."""
    total, length, offset = jnp.zeros_like(ways), jnp.maximum(most - least + 1, 0), least
    place = jnp.arange(ways.shape[0], dtype=jnp.int32)
    for level in range(ways.shape[0].bit_length()):
        taken = (length >> level) & 1
        from_place = place - offset
        total = total + jnp.where((taken == 1) & (from_place >= 0), ways[jnp.maximum(from_place, 0)], 0.0)
        offset = offset + (taken << level)
        if 1 << level < ways.shape[0]:
            ways = ways + _moved(ways, 1 << level)
    return total


def _moved(ways: Array, by: int) -> Array:
    return jnp.pad(ways, (by, 0))[: ways.shape[0]]
