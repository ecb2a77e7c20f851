"""The sample complexity n*: the n from which on success is at least 1 - beta, bracketed with a stated error.

A *trial* at n is one Bernoulli event, "the learner succeeded"; for k concepts the event is "all k concepts are
good", so the search is the same for every k and needs no union bound. p(n) is the probability of the event.
The search moves on a grid of n. At each visited n two e-processes test p(n) >= 1 - beta and p(n) <= 1 - beta.
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
TRIALS = 10_000
"""Default number of trials of a search."""
TRIALS_SPENT = "trials spent"
"""How a search ended that left numbers of rows undecided."""
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
    """The trials at one n. decision: "pass", "fail", or "undecided"."""

    n: int
    successes: int
    trials: int
    decision: str


@dataclass(frozen=True)
class Bracket:
    """The interval (n_low, n_high] of n*, and the trials used.

    With probability >= ``confidence``, for the whole search: p(n_low) < 1 - beta and p(n_high) >= 1 - beta.
    Let n* be the smallest n such that p is at least 1 - beta at n and at all larger n. n_low < n* follows without an
    assumption about p; n* <= n_high holds if p does not fall below 1 - beta again above n_high, for example if p is
    increasing. Without that, n_high is at least the smallest n with p(n) >= 1 - beta.

    gamma: 0. With gamma > 0 the second statement is p(n_high) > 1 - beta - gamma only: this bounds n within gamma, and
    n* may be above n_high.
    n_low is None: no n of the grid was found to fail. n_high is None: none was found to pass.
    ended: "one step" if n_low and n_high are neighbors on the grid; "end of the grid" if the smallest n of the grid
    passes or the largest one fails; "trials spent" if n between them are undecided.
    visits: in the order of the first trials at each n. trials_total: the sum of their trials.
    """

    n_low: int | None
    n_high: int | None
    confidence: float
    beta: float
    gamma: float
    ended: str
    visits: tuple[Visit, ...]
    trials_total: int

    @property
    def undecided(self) -> tuple[int, ...]:
        """The visited n inside the bracket, ascending; empty if the bracket is one grid step."""
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
    evaluate: Evaluate,
    grid: Sequence[int],
    beta: float,
    error: float,
    *,
    trials: int = TRIALS,
    gamma: float = 0.0,
    first: int = 64,
    growth: float = 1.3,
    start: float | None = None,
    stride: int = 4,
) -> Bracket:
    """Brackets n* on an ascending grid; the bracket is wrong with probability at most ``error``, see `Bracket`.

    evaluate: see Evaluate; called with increasing numbers of trials. The result is a function of its values.
    grid: whole numbers >= 1, strictly ascending, for example geometric_grid(16, 65536).
    beta: in (0, 1). An n "fails" on evidence against p >= 1 - beta and "passes" on evidence against p <= 1 - beta.
    trials: of the whole search, at least ``first``. It ends when they are spent, or at one grid step.
    gamma: for quick looks, >= 0 and beta + gamma < 1: an n passes on evidence against p <= 1 - beta - gamma.
    first, growth: the evidence is evaluated after ``first`` trials at an n, and each time they grew by ``growth`` > 1.
    start: a guess of n*. The search starts at the nearest grid point and gallops from there, in steps of ``stride``
        grid points, doubled each time, until the decision changes; then it bisects. Expensive large n are visited
        only if needed. None: bisection of the whole grid.

    An n has a tenth of the trials unless they decide earlier. Then next in turn is the n with the smallest estimate of
    trials per grid point that its decision removes: so an n at which p is close to 1 - beta is left for its neighbors.

    The error is split over the visited n: at the first trial at an n, its test receives what is left of the error,
    divided by the number of visits that can still follow plus two. The split depends only on trials at other n, and
    trials at different n are independent; the splits sum to less than ``error``, and a test may be evaluated after any
    number of trials, so the claim is a union bound over n.
    """
    points = _grid(grid)
    for name, value in (("beta", beta), ("error", error)):
        checks.probability(name, value)
    checks.integer("first", first, 1)
    checks.integer("stride", stride, 1)
    checks.integer("trials", trials, first)
    if not 0 <= checks.number("gamma", gamma) < 1 - beta:
        raise InputError("gamma", f"a number in [0, 1 - beta) = [0, {1 - beta:g})", repr(gamma), "choose 0 for n*")
    if checks.number("growth", growth) <= 1:
        raise InputError("growth", "a number > 1", repr(growth), "choose for example 1.3")
    if start is not None and checks.number("start", start) <= 0:
        raise InputError("start", "a number > 0", repr(start), "give a guess of n*, or None to bisect the grid")

    plan = _Plan(len(points), None if start is None else _nearest(points, start), stride)
    low, high, left, spent = -1, len(points), error, 0
    tests: dict[int, _Test] = {}
    while spent < trials:
        inside = [i for i in sorted(tests) if low < i < high]
        state = low, high, (inside[0], inside[-1]) if inside else ()
        costs = {i: tests[i].trials_per_step(i - low, high - i) for i in inside}
        if (new := plan.choose(*state)) is not None:
            known = low >= 0 and high < len(points)
            costs[new] = first / min(abs(new - i) for i in (low, *inside, high)) if known else 0.0
        if not costs:
            break
        begun = [i for i in inside if tests[i].trials < trials // 10]
        index = min(begun or costs, key=lambda i: (costs[i], i))
        if index == new:
            share = left / (plan.worst(*state) + 2)
            left -= share
            tests[index] = _Test(points[index], beta, gamma, -math.log(share))
        test = tests[index]
        target = max(first, test.trials + 1, math.ceil(test.trials * growth))
        spent += test.extend(evaluate, min(target, test.trials + trials - spent))
        if test.decision == "fail":
            low = index
        elif test.decision == "pass":
            high = index
    inner = low >= 0 and high < len(points)
    ended = TRIALS_SPENT if high - low > 1 else "one step" if inner else "end of the grid"
    ends = None if low < 0 else points[low], None if high == len(points) else points[high]
    visits = tuple(Visit(test.n, test.successes, test.trials, test.decision) for test in tests.values())
    return Bracket(*ends, 1 - error, beta, gamma, ended, visits, spent)


@dataclass
class _Test:
    """The two sequential tests at one n. threshold: of the logarithm of the evidence."""

    n: int
    beta: float
    gamma: float
    threshold: float
    successes: int = 0
    trials: int = 0
    decision: str = "undecided"

    def extend(self, evaluate: Evaluate, target: int) -> int:
        """Continues to ``target`` trials and decides. Returns how many were added."""
        before = self.trials
        self.successes, self.trials = _ask(evaluate, self.n, target, self.successes, before)
        fails, passes = self._evidence()
        if max(fails, passes) >= self.threshold:
            self.decision = "fail" if fails >= self.threshold else "pass"
        return self.trials - before

    def trials_per_step(self, below: int, above: int) -> float:
        """About how many more trials decide, for each grid point that leaves the bracket: ``below`` if n fails,
        ``above`` if it passes. An estimate that no claim rests on."""
        rate, (fails, passes) = (self.successes + 0.5) / (self.trials + 1), self._evidence()
        ways = (
            (1 - self.beta - rate, fails, 1 - self.beta, below),
            (rate - 1 + self.beta + self.gamma, passes, 1 - self.beta - self.gamma, above),
        )
        return min(
            (
                max(self.threshold - evidence, 0.5) / _divergence(rate, bound) / steps
                for margin, evidence, bound, steps in ways
                if margin > 1e-9
            ),
            default=math.inf,
        )

    def _evidence(self) -> tuple[float, float]:
        """Logarithms of the evidence that n fails, and that it passes."""
        misses = self.trials - self.successes
        return (
            log_evidence_below(self.successes, misses, 1 - self.beta),
            log_evidence_below(misses, self.successes, self.beta + self.gamma),
        )


def _divergence(p: float, q: float) -> float:
    """Kullback-Leibler divergence of Bernoulli laws, p and q in (0, 1)."""
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


class _Plan:
    """Which grid index to visit next, given (low, high, open).

    low: the largest index that failed, or -1. high: the smallest that passed, or ``size``. open: the smallest and
    the largest undecided index between them, or ().
    """

    def __init__(self, size: int, start: int | None, stride: int):
        self.size, self.start, self.stride = size, start, stride
        self.worst = functools.lru_cache(maxsize=None)(self._worst)

    def choose(self, low: int, high: int, open_: tuple[int, ...]) -> int | None:
        """The next index, strictly inside (low, high), (low, open[0]) or (open[1], high); None if there is none."""
        if not open_:
            if self.start is not None and low < 0 and high == self.size:
                return self.start
            galloping_up = high == self.size
            return None if high - low < 2 else self._up(low, high) if galloping_up else self._down(low, high)
        down, up = open_[0] - low > 1, high - open_[1] > 1
        if down and (low < 0 or high < self.size or not up):
            return self._down(low, open_[0])
        return self._up(open_[1], high) if up else None

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
    """The state after a decision."""
    low, high = (index, high) if decision == "fail" else (low, index)
    return low, high, tuple(i for i in open_ if low < i < high)


def _ask(evaluate: Evaluate, n: int, target: int, old_successes: int, old_trials: int) -> tuple[int, int]:
    """``evaluate(n, target)`` as Python integers; InputError if it is not a longer prefix of the same trials."""
    answer = evaluate(n, target)
    successes, trials = (operator.index(count) for count in answer)
    if trials < target or not old_successes <= successes <= old_successes + trials - old_trials:
        expected = f"at least {target} trials that continue {old_successes} successes in {old_trials}"
        advice = "return cumulative counts of the first trials at n, the same ones at every call"
        raise InputError(f"evaluate({n}, {target})", expected, f"{successes} successes in {trials}", advice)
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
        expected = "whole numbers >= 1 in strictly ascending order"
        advice = "use geometric_grid(low, high)"
        raise InputError("grid", expected, f"{list(points[:8])} ({len(points)} points)", advice)
    return points


def _nearest(points: tuple[int, ...], start: float) -> int:
    """The index of the grid point nearest to ``start`` in ratio."""
    return min(range(len(points)), key=lambda i: abs(math.log(points[i] / start)))
