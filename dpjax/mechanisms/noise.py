"""Additive noise: the Laplace mechanism on reals and the discrete Laplace mechanism on integers."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.numeric.ranges import positive
from dpjax.accounting.zcdp import pure_rho
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.draws import asked
from dpjax.core.plans import Number, plan_type, up
from dpjax.core.random import MOST_LEVELS, GeometricTable, geometric_table
from dpjax.core.types import Neighboring, as_float
from dpjax.laws import DiscreteLaplace, Laplace
from dpjax.mechanisms._inputs import epsilon_of, held, signed


def laplace_mechanism(value: Array, epsilon: Array | float, *, sensitivity: float) -> Laplace:
    """value + Lap(sensitivity / epsilon), independently in each coordinate.

    Args:
      value: ``int32[...]`` or ``float[...]``. The sum with the noise is rounded to the dtype of epsilon, not the value.
      epsilon: traced scalar > 0.
      sensitivity: static; the L1 sensitivity of value over all coordinates. For a sum of rows of L1 norm at most C it
        is 2 C if neighbors replace one row, and C if they add or remove one.

    Returns: Laplace with the shape of value.

    Privacy: (epsilon, 0) under the relation for which ``sensitivity`` is stated; contract "ideal".
    Utility: a coordinate has an error above (sensitivity / epsilon) s with probability exp(-s).
    Reference: Dwork and Roth 2014, Theorem 3.6; Kaplan, Mansour, Matias, Stemmer 2019, Definition 2.12, Theorem 2.13.
    """
    scale = positive("sensitivity", sensitivity) / epsilon_of(epsilon)
    return Laplace(asked(held("value", value, sensitivity), "laplace_mechanism", sensitivity, "sum"), scale)


@plan_type
class DiscreteLaplacePlan:
    """The noise of a discrete Laplace mechanism.

    scale: of the noise, rounded up. table: for that scale, to 60 digits.
    """

    scale: Number
    table: GeometricTable


def discrete_laplace_plan(epsilon: float, *, sensitivity: int) -> DiscreteLaplacePlan:
    """The noise of `discrete_laplace_mechanism`, on the host.

    Args:
      epsilon: plain number >= sensitivity / 2e7.
      sensitivity: integer >= 1; the L1 sensitivity of the value over all coordinates, see `discrete_laplace_mechanism`.

    The table has all digits of a draw, also those that are always 0: all budgets share one program.

    Privacy: of the mechanism, (epsilon, 0): the scale is rounded up.
    Reference: as `discrete_laplace_mechanism`.
    """
    scale = up(checks.integer("sensitivity", sensitivity, 1) / checks.epsilon(epsilon))
    return DiscreteLaplacePlan(scale, geometric_table(float(scale), MOST_LEVELS))


def discrete_laplace_mechanism(
    value: Array, epsilon: float | DiscreteLaplacePlan, *, sensitivity: int
) -> DiscreteLaplace:
    """value + two-sided geometric noise of scale sensitivity / epsilon, independently in each coordinate.

    Integers in, integers out.

    Args:
      value: ``int32[...]``.
      epsilon: a `discrete_laplace_plan` (traced), or a plain number > 0, from which a plan is made.
      sensitivity: static integer >= 1; the L1 sensitivity of value over all coordinates, the largest sum of absolute
        differences between neighbors. For a histogram of rows it is 2 if neighbors replace one row, and 1 if they add
        or remove one. With a plan, the value given to `discrete_laplace_plan`.

    Returns: DiscreteLaplace with the shape of value; the sampler has each digit's probability to within 2**-64.

    Privacy: (epsilon, 0) under the relation for which ``sensitivity`` is stated; contract "lattice".
    Utility: in a coordinate P(|noise| >= t) = 2 q**t / (1 + q) for t >= 1, with q = exp(-epsilon / sensitivity).
    Reference: Ghosh, Roughgarden and Sundararajan 2009, Section 2.
    """
    value = held("value", value)
    if not jnp.issubdtype(value.dtype, jnp.integer):
        raise InputError("value", "whole numbers", str(value.dtype), "use laplace_mechanism for reals")
    checks.integer("sensitivity", sensitivity, 1)
    value = asked(signed("value", value), "discrete_laplace_mechanism", sensitivity, "sum")
    value = (jnp.clip(value, -(2**31), 2**31 - 1) if value.dtype.itemsize > 4 else value).astype(jnp.int32)
    plan = epsilon
    if not isinstance(plan, DiscreteLaplacePlan):
        plan = discrete_laplace_plan(plan, sensitivity=sensitivity)
    return DiscreteLaplace(value, as_float(plan.scale), jax.tree.map(jnp.asarray, plan.table))


def upper_quantile(delta: Array) -> Array:
    """The x with P(standard Laplace >= x) = delta, for delta in [0, 1]; inf at 0 and -inf at 1.

    It is ln(1 / (2 delta)) up to delta = 1/2. Logarithms are summed, so that delta = 1e-30 loses no precision.
    """
    log_two = jnp.asarray(np.log(2.0), delta.dtype)
    small = delta <= 0.5
    below = -jnp.log(jnp.where(small, delta, 0.5)) - log_two
    above = jnp.log(1 - jnp.where(small, 0.5, delta)) + log_two
    return jnp.where(small, below, above)


def laplace_mechanism_guarantee(
    epsilon: float,
    *,
    sensitivity: float,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
    what: str = "Laplace mechanism",
) -> Guarantee:
    """Pure differential privacy, in real arithmetic.

    sensitivity: the L1 sensitivity of the value under ``neighboring``, as given to `laplace_mechanism`.
    """
    positive("sensitivity", sensitivity)
    return Guarantee(
        checks.epsilon(epsilon),
        0.0,
        neighboring,
        what,
        why=f"L1 sensitivity {sensitivity:g}, noise of that / epsilon",
        rho=pure_rho(epsilon),
        source="Dwork and Roth 2014, Theorem 3.6",
    )


def discrete_laplace_mechanism_guarantee(
    epsilon: float,
    *,
    sensitivity: int,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
    what: str = "discrete Laplace mechanism",
) -> Guarantee:
    """Pure differential privacy of an integer output with an exact pmf.

    sensitivity: the L1 sensitivity of the value under ``neighboring``, as given to `discrete_laplace_mechanism`.
    """
    checks.integer("sensitivity", sensitivity, 1)
    return Guarantee(
        checks.epsilon(epsilon),
        0.0,
        neighboring,
        what,
        why=f"L1 sensitivity {sensitivity}, noise of that / epsilon",
        rho=pure_rho(epsilon),
        source="Ghosh, Roughgarden and Sundararajan 2009, Section 2",
        contract="lattice",
    )
