"""Plans for the median by prefixes of a majority: the split of epsilon, the threshold, records needed."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from dpjax.core.plans import Spends, down, whole
from dpjax.mechanisms.exponential import effective_epsilon
from dpjax.mechanisms.median import plan_search as S
from dpjax.mechanisms.median.majority import MajorityPlan

_BLOCKS = 2048  # of scores; also about as many are computed in one call, of several thresholds if these have few
_STEPS = (16, 64, 256)  # denominators of tried shares, each search beside the best of the one before


@dataclass(frozen=True)
class MajorityDesign(S.MedianDesign):
    """The numbers of the proof in docs/proofs/majority.md.

    share: e_l / epsilon, of the choice among lengths; the choice among prefixes has the rest, and delta.
    threshold: h, rows with one prefix from which its length counts.
    """

    share: float
    threshold: int
    spends: ClassVar[Spends] = "approximate"

    def plan(self) -> MajorityPlan:
        """Rounds the budgets down to float32."""
        length, prefix = down(self.share * self.epsilon), down((1 - self.share) * self.epsilon)
        return MajorityPlan(length, prefix, down(self.delta), whole(self.threshold), self.bits)


@lru_cache(maxsize=256, typed=True)
def plan_majority(bits: int, epsilon: float, delta: float, beta: float) -> MajorityDesign:
    """A design whose interior point fails with probability at most beta, from few records.

    Args:
      bits: of the domain {0..2**bits - 1}, up to 2**20. epsilon: in [1e-5, 1e3]. delta, beta: in (0, 1).

    Proof: docs/proofs/majority.md#utility.
    """
    S.level_bits(bits, epsilon, delta, beta, None, 1)
    best: MajorityDesign | None = None
    for steps in _STEPS:
        near = range(1, steps) if best is None else (round(best.share * steps) + move for move in (-3, -2, -1, 1, 2, 3))
        for share in (part / steps for part in near if 0 < part < steps):
            design = MajorityDesign(bits, float(epsilon), float(delta), beta, None, 0, 1.0, share, 0)
            best = _fewest(design, best)
    assert best is not None, "a share was tried"
    return replace(best, failure=_failure(best, best.interior))


@lru_cache(maxsize=4096)
def plan_majority_like(typical: MajorityDesign, epsilon: float) -> MajorityDesign:
    """The design at another epsilon with the same split of it, delta and beta: at most some percent more records than
    `plan_majority` asks for, and found sooner."""
    S.level_bits(typical.bits, epsilon, typical.delta, typical.beta, None, 1)
    best = _fewest(replace(typical, epsilon=float(epsilon)), None)
    return replace(best, failure=_failure(best, best.interior))


def failure_of(plan: MajorityPlan, records: int) -> float:
    """The probability that ``records`` records have no interior point for an answer, at most, as the plan runs."""
    epsilon = float(plan.length) + float(plan.prefix)
    head = plan.bits, epsilon, float(plan.delta), None, 0.0, records, 1.0
    threshold = max(int(plan.threshold), (records + 1) // 2)  # with which it runs
    return _failure(MajorityDesign(*head, float(plan.length) / epsilon, threshold), records)


def _fewest(design: MajorityDesign, best: MajorityDesign | None) -> MajorityDesign:
    """The design with its fewest records, or the best one so far if that has no more."""
    if best is not None and _with_threshold(design, best.interior - 1) is None:
        return best
    high = 1 if best is None else best.interior - 1
    while (found := _with_threshold(design, high)) is None:
        high *= 2
    low = high // 2 if best is None else 0
    while high - low > 1:
        middle = (low + high) // 2
        if (trial := _with_threshold(design, middle)) is None:
            low = middle
        else:
            high, found = middle, trial
    return found


def _with_threshold(design: MajorityDesign, records: int) -> MajorityDesign | None:
    """The design for so many records, if some threshold gives at most beta."""
    least, most = (records + 1) // 2, records
    tried = np.unique([least + (most - least) * part // 24 for part in range(25)])
    together = max(1, _BLOCKS // (most - least + 1))
    for at in range(0, len(tried), together):
        some = tried[at : at + together]
        enough = some[_excess(design, records, some, float(design.beta or 0)) <= 0]
        if len(enough):
            return replace(design, interior=records, threshold=int(enough[0]))
    return None


@lru_cache(maxsize=1024)
def _failure(design: MajorityDesign, records: int) -> float:
    """The least failure that the proof gives, by bisection."""
    low, high = 0.0, 1.0
    threshold = np.array([design.threshold])
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if _excess(design, records, threshold, middle)[0] <= 0 else (middle, high)
    return high


def _excess(design: MajorityDesign, records: int, thresholds: np.ndarray, failure: float) -> np.ndarray:
    """For each threshold, at most 0 if no database fails with a larger probability than ``failure``.

    A length of score s is chosen with a weight of exp(r s), and then fails with F(s); one of them has a score of g or
    more. The sum of the weights times F(s) - failure is largest if all others have the worst score. Scores are taken in
    blocks, with the weight of a block's end and F at its beginning.
    """
    h = thresholds[:, None].astype(np.float64)
    most = np.maximum(0.0, records - h)
    width = np.maximum(1.0, most // _BLOCKS)
    gap = (most + 2) // 3
    first = 1 + (np.arange(1 + np.max(-(-most // width))) - 1) * width
    last = np.minimum(first + (width - 1), most)
    first[:, 0] = last[:, 0] = 0.0
    missed = _missed(0.5 * (1 - design.share) * design.epsilon, design.delta, h, first)
    missed[:, 0] = 1.0
    rate = 0.5 * design.share * effective_epsilon(design.epsilon)
    over = np.exp(np.minimum(rate * (np.where(missed > failure, last, first) - gap), 700.0)) * (missed - failure)
    over = np.where(first <= most, over, -math.inf)
    good = np.where(last >= gap, over, -math.inf)
    return np.where(most[:, 0] > 0, design.bits * over.max(axis=1) + good.max(axis=1), math.inf)


def _missed(rate: float, delta: float, h: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The probability that no prefix is chosen, or another one than that of h + s of at most 2 h rows."""
    others = np.maximum(h - scores, 0.0)
    with np.errstate(divide="ignore"):
        rivals = np.where(others > 0, np.maximum(rate * others, np.log(others) + rate), -np.inf)
    against = np.logaddexp(rate * S.gate(rate, delta), rivals)
    return 1 / (1 + np.exp(np.clip(rate * (h + scores) - against, -700, 700)))
