"""Laplace noise on a count, rounded and clipped, so that a program can compute with the noisy count."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import checks
from dpjax.core.draws import drawn
from dpjax.laws.base import Law, Support, side_by_side, total
from dpjax.laws.laplace import Laplace


@register_dataclass
@dataclass(frozen=True)
class RoundedLaplace(Law):
    """The law of clip(rint(count + scale Z), low, low + span) for standard Laplace Z, independently in each entry.

    count: ``int32[...]``, or floats with integer values. scale: ``float[]`` > 0.
    low, span: ``int32[]``, span >= 0: the output lies in [low, low + span].
    most: static, at least ``span``; bounds the number of outcomes at trace time.
    """

    count: Array
    scale: Array
    low: Array
    span: Array
    most: int = field(metadata={"static": True})

    @staticmethod
    def of(noisy: Laplace, high: Array | int, most: int, low: Array | int = 0) -> "RoundedLaplace":
        """A Laplace mechanism's law on integers, rounded and clipped to [low, high].

        high, low: traced, public. most: static upper bound of ``high - low``, for example the capacity of a buffer
        of rows. A larger ``high`` is clipped to low + most.
        """
        checks.integer("most", most, 0, 2**30)
        low, high = jnp.asarray(low, jnp.int32), jnp.asarray(high, jnp.int32)
        span = jnp.clip(high - low, 0, most)
        return RoundedLaplace(noisy.loc, jnp.asarray(noisy.scale), low, span, most)

    @drawn
    def sample(self, key: Array) -> Array:
        """One draw per entry, ``int32``, of the shape of ``count``; in float64, which represents every count."""
        with jax.enable_x64(True):
            count, scale = (part.astype(jnp.float64) for part in (self.count, self.scale))
            low, high = (part.astype(jnp.float64) for part in (self.low, self.low + self.span))
            return jnp.clip(jnp.rint(Laplace(count, scale).sample(key)), low, high).astype(jnp.int32)

    def log_prob(self, outcome: Array) -> Array:
        """The log mass, ``float64[]``, of ``int32[...]`` of the shape of ``count``; the entries are independent."""
        with jax.enable_x64(True):
            return total(self._each(outcome))

    def support(self, limit: int) -> Support | None:
        """(most + 1) outcomes per entry, in all combinations."""
        if self.most + 1 > limit:
            return None
        with jax.enable_x64(True):
            values = self.low + jnp.minimum(jnp.arange(self.most + 1, dtype=jnp.int32), self.span)
            counts = self.count.reshape(-1)
            law = RoundedLaplace(counts[:, None], self.scale, self.low, self.span, self.most)
            real = jnp.arange(self.most + 1, dtype=jnp.int32) <= self.span
            mass = jnp.where(real[None], law._each(values[None]), -jnp.inf)
            outcomes = jnp.broadcast_to(values[None], mass.shape)
            return side_by_side(outcomes, mass, self.count.shape, limit)

    def _each(self, value: Array) -> Array:
        """log P of each entry, ``float64``; no differences of tails, so small masses keep their relative precision."""
        inverse = 1 / self.scale.astype(jnp.float64)
        count, value = self.count.astype(jnp.float64), value.astype(jnp.float64)
        low, high = self.low.astype(jnp.float64), (self.low + self.span).astype(jnp.float64)
        away = jnp.abs(value - count)
        # the mass of [z - 1/2, z + 1/2] is exp(-|z - count| / scale) sinh(1 / (2 scale)) if it does not contain count
        sinh = 0.5 * inverse + jnp.log(-jnp.expm1(-inverse)) - jnp.log(2.0)
        inside = jnp.where(away == 0, jnp.log(-jnp.expm1(-0.5 * inverse)), sinh - inverse * away)
        noise = Laplace(count, 1 / inverse)
        tails = jnp.where(value == low, noise.log_cdf(low + 0.5), noise.log_survival(high - 0.5))
        at_end = (value == low) | (value == high)
        log_mass = jnp.where(low == high, 0.0, jnp.where(at_end, tails, inside))
        return jnp.where((value >= low) & (value <= high) & (value == jnp.rint(value)), log_mass, -jnp.inf)
