"""The sample complexity n*: the smallest sufficient n, bracketed by a sequential search with a stated error.

A *trial* at n is one Bernoulli event, "the learner succeeded"; for k concepts the event is "all k concepts are
good", so the search is the same for every k and needs no union bound. p(n) is the probability of the event.
The search moves on a grid of n; at each visited n it draws trials until an e-process decides.
"""

import functools
import itertools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from scipy.special import betainc, betaln

from dpjax.core import checks
from dpjax.core.checks import InputError

_State = tuple[int, int, tuple[int, ...]]  # see _Plan
_SMALLEST = 1e-250  # below it betainc loses digits and then underflows, and the continued fraction is used


class Evaluate(Protocol):
    """Callback for trials: ``evaluate(n, trials) -> (successes, trials_done)``.

    Counts the successes of the first ``trials_done >= trials`` keyed trials at n. ``trials`` may be rounded up
    (to whole tiles) by a rule that does not depend on outcomes; further trials are not to be counted, even
    if a store holds them. Trials at different n must be independent.
    """

    def __call__(self, n: int, trials: int, /) -> tuple[int, int]:
        """(successes, trials_done) at n."""
        ...


@dataclass(frozen=True)
class Visit:
    """The trials at one n. decision: "pass", "fail", or "undecided" if the cap was reached first."""

    n: int
    successes: int
    trials: int
    decision: str


@dataclass(frozen=True)
class NStar:
    """A bracket of n*, and the trials used.

    With probability >= ``confidence``: p(n_low) < 1 - beta and p(n_high) > 1 - beta - gamma. No shape of p is
    assumed. If p is increasing, let n*(b) be the smallest n with p(n) >= 1 - b: then n_low < n*(beta) and
    n*(beta + gamma) <= n_high, so an n between n*(beta + gamma) and n*(beta) is in [n_low, n_high].

    n_low, n_high: neighbors on the grid, unless ``undecided`` n lie between them.
    n_low is None: no n of the grid was found to fail. n_high is None: none was found to pass.
    visits: in the order in which they were made. trials_total: the sum of their trials.
    """

    n_low: int | None
    n_high: int | None
    confidence: float
    beta: float
    gamma: float
    visits: tuple[Visit, ...]
    trials_total: int

    @property
    def undecided(self) -> tuple[int, ...]:
        """The n inside the bracket that reached the cap, ascending; empty if the bracket is one grid step."""
        low = -math.inf if self.n_low is None else self.n_low
        high = math.inf if self.n_high is None else self.n_high
        return tuple(sorted(v.n for v in self.visits if v.decision == "undecided" and low < v.n < high))


def geometric_grid(low: int, high: int, ratio: float = 2 ** (1 / 8)) -> tuple[int, ...]:
    """The whole numbers nearest to low * ratio**i, without repeats, up to and including ``high``.

    1 <= low <= high, ratio > 1. Small neighbors differ by 1, which may be more than the ratio. The points do not
    depend on ``high``, but for ``high`` itself.
    """
    checks.integer("low", low, 1)
    checks.integer("high", high, low)
    if checks.number("ratio", ratio) <= 1:
        raise InputError("ratio", "a number > 1", repr(ratio), "choose the grid step, for example 2 ** (1 / 8)")
    steps = int(math.log(high / low) / math.log(ratio)) + 1
    points = {round(low * ratio**i) for i in range(steps + 1)}
    return tuple(sorted({n for n in points if n <= high} | {high}))


def log_evidence_below(hits: int, misses: int, bound: float) -> float:
    """Log of the e-value against "a hit has probability >= bound", after this many independent hits and misses.

    The mixture of the likelihood ratios of p against ``bound``, over Jeffreys' Beta(1/2, 1/2) cut to p < bound.
    Under the null it is a nonnegative supermartingale that starts at 1, so the probability that it *ever* reaches
    1/level is at most ``level`` (Ville), at any stopping time. Counts in [0, 1e8], bound in (0, 1); the
    logarithm has error at most 1e-6 and is always finite.

    Reference: Robbins, "Statistical methods related to the law of the iterated logarithm", Ann. Math. Stat. 1970.
    """
    a, b = hits + 0.5, misses + 0.5
    log_hit, log_miss = math.log(bound), math.log1p(-bound)
    log_prior = math.log(2 * math.asin(math.sqrt(bound)))
    mass = float(betainc(a, b, bound))
    if mass > _SMALLEST:
        return float(betaln(a, b)) + math.log(mass) - hits * log_hit - misses * log_miss - log_prior
    # betainc = bound^a (1 - bound)^b / (a beta(a, b)) * fraction, and the large powers cancel
    return 0.5 * (log_hit + log_miss) - math.log(a) + math.log(_fraction(a, b, bound)) - log_prior


def search(
    evaluate: Evaluate, grid: Sequence[int], beta: float, gamma: float, error: float, *, first: int = 64,
    growth: float = 1.3, cap: int | None = None, start: float | None = None, stride: int = 4,
) -> NStar:  # fmt: skip
    """Brackets n* on an ascending grid; the bracket is wrong with probability at most ``error``, see NStar.

    evaluate: see Evaluate; called with increasing numbers of trials. The result is a function of its values.
    grid: whole numbers >= 1, strictly ascending, for example geometric_grid(16, 65536).
    beta, gamma: in (0, 1), beta + gamma < 1. A visit "fails" on evidence against p >= 1 - beta and "passes" on
        evidence against p <= 1 - beta - gamma. One of the two is false for every p, so each visit ends.
    first, growth: the evidence is evaluated after ``first`` trials, and each time they grew by ``growth`` > 1.
    cap: maximum number of trials at an n, which is then "undecided"; the search approaches it from both
        sides. The claim still holds, with n_low and n_high further apart. None: every visit is decided.
    start: a guess of n*. The search starts at the nearest grid point and gallops from there, in steps of ``stride``
        grid points, doubled each time, until the decision changes; then it bisects. Expensive large n are visited
        only if needed. None: bisection of the whole grid.

    The error is split over the visits: each may use what is left of it, divided by the number of visits that can
    still follow (bisection of K points: at least error / ceil(log2(K + 1)) each). The splits depend only on earlier
    visits and sum to at most ``error``, so the claim is a union bound over the visits. There may be more undecided
    visits than planned, which makes later splits smaller; none is 0, since the search ends when the error is used up.
    """
    points = _grid(grid)
    for name, value in (("beta", beta), ("gamma", gamma), ("error", error)):
        checks.probability(name, value)
    checks.integer("first", first, 1)
    checks.integer("stride", stride, 1)
    if beta + gamma >= 1:
        raise InputError("gamma", f"a number below 1 - beta = {1 - beta:g}", repr(gamma), "choose a smaller gamma")
    if checks.number("growth", growth) <= 1:
        raise InputError("growth", "a number > 1", repr(growth), "choose for example 1.3")
    if cap is not None:
        checks.integer("cap", cap, first)
    if start is not None and checks.number("start", start) <= 0:
        raise InputError("start", "a number > 0", repr(start), "give a guess of n*, or None to bisect the grid")

    plan = _Plan(len(points), None if start is None else _nearest(points, start), stride)
    state: _State = (-1, len(points), ())
    left, visits = error, []
    while (index := plan.choose(*state)) is not None:
        share = left / plan.worst(*state)
        left -= share
        visits.append(_decide(evaluate, points[index], beta, gamma, share, first, growth, cap))
        state = _after(*state, index, visits[-1].decision)
    low, high, _ = state
    ends = None if low < 0 else points[low], None if high == len(points) else points[high]
    return NStar(*ends, 1 - error, beta, gamma, tuple(visits), sum(v.trials for v in visits))


class _Plan:
    """Which grid index to visit next, given (low, high, open).

    low: the largest index that failed, or -1. high: the smallest that passed, or ``size``. open: the smallest and
    the largest undecided index between them, or (). The search is over when no index is left in (low, high), or
    none in (low, open[0]) and none in (open[1], high).
    """

    def __init__(self, size: int, start: int | None, stride: int):
        self.size, self.start, self.stride = size, start, stride
        self.worst = functools.lru_cache(maxsize=None)(self._worst)

    def choose(self, low: int, high: int, open_: tuple[int, ...]) -> int | None:
        """The next index, strictly inside one of the gaps; None when the search is over."""
        if not open_:
            if self.start is not None and low < 0 and high == self.size:
                return self.start
            galloping_up = high == self.size
            return None if high - low < 2 else self._up(low, high) if galloping_up else self._down(low, high)
        if open_[0] - low > 1:
            return self._down(low, open_[0])
        return self._up(open_[1], high) if high - open_[1] > 1 else None

    def _down(self, low: int, top: int) -> int:
        """Inside (low, top): a gallop from the start until an index has failed, then the middle."""
        step = max((self.start or 0) - top, 0) + self.stride
        return top - step if self.start is not None and low < 0 and top - step >= 0 else (low + top) // 2

    def _up(self, bottom: int, high: int) -> int:
        """Inside (bottom, high): a gallop from the start until an index has passed, then the middle."""
        step = max(bottom - (self.start or 0), 0) + self.stride
        galloping = self.start is not None and high == self.size and bottom + step < self.size
        return bottom + step if galloping else (bottom + high) // 2

    def _worst(self, low: int, high: int, open_: tuple[int, ...]) -> int:
        """The maximum number of further visits if each is decided."""
        index = self.choose(low, high, open_)
        if index is None:
            return 0
        return 1 + max(self.worst(*_after(low, high, open_, index, d)) for d in ("pass", "fail"))


def _after(low: int, high: int, open_: tuple[int, ...], index: int, decision: str) -> _State:
    """The state after a visit. Either all undecided indices stay inside the bracket, or all leave it."""
    if decision == "undecided":
        return low, high, (min(index, *open_), max(index, *open_)) if open_ else (index, index)
    low, high = (index, high) if decision == "fail" else (low, index)
    return low, high, tuple(i for i in open_ if low < i < high)


def _decide(
    evaluate: Evaluate, n: int, beta: float, gamma: float, level: float, first: int, growth: float, cap: int | None
) -> Visit:
    """One visit: trials at n until one of the two e-values reaches 1/level, or the cap is reached."""
    successes, trials, threshold = 0, 0, -math.log(level)
    while cap is None or trials < cap:
        target = max(first, trials + 1, math.ceil(trials * growth))
        successes, trials = _ask(evaluate, n, target if cap is None else min(target, cap), successes, trials)
        if log_evidence_below(successes, trials - successes, 1 - beta) >= threshold:
            return Visit(n, successes, trials, "fail")
        if log_evidence_below(trials - successes, successes, beta + gamma) >= threshold:
            return Visit(n, successes, trials, "pass")
    return Visit(n, successes, trials, "undecided")


def _ask(evaluate: Evaluate, n: int, target: int, old_successes: int, old_trials: int) -> tuple[int, int]:
    """``evaluate(n, target)`` as Python integers; InputError if it is not a longer prefix of the same trials."""
    answer = evaluate(n, target)
    successes, trials = (operator.index(count) for count in answer)
    if trials < target or not old_successes <= successes <= old_successes + trials - old_trials:
        raise InputError(
            f"evaluate({n}, {target})",
            f"at least {target} trials that continue {old_successes} successes in {old_trials}",
            f"{successes} successes in {trials}",
            "return cumulative counts of the first trials at n, the same ones at every call",
        )  # fmt: skip
    return successes, trials


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction h with betainc(a, b, x) = x^a (1 - x)^b / (a beta(a, b)) * h, for x below the mean.

    Modified Lentz. Reference: DLMF 8.17.22.
    """
    c, d, h, m = 1.0, 1 / (1 - (a + b) * x / (a + 1)), 1 / (1 - (a + b) * x / (a + 1)), 0
    ratio = 0.0
    while abs(ratio - 1) > 1e-12:
        m += 1
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / (1 + even * d)
        c = 1 + even / c
        h *= c * d
        d = 1 / (1 + odd * d)
        c = 1 + odd / c
        ratio = c * d
        h *= ratio
    return h


def _grid(grid: Sequence[int]) -> tuple[int, ...]:
    """The grid as Python integers; InputError unless it ascends from 1 or more."""
    points = tuple(operator.index(n) for n in grid)
    if not points or points[0] < 1 or any(a >= b for a, b in itertools.pairwise(points)):
        raise InputError(
            "grid", "whole numbers >= 1 in strictly ascending order", f"{list(points[:8])} ({len(points)} points)",
            "use geometric_grid(low, high)",
        )  # fmt: skip
    return points


def _nearest(points: tuple[int, ...], start: float) -> int:
    """The index of the grid point nearest to ``start`` in ratio."""
    return min(range(len(points)), key=lambda i: abs(math.log(points[i] / start)))
