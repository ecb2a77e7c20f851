"""Group privacy: the guarantee between databases that are several neighboring steps apart."""

import math
from dataclasses import replace

from dpjax.accounting.guarantee import Guarantee
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring


def group_delta(epsilon: float, delta: float, distance: int) -> float:
    """The delta of group privacy at a distance of g.

    delta (e^{g epsilon} - 1) / (e^epsilon - 1) = delta (1 + e^epsilon + ... + e^{(g-1) epsilon}).

    Args:
      epsilon: >= 0; at 0 the sum is g delta.
      delta: in [0, 1).
      distance: g >= 1.

    Returns:
      inf if the sum overflows; a value >= 1 is not a privacy guarantee.
    """
    return scaled_delta(delta, distance * epsilon, epsilon, distance)


def scaled_delta(delta: float, total: float, epsilon: float, limit: float) -> float:
    """delta (e^total - 1) / (e^epsilon - 1) in log space; ``limit`` is the ratio at epsilon = 0."""
    if delta == 0:
        return 0.0
    if epsilon == 0:
        return limit * delta
    exponent = math.log(delta) + _log_expm1(total) - _log_expm1(epsilon)
    return math.exp(exponent) if exponent < 700 else math.inf


def group(guarantee: Guarantee, distance: int) -> Guarantee:
    """The guarantee between databases ``distance`` = g neighboring steps apart.

    Privacy: (g epsilon, delta (e^{g epsilon} - 1)/(e^epsilon - 1)); g^2 rho. InputError if delta would reach 1.
    Reference: Dwork, Roth, "The algorithmic foundations of differential privacy", Theorem 2.2, with its delta summed
      step by step; zCDP: Bun, Steinke, "Concentrated differential privacy", Proposition 1.9.
    """
    checks.integer("distance", distance, 1)
    delta = group_delta(guarantee.epsilon, guarantee.delta, distance)
    if delta >= 1:
        advice = f"({guarantee.epsilon:.6g}, {guarantee.delta:.6g})-DP gives no guarantee for groups this large"
        raise InputError("distance", "one at which the total delta stays below 1", repr(distance), advice)
    return replace(
        guarantee,
        epsilon=distance * guarantee.epsilon,
        delta=delta,
        parts=(guarantee,),
        rounds=1,
        source="Dwork, Roth, The Algorithmic Foundations of Differential Privacy, Theorem 2.2",
        why=f"group privacy over {distance} steps: g epsilon, delta (e^(g epsilon) - 1)/(e^epsilon - 1)",
        rho=None if guarantee.rho is None else distance**2 * guarantee.rho,
        bounded_range=None if guarantee.bounded_range is None else distance * guarantee.bounded_range,
        distance=distance * guarantee.distance,
    )


def as_replace_one(guarantee: Guarantee) -> Guarantee:
    """An ADD_OR_REMOVE_ONE guarantee restated under REPLACE_ONE: a replaced row is one removed and one added.

    Privacy: (2 epsilon, delta (1 + e^epsilon)); 4 rho. A REPLACE_ONE guarantee is returned unchanged.
    """
    if guarantee.neighboring is Neighboring.REPLACE_ONE:
        return guarantee
    if guarantee.distance > 1:
        raise InputError("guarantee", "one at distance 1", f"distance {guarantee.distance}", "apply group afterwards")
    doubled = group(guarantee, 2)
    why = "a replaced row is one removed and one added: 2 epsilon, delta (1 + e^epsilon)"
    return replace(doubled, neighboring=Neighboring.REPLACE_ONE, distance=1, why=why)


def _log_expm1(value: float) -> float:
    return value + math.log(-math.expm1(-value))
