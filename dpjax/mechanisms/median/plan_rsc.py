"""Plans for TreeLog by reorder-slice-compute (RSC), whose cost in epsilon does not depend on the number of levels."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import betainc, gammainccinv

from dpjax.accounting.slices import slices_rate
from dpjax.core.plans import down, up, whole
from dpjax.mechanisms.exponential import effective_epsilon
from dpjax.mechanisms.median import plan_search as S
from dpjax.mechanisms.median.treelog import unstable_from
from dpjax.mechanisms.median.treelog_rsc import RscPlan, RscStep, lengths_of, two_laplace_tail

_PARTS = 4
"""delta is split into equal parts: the slices' labels, the slices' mechanisms, the tests, the mechanism on the rest."""
_LEAST_DELTA = 1e-32
"""The smallest delta of one added record: its parts remain normal float32 numbers."""


@dataclass(frozen=True)
class RscStepDesign:
    """One level.

    Attributes:
      bits: of a value of this level's list; the level below has values {0..bits}.
      deepest: K >= 4: the slice of deepest records has K + Geom(rate) rows.
      threshold: T = floor(K / 2) - 1 - reserve: the test fails, and the median is a branching node, if
        gamma + Laplace > T + Laplace. Used by the proof only; the mechanism has the reserve.
      gap: the slices at both ends have t + Geom(rate) rows, t = m - 1 + gap for margin m (1 below the top level).
    """

    bits: int
    deepest: int
    threshold: float
    gap: int


@dataclass(frozen=True)
class RscDesign(S.RecursiveDesign):
    """See `RecursiveDesign`; epsilons and deltas of the parts hold under ADD_OR_REMOVE_ONE.

    Attributes:
      rate: e_0, under ADD_OR_REMOVE_ONE: slice lengths are m + Geom, P[Geom >= k] = e^{-rate k}, and each slice is
        read by one mechanism of weights e^{rate score}.
      part_delta: of the choosing mechanism on a slice of deepest records.
      slices_delta: of the labels, see ``accounting.slices``; a float32 number, as in the plan.
      test: e_v, of AboveThreshold over all levels: noise Laplace(2 / e_v) once on T and on each gamma.
      test_delta: probability that unstable data pass, over all levels.
      whole: e_h, of the one mechanism that reads all remaining rows, weights e^{whole score}: the choice among
        branching nodes if a test fails, otherwise the exponential mechanism at the bottom.
      whole_delta: of that choice.
      spare: the records that all geometric lengths together take beyond their minimum lengths. Used by the proof only.
    """

    rate: float
    part_delta: float
    slices_delta: float
    test: float
    test_delta: float
    whole: float
    whole_delta: float
    spare: int

    def plan(self) -> RscPlan:
        """Rounds the budgets down to float32 and the tests' reserve up; integers are unchanged."""
        rate = down(self.rate)
        return RscPlan(
            rate,
            lengths_of(float(rate)),
            down(self.part_delta),
            down(self.slices_delta),
            down(self.test),
            up(_quantile(self.test_delta / self.levels)),
            down(self.whole),
            down(self.whole_delta),
            tuple(RscStep(whole(step.deepest), whole(step.gap), step.bits) for step in self.steps),
            self.bits,
            self.base_size,
        )


@lru_cache(maxsize=256, typed=True)
def plan_rsc(
    bits: int, epsilon: float, delta: float, beta: float | None = None, levels: int = 1, *, slack: float | None = None
) -> RscDesign:
    """A design whose interior point fails with probability at most beta.

    Args:
      bits: of the domain {0..2**bits - 1}, up to 2**20.
      epsilon: in [1e-5, 1e3], under REPLACE_ONE: half of it is spent when a record is added. Large epsilons are not
        used up, so that delta / (1 + e^{epsilon/2}) does not vanish; InputError if slices would be too long for int32.
      delta: in (0, 1), likewise; delta / (1 + e^{epsilon/2}) is spent when a record is added.
      beta: in (0, 1).
      levels: 1 or more.
      slack: instead of beta: the slack of each step, to search for the smallest plan that works in practice.

    Proof: docs/proofs/treelog-rsc.md#privacy, for one added record, and docs/proofs/treelog-rsc.md#utility.

    Reference: Cohen, Lyu, Nelson, Sarlos, Stemmer 2023; reconstruction and constants our own.
    """
    widths = S.level_bits(bits, epsilon, delta, beta, slack, levels)
    # Leaves room for the rounding of the sums.
    half = min(0.5 * epsilon, max(1.0, math.log(delta / _LEAST_DELTA)))
    added = half * (1 - 1e-9), delta / (1 + math.exp(half)) * (1 - 1e-9)
    labels = float(down(added[1] / _PARTS))
    ratio = slices_rate(added[0] / 2, labels, 3 * levels) / (added[0] / 2)

    def failures(shares: S.Shares) -> list[float]:
        return S.failures(shares, beta, slack, 3 * levels + 2)

    def cost(parts: list[S.Shares], sharpness: float) -> float:
        plan = _budgeted(parts[0], added, ratio * parts[0][2] * added[0], widths, epsilon, delta, beta, slack)
        return _settle(plan, failures(parts[-1]), float, sharpness)[0]

    groups = [3] + ([3 * levels + 2] if beta is not None else [])
    parts = S.spread(groups, cost, (8, 30, 120, 500))
    shares = S.on_grid(parts[0])
    rate = slices_rate(shares[2] * added[0], labels, 3 * levels) * (1 - 1e-8)
    plan = _budgeted(shares, added, rate, widths, epsilon, delta, beta, slack)
    plan = _proved(_settle(plan, failures(parts[-1]), math.ceil, math.inf)[1])
    return plan if beta is None else S.fitted(plan, _proved, {"deepest": 4, "gap": 1})


def _budgeted(shares, added, rate, widths, epsilon, delta, beta, slack) -> RscDesign:
    """A plan with its budgets, without its integers."""
    levels = len(widths) - 1
    share = added[1] / _PARTS
    touched = 1 - (1 + math.exp(rate)) * math.exp(rate) * math.expm1(-3 * levels * math.log1p(math.exp(-rate)))
    return RscDesign(
        widths[0],
        float(epsilon),
        float(delta),
        beta,
        slack,
        0,
        1.0,
        tuple(RscStepDesign(bits, 4, 0.0, 1) for bits in widths[:-1]),
        widths[-2] + 1,
        1,
        rate,
        share / touched,
        float(down(share)),
        shares[0] * added[0],
        share,
        shares[1] * added[0],
        share,
        0,
    )


def _settle(plan: RscDesign, failures, round_up, sharpness):
    """(records, plan with its integers); ``round_up`` is ceil, or float for a smooth estimate."""
    base_gap = max(1, round_up((S.slack_of(failures[-2]) + math.log(plan.base_size)) / plan.whole))
    records, steps = 2 * base_gap - 1 + float(gammainccinv(3 * plan.levels, failures[-1])) / plan.rate, []
    for level, step in enumerate(plan.steps):
        by_test, by_prefix, by_final = failures[3 * level : 3 * level + 3]
        threshold = max(0.0, _least_threshold(plan, by_test))
        by_choice = round_up(S.gate(plan.rate, plan.part_delta) + S.slack_of(by_prefix) / plan.rate)
        deepest = S.soft_max((4, 2 * round_up(threshold + _margin(plan) + 1), by_choice), sharpness)
        gap = max(1, round_up((S.slack_of(by_final) + math.log(2)) / plan.rate))
        records += deepest + 2 * gap
        if round_up is math.ceil:
            steps.append(replace(step, deepest=int(deepest), gap=int(gap)))
    if round_up is not math.ceil:
        return records, plan
    spare = math.ceil(float(gammainccinv(3 * plan.levels, failures[-1])) / plan.rate)
    return records, replace(plan, steps=tuple(steps), base_gap=int(base_gap), spare=spare)


def _proved(plan: RscDesign) -> RscDesign:
    """The plan with its thresholds, records and failure recomputed from its fields."""
    failure = S.chosen(math.log(plan.base_size) - effective_epsilon(plan.whole) * plan.base_gap)
    failure += float(betainc(plan.spare + 1, 3 * plan.levels, math.exp(-plan.rate)))  # P[the lengths' sum > spare]
    records, steps = 2 * plan.base_gap - 1 + plan.spare, []
    null, unit = S.gate(plan.whole, plan.whole_delta), 2 / plan.test
    for step in plan.steps:
        threshold = unstable_from(step.deepest) - _margin(plan)
        least, largest = S.weights(null + 45 / plan.whole)
        failed = two_laplace_tail((threshold - largest) / unit)
        missed = 1 / (1 + np.exp(np.minimum(plan.whole * (least - null), 700.0)))
        failure += float(np.max(failed * missed)) if threshold >= 0 else 1.0
        failure += S.chosen(-plan.rate * (step.deepest - S.gate(plan.rate, plan.part_delta)))
        failure += S.chosen(math.log(2) - effective_epsilon(plan.rate) * step.gap)
        records += step.deepest + 2 * step.gap
        steps.append(replace(step, threshold=threshold))
    return replace(plan, steps=tuple(steps), interior=records, failure=min(1.0, failure))


def _margin(plan: RscDesign) -> float:
    """Y: the distance of unstable data above the threshold."""
    return 2 / plan.test * _quantile(plan.test_delta / plan.levels)


@lru_cache(maxsize=1024)
def _quantile(tail: float) -> float:
    """The smallest y >= 0 with two_laplace_tail(y) <= tail, rounded up."""
    if tail >= 0.5:
        return 0.0
    low, high = 0.0, 800.0
    for _ in range(70):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if two_laplace_tail(middle) <= tail else (middle, high)
    return high


def _least_threshold(plan: RscDesign, allowed: float) -> float:
    """The smallest T, over gammas on a grid, with P[test fails] P[abstain] <= allowed."""
    share = np.clip(allowed / S.MISSED, 1e-30, 1.0)
    tail = np.interp(np.log(share), _LOG_TAILS, _TAIL_POINTS)
    tail = np.where(share >= 1, -np.inf, tail)
    return float(np.max(S.gate(plan.whole, plan.whole_delta) + S.SCORES / plan.whole + 2 / plan.test * tail))


_TAIL_POINTS = np.linspace(80.0, -40.0, 2401)
_LOG_TAILS = np.log(two_laplace_tail(_TAIL_POINTS))
