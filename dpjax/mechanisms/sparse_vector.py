"""Sparse vector: which queries of a long list are above a threshold; only those above it cost privacy."""

import itertools
import math
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.accounting.composition import basic
from dpjax.accounting.guarantee import Guarantee
from dpjax.core import checks, random
from dpjax.core.draws import drawn
from dpjax.core.types import Neighboring
from dpjax.laws.base import Law, Support, listed
from dpjax.mechanisms._inputs import epsilon_of
from dpjax.mechanisms.above_threshold import above_threshold_guarantee, clipped, inputs, stopping_law


def sparse_vector(
    key: Array,
    queries: Array,
    threshold: Array | float,
    epsilon: Array | float,
    *,
    count: int,
    sensitivity: float = 1,
    where: Array | None = None,
    monotonic: bool = False,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
) -> Array:
    """AboveThreshold with epsilon / count, restarted after each answer "above", up to ``count`` times.

    Each restart draws a fresh threshold noise, and no gap is released.

    Args:
      key: consumed.
      queries: ``int32[m]`` (or float), in the order of evaluation.
      threshold: traced scalar that does not depend on the data.
      epsilon: traced scalar > 0, the total.
      count: static, c >= 1.
      sensitivity, where, monotonic: as in `above_threshold`.

    Returns: ``bool[m]``, True for above; all False after the c-th one.

    Privacy: (epsilon, 0) under ``neighboring``.
    Utility: as `above_threshold` at epsilon / count.
    Reference: Dwork and Roth 2014, Algorithm 2 and Theorem 3.25.
    """
    share = epsilon_of(epsilon) / checks.integer("count", count, 1)
    lead, factor, ratio = inputs(queries, threshold, share, sensitivity, monotonic, neighboring)
    exists = jnp.ones(lead.shape, bool) if where is None else where
    return SparseVector(lead, factor, exists, ratio == 1, count).sample(key)


@register_dataclass
@dataclass(frozen=True)
class SparseVector(Law):
    """The joint law of all answers of `sparse_vector`.

    lead: ``int32[m]`` or ``float64[m]``, queries minus threshold. factor: ``float[]``, 1 / scale of the threshold's
    noise.
    asked: ``bool[m]``. monotonic, count: static; the scale of a query's noise is the threshold's, or twice that.
    """

    lead: Array
    factor: Array
    asked: Array
    monotonic: bool = field(metadata={"static": True})
    count: int = field(metadata={"static": True})

    @drawn
    def sample(self, key: Array) -> Array:
        """``bool[m]``; noise is float64, since sums of floats are compared."""
        of_threshold, of_queries = jax.random.split(key)
        with jax.enable_x64(True):
            fresh = random.laplace(of_threshold, (self.count,), jnp.float64)
            noise = random.laplace(of_queries, self.lead.shape, jnp.float64)
            return _ask(self._meets() + self._ratio * noise, self.asked, fresh)

    def log_prob(self, outcome: Array) -> Array:
        """The log mass of ``bool[m]``, ``float64[]``."""
        with jax.enable_x64(True):
            return self._of_answers(self._runs(), outcome)

    def support(self, limit: int) -> Support | None:
        """All answers with at most ``count`` True entries."""
        size = self.lead.shape[0]
        if sum(math.comb(size, above) for above in range(min(self.count, size) + 1)) > limit:
            return None
        stops = [stop for c in range(min(self.count, size) + 1) for stop in itertools.combinations(range(size), c)]
        answers = np.array([np.isin(np.arange(size), stop) for stop in stops]).reshape(len(stops), size)
        with jax.enable_x64(True):
            runs = self._runs()
            return listed(answers, lambda answer: self._of_answers(runs, answer))

    @property
    def _ratio(self) -> float:
        return 1.0 if self.monotonic else 2.0

    def _meets(self) -> Array:
        return clipped(self.factor.astype(jnp.float64) * self.lead.astype(jnp.float64), self._ratio)

    def _runs(self) -> Array:
        """log P(the run that begins at query b stops at i); entry m: it never stops. ``float64[m + 1, m + 1]``."""
        size = self.lead.shape[0]
        meets = self._meets()

        def begun(begin: Array) -> Array:
            remaining = self.asked & (jnp.arange(size, dtype=jnp.int32) >= begin)
            return stopping_law(jnp.where(remaining, meets, 0.0), remaining, self._ratio)

        return jax.vmap(begun)(jnp.arange(size + 1, dtype=jnp.int32))

    def _of_answers(self, runs: Array, answers: Array) -> Array:
        """The runs of a path are independent; each begins after the last answer above, up to ``count`` runs."""
        size = self.lead.shape[0]

        def query(state: tuple[Array, Array, Array], step: tuple[Array, Array]) -> tuple[Any, None]:
            total, begin, positives = state
            above, place = step
            possible = positives < self.count
            total = total + jnp.where(above, jnp.where(possible, runs[begin, place], -jnp.inf), 0.0)
            return (total, jnp.where(above, place + 1, begin), positives + above.astype(jnp.int32)), None

        start = jnp.float64(0), jnp.int32(0), jnp.int32(0)
        total, begin, positives = jax.lax.scan(query, start, (answers, jnp.arange(size, dtype=jnp.int32)))[0]
        return total + jnp.where(positives < self.count, runs[begin, size], 0.0)


@jax.jit
def _ask(noisy: Array, asked: Array, fresh: Array) -> Array:
    """Compares each answer with the threshold noise of its round; the round is the number of answers above so far."""
    count = fresh.shape[0]

    def step(found: Array, query: tuple[Array, Array]) -> tuple[Array, Array]:
        value, real = query
        above = real & (found < count) & (value >= fresh[jnp.minimum(found, count - 1)])
        return found + above.astype(jnp.int32), above

    return jax.lax.scan(step, jnp.int32(0), (noisy, asked))[1]


def sparse_vector_guarantee(
    epsilon: float,
    *,
    count: int,
    monotonic: bool = False,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
    what: str = "sparse vector",
) -> Guarantee:
    """``count`` adaptive runs of AboveThreshold at epsilon / count."""
    share = checks.epsilon(epsilon) / checks.integer("count", count, 1)
    part = above_threshold_guarantee(share, monotonic=monotonic, neighboring=neighboring)
    return basic([part], what, rounds=count)
