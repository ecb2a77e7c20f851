"""Shared by the planners of private medians: tail bounds of single steps, and a deterministic search for splits."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.plans import Spends

GRID = 2**16
"""Fractions are multiples of 1 / GRID: exact in float32, with sum exactly 1."""

LEAST_DELTA = 1e-33
"""Of a median: all its splits are normal float32 numbers."""

SCORES = np.linspace(-12.0, 40.0, 209)
"""A grid of (gamma - gate of the choice among branching nodes) times the rate of that choice."""
MISSED = 1 / (1 + np.exp(SCORES))
"""The probability that the choice abstains there."""

Shares = tuple[float, ...]


def level_bits(
    bits: int, epsilon: float, delta: float, beta: float | None, slack: float | None, levels: int
) -> list[int]:
    """Bits of the domain and of each recursion's values; checks a planner's arguments."""
    checks.integer("bits", bits, 1, 2**20)
    checks.integer("levels", levels, 1, 4)
    if not 1e-5 <= checks.epsilon(epsilon) <= 1e3:  # the range in which the planners are tested
        advice = "take a budget of which a median's part is in this range"
        raise InputError("epsilon of a median", "a number in [1e-5, 1e3]", repr(epsilon), advice)
    if checks.delta(delta, positive_for="this median") < LEAST_DELTA:
        raise InputError("delta of a median", f"a number of at least {LEAST_DELTA}", repr(delta), "use exponential")
    check_goal(beta, slack)
    widths = [bits]
    for _ in range(levels):
        widths.append(widths[-1].bit_length())  # of a length of a prefix, in {0..bits}
    return widths


@dataclass(frozen=True)
class MedianDesign(ABC):
    """The result of a planner: the numbers of a proof, and the plan that runs.

    Attributes:
      bits: of an element of the domain.
      epsilon, delta: the budget.
      beta: the requested failure probability, or None.
      slack: the slack of an empirical plan, or None.
      interior: records for which an interior point is proved (by the plan's formulas, for an empirical plan).
      failure: the proved bound on the probability of failure with at least that many records, at most 1;
        exponential mechanisms count at `effective_epsilon`; rounding of other numbers changes it by a relative 1e-5.
      spends: what the plan satisfies at every budget.
    """

    bits: int
    epsilon: float
    delta: float
    beta: float | None
    slack: float | None
    interior: int
    failure: float
    spends: ClassVar[Spends]

    @abstractmethod
    def plan(self) -> Any:
        """A `private_median.MedianPlan`."""

    def required(self, alpha: float | None = None) -> int:
        """Records needed for an alpha-median, alpha in (0, 1/2], or for an interior point."""
        return records_for_median(self.interior, alpha)


@dataclass(frozen=True)
class RecursiveDesign(MedianDesign):
    """Base class of designs with several steps.

    Attributes:
      steps: outermost level first.
      base_size: the bottom's domain is {0..base_size - 1}.
      base_gap: the smallest quality of the bottom's best point. Used by the proof only.
    """

    steps: tuple[Any, ...]
    base_size: int
    base_gap: int
    spends: ClassVar[Spends] = "approximate"

    @property
    def levels(self) -> int:
        """The number of recursions before the exponential base case."""
        return len(self.steps)


def check_goal(beta: float | None, slack: float | None) -> None:
    """Exactly one of a failure probability and a slack."""
    if (beta is None) == (slack is None):
        advice = "give beta for a proved plan, or slack for a plan whose failure is found by simulation"
        raise InputError("beta, slack", "exactly one of them", f"beta={beta}, slack={slack}", advice)
    if beta is not None:
        checks.probability("beta", beta)
    elif slack is not None and not -5 <= checks.number("slack", slack) <= 100:
        raise InputError("slack", "a number in [-5, 100]", repr(slack), "slack is ln(1/failure) of one step")


def rank_margin(records: Any, alpha: float, larger: Callable[[int, Any], Any] = max) -> Any:
    """ceil((1/2 - alpha) n), at least 1: the rank on both sides that an alpha-median of n >= 0 records needs.

    Exact, for a whole number or, with ``larger`` = jnp.maximum, an array ``int64``. alpha is read as the nearest
    fraction with a denominator of at most 2**32, such as 1/3, which moves (1/2 - alpha) n by less than 1/2 for n below
    2**31.
    """
    share = Fraction(1, 2) - Fraction(alpha).limit_denominator(1 << 32)
    return larger(1, -(-records * share.numerator // share.denominator))


def records_for_median(interior: int, alpha: float | None) -> int:
    """The smallest n, at most ceil(interior / (2 alpha)) up to rounding, for which an alpha-median is proved.

    With margin m = rank_margin(n, alpha) on both sides, m - 1 more records are trimmed at each end than for an
    interior point, so n - 2 (m - 1) >= interior suffices. The condition then holds for every larger n too. Proof:
    docs/proofs/planners.md#from-interior-points-to-medians.

    Args:
      interior: records needed for an interior point.
      alpha: in (0, 1/2), or None for an interior point.
    """
    if alpha is None:
        return interior
    if checks.probability("alpha", alpha) > 0.5:
        raise InputError("alpha", "a number in (0, 1/2]", repr(alpha), "1/2 asks for any interior point")
    return max(interior, math.ceil(interior / (2 * alpha) - 1e-9))


def gate(rate: float, delta: float) -> float:
    """The score of the null candidate of the choosing mechanism: 1 + ln(1 / min(delta, e^rate - 1)) / rate."""
    return 1 - math.log(min(delta, math.expm1(min(rate, 1.0)))) / rate


def slack_of(failure: float) -> float:
    """ln(1 / failure - 1): an alternative of weight e^{-slack} against 1 is chosen with probability ``failure``."""
    return math.log1p(-failure) - math.log(failure)


def chosen(exponent: float) -> float:
    """e^x / (1 + e^x): the largest total probability of alternatives of weight e^x against 1."""
    return 1 / (1 + math.exp(-exponent)) if exponent > -700 else math.exp(exponent)


def failures(shares: Shares, beta: float | None, slack: float | None, steps: int) -> list[float]:
    """The failure probability of each step: its fraction of beta, or that of an empirical plan's slack."""
    return [chosen(-(slack or 0.0))] * steps if beta is None else [share * beta for share in shares]


def least_gap(rate: float, slack: float, log_others: float = 0.0) -> int:
    """The smallest integer gap >= 1 at which e^{log_others} others of weight e^{-rate gap} have weight e^{-slack}."""
    return max(1, math.ceil((slack + log_others) / rate))


def weights(top: float) -> tuple[np.ndarray, np.ndarray]:
    """Light weights 0, 1, .. beyond ``top``, in at most about 4096 blocks: the smallest and largest of each block."""
    length = max(1, math.ceil(top / 4096))
    least = np.arange(0, math.ceil(top) + length, length, dtype=np.float64)
    return least, least + (length - 1)


def spread(
    groups: Sequence[int], cost: Callable[[list[Shares], float], float], sharpness: Sequence[float] = (math.inf,)
) -> list[Shares]:
    """Fractions > 0 of several budgets, each summing to 1, close to the minimum of ``cost``: a compass search.

    Steps are taken on the logarithms of the weights, in which sums of a_i / fraction_i are well conditioned, from equal
    fractions; improvements below 1e-9 are ignored, so that the last bits of a machine's logarithm have no effect.

    Args:
      groups: the number of parts of each budget.
      cost: of a list with one tuple of fractions per budget, and of the sharpness of its maxima (see ``soft_max``).
      sharpness: stages of the search: a compass search stalls at the kinks of a true maximum.
    """
    weights = [[0.0] * size for size in groups]
    places = [(group, place) for group in weights if len(group) > 1 for place in range(len(group))]
    for stage, sharp in enumerate(sharpness):
        last = stage == len(sharpness) - 1
        best, step = cost([_normalised(group) for group in weights], sharp), 0.5**stage
        while step > (1 / 200 if last else 0.5**stage / 20):
            moved = False
            for group, place in places:
                for move in (step, -step):
                    group[place] += move
                    trial = cost([_normalised(each) for each in weights], sharp)
                    if trial < best * (1 - 1e-9):
                        best, moved = trial, True
                        break
                    group[place] -= move
            step *= 1.0 if moved else 0.5
    return [_normalised(group) for group in weights]


def soft_max(values: Sequence[float], sharpness: float) -> float:
    """The p-norm of positive numbers, p the sharpness: smooth and above their maximum; the maximum for infinity."""
    top = max(values)
    if math.isinf(sharpness):
        return top
    return top * math.fsum((max(value, 0.0) / top) ** sharpness for value in values) ** (1 / sharpness)


def fitted(plan: Any, proved: Callable[[Any], Any], least: dict[str, int]) -> Any:
    """The plan with integers increased until its failure is at most beta, then decreased while it stays so.

    Args:
      plan: a frozen plan with ``beta``, ``failure``, ``interior``, ``base_gap`` and ``steps``.
      proved: recomputes failure and interior from the integers; failure must fall below beta as they grow.
      least: the integers of a step, and the smallest value of each.
    """
    while plan.failure > plan.beta:
        larger = map(proved, _nearby(plan, least, (1, 2)))
        plan = max(larger, key=lambda other: (plan.failure - other.failure) / max(1, other.interior - plan.interior))
    while True:
        for smaller in sorted(map(proved, _nearby(plan, least, (-2, -1))), key=lambda other: other.interior):
            if smaller.failure <= plan.beta and smaller.interior < plan.interior:
                plan = smaller
                break
        else:
            return plan


def _nearby(plan: Any, least: dict[str, int], moves: Sequence[int]) -> Iterator[Any]:
    """Plans with one integer changed; large integers in units of 1/512 of their size."""
    for move in moves:
        if (base := _moved(plan.base_gap, move)) >= 1:
            yield replace(plan, base_gap=base)
        for place, step in enumerate(plan.steps):
            for name, low in least.items():
                if (value := _moved(getattr(step, name), move)) >= low:
                    changed = replace(step, **{name: value})
                    yield replace(plan, steps=(*plan.steps[:place], changed, *plan.steps[place + 1 :]))


def _moved(value: int, move: int) -> int:
    return value + move * max(1, value // 512)


def on_grid(shares: Shares) -> Shares:
    """The fractions as multiples of 1 / GRID that sum to exactly 1; the largest one takes the remainder."""
    whole = [max(1, round(share * GRID)) for share in shares]
    whole[whole.index(max(whole))] += GRID - sum(whole)
    return tuple(count / GRID for count in whole)


def _normalised(weights: list[float]) -> Shares:
    top = max(weights)
    mass = [math.exp(weight - top) for weight in weights]
    total = math.fsum(mass)
    return tuple(each / total for each in mass)
