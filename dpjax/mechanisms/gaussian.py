"""The Gaussian mechanism, calibrated exactly."""

import math

from jax import Array

from dpjax.accounting.gaussian import gaussian_delta, gaussian_guarantee
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.numeric.bisection import MARGIN, largest
from dpjax.accounting.numeric.ranges import positive
from dpjax.core import checks
from dpjax.core.draws import asked
from dpjax.core.plans import Claim, Number, down, plan_type, require_leaves, up
from dpjax.core.types import Neighboring, Privacy, as_float
from dpjax.laws import Gaussian
from dpjax.mechanisms._inputs import held


@plan_type
class GaussianPlan:
    """The noise of a Gaussian mechanism.

    sigma: the standard deviation, rounded up. claim: the budget that it was calibrated for.
    """

    sigma: Number
    claim: Claim


def gaussian_plan(privacy: Privacy, *, sensitivity: float) -> GaussianPlan:
    """The smallest noise with which `gaussian_mechanism` spends at most ``privacy``, on the host.

    Args:
      privacy: epsilon > 0, delta in (0, 1).
      sensitivity: the L2 sensitivity of the value. For a sum of rows of L2 norm at most C it is 2 C if neighbors
        replace one row, and C if they add or remove one.

    Privacy: of the mechanism, at most ``privacy``: sigma is rounded up, and `gaussian_mechanism_guarantee` reads it.
    Reference: Balle and Wang 2018, Theorem 8 and Algorithm 1.
    """
    claim = Claim(down(checks.epsilon(float(privacy.epsilon))), down(float(privacy.delta)))
    epsilon, delta = float(claim.epsilon), checks.delta(float(claim.delta), positive_for="the Gaussian mechanism")
    # at this shift mu the tail bound mu^2 / 2 + mu sqrt(2 ln(1 / delta)) = epsilon holds strictly
    tail = math.sqrt(2 * math.log(1 / delta))
    start = 2 * epsilon / (tail + math.sqrt(tail * tail + 2 * epsilon)) / (1 + 1e-6)
    shift = largest(lambda mu: gaussian_delta(mu, epsilon) <= delta * (1 - MARGIN), start)
    return GaussianPlan(up(positive("sensitivity", sensitivity) / shift), claim)


def gaussian_mechanism(value: Array, plan: GaussianPlan, *, sensitivity: float) -> Gaussian:
    """value + N(0, sigma^2), independently in each coordinate.

    Args:
      value: ``int32[...]`` or ``float[...]``. The sum with the noise is rounded to the dtype of sigma, not the value.
      plan: from `gaussian_plan`; traced.
      sensitivity: static; the value given to `gaussian_plan`.

    Returns: Gaussian with the shape of value.

    Privacy: (epsilon, delta) as `gaussian_mechanism_guarantee` states it, attained; contract "ideal".
    Utility: a coordinate has an error above s sigma with probability 2 Phi(-s).
    Reference: Balle and Wang 2018, Theorem 8.
    """
    sigma = as_float(plan.sigma)
    spread = positive("sensitivity", sensitivity)
    return Gaussian(asked(held("value", value, spread), "gaussian_mechanism", spread, "euclidean"), sigma)


def gaussian_mechanism_guarantee(
    plan: GaussianPlan,
    *,
    sensitivity: float,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
    what: str = "Gaussian mechanism",
) -> Guarantee:
    """The smallest epsilon of the plan's sigma at the plan's delta, from the exact privacy profile."""
    require_leaves(plan)
    return gaussian_guarantee([float(plan.sigma)], sensitivity, float(plan.claim.delta), neighboring, what)
