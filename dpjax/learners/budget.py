"""The share of one of k runs, as traced numbers, so that sweeping epsilon compiles nothing; and the whole that k make.

The host's `dpjax.accounting` says the same numbers in float64 and prints them; these are never larger.
"""

from math import lgamma

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.composition import advanced, basic
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.optimal_composition import optimal
from dpjax.accounting.zcdp import zcdp
from dpjax.core import checks
from dpjax.core.types import Privacy, as_float, at_most

COMPOSITIONS = ("basic", "advanced", "optimal", "zcdp")
_STEPS = 80
_DOWN = 1 - 2.0**-20  # covers the rounding to float32, so the composed guarantee is never exceeded


def per_run(privacy: Privacy, rounds: int, composition: str, *, pure: bool = True) -> Privacy:
    """The (epsilon0, delta0) with which ``rounds`` runs stay within ``privacy``.

    composition: "basic"; "advanced" (tight Dwork-Rothblum-Vadhan); "optimal" (Kairouz-Oh-Viswanath);
        "zcdp" (epsilon0**2 / 8 each, for bounded-range mechanisms only; converted as Canonne, Kamath, Steinke).
    pure: whether a run uses delta; if so half of delta goes to the runs (equally) and half to the composition.
    """
    working = as_float(privacy.epsilon).dtype
    if rounds == 1:
        return Privacy(as_float(privacy.epsilon), as_float(privacy.delta))
    if composition == "basic":
        return Privacy(as_float(privacy.epsilon) / rounds * _DOWN, as_float(privacy.delta) / rounds * _DOWN)
    with jax.enable_x64(True):
        epsilon = jnp.asarray(privacy.epsilon, jnp.float64)
        delta = jnp.asarray(privacy.delta, jnp.float64)
        slack = delta * (1.0 if pure else 0.5)
        fits = {"advanced": _advanced_fits, "optimal": _optimal_fits, "zcdp": _zcdp_fits}[composition]
        most = epsilon + 100.0  # a large delta pays for more than epsilon a run
        share = _largest(lambda e: fits(e, rounds, epsilon, slack), epsilon / rounds, most)
        return Privacy((share * _DOWN).astype(working), ((delta - slack) / rounds * _DOWN).astype(working))


def share(privacy: Privacy, rounds: int, composition: str) -> Privacy:
    """`per_run` on the host: exactly the numbers with which a program runs."""
    traced = Privacy(at_most(checks.epsilon(float(privacy.epsilon))), at_most(checks.delta(float(privacy.delta))))
    part = _as_in_programs(traced, rounds, composition)
    return Privacy(float(part.epsilon), float(part.delta))


_as_in_programs = jax.jit(per_run, static_argnames=("rounds", "composition"))


def composed(part: Guarantee, rounds: int, delta: float, composition: str, what: str) -> Guarantee:
    """``rounds`` runs of ``part``, which works at `share`: by the named theorem or, where it is less, by adding up."""
    plain = basic((part,), what, rounds=rounds)
    if composition == "basic" or rounds == 1 or delta == 0:
        return plain
    if composition == "advanced":
        whole = advanced(part, rounds, delta, form="tight", what=what)
    elif composition == "optimal":
        whole = optimal(part, rounds, delta, what=what)
    else:
        whole = zcdp((part,), delta, rounds, what=what)
    return plain if plain.epsilon <= whole.epsilon else whole


def _largest(fits, low: Array, high: Array) -> Array:
    """Bisection for the largest value that fits; ``low`` does."""

    def step(_, bounds):
        middle = 0.5 * (bounds[0] + bounds[1])
        good = fits(middle)
        return jnp.where(good, middle, bounds[0]), jnp.where(good, bounds[1], middle)

    return jax.lax.fori_loop(0, _STEPS, step, (low, high))[0]


def _advanced_fits(share: Array, rounds: int, epsilon: Array, slack: Array) -> Array:
    spread = share * jnp.sqrt(-2.0 * rounds * jnp.log(slack))
    return spread + rounds * share * jnp.tanh(share / 2) <= epsilon


def _optimal_fits(share: Array, rounds: int, epsilon: Array, slack: Array) -> Array:
    """The hockey stick of ``rounds`` randomized responses at epsilon is at most slack, in log space."""
    truths = np.arange(rounds // 2 + 1, rounds + 1, dtype=np.float64)
    log_count = np.array([lgamma(rounds + 1) - lgamma(i + 1) - lgamma(rounds - i + 1) for i in truths])
    log_mass = log_count - rounds * jnp.logaddexp(share, 0.0) + truths * share
    excess = (2 * truths - rounds) * share - epsilon
    gain = jnp.where(excess > 0, jnp.log(-jnp.expm1(-jnp.where(excess > 0, excess, 1.0))), -jnp.inf)
    return jax.scipy.special.logsumexp(log_mass + gain) <= jnp.log(slack)


def _zcdp_fits(share: Array, rounds: int, epsilon: Array, slack: Array) -> Array:
    """rho = rounds share**2 / 8 converts to (epsilon, slack) at some order on a grid; any order gives a valid bound."""
    order = 1 + np.geomspace(1e-2, 1e6, 400)
    constant = order * np.log1p(-1 / order) - np.log(order - 1)
    log_delta = (order - 1) * (order * rounds * share**2 / 8 - epsilon) + constant
    return jnp.min(log_delta) <= jnp.log(slack)
