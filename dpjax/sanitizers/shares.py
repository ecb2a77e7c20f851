"""The budget of one of k runs, as traced numbers in closed form, and the same on the host as a guarantee."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.composition import basic
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.optimal_composition import optimal
from dpjax.accounting.zcdp import zcdp
from dpjax.core import checks
from dpjax.core.types import Privacy, as_float, at_most

_DOWN = 1 - 2.0**-20  # covers the rounding to float32, so the composed guarantee is never exceeded
_ORDERS = 1 + np.geomspace(1e-2, 1e6, 400)  # any order gives a valid share


def share(privacy: Privacy, rounds: int, *, pure: bool) -> Privacy:
    """What each of ``rounds`` runs may spend, by basic composition or by zCDP, whichever leaves more epsilon.

    pure: static; True for exponential mechanisms, False for runs that spend delta too.

    zCDP: rho = (epsilon - ln(1 - 1/a) + ln(a delta) / (a - 1)) / a is within (epsilon, delta) at every order a > 1.
    k exponential mechanisms at epsilon0 spend k epsilon0^2 / 8 of it. Of k runs that are (epsilon0, delta0)-private
    each behaves like a pure one but for delta0 (Kairouz, Oh, Viswanath), which spends at most epsilon0^2 / 2; they get
    half of delta together and the conversion the other half.
    """
    epsilon, delta = as_float(privacy.epsilon), as_float(privacy.delta)
    if rounds == 1:
        return Privacy(epsilon, delta)
    with jax.enable_x64(True):
        part = _split(jnp, epsilon.astype(jnp.float64), delta.astype(jnp.float64), rounds, pure)
        return Privacy(*(number.astype(epsilon.dtype) for number in part))


def _split(xp: Any, epsilon: Any, delta: Any, rounds: int, pure: bool) -> tuple[Any, Any]:
    """The arithmetic of `share` in float64, for arrays of jax or numpy."""
    slack = delta * (1.0 if pure else 0.5)
    rho = (epsilon - np.log1p(-1 / _ORDERS) + (np.log(_ORDERS) + xp.log(slack)) / (_ORDERS - 1)) / _ORDERS
    by_rho = xp.sqrt((8.0 if pure else 2.0) * xp.maximum(xp.max(rho), 0.0) / rounds)
    by_sum = epsilon / rounds
    part_delta = xp.where(by_rho > by_sum, delta - slack, delta) / rounds
    return xp.maximum(by_rho, by_sum) * _DOWN, part_delta * _DOWN


def host_share(privacy: Privacy, rounds: int, *, pure: bool) -> Privacy:
    """`share` as plain numbers, at least those that a program works with and one unit of float32 larger at most."""
    epsilon, delta = checks.epsilon(float(privacy.epsilon)), checks.delta(float(privacy.delta))
    epsilon, delta = float(at_most(epsilon)), float(at_most(delta))
    if rounds == 1:
        return Privacy(epsilon, delta)
    with np.errstate(divide="ignore"):
        part = _split(np, np.float64(epsilon), np.float64(delta), rounds, pure)
    above = (float(np.nextafter(np.float32(number), np.float32(np.inf))) if number else 0.0 for number in part)
    return Privacy(*above)


def composed(part: Guarantee, rounds: int, privacy: Privacy, what: str) -> Guarantee:
    """``rounds`` runs of a part at `host_share`: basic composition, or what the larger share rests on."""
    plain, delta = basic((part,), what, rounds=rounds), float(privacy.delta)
    if rounds == 1 or delta == 0:
        return plain
    if part.delta == 0:
        whole = zcdp((part,), delta, rounds, what=what)
    else:
        whole = optimal(part, rounds, max(delta - rounds * part.delta, 0.0), what=what)
    return plain if plain.epsilon <= whole.epsilon else whole


def each(function, *columns: Array):
    """``function`` of every row of the columns, stacked."""
    return jax.vmap(function)(*columns)
