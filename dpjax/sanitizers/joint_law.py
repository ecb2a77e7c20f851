"""The exact law of m jointly drawn quantiles, by sums over the places between sorted rows.

n sorted rows cut the domain into n + 1 places: place i contains the elements with exactly i rows at or below. m
independent uniform elements, sorted, lie in places i_1 <= ... <= i_m; the law multiplies their probability, which has
a factor w^k / k! for k of them in a place of w elements, by exp(-rate x loss). With c_j = i_j - i_{j-1} rows between
consecutive quantiles and target t_j, the loss is the sum of max(c_j - t_j, 0): two in one place have loss 0.
"""

import math
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import bit_strings as B
from dpjax.core import keys
from dpjax.laws import Categorical
from dpjax.laws.base import Law, Support, listed
from dpjax.mechanisms.median import MedianLaw
from dpjax.sanitizers.base import top_of


@register_dataclass
@dataclass(frozen=True)
class JointLaw(Law):
    """A law on m elements of {0, ..., 2**bits - 1}, in float64 whether or not 64-bit types are enabled.

    rows: ``uint32[capacity, W]``, sorted, of which the first n are real. targets: ``int32[m + 1]``, the t_j.
    first, last: ``uint32[p, W]``, both inclusive; alive: ``bool[p]``, False for an empty place; p = capacity + 1.
    log_width: ``float64[p]``. rate: ``float64[]``, of the loss.
    begun, ended: ``float64[m, p]``, logs of the total weight of all continuations: after a run of equal places begins
      with quantile j (its own elements included), and after a run has ended with it.
    bits: static.
    """

    rows: Array
    n: Array
    targets: Array
    first: Array
    last: Array
    alive: Array
    log_width: Array
    rate: Array
    begun: Array
    ended: Array
    bits: int = field(metadata={"static": True})

    @staticmethod
    def of(rows: Array, n: Array, targets: Array, rate: Array, bits: int) -> "JointLaw":
        """The sums, in O(p m (m + log p)) elementwise operations whose order does not depend on the capacity."""
        first, last, alive = _places(rows, n, bits)
        spans = B.subtract(last, first)
        place = jnp.arange(first.shape[0], dtype=jnp.int32)
        with jax.enable_x64(True):
            rate = rate.astype(jnp.float64)
            log_width = jnp.where(alive, _log_count(spans), -jnp.inf)
            end = jnp.where(place <= n, -rate * _excess(n - place, targets[-1]), -jnp.inf)
            empty = jnp.full((targets.shape[0] - 2, first.shape[0]), -jnp.inf, jnp.float64)

            def quantile(following: Array, target: Array) -> tuple[Array, tuple[Array, Array]]:
                begun = log_width + _continued(log_width, following, jnp.int32(1))
                before = _moves(begun, target, rate)
                return jnp.concatenate([before[None], following[:-1]]), (begun, following[0])

            _, (begun, ended) = jax.lax.scan(quantile, jnp.concatenate([end[None], empty]), targets[:-1], reverse=True)
        return JointLaw(rows, n, targets, first, last, alive, log_width, rate, begun, ended, bits)

    def sample(self, key: Array) -> Array:
        """m elements, ``uint32[m, W]``, ordered by place, unordered within a place."""
        count = self.begun.shape[0]
        inputs = keys.per_index(key, count), jnp.arange(count, dtype=jnp.int32)
        state = jnp.int32(-1), jnp.int32(0)
        return jax.lax.scan(self._drawn, state, inputs)[1]

    def log_prob(self, outcome: Array) -> Array:
        """The log mass, ``float64[]``, of ``uint32[m, W]``."""

        def one(state: tuple[Array, Array], inputs: tuple[Array, Array]) -> tuple[tuple[Array, Array], Array]:
            element, j = inputs
            return self._behind(state, element), self._law(state, j).log_prob(element)

        with jax.enable_x64(True):
            inputs = outcome, jnp.arange(self.begun.shape[0], dtype=jnp.int32)
            return jnp.sum(jax.lax.scan(one, (jnp.int32(-1), jnp.int32(0)), inputs)[1])

    def support(self, limit: int) -> Support | None:
        """All vectors of m elements."""
        count = self.begun.shape[0]
        if count * self.bits > math.log2(limit):
            return None
        elements = B.encode(range(2**self.bits), 32 * self.first.shape[-1])
        return listed(elements[np.indices([2**self.bits] * count).reshape(count, -1).T], self.log_prob)

    def _drawn(self, state: tuple[Array, Array], inputs: tuple[Array, Array]) -> tuple[tuple[Array, Array], Array]:
        key, j = inputs
        element = self._law(state, j).sample(key)
        return self._behind(state, element), element

    def _law(self, state: tuple[Array, Array], j: Array) -> MedianLaw:
        """Quantile j given the previous one in place ``before``, the last of ``run`` there."""
        before, run = state
        place = jnp.arange(self.alive.shape[0], dtype=jnp.int32)
        at = jnp.maximum(before, 0)
        with jax.enable_x64(True):
            moved = self.begun[j] - self.rate * _excess(place - at, self.targets[j])
            further = _from(self.ended[:, at], j)
            width = self.log_width[at]
            stayed = width - jnp.log((run + 1).astype(jnp.float64)) + _continued(width, further, run + 1)
            stayed = jnp.where((place == before) & (run > 0), stayed, -jnp.inf)
            law = Categorical(jnp.where(place > before, moved, stayed))
        return MedianLaw(law, self.first, self.last, self.alive, 2**self.bits)

    def _behind(self, state: tuple[Array, Array], element: Array) -> tuple[Array, Array]:
        before, run = state
        place = jnp.arange(self.rows.shape[0], dtype=jnp.int32)
        below = B.less_equal(self.rows, element[None]) & (place < self.n)
        count = jnp.sum(below, dtype=jnp.int32)
        return count, jnp.where(count == before, run + 1, jnp.int32(1))


def _places(rows: Array, n: Array, bits: int) -> tuple[Array, Array, Array]:
    """(first, last, alive): place i goes from row i - 1 to just below row i; the outer ones reach the domain's ends."""
    top = top_of(bits)
    place = jnp.arange(rows.shape[0] + 1, dtype=jnp.int32)
    first = jnp.concatenate([jnp.zeros_like(top), rows])
    behind = jnp.concatenate([rows, top])
    last = jnp.where((place < n)[:, None], B.subtract_one(behind), top)
    return first, last, (place == n) | ((place < n) & B.less(first, behind))


def _log_count(last: Array) -> Array:
    """ln(last + 1), ``float64[...]`` for ``uint32[..., W]``, exactly 0 for one element."""
    total = jnp.zeros(last.shape[:-1], jnp.float64)
    for limb in range(last.shape[-1]):
        digit = last[..., last.shape[-1] - 1 - limb].astype(jnp.float64)
        total = jnp.logaddexp(total, jnp.log(digit) + 32 * limb * math.log(2))
    return total


def _excess(count: Array, target: Array) -> Array:
    return jnp.maximum(count - target, 0).astype(jnp.float64)


def _continued(log_width: Array, ended: Array, run: Array) -> Array:
    """log of the sum over k >= 0 of w^k run! / (run + k)! ended_k, k more in the same place, for ``ended[m, ...]``."""

    def more(total: Array, one: tuple[Array, Array]) -> tuple[Array, None]:
        end, k = one
        repeated = log_width - jnp.log((run + k + 1).astype(jnp.float64)) + total
        return jnp.logaddexp(end, repeated), None

    inputs = ended, jnp.arange(ended.shape[0], dtype=jnp.int32)
    return jax.lax.scan(more, jnp.full_like(ended[0], -jnp.inf), inputs, reverse=True)[0]


def _moves(begun: Array, target: Array, rate: Array) -> Array:
    """log of the sum over d >= 1 of begun[i + d] exp(-rate max(d - target, 0)), by doubling windows, ``float64[p]``."""
    size, ahead = begun.shape[0], _from(begun, jnp.int32(1))

    def double(level: Array, sums: tuple[Array, ...]) -> tuple[Array, ...]:
        window, decayed, near, reach = sums
        length = jnp.int32(1) << level
        taken = target & length
        near = jnp.where(taken > 0, jnp.logaddexp(near, _from(window, reach)), near)
        window = jnp.logaddexp(window, _from(window, length))
        decayed = jnp.logaddexp(decayed, _from(decayed, length) - rate * length.astype(jnp.float64))
        return window, decayed, near, reach + taken

    levels = jnp.int32(0), jnp.int32(size.bit_length())
    start = ahead, ahead - rate, jnp.full_like(begun, -jnp.inf), jnp.int32(0)
    _, decayed, near, _ = jax.lax.fori_loop(*levels, double, start)
    return jnp.logaddexp(near, _from(decayed, target))


def _from(values: Array, by: Array) -> Array:
    padded = jnp.pad(values, (0, values.shape[0]), constant_values=-jnp.inf)
    return jax.lax.dynamic_slice(padded, (by,), values.shape)
