"""A user-defined mechanism: a private count with its law, its guarantee, and its audit target.

A mechanism is a function from data to a law. The program samples the law and the audit lists its outcomes, so the
audited program is the one that runs.
"""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

import dpjax as dp
from dpjax import audit, testing
from dpjax.accounting.guarantee import Guarantee
from dpjax.core import checks
from dpjax.core.draws import asked, drawn
from dpjax.laws import Categorical
from dpjax.laws.base import Law, Support, listed

_ROOM = 2.0**-14  # fraction of the rate reserved for float32 rounding of log-weights


@register_dataclass  # a pytree: its fields are traced, `most` is structure
@dataclass(frozen=True)
class NearCount(Law):
    """The law on {0, ..., most} with P(z) proportional to exp(-rate |z - count|).

    count: ``int32[]``. rate: ``float[]``.
    """

    count: Array
    rate: Array
    most: int = field(metadata={"static": True})

    @drawn  # marks the draw; an audit lists its outcomes by `support`
    def sample(self, key: Array) -> Array:
        """``int32[]``."""
        with jax.enable_x64(True):
            return Categorical.of(self._log_weights(), jnp.float32).sample(key)

    def log_prob(self, outcome: Array) -> Array:
        """The log mass of an outcome, ``float64[]``."""
        with jax.enable_x64(True):
            log_probs = jax.nn.log_softmax(self._log_weights())
            inside = (outcome >= 0) & (outcome <= self.most)
            return jnp.where(inside, log_probs[jnp.clip(outcome, 0, self.most)], -jnp.inf)

    def support(self, limit: int) -> Support | None:
        """All outcomes with their masses; None if there are more than ``limit``."""
        if self.most >= limit:
            return None
        return listed(np.arange(self.most + 1, dtype=np.int32), self.log_prob)

    def _log_weights(self) -> Array:
        outcomes = jnp.arange(self.most + 1, dtype=jnp.int32)
        return -self.rate.astype(jnp.float64) * jnp.abs(outcomes - self.count).astype(jnp.float64)


def noisy_count(count: Array, epsilon: Array | float, *, most: int, sensitivity: int = 1) -> NearCount:
    """A noisy count, by the exponential mechanism.

    Args:
      count: ``int32[]`` in [0, most]; clipped to that range.
      epsilon: traced scalar > 0.
      most: static; the largest count, which is public.
      sensitivity: static; the largest change of the count between neighbors.

    Privacy: (epsilon, 0) under the relation for which the count has this ``sensitivity``.
    """
    checks.integer("most", most, 1, 1 << 16)
    checks.integer("sensitivity", sensitivity, 1)
    count = asked(jnp.clip(count, 0, most).astype(jnp.int32), "noisy_count", sensitivity)  # audits compare neighbors
    epsilon = jnp.asarray(epsilon)
    return NearCount(count, epsilon * jnp.asarray((1 - _ROOM) / (2 * sensitivity), epsilon.dtype), most)


def noisy_count_guarantee(epsilon: float, neighboring: dp.Neighboring = dp.Neighboring.REPLACE_ONE) -> Guarantee:
    """The cost of `noisy_count`: a neighbor changes each log-weight, and the log of their sum, by epsilon / 2."""
    why = "an exponential mechanism with score -|z - count|"
    return Guarantee(epsilon, 0.0, neighboring, "noisy count", why, source="McSherry and Talwar 2007, Theorem 6")


def target() -> audit.Target:
    """The audit target: all histograms of up to 6 rows with label no or yes, and all their neighbors."""
    universe = audit.histograms(6, 2, dp.Neighboring.REPLACE_ONE)
    return testing.target_of(
        lambda histogram, plan: noisy_count(histogram[1], plan.epsilon, most=6),
        lambda epsilon, delta: noisy_count_guarantee(epsilon),
        universe,
        name="noisy_count",
    )


def law() -> NearCount:
    """An example of the law, for its checks."""
    return noisy_count(jnp.int32(2), 1.0, most=6)
