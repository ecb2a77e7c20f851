"""Plans for the recursion on depths along the heavy path (TreeLog): splits, the stability test, records needed."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from dpjax.core.plans import down, up, whole
from dpjax.mechanisms.exponential import effective_epsilon
from dpjax.mechanisms.median import plan_search as S
from dpjax.mechanisms.median.treelog import TreeLogPlan, TreeStep, unstable_from


@dataclass(frozen=True)
class TreeStepDesign:
    """One level of the recursion, budgets as fractions of epsilon and delta.

    Attributes:
      bits: of a value of this level's list; the level below has values {0..bits}.
      test: e_t / epsilon, of the stability test on the light weight gamma, noise Laplace(1 / e_t).
      split: e_s / epsilon, of the choice among branching nodes if the test fails: all that is left for the level.
      prefix: e_p / epsilon, of the choosing mechanism among prefixes of the deepest records.
      final: e_f / epsilon, of the exponential mechanism among three points.
      test_delta, split_delta, prefix_delta: the same for delta.
      deepest: K >= 4, the number of deepest records, which the recursion does not receive.
      gap: the trim is t = m - 2 + gap for margin m (1 below the top level) on both sides.
    """

    bits: int
    test: float
    split: float
    prefix: float
    final: float
    test_delta: float
    split_delta: float
    prefix_delta: float
    deepest: int
    gap: int


@dataclass(frozen=True)
class TreeLogDesign(S.RecursiveDesign):
    """See `RecursiveDesign`.

    Over all steps, ``test + prefix + final`` with ``base`` sum to exactly 1, and so do ``test_delta + prefix_delta``.
    base: e_base / epsilon, of the exponential mechanism at the bottom.
    """

    base: float

    def plan(self) -> TreeLogPlan:
        """Rounds the budgets down to float32 and the tests' reserves up; integers are unchanged."""
        epsilon, delta = self.epsilon, self.delta
        steps = [
            TreeStep(
                down(step.test * epsilon),
                up(reserve(step.test_delta * delta)),
                down(step.split * epsilon),
                down(step.split_delta * delta),
                down(step.prefix * epsilon),
                down(step.prefix_delta * delta),
                down(step.final * epsilon),
                whole(step.deepest),
                whole(step.gap),
                step.bits,
            )
            for step in self.steps
        ]
        return TreeLogPlan(tuple(steps), down(self.base * epsilon), self.bits, self.base_size)


def reserve(test_delta: float) -> float:
    """max(0, ln(1 / (2 d_t))): distance of the threshold below the smallest unstable weight, in scales of the noise."""
    return max(0.0, -math.log(2 * test_delta))


def stability_threshold(deepest: int, test_epsilon: float, test_delta: float) -> float:
    """T = floor(K / 2) - 1 - max(0, ln(1 / (2 d_t))) / e_t: the test passes if gamma + Laplace(1 / e_t) <= T.

    Unstable data pass with probability at most d_t, for every budget, including T < 0. Proof:
    docs/proofs/treelog.md#the-test.
    """
    return unstable_from(deepest) - reserve(test_delta) / test_epsilon


@lru_cache(maxsize=256, typed=True)
def plan_treelog(
    bits: int, epsilon: float, delta: float, beta: float | None = None, levels: int = 1, *, slack: float | None = None
) -> TreeLogDesign:
    """A design whose interior point fails with probability at most beta, from few records.

    Args:
      bits, epsilon, delta, beta, levels: see `plan_recprefix`.
      slack: instead of beta: the slack of each step, to search for the smallest plan that works in practice.

    Proof: docs/proofs/treelog.md#privacy and docs/proofs/treelog.md#utility. `failure` is the sum that is proved there.

    Reference: Cohen, Lyu, Nelson, Sarlos, Stemmer 2023 (trim, heavy path, depths, recursion); Kaplan, Ligett, Mansour,
      Naor, Stemmer 2020; the stability test, its branch and all constants are our own.
    """
    widths = S.level_bits(bits, epsilon, delta, beta, slack, levels)

    def failures(shares: S.Shares) -> list[float]:
        return S.failures(shares, beta, slack, 3 * levels + 1)

    def cost(parts: list[S.Shares], sharpness: float) -> float:
        steps, base = _steps(parts[0], parts[1], widths, 4, 1)
        return _settle(steps, base, failures(parts[-1]), epsilon, delta, float, sharpness)[0]

    groups = [3 * levels + 1, 2 * levels] + ([3 * levels + 1] if beta is not None else [])
    parts = S.spread(groups, cost, (8, 30, 120, 500))
    steps, base = _steps(S.on_grid(parts[0]), S.on_grid(parts[1]), widths, 4, 1)
    _, steps, base_gap = _settle(steps, base, failures(parts[-1]), epsilon, delta, math.ceil, math.inf)
    plan = _proved(
        TreeLogDesign(
            bits, float(epsilon), float(delta), beta, slack, 0, 1.0, steps, widths[-2] + 1, int(base_gap), base
        )
    )
    return plan if beta is None else S.fitted(plan, _proved, {"deepest": 4, "gap": 1})


def _steps(shares: S.Shares, deltas: S.Shares, widths: list[int], deepest: int, gap: int) -> tuple[tuple, float]:
    """The steps for a given split, without their integers."""
    steps: list[TreeStepDesign] = []
    for level in range(len(widths) - 1):
        test, prefix, final = shares[3 * level : 3 * level + 3]
        by_test, by_prefix = deltas[2 * level : 2 * level + 2]
        steps.append(
            TreeStepDesign(
                widths[level],
                test,
                math.fsum(shares[3 * level + 1 :]),
                prefix,
                final,
                by_test,
                math.fsum(deltas[2 * level + 1 :]),
                by_prefix,
                deepest,
                gap,
            )
        )
    return tuple(steps), shares[-1]


def _settle(steps, base, failures, epsilon, delta, round_up, sharpness):
    """(records, steps with their integers, base_gap); ``round_up`` is ceil, or float for a smooth estimate."""
    size = steps[-1].bits + 1
    base_gap = max(1, round_up((S.slack_of(failures[-1]) + math.log(size)) * 2 / (base * epsilon)))
    records, below, done = 2 * base_gap - 1, failures[-1], []
    for level in reversed(range(len(steps))):
        step, (by_test, by_prefix, by_final) = steps[level], failures[3 * level : 3 * level + 3]
        passed = min(below + by_prefix + by_final, 0.999)
        below = min(passed + by_test, 0.9999)
        threshold = _least_threshold(step, passed, below, epsilon, delta)
        offset = -stability_threshold(2, step.test * epsilon, min(step.test_delta * delta, 1.0))
        rate = 0.5 * step.prefix * epsilon
        by_choice = round_up(S.gate(rate, step.prefix_delta * delta) + S.slack_of(by_prefix) / rate)
        deepest = S.soft_max((4, 2 * round_up(max(0.0, threshold) + offset + 1), by_choice), sharpness)
        gap = max(1, round_up((S.slack_of(by_final) + math.log(2)) * 2 / (step.final * epsilon)))
        records += deepest + 2 * (gap - 1)
        if round_up is math.ceil:
            done.append(replace(step, deepest=int(deepest), gap=int(gap)))
    return records, tuple(reversed(done)), base_gap


def _least_threshold(step: TreeStepDesign, passed: float, allowed: float, epsilon: float, delta: float) -> float:
    """The smallest T, over gammas on a grid, with P Q + (1 - P) passed <= allowed."""
    rate, scale = 0.5 * step.split * epsilon, 1 / (step.test * epsilon)
    null = S.gate(rate, step.split_delta * delta)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(allowed < S.MISSED, (allowed - passed) / (S.MISSED - passed), 1.0)
        tail = np.where(share < 0.5, -np.log(2 * share), np.log(2 * (1 - share)))
    return float(np.max(null + S.SCORES / rate + scale * tail))


def _proved(plan: TreeLogDesign) -> TreeLogDesign:
    """The plan with its records and failure recomputed from its fields."""
    records = 2 * plan.base_gap - 1
    ran = effective_epsilon(plan.epsilon)  # of exponential mechanisms
    failure = S.chosen(math.log(plan.base_size) - 0.5 * plan.base * ran * plan.base_gap)
    for step in reversed(plan.steps):
        rate = 0.5 * step.prefix * plan.epsilon
        failure += S.chosen(-rate * (step.deepest - S.gate(rate, step.prefix_delta * plan.delta)))
        failure += S.chosen(math.log(2) - 0.5 * step.final * ran * step.gap)
        failure = _either_branch(step, min(1.0, failure), plan.epsilon, plan.delta)
        if stability_threshold(step.deepest, step.test * plan.epsilon, step.test_delta * plan.delta) < 0:
            failure = 1.0  # a test that hardly ever passes: rejected, T must be >= 0
        records += step.deepest + 2 * (step.gap - 1)
    return replace(plan, interior=records, failure=failure)


def _either_branch(step: TreeStepDesign, passed: float, epsilon: float, delta: float) -> float:
    """The largest P Q + (1 - P) passed = passed + P (Q - passed) over integer light weights, or a bound on it.

    P grows and Q falls with the weight: in a block, P is taken at its end and Q at its beginning. Beyond the last block
    Q is below e^{-45}, and Q - passed is taken as 0.
    """
    rate, test = 0.5 * step.split * epsilon, step.test * epsilon
    null = S.gate(rate, step.split_delta * delta)
    least, largest = S.weights(null + 45 / rate)
    distance = test * (stability_threshold(step.deepest, test, step.test_delta * delta) - largest)
    half = 0.5 * np.exp(-np.abs(distance))
    failed = np.where(distance >= 0, half, 1 - half)
    missed = 1 / (1 + np.exp(np.minimum(rate * (least - null), 700.0)))
    return passed + float(np.max(failed * np.maximum(missed - passed, 0.0)))
