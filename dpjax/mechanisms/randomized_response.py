"""k-ary randomized response, for which the privacy bound is tight: the test case of the audits."""

import jax.numpy as jnp
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.zcdp import pure_rho
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring
from dpjax.laws import Categorical
from dpjax.mechanisms._inputs import delta_like, epsilon_of


def randomized_response(value: Array, epsilon: Array | float, *, categories: int = 2) -> Categorical:
    """Reports one person's category truthfully with odds exp(epsilon) : 1 against each other category.

    Args:
      value: ``int32[]`` in [0, categories); clipped to that range.
      epsilon: traced scalar > 0.
      categories: static, k >= 2.

    Returns: Categorical on {0..k-1}.

    Privacy: (epsilon, 0) under REPLACE_ONE (the one record is replaced); tight: delta(epsilon) = 0 exactly at epsilon.
    Utility: truthful with probability exp(epsilon) / (exp(epsilon) + k - 1).
    Reference: Warner 1965, Section 2.
    """
    epsilon = epsilon_of(epsilon)
    return Categorical(jnp.where(_is_truth(value, categories), jnp.zeros_like(epsilon), -epsilon))


def revealing_randomized_response(
    value: Array, epsilon: Array | float, delta: Array | float, *, categories: int = 2
) -> Categorical:
    """Reveals the category, and the fact that it is revealed, with probability delta; else `randomized_response`.

    Args:
      value: ``int32[]`` in [0, categories); clipped to that range.
      epsilon: traced scalar > 0.
      delta: traced scalar in [0, 1).
      categories: static, k >= 2.

    Returns: Categorical on {0..2k-1}: a noisy report of c is outcome c, a revealed one is outcome k + c.

    Privacy: (epsilon, delta) under REPLACE_ONE; tight: the profile at epsilon is exactly delta. For k = 2 every
      (epsilon, delta)-private mechanism is, on two neighbors, a post-processing of this one.
    Utility: truthful with probability delta + (1 - delta) exp(epsilon) / (exp(epsilon) + k - 1).
    Reference: Kairouz, Oh and Viswanath 2015; Murtagh and Vadhan 2016, Definition 3.1.
    """
    epsilon = epsilon_of(epsilon)
    delta = delta_like(delta, epsilon)
    truth = _is_truth(value, categories)
    others = jnp.log(jnp.asarray(categories - 1, epsilon.dtype))
    report = jnp.where(truth, 0, -epsilon) - jnp.logaddexp(0, others - epsilon) + jnp.log1p(-delta)
    revealed = jnp.where(truth, jnp.log(delta), -jnp.inf)
    return Categorical(jnp.concatenate([report, revealed]))


def randomized_response_guarantee(
    epsilon: float, *, neighboring: Neighboring = Neighboring.REPLACE_ONE, what: str = "randomized response"
) -> Guarantee:
    """Pure differential privacy of one person's report."""
    return _guarantee(epsilon, 0.0, neighboring, what, "odds of exp(epsilon) for the truth", "Warner 1965, Section 2")


def revealing_randomized_response_guarantee(
    epsilon: float,
    delta: float,
    *,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
    what: str = "revealing randomized response",
) -> Guarantee:
    """(epsilon, delta) of one person's report; tight."""
    why = "revealed with probability delta, else odds of exp(epsilon) for the truth"
    return _guarantee(epsilon, checks.delta(delta), neighboring, what, why, "Murtagh and Vadhan 2016, Definition 3.1")


def _guarantee(epsilon, delta, neighboring, what, why, source) -> Guarantee:
    if neighboring is not Neighboring.REPLACE_ONE:
        raise InputError(
            "neighboring", "Neighboring.REPLACE_ONE", str(neighboring), "there is one record, and it is always reported"
        )
    rho = pure_rho(checks.epsilon(epsilon)) if delta == 0 else None
    return Guarantee(epsilon, delta, neighboring, what, why=why, source=source, rho=rho)


def _is_truth(value: Array, categories: int) -> Array:
    checks.integer("categories", categories, 2)
    value = jnp.asarray(value)
    if value.ndim != 0 or not jnp.issubdtype(value.dtype, jnp.integer):
        raise InputError("value", "one whole number", f"{value.dtype}{value.shape}", "use vmap over several people")
    return jnp.arange(categories, dtype=jnp.int32) == jnp.clip(value, 0, categories - 1).astype(jnp.int32)
