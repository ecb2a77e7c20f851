"""The coefficient of set cover at a traced epsilon and delta."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.cover.calibration import KEPT_BACK
from dpjax.accounting.cover.guarantee import cover_tree
from dpjax.accounting.cover.table import CoverTable
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.numeric.bisection import MARGIN
from dpjax.core.types import Neighboring, Privacy

_MOST = 1e6
"""No larger epsilon is spent."""
_WIDEST = 2.0**60
"""The scale at epsilon 0, which counts take for no answer at all."""


class CoverBudget(NamedTuple):
    """What `set_cover` is given: ``float64[]`` each; scale and offset are the plain number 0 where counts are exact."""

    coefficient: Array
    scale: Array | float
    offset: Array | float


def coefficient_at(table: CoverTable, privacy: Privacy) -> CoverBudget:
    """The largest coefficient that is proved for a budget: the table's, or a closed form's, whichever is larger.

    The table answers with the entry at its largest epsilon up to the budget's, if delta is at least the table's (both
    but for a millionth, which its entries leave). These hold for every epsilon and delta:

      (1 - share) epsilon / losses                                  pure, at delta = 0 too;
      sqrt(8 (rho - what counts spend) / m) / span                  zCDP, rho = (sqrt(L + epsilon) - sqrt(L))^2;
      `set_cover_closed.closed_coefficient`                         only with noisy counts;

    with L = ln(1/delta). Counts have scale m / (share epsilon), with the entry's epsilon where an entry is used.

    Args:
      table: static.
      privacy: traced. What is no budget (epsilon not above 0, NaN) gives coefficient 0 and noise that drowns the count.

    Privacy: set cover with these numbers is (epsilon, delta)-private under the table's relation.
    """
    with jax.enable_x64(True):
        epsilon, delta = _number(privacy.epsilon), _number(privacy.delta)
        epsilon = jnp.where(epsilon > 0, jnp.minimum(epsilon, _MOST), 0.0)
        delta = jnp.where(delta > 0, jnp.minimum(delta, 1.0), 0.0)
        proved = _closed(table, epsilon, delta) * (1 - 3 * MARGIN)
        grid = jnp.asarray(np.array(table.epsilons, np.float64))
        entry = jnp.sum(epsilon >= grid * (1 - KEPT_BACK), dtype=jnp.int32) - 1
        listed = jnp.asarray(np.array(table.coefficients, np.float64))[jnp.maximum(entry, 0)]
        usable = (entry >= 0) & (delta >= table.delta * (1 - KEPT_BACK)) & (listed > proved)
        coefficient = jnp.where(usable, listed, proved)
        if table.share == 0:
            return CoverBudget(coefficient, 0.0, 0.0)
        spent = table.share * jnp.where(usable, grid[jnp.maximum(entry, 0)], epsilon)
        scale = jnp.minimum(table.rounds / jnp.maximum(spent, 1e-100), _WIDEST)
        return CoverBudget(coefficient, scale, table.offset * scale)


def cover_guarantee(table: CoverTable, epsilon: float, delta: float, what: str = "private set cover") -> Guarantee:
    """What a set cover with ``coefficient_at(table, Privacy(epsilon, delta))`` claims, over what a round spends.

    Privacy: (epsilon, delta), under the table's relation.
    """
    with jax.enable_x64(True):
        budget = coefficient_at(table, Privacy(jnp.float64(epsilon), jnp.float64(delta)))
    return cover_tree(
        epsilon, delta, float(budget.coefficient), table.rounds, table.k, table.neighboring, float(budget.scale),
        what, "the stopping game, or a closed form where that is larger",
    )  # fmt: skip


def _closed(table: CoverTable, epsilon: Array, delta: Array) -> Array:
    part = (1 - table.share) * epsilon
    spent = (table.share * epsilon) ** 2 / (2 * table.rounds)  # rounds * pure_rho at most
    log_inverse = -jnp.log(delta)  # inf at delta = 0
    root = epsilon / jnp.maximum(jnp.sqrt(log_inverse + epsilon) + jnp.sqrt(log_inverse), 1e-100)
    rho = jnp.maximum(root**2 * (1 - MARGIN) - spent, 0.0)
    best = jnp.maximum(part / table.losses, jnp.sqrt(8 * rho / table.rounds) / table.span)
    if table.share == 0:
        return best
    if table.neighboring is Neighboring.ADD_OR_REMOVE_ONE:
        return jnp.maximum(best, jnp.minimum(jnp.log1p(part / jnp.maximum(log_inverse, 1e-9)), part))
    # From above to e^{-y} (1 + y) = delta: see `set_cover_closed.gamma_tail`.
    above = jax.lax.fori_loop(0, 60, lambda _, y: log_inverse + jnp.log1p(y), 2 * log_inverse + 0.4)
    above = jnp.maximum(above * (1 + 1e-14), math.e - 1)
    return jnp.maximum(best, jnp.minimum(jnp.log1p(part / above), part / 2))


def _number(value: Array | float) -> Array:
    return jnp.asarray(value).astype(jnp.float64)
