"""Permute-and-flip: visit the candidates in random order and stop at the first coin that lands heads.

Its expected error is at most that of the exponential mechanism at the same epsilon, and down to half of it.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, sqrt
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass
from scipy.special import roots_legendre

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.zcdp import pure_rho
from dpjax.core import checks, random
from dpjax.core.draws import asked, drawn
from dpjax.core.types import Neighboring
from dpjax.laws import Categorical
from dpjax.laws.base import Law, Support
from dpjax.mechanisms._inputs import lag, vector
from dpjax.mechanisms.exponential import rate


def permute_and_flip(
    scores: Array,
    epsilon: Array | float,
    *,
    sensitivity: float = 1,
    where: Array | None = None,
    monotonic: bool = False,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
) -> Categorical:
    """The exact law of permute-and-flip over m candidates.

    Args:
      scores: ``int32[m]`` (or float), m >= 1; larger is better. The maximum is subtracted before scaling.
      epsilon: traced scalar > 0.
      sensitivity: static; the largest change of any score between neighbors.
      where: ``bool[m]``, candidates that exist; must not depend on the data.
      monotonic: static; adding a row changes all scores in the same direction. InputError under REPLACE_ONE.

    Returns: Categorical on {0..m-1}, at a cost of about 5 m sqrt(m); an empty ``where`` samples -1.

    Privacy: (epsilon, 0) under ``neighboring``.
    Utility: the score is at least max - (ln m + s) / rate with probability 1 - exp(-s), as for `exponential`,
      and its expectation is never smaller than that of `exponential`.
    Reference: McKenna and Sheldon 2020, Algorithm 1 and Section 4.
    """
    log_heads, dtype = _log_heads(scores, epsilon, sensitivity, where, monotonic, neighboring)
    return Categorical.of(_log_law(log_heads), dtype)


def _log_law(log_heads: Array) -> Array:
    """log P of each candidate, ``float64[m]``, up to rounding; all -inf if there is none."""
    with jax.enable_x64(True):
        # Candidate i arrives at a uniform time t. The others with t_j < t must all have shown tails, so
        #   P(i) = q_i int_0^1 prod_{j != i} (1 - t q_j) dt,  q = exp(log_heads), the largest q being 1.
        nodes, weights = _quadrature(log_heads.shape[0])
        heads = jnp.exp(log_heads.astype(jnp.float64))
        tails = 1.0 - jnp.asarray(nodes)[:, None] * heads[None, :]
        all_tails = jnp.asarray(weights) * jnp.exp(jnp.sum(jnp.log(tails), axis=1))
        # No relevant term underflows: the integral is at least int (1 - t)^(m-1) dt = 1/m.
        return log_heads.astype(jnp.float64) + jnp.log(jnp.sum(all_tails[:, None] / tails, axis=0))


@register_dataclass
@dataclass(frozen=True)
class PermuteAndFlip(Law):
    """The law of `permute_and_flip` without a table of its probabilities; sampling is linear in m.

    log_heads: ``float64[m]``, log of each coin's probability of heads, the largest 0; -inf for a missing candidate.
    """

    log_heads: Array

    @drawn
    def sample(self, key: Array) -> Array:
        """One candidate, ``int32[]``; -1 if there is none. Each has a 64-bit arrival time and a coin."""
        size = self.log_heads.shape[0]
        of_time, of_coin = jax.random.split(key)
        with jax.enable_x64(True):
            log_heads = self.log_heads.astype(jnp.float64)
            heads = random.exponential(of_coin, (size,), jnp.float64) >= -log_heads
        never = jnp.uint32(2**32 - 1)
        high, low = random.words(of_time, (size,))
        heads &= jnp.isfinite(self.log_heads)
        high = jnp.where(heads, high, never)
        low = jnp.where(heads & (high == jnp.min(high)), low, never)
        index = jnp.arange(size, dtype=jnp.int32)
        earliest = jnp.where(heads & (high == jnp.min(high)) & (low == jnp.min(low)), index, jnp.int32(size))
        winner = jnp.min(earliest)
        return jnp.where(winner < size, winner, jnp.int32(-1))

    def log_prob(self, outcome: Array) -> Array:
        """The log mass of an ``int32[]``, ``float64[]``, by quadrature."""
        return self._listed().log_prob(outcome)

    def support(self, limit: int) -> Support | None:
        """All candidates, and -1."""
        return self._listed().support(limit)

    def _listed(self) -> Categorical:
        return Categorical(_log_law(self.log_heads))


def permute_and_flip_sample(
    key: Array,
    scores: Array,
    epsilon: Array | float,
    *,
    sensitivity: float = 1,
    where: Array | None = None,
    monotonic: bool = False,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
) -> Array:
    """One draw without computing the law, ``int32[]``, linear in m; an independent implementation. -1 if no candidate.

    Each candidate has a 64-bit arrival time and a coin; the earliest with heads wins.

    Privacy: (epsilon, 0) under ``neighboring``: the law is that of `permute_and_flip`.
    Reference: McKenna and Sheldon 2020, Algorithm 1.
    """
    return PermuteAndFlip(_log_heads(scores, epsilon, sensitivity, where, monotonic, neighboring)[0]).sample(key)


def permute_and_flip_guarantee(
    epsilon: float,
    *,
    monotonic: bool = False,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
    what: str = "permute-and-flip",
) -> Guarantee:
    """Pure differential privacy, tight. Not epsilon-bounded range: ranges of 1.95 epsilon were observed."""
    rate(checks.epsilon(epsilon), monotonic=monotonic, neighboring=neighboring)
    why = "scores of sensitivity 1 at rate epsilon" + ("" if monotonic else " / 2")
    return Guarantee(
        epsilon, 0.0, neighboring, what, why=why, rho=pure_rho(epsilon), source="McKenna and Sheldon 2020, Section 3"
    )


def _log_heads(scores, epsilon, sensitivity, where, monotonic, neighboring) -> tuple[Array, Any]:
    """log of each coin's probability of heads, ``float64[m]``: rate x (score - max), -inf for a missing candidate.

    Also returns the dtype of epsilon.
    """
    factor = rate(epsilon, sensitivity, monotonic=monotonic, neighboring=neighboring)
    scores = asked(
        vector("scores", scores, integers=False, least=1, spread=sensitivity), "permute_and_flip", sensitivity
    )
    whole = jnp.issubdtype(scores.dtype, jnp.integer)
    lowest = jnp.asarray(jnp.iinfo(scores.dtype).min if whole else -jnp.inf, scores.dtype)
    exists = jnp.ones(scores.shape, bool) if where is None else where
    best = jnp.max(jnp.where(exists, scores, lowest))
    with jax.enable_x64(True):
        log_heads = factor.astype(jnp.float64) * lag(jnp.where(exists, scores, best), best, jnp.float64)
        return jnp.where(exists, log_heads, -jnp.inf), factor.dtype


@lru_cache(maxsize=32)
def _quadrature(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre on [0, 1] for the polynomial of degree size - 1 above, to a relative error below 1e-15.

    ceil(size / 2) nodes are exact. 5 sqrt(size) suffice: in x = 2 t - 1 a factor is (1 - q/2) - (q/2) x, so the
    Chebyshev coefficients of the product are, up to sign, at most twice the probabilities of the sum of size - 1
    independent steps from {-1, 0, 1}. By Hoeffding those beyond degree 2 N sum to at most 4 exp(-2 N^2 / size)
    <= 4 exp(-50), while the integral is at least 1 / size.
    """
    count = min(ceil(size / 2), ceil(5 * sqrt(size)))
    nodes, weights = roots_legendre(count)
    return (nodes + 1) / 2, weights / 2
