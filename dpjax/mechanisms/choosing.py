"""The choosing mechanism: the exponential mechanism on the candidates that occur, and a null candidate.

The set of candidates may be infinite: only those with a score of 1 or more are listed, and the weight of the null
candidate is large enough that adding a few new candidates between neighbors costs at most delta.
"""

from math import log

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.core import checks
from dpjax.core.draws import asked
from dpjax.core.types import Neighboring
from dpjax.laws import Categorical
from dpjax.mechanisms._inputs import delta_like, vector
from dpjax.mechanisms.exponential import rate


def choosing(
    scores: Array,
    epsilon: Array | float,
    delta: Array | float,
    *,
    growth: int = 1,
    where: Array | None = None,
    many: Array | None = None,
    monotonic: bool = False,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
) -> Categorical:
    """Chooses among the candidates with score >= 1, or abstains.

    Args:
      scores: ``int32[m]``, below 2**30 in absolute value. Every score is 0 on the empty database; between neighbors a
        score changes by at most 1, and at most ``growth`` candidates change from 0 to 1. Candidates not listed have
        score 0.
      epsilon: traced scalar > 0.
      delta: traced scalar in (0, 1).
      growth: static; see scores.
      where: ``bool[m]``; slots that hold a candidate. May depend on the data as long as every candidate with
        score >= 1 has exactly one slot: the law is a law on candidates, not on slots.
      many: ``int32[m]``; so many candidates share a slot, and one of them is then drawn uniformly: the same law on
        candidates.
      monotonic: static; adding a row decreases no score. InputError under REPLACE_ONE.

    Returns: Categorical on {0..m-1, abstain}.

    Privacy: (epsilon, delta) under ``neighboring``; exactly delta / (1 + delta) is attained. Proof:
      docs/proofs/stability.md#the-choosing-mechanism.
    Utility: with rate r = epsilon / 2 (epsilon if monotonic) and gate = 1 + ln(growth / d) / r, where d is the lesser
      of delta and e^r - 1, the mechanism abstains with probability at most exp(-r (max - gate)). A chosen candidate
      always has score >= 1, and it has a score below max - ln(m / beta) / r with probability at most beta.
    Reference: Beimel, Nissim and Stemmer 2013, Section 3 (growth-bounded scores); Yan 2025, Definition 12 and Lemma 1;
      constants derived here.
    """
    scores = vector("scores", scores)
    checks.integer("growth", growth, 1)
    factor = rate(epsilon, monotonic=monotonic, neighboring=neighboring)
    candidate = scores >= 1 if where is None else where & (scores >= 1)
    candidate = candidate if many is None else candidate & (many >= 1)
    scores = jnp.where(candidate, scores, 0)
    scores = asked(scores, "choosing", 1, "sorted") if many is None else scores
    top = jnp.max(jnp.where(candidate, scores, 1), initial=1)

    # The null candidate weighs exp(factor x gate) = exp(factor) growth / d; a larger delta than exp(factor) - 1 does
    # not help. At delta = 0 the null candidate has all the weight.
    with jax.enable_x64(True):
        wide = factor.astype(jnp.float64)
        log_d = jnp.minimum(jnp.log(delta_like(delta, factor).astype(jnp.float64)), jnp.log(jnp.expm1(wide)))
        closed = jnp.isneginf(log_d)
        null = wide * (1 - top).astype(jnp.float64) + log(growth) - log_d
        weights = wide * (scores - top).astype(jnp.float64)
        weights = weights if many is None else weights + jnp.log(jnp.maximum(many, 1).astype(jnp.float64))
        weights = jnp.where(candidate & ~closed, weights, -jnp.inf)
        return Categorical.of(jnp.append(weights, jnp.where(closed, 0, null)), factor.dtype, no_answer=True)


def choosing_guarantee(
    epsilon: float,
    delta: float,
    *,
    growth: int = 1,
    monotonic: bool = False,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
    what: str = "choosing mechanism",
) -> Guarantee:
    """(epsilon, min(delta, exp(rate) - 1)); InputError for delta = 0, at which the mechanism would always abstain."""
    checks.delta(delta, positive_for="the choosing mechanism")
    checks.integer("growth", growth, 1)
    rate(checks.epsilon(epsilon), monotonic=monotonic, neighboring=neighboring)  # refuses monotonic under REPLACE_ONE
    factor = epsilon / (1 if monotonic else 2)
    most = np.expm1(factor) if factor < 1 else np.inf
    return Guarantee(
        epsilon,
        min(delta, float(most)),
        neighboring,
        what,
        why=f"at most {checks.short(growth)} new candidates of weight exp({factor:g}); "
        "the null one weighs growth / delta times that",
        source="Beimel, Nissim and Stemmer 2013, Section 3; constants derived",
    )
