"""The coefficient of set cover that a budget allows, by the rule that is asked for."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from dpjax.accounting.cover import closed as closed
from dpjax.accounting.cover import values as known
from dpjax.accounting.cover.game import enough_cells, game_delta
from dpjax.accounting.cover.guarantee import cover_tree, set_cover_delta
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.numeric.secant import crossing
from dpjax.accounting.zcdp import zcdp_rho
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring

VARIANTS = ("noise_free", "noisy", "closed_form", "zcdp", "advanced", "paper_corrected", "paper")
KEPT_BACK = 1e-6
"""The share of epsilon and of delta that a calibration leaves, so that it holds for their float32 copies too."""
_COARSE, _FINE = 2e-3, 5e-5
_LARGE = 20.0
"""Pure coefficients above this are not improved upon."""


@dataclass(frozen=True)
class CoverCalibration:
    """Set cover as a budget allows it.

    Args:
      coefficient: h is drawn with density proportional to mu(h) exp(coefficient q(h)).
      scale: of the counts' discrete Laplace noise; 0: exact counts, of which nothing is published.
      offset: taken off every count, no matter for privacy.
      epsilon, delta: the budget.
      rounds, k, neighboring: what it holds for.
      variant: one of ``VARIANTS``.
    """

    coefficient: float
    scale: float
    offset: float
    epsilon: float
    delta: float
    rounds: int
    k: int
    neighboring: Neighboring
    variant: str

    def certified_delta(self) -> float:
        """`set_cover_delta` at this epsilon; above ``delta`` for some constants of variant "paper", and only there."""
        return set_cover_delta(self.epsilon, self.coefficient, self.rounds, self.k, self.neighboring, self.scale)

    def guarantee(self, what: str = "private set cover") -> Guarantee:
        """(epsilon, delta) over what a round spends on its own; refused for variant "paper", which does not keep it."""
        if self.variant == "paper":
            raise InputError(
                "variant", "one that keeps its budget", "'paper'", "use set_cover_guarantee for what the constants give"
            )
        return cover_tree(
            self.epsilon, self.delta, self.coefficient, self.rounds, self.k, self.neighboring, self.scale, what,
            f"calibrated by {self.variant}",
        )  # fmt: skip


@lru_cache(maxsize=4096)
def calibrate_set_cover(
    epsilon: float,
    delta: float,
    rounds: int,
    k: int,
    neighboring: Neighboring,
    variant: str = "noise_free",
    share: float = 0.2,
) -> CoverCalibration:
    """The largest coefficient for which m rounds are (epsilon, delta)-private, by the rule of ``variant``.

    "noise_free" and "noisy": the stopping game, without and with noisy counts; verified at the number returned, which
    is within 1e-4 of what the bound allows. Some numbers are shipped (`set_cover_values`); the others take seconds for
    dozens of rounds. "closed_form", "zcdp", "advanced", "paper_corrected", "paper": see `set_cover_closed`.

    Args:
      epsilon: > 0.
      delta: in [0, 1); 0 for the two games only, which then are pure.
      rounds: m >= 1.
      k: >= 1, of the quality function.
      neighboring: the relation; the paper's variants know ADD_OR_REMOVE_ONE only.
      variant: one of ``VARIANTS``.
      share: in (0, 1), of epsilon (of rho for "zcdp") for noisy counts; the paper's variants have their own.

    Returns:
      scale = m / (share epsilon) and offset = scale / 2, or the paper's; both 0 for "noise_free".
    """
    checks.choice("variant", variant, VARIANTS)
    checks.epsilon(epsilon)
    checks.delta(delta)
    checks.integer("rounds", rounds, 1)
    checks.integer("k", k, 1)
    if variant != "noise_free" and not 0 < checks.number("share", share) < 1:
        raise InputError("share", "a number in (0, 1)", repr(share), "for example 0.2; or use variant='noise_free'")
    if variant.startswith("paper") and neighboring is not Neighboring.ADD_OR_REMOVE_ONE:
        raise InputError(
            "neighboring", "ADD_OR_REMOVE_ONE for the paper's constants", str(neighboring), "use variant='noisy'"
        )
    scale = 0.0 if variant == "noise_free" else rounds / (share * epsilon)
    if variant in ("noise_free", "noisy"):
        coefficient = _by_game(epsilon, delta, rounds, k if variant == "noise_free" else None, neighboring, share)
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


def _by_game(epsilon: float, delta: float, rounds: int, k: int | None, neighboring: Neighboring, share: float) -> float:
    shipped = known.lookup(epsilon, delta, rounds, k, neighboring, share)
    return searched(epsilon, delta, rounds, k, neighboring, share) if shipped is None else shipped


def searched(
    epsilon: float, delta: float, rounds: int, k: int | None, neighboring: Neighboring, share: float, fine: bool = True
) -> float:
    """The coefficient to five digits, rounded down, whose `game_delta` was found to be within the target.

    Args:
      epsilon, delta, rounds, neighboring: see ``calibrate_set_cover``.
      k: for exact counts, of which none is published; None for noisy ones, with ``share`` of epsilon.
      fine: False for a coarser grid: about 1% less, in a fifth of the time.
    """
    rate = share * epsilon / rounds if k is None else 0.0
    share = share if k is None else 0.0
    epsilon, delta = epsilon * (1 - KEPT_BACK), delta * (1 - KEPT_BACK)
    pure = closed.pure_coefficient(epsilon, rounds, neighboring, k, share) * (1 - KEPT_BACK)
    if delta == 0 or pure > _LARGE:
        return pure
    start = max(pure, 0.95 * closed.zcdp_coefficient(epsilon, delta, rounds, neighboring, share))
    if k is None:
        start = max(start, closed.closed_coefficient(epsilon, delta, rounds, neighboring, share))

    def curve(cells: int | None) -> Callable[[float], float]:
        return lambda coefficient: game_delta(epsilon, coefficient, rounds, rate, k, neighboring, cells)

    within = curve(enough_cells(rounds) // 3)
    while within(start) > delta and start > pure:
        start = max(pure, 0.9 * start)
    found = crossing(within, delta, start, 1.2, _COARSE)
    if fine:
        within = curve(None)
        while within(found) > delta:
            found *= 1 - _COARSE
        found = crossing(within, delta, found, 1 + _COARSE, _FINE)
    unit = 10.0 ** (math.floor(math.log10(found)) - 4)
    rounded = float(f"{math.floor(found / unit) * unit:.4e}")
    return max(pure, rounded if within(rounded) <= delta else found)
