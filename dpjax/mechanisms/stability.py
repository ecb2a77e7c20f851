"""Stability: release the best candidate if its lead is clearly larger than the sensitivity of the lead (A_dist)."""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.numeric.ranges import positive
from dpjax.core import checks
from dpjax.core.draws import asked
from dpjax.core.types import Neighboring
from dpjax.laws import Categorical, Laplace
from dpjax.mechanisms._inputs import delta_like, epsilon_of, held, vector
from dpjax.mechanisms.noise import upper_quantile

CALIBRATIONS = ("corrected", "printed")


def stability(
    scores: Array,
    epsilon: Array | float,
    delta: Array | float,
    *,
    gap_sensitivity: float = 2,
    calibration: str = "corrected",
    where: Array | None = None,
) -> Categorical:
    """Releases the candidate with the most votes, or abstains.

    Args:
      scores: ``int32[m]`` >= 0, m >= 1, below 2**30. Ties go to the lowest index. Candidates not listed have score 0,
        so the runner-up has at least 0, also if there is only one candidate.
      epsilon: traced scalar > 0.
      delta: traced scalar in (0, 1).
      gap_sensitivity: static; the largest change between neighbors of the difference of two scores: 2 for votes under
        REPLACE_ONE, 1 under ADD_OR_REMOVE_ONE.
      calibration: static; "corrected", or "printed" for the paper's noise and threshold; see `release`.
      where: ``bool[m]``; slots that hold a candidate. May depend on the data as long as every candidate with
        score >= 1 has exactly one slot and slots are ordered by candidate.

    Returns: Categorical on {0..m-1, abstain}: only the best index and abstain have mass. With no votes the best is
      the lowest existing index; with an empty ``where`` the mechanism always abstains.

    Privacy: (epsilon, delta) under the relation of ``gap_sensitivity``; tight. "printed" does not satisfy it.
    Utility: a lead of gap_sensitivity (1 + ln(1 / (4 delta beta)) / epsilon) or more is released with probability
      1 - beta, for delta and beta up to 1/2.
    Reference: Bun, Nissim and Stemmer, "Simultaneous private learning of multiple concepts", Algorithm 3 and
      Proposition 3.11; after Smith and Thakurta 2013.
    """
    scores = vector("scores", scores, least=1)
    exists = jnp.ones(scores.shape, bool) if where is None else where
    index = jnp.arange(scores.shape[0], dtype=jnp.int32)
    votes = jnp.where(exists, scores, -1)
    best = jnp.min(jnp.where(exists & (votes == jnp.max(votes)), index, scores.shape[0]))
    is_best = index == best
    second = jnp.max(jnp.where(is_best, 0, votes), initial=0)
    gap = jnp.max(votes) - second
    two, dtype = _tails(gap, epsilon, delta, gap_sensitivity, calibration)
    with jax.enable_x64(True):
        none = jnp.where(jnp.any(exists), two[1], 0.0)
        cells = jnp.append(jnp.where(is_best, two[0], -jnp.inf), none)
    return Categorical.of(cells, dtype, no_answer=True)


def release(
    gap: Array,
    epsilon: Array | float,
    delta: Array | float,
    *,
    gap_sensitivity: float = 2,
    calibration: str = "corrected",
) -> Categorical:
    """Whether an object whose lead is ``gap`` may be released: the test that `stability` uses.

    Corrected: gap + Lap(D / epsilon) >= D + the upper delta-quantile of that noise, which is
    D + (D / epsilon) ln(1 / (2 delta)) for delta <= 1/2. Printed: gap + Lap(1 / epsilon) >= ln(1 / delta) / epsilon.

    Args:
      gap: ``int32[]`` (or float). Two conditions: between neighbors with the same object it changes by at most
        D = ``gap_sensitivity``; and it is at most D if some neighbor has another object.
      epsilon: traced scalar > 0.
      delta: traced scalar in (0, 1).

    Returns: Categorical on {released = 0, abstain}, exact in both tails, computed in float64.

    Privacy: (epsilon, delta), of the object together with the decision (docs/proofs/stability.md#the-stability-test).
      "printed" does not satisfy it.
    Reference: as `stability`.
    """
    two, dtype = _tails(gap, epsilon, delta, gap_sensitivity, calibration)
    return Categorical.of(two, dtype, no_answer=True)


def _tails(gap: Array, epsilon: Any, delta: Any, gap_sensitivity: float, calibration: str) -> tuple[Array, Any]:
    """log P(released) and log P(abstain), ``float64[2]``, and the dtype of epsilon."""
    epsilon = epsilon_of(epsilon)
    delta = delta_like(delta, epsilon)
    spread = positive("gap_sensitivity", gap_sensitivity)
    gap = asked(held("gap", gap, spread), "release", spread)
    corrected = checks.choice("calibration", calibration, CALIBRATIONS) == "corrected"
    with jax.enable_x64(True):
        dtype = epsilon.dtype
        gap, epsilon, delta = (part.astype(jnp.float64) for part in (gap, epsilon, delta))
        if corrected:
            needed = upper_quantile(delta) - epsilon / spread * (gap - spread)
        else:
            needed = -jnp.log(delta) - epsilon * gap
        standard = Laplace(jnp.zeros_like(needed), jnp.ones_like(needed))
        return jnp.stack([standard.log_survival(needed), standard.log_cdf(needed)]), dtype


def stability_guarantee(
    epsilon: float,
    delta: float,
    *,
    gap_sensitivity: float = 2,
    calibration: str = "corrected",
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
    what: str = "A_dist",
) -> Guarantee:
    """The guarantee of `stability` and `release`; ``gap_sensitivity`` is stated under ``neighboring``.

    For the printed constants this returns (D epsilon, P[D + Lap(1 / epsilon) >= ln(1 / delta) / epsilon]), which is all
    that they satisfy: they are the corrected ones at that epsilon and delta.
    """
    checks.delta(delta, positive_for="the stability mechanism")
    spread = positive("gap_sensitivity", gap_sensitivity)
    source = "Bun, Nissim and Stemmer, Algorithm 3"
    if checks.choice("calibration", calibration, CALIBRATIONS) == "corrected":
        why = f"the gap moves by {spread:g}: noise Lap({spread:g} / epsilon), a lead of {spread:g} passes with delta"
        return Guarantee(checks.epsilon(epsilon), delta, neighboring, what, why=why, source=source)
    effective = spread * checks.epsilon(epsilon)
    return Guarantee(
        effective,
        survival(-math.log(delta) - effective),
        neighboring,
        f"{what} as printed",
        why=f"printed for ({epsilon:g}, {delta:g}), but the gap moves by {spread:g}, not 1",
        source=source,
    )


def survival(x: float) -> float:
    """P(standard Laplace >= x), on the host."""
    return 0.5 * math.exp(-x) if x > 0 else -math.expm1(x - math.log(2.0))
