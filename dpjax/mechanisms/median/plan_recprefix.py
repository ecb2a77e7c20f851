"""Plans for the recursion on common prefixes of random pairs (RecPrefix): splits, trims, margins, records needed."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import gammaln, lambertw

from dpjax.core.plans import down, whole
from dpjax.mechanisms.exponential import effective_epsilon
from dpjax.mechanisms.median import plan_search as S
from dpjax.mechanisms.median.recprefix import PrefixStep, RecPrefixPlan

_SUMMED = 4096  # the most factors of a bound that are multiplied explicitly


@dataclass(frozen=True)
class PrefixStepDesign:
    """One level of the recursion, budgets as fractions of epsilon and delta.

    Attributes:
      bits: of a value of this level's list; the level below has values {0..bits}.
      prefix: e_c / epsilon, of the choosing mechanism among prefixes.
      final: e_f / epsilon, of the exponential mechanism among three points.
      delta: d_c / delta, of the choosing mechanism.
      gap: the trims are t_lo = m_lo - 2 + gap and t_hi = m_hi - 2 + gap for margins (m_lo, m_hi) of this level.
      margin: m; the level below is called with margins (1, m).
      count: c: records in one prefix class that make the choosing mechanism answer. Used by the proof only.
    """

    bits: int
    prefix: float
    final: float
    delta: float
    gap: int
    margin: int
    count: int


@dataclass(frozen=True)
class RecPrefixDesign(S.RecursiveDesign):
    """See `RecursiveDesign`. Fractions of epsilon including ``base`` sum to 1 exactly, those of delta to at most 1.

    base: e_base / epsilon, of the exponential mechanism at the bottom, with margins (1, margin above).
    """

    base: float

    def plan(self) -> RecPrefixPlan:
        """Rounds the budgets down to float32; integers are unchanged."""
        steps = [
            PrefixStep(
                down(step.prefix * self.epsilon),
                down(step.delta * self.delta),
                down(step.final * self.epsilon),
                whole(step.gap),
                whole(step.margin),
                step.bits,
            )
            for step in self.steps
        ]
        return RecPrefixPlan(tuple(steps), down(self.base * self.epsilon), self.bits, self.base_size)


@lru_cache(maxsize=256, typed=True)
def plan_recprefix(
    bits: int, epsilon: float, delta: float, beta: float | None = None, levels: int = 1, *, slack: float | None = None
) -> RecPrefixDesign:
    """A design whose interior point fails with probability at most beta, from few records.

    Args:
      bits: of the domain {0..2**bits - 1}, up to 2**20.
      epsilon: in [1e-5, 1e3].
      delta: in (0, 1).
      beta: in (0, 1). The split of the budget and of beta is searched, integers rounded so that ``failure`` <= beta.
      levels: 1 is best for every such domain.
      slack: instead of beta: each step gets e^{-slack}, and the margin is c/2 + sqrt(c slack) + slack/3, without proof;
        used to search for the smallest plan that works in practice.

    Proof: docs/proofs/recprefix.md#utility; the margins, docs/proofs/recprefix.md#margins.
    Reference: Bun, Nissim, Stemmer, Vadhan 2015, Section 4 (recursion on prefixes of pairs); asymmetric margins, the
      choice on all records and all constants are our own.
    """
    widths = S.level_bits(bits, epsilon, delta, beta, slack, levels)

    def slacks(failures: S.Shares) -> list[float]:
        return (
            [S.slack_of(share * beta) for share in failures] if beta is not None else [slack or 0.0] * (3 * levels + 1)
        )

    def cost(parts: list[S.Shares], _: float) -> float:
        return _records(parts[0], slacks(parts[-1]), widths, epsilon, delta)

    groups = [2 * levels + 1] + ([3 * levels + 1] if beta is not None else [])
    parts = S.spread(groups, cost)
    plan = _rounded(S.on_grid(parts[0]), slacks(parts[-1]), widths, epsilon, delta, beta, slack)
    return plan if beta is None else S.fitted(plan, _settled, {"margin": 1, "gap": 1})


def pairs_tail(margin: int, count: int, records: int) -> float:
    """ln of a bound on the probability that m of the N // 2 pairs of a random matching of N records agree.

    A pair agrees if its records are of one class; every class has at most c - 1 members. The bound is the minimum over
    k of prod_{i < k} (c - 2)/2 (N - 2i) / ((N - 1 - 2i) (m - i)).

    Proof: docs/proofs/recprefix.md#pairs.

    Args:
      margin: m >= 1. count: c >= 1. records: N >= 0.
    """
    if count <= 2:
        return -math.inf
    if margin > records // 2:
        return -math.inf
    # Factors are above 1 once m - i < (c - 2)/2.
    most = max(0, min(margin, math.ceil(margin - 0.5 * (count - 2))))
    if most > _SUMMED:  # every k gives a valid bound; 1e-6 covers the rounding of the gamma functions
        half = 0.5 * records
        pairs = gammaln([half + 1, half - most + 0.5, half - most + 1, half + 0.5, margin + 1, margin - most + 1])
        return min(0.0, 1e-6 + most * math.log(0.5 * (count - 2)) + float(pairs @ [1, 1, -1, -1, -1, 1]))
    taken = np.arange(most, dtype=np.float64)
    left = records - 2 * taken
    factors = np.log(0.5 * (count - 2)) + np.log(left / (left - 1)) - np.log(margin - taken)
    return float(np.cumsum(factors).min(initial=0.0))


def pairs_margin(count: int, inner: int, failure: float) -> int:
    """The smallest m with ``pairs_tail(m, c, 2 (inner + m - 1)) <= ln failure``; inner >= 1 records needed below."""

    def enough(margin: int) -> bool:
        return pairs_tail(margin, count, 2 * (inner + margin - 1)) <= math.log(failure)

    low, high = 0, 1
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _records(shares: S.Shares, slacks: list[float], widths: list[int], epsilon: float, delta: float) -> float:
    """``interior`` without rounding, the margin from the Chernoff bound of a Poisson variable."""
    levels = len(widths) - 1
    need = 2 * max(1.0, (math.log(widths[-2] + 1) + slacks[-1]) * 2 / (shares[-1] * epsilon)) - 1
    for level in reversed(range(levels)):
        choose, final = (0.5 * share * epsilon for share in shares[2 * level : 2 * level + 2])
        by_choice, by_pairs, by_final = slacks[3 * level : 3 * level + 3]
        count = S.gate(choose, delta / levels) + by_choice / choose
        mean = 0.5 * max(count - 2, 0.1)
        # The least x >= mean with x ln(x / mean) - x + mean = s.
        margin = mean * math.exp(1 + float(lambertw((max(by_pairs, 1e-6) / mean - 1) / math.e).real))
        need = 2 * (need + max(margin, 1.0) - 1) + 2 * max(1.0, (by_final + math.log(2)) / final) - 2
    return need


def _rounded(
    shares: S.Shares,
    slacks: list[float],
    widths: list[int],
    epsilon: float,
    delta: float,
    beta: float | None,
    slack: float | None,
) -> RecPrefixDesign:
    """The integers for a given split and slacks."""
    levels = len(widths) - 1
    size = widths[-2] + 1
    base_gap = S.least_gap(0.5 * shares[-1] * epsilon, slacks[-1], math.log(size))
    need, steps = 2 * base_gap - 1, []
    for level in reversed(range(levels)):
        prefix, final = shares[2 * level : 2 * level + 2]
        by_choice, by_pairs, by_final = slacks[3 * level : 3 * level + 3]
        choose = 0.5 * prefix * epsilon
        count = max(1, math.ceil(S.gate(choose, delta / levels) + by_choice / choose))
        if beta is not None:
            margin = pairs_margin(count, need, S.chosen(-by_pairs))
        else:
            s = max(by_pairs, 0.0)
            margin = math.ceil(count / 2 + math.sqrt(count * s) + s / 3)
        gap = S.least_gap(0.5 * final * epsilon, by_final, math.log(2))
        steps.append(PrefixStepDesign(widths[level], prefix, final, 1 / levels, gap, margin, count))
        need = 2 * (need + margin - 1) + 2 * (gap - 1)
    return _settled(
        RecPrefixDesign(
            widths[0],
            float(epsilon),
            float(delta),
            beta,
            slack,
            0,
            1.0,
            tuple(reversed(steps)),
            size,
            base_gap,
            shares[-1],
        )
    )


def _settled(plan: RecPrefixDesign) -> RecPrefixDesign:
    """The plan with its records and failure recomputed; ``count`` is the best value for the proof."""
    need, steps = 2 * plan.base_gap - 1, []
    ran = effective_epsilon(plan.epsilon)  # of exponential mechanisms
    failure = S.chosen(math.log(plan.base_size) - 0.5 * plan.base * ran * plan.base_gap)
    for step in reversed(plan.steps):
        records = 2 * (need + step.margin - 1)
        choose = 0.5 * step.prefix * plan.epsilon
        null = S.gate(choose, step.delta * plan.delta)

        def missed(count: int, step=step, records=records, choose=choose, null=null) -> float:
            return math.exp(pairs_tail(step.margin, count, records)) + S.chosen(-choose * (count - null))

        count, best = step.count, missed(step.count)
        stride = 0 if plan.slack is not None else max(1, count // 64)
        while stride:
            moves = [(missed(count + move), count + move) for move in (stride, -stride) if count + move >= 1]
            trial = min(moves, default=(best, count))
            if trial[0] < best:
                best, count = trial
            else:
                stride //= 2
        failure += best + S.chosen(math.log(2) - 0.5 * step.final * ran * step.gap)
        steps.append(replace(step, count=count))
        need = records + 2 * (step.gap - 1)
    return replace(plan, steps=tuple(reversed(steps)), interior=need, failure=min(1.0, failure))
