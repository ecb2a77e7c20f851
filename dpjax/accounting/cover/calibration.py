"""The largest set-cover coefficient that a budget allows, by a choice of accounting rules."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from dpjax.accounting.cover import closed
from dpjax.accounting.cover.cache import kept
from dpjax.accounting.cover.effects import Effect, effect_of
from dpjax.accounting.cover.game import enough_cells, game_delta
from dpjax.accounting.cover.guarantee import MOST_ROUNDS, checked_effect
from dpjax.accounting.cover.states import largest_loss
from dpjax.accounting.numeric.bisection import MARGIN, largest
from dpjax.accounting.numeric.secant import crossing
from dpjax.accounting.zcdp import zcdp_rho
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.plans import down, up
from dpjax.core.types import Neighboring

VARIANTS = ("noise_free", "noisy", "hidden", "closed_form", "zcdp", "advanced", "paper_corrected", "paper")
_COARSE, _FINE, _STEP = 2e-3, 5e-5, 1e-6
_LARGE = 20.0
"""Pure coefficients above this are not improved."""


@dataclass(frozen=True)
class CoverCalibration:
    """Set cover calibrated for a budget.

    Args:
      coefficient: h is drawn with density proportional to mu(h) exp(coefficient q(h)).
      scale: of the counts' discrete Laplace noise; 0: exact counts, which are not published.
      offset: subtracted from every count; it does not affect privacy.
      epsilon, delta: the budget.
      rounds, k, neighboring: the setting of the guarantee.
      variant: one of ``VARIANTS``.
    """

    coefficient: float
    scale: float
    offset: float
    epsilon: float
    delta: float
    rounds: int
    k: int | Effect
    neighboring: Neighboring
    variant: str


@lru_cache(maxsize=4096)
def calibrate_set_cover(
    epsilon: float,
    delta: float,
    rounds: int,
    k: int | Effect,
    neighboring: Neighboring,
    variant: str = "noise_free",
    share: float = 0.2,
) -> CoverCalibration:
    """The largest coefficient for which m rounds are (epsilon, delta)-private, by the rule of ``variant``.

    "noise_free", "noisy" and "hidden": the stopping game, without noisy counts, with published ones, and with noisy
    counts that are not published, which allow the larger of both coefficients. Coefficient and scale are float32
    numbers, and the bound is verified at them; the coefficient is within 1e-4 of what the bound allows. Takes up to
    seconds for dozens of rounds; results are cached on disk (`cache`). "closed_form", "zcdp", "advanced",
    "paper_corrected", "paper": see `closed`.

    Args:
      epsilon: > 0.
      delta: in [0, 1); 0 for the games only, which are then pure.
      rounds: m >= 1.
      k: >= 1, of the quality function, or the effect of another score, for "noise_free" only.
      neighboring: the relation; the paper's variants hold under ADD_OR_REMOVE_ONE only.
      variant: one of ``VARIANTS``.
      share: in (0, 1), the fraction of epsilon (of rho for "zcdp") for the counts; the paper's variants have their own.

    Returns:
      scale = m / (share epsilon) and offset = scale / 2, or the paper's; both 0 for "noise_free".
    """
    checks.choice("variant", variant, VARIANTS)
    checks.epsilon(epsilon)
    checks.delta(delta)
    checks.integer("rounds", rounds, 1, MOST_ROUNDS)
    exact, effect = (checked_effect(k, published) for published in (False, variant != "noise_free"))
    if variant != "noise_free" and k is effect:
        raise InputError("variant", "'noise_free' for another score than min{T - b / k, -O}", repr(variant), "give k")
    if variant != "noise_free" and not 0 < checks.number("share", share) < 1:
        raise InputError("share", "a number in (0, 1)", repr(share), "for example 0.2; or use variant='noise_free'")
    if variant.startswith("paper") and neighboring is not Neighboring.ADD_OR_REMOVE_ONE:
        raise InputError(
            "neighboring", "ADD_OR_REMOVE_ONE for the paper's constants", str(neighboring), "use variant='noisy'"
        )
    scale = 0.0 if variant == "noise_free" else rounds / (share * epsilon)
    if variant == "noise_free":
        coefficient = by_game(epsilon, delta, rounds, effect, neighboring, 0.0)[0]
    elif variant in ("noisy", "hidden"):
        scale = float(up(scale))
        coefficient = by_game(epsilon, delta, rounds, effect, neighboring, scale)[0]
        if variant == "hidden":
            coefficient = max(coefficient, by_game(epsilon, delta, rounds, exact, neighboring, 0.0)[0])
    elif variant == "closed_form":
        coefficient = closed.closed_coefficient(epsilon, delta, rounds, neighboring, share)
    elif variant == "advanced":
        coefficient = closed.advanced_coefficient(epsilon, delta, rounds, neighboring, share)
    elif variant == "zcdp":
        coefficient = closed.zcdp_coefficient(epsilon, delta, rounds, neighboring, share)
        scale = math.sqrt(rounds / (2 * share * zcdp_rho(epsilon, delta)))
    elif variant == "paper_corrected":
        coefficient, scale = closed.corrected_coefficient(epsilon, delta), 2 * rounds / epsilon
    else:
        coefficient, scale = closed.printed_coefficient(epsilon, delta), rounds / epsilon
    return CoverCalibration(coefficient, scale, scale / 2, epsilon, delta, rounds, k, neighboring, variant)


@lru_cache(maxsize=4096)
def by_game(
    epsilon: float, delta: float, rounds: int, effect: int | Effect | None, neighboring: Neighboring, scale: float
) -> tuple[float, ...]:
    """The largest float32 coefficient that the game allows, and `game_delta` at it, for exact counts or scale > 0."""
    arguments = (epsilon, delta, rounds, effect_of(effect), neighboring, scale, enough_cells(rounds))
    return kept("set-cover", arguments, lambda: _searched(*arguments))


def _searched(
    epsilon: float, delta: float, rounds: int, effect: Effect, neighboring: Neighboring, scale: float, cells: int
) -> tuple[float, float]:
    rate = 1 / scale if scale else 0.0
    share = rounds * rate / epsilon

    def curve(cells: int) -> Callable[[float], float]:
        return lambda coefficient: game_delta(epsilon, coefficient, rounds, rate, effect, neighboring, cells)

    within, coarse = curve(cells), curve(cells // 3)
    pure = best = closed.pure_coefficient(epsilon, rounds, neighboring, effect, share)
    if delta > 0 and pure <= _LARGE:
        best = max(pure, 0.95 * closed.zcdp_coefficient(epsilon, delta, rounds, neighboring, share, effect))
        if scale:
            best = max(best, closed.closed_coefficient(epsilon, delta, rounds, neighboring, share))
        while coarse(best) > delta and best > pure:
            best = max(pure, 0.9 * best)
        best = crossing(coarse, delta, best, 1.2, _COARSE)
        while within(best) > delta:
            best *= 1 - _COARSE
        best = crossing(within, delta, best, 1 + _COARSE, _FINE)
    elif scale:  # the worst path for the functions may differ from that for the counts
        best = largest(lambda c: largest_loss(neighboring, effect, rounds, c, rate) * (1 + 2 * MARGIN) <= epsilon, pure)
    best = float(down(best))
    while (certified := within(best)) > delta:  # the bound is not exactly monotone, and float32 is coarse
        best = float(down(best * (1 - _STEP)))
    return best, certified
