"""Boosting of private learners: rounds of lazy boosting, sample sizes, and confidence. Plain numbers on the host."""

from collections.abc import Callable
from math import ceil, exp, floor, log, log1p

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.host import host_functions
from dpjax.theory.search import smallest


def rounds(kappa: float, gamma: float, rate: float | None = None) -> int:
    """Rounds T after which fewer than kappa n rows are wrong, for weak hypotheses of weighted error <= 1/2 - gamma.

    The least T > ln(1/kappa) / (rate (gamma - rate/8)); floor(ln(1/kappa) / (2 gamma^2)) + 1 at the best rate 4 gamma.
    Proof: docs/proofs/boosting.md#rounds.

    Args:
      kappa: in (0, 1). gamma: in (0, 1/2). rate: lambda in (0, 8 gamma) of the weights exp(-lambda correct_i).
    """
    checks.probability("kappa", kappa)
    rate = 4 * advantage(gamma) if rate is None else rate
    if not 0 < checks.number("rate", rate) < 8 * gamma:
        raise InputError("rate", f"a number in (0, {8 * gamma:g}), below 8 gamma", repr(rate), "take 4 gamma")
    return floor(log(1 / kappa) / (rate * (gamma - rate / 8))) + 1


def advantage(gamma: float) -> float:
    """gamma, checked: in (0, 1/2)."""
    if not 0 < checks.number("gamma", gamma) < 0.5:
        raise InputError("gamma", "a number in (0, 1/2)", repr(gamma), "the weak error is 1/2 - gamma, such as 1/4")
    return float(gamma)


def relative_entropy(observed: float, expected: float) -> float:
    """kl(a, b) of two coins, for a in [0, 1] and b in (0, 1)."""
    heads = observed * log(observed / expected) if observed > 0 else 0.0
    tails = (1 - observed) * (log1p(-observed) - log1p(-expected)) if observed < 1 else 0.0
    return heads + tails


def generalizes(n: int, wrong: int, alpha: float, beta: float, log_choices: float, read: int = 0) -> bool:
    """Whether n i.i.d. rows suffice: a majority with at most ``wrong`` wrong rows has error <= alpha, but for beta/2.

    (n - read) kl(wrong / (n - read), alpha) >= log_choices + ln(2/beta). By Chernoff's bound a hypothesis of error
    above alpha has so few errors on n - read rows that it does not depend on with probability at most
    exp(-(n - read) kl); sum over the choices.

    log_choices: T ln|G| for the majority of T hypotheses from a set G, with read = 0; or, for any weak learner,
      T m ln n and read = T m: given the learner's coins the majority is a function of the T m rows that were drawn.
    """
    rest = n - read
    if rest < 1 or wrong >= alpha * rest:
        return False
    return rest * relative_entropy(wrong / rest, alpha) >= log_choices + log(2 / beta)


def rows_printed(epsilon: float, alpha: float, beta: float, draws: int, base: float, gamma: float, size: int) -> int:
    """The closed form of the sample size for comparison, which `learners.Boosted.sample_size` improves.

    max of T m (e^base - 1) / (kappa epsilon) for privacy and (8/alpha)(T ln|G| + ln(2/beta)) for generalization, with
    kappa = alpha/3 and a proper weak learner of a class G of ``size`` concepts that reads m = ``draws`` rows at
    epsilon ``base``.
    """
    checks.epsilon(epsilon)
    checks.accuracy(alpha, beta)
    checks.integer("size", size, 1)
    kappa = alpha / 3
    turns = rounds(kappa, gamma)
    private = turns * draws * (exp(base) - 1) / (kappa * epsilon)
    return ceil(max(private, 8 / alpha * (turns * log(size) + log(2 / beta))))


def blocks(beta: float, failure: float) -> int:
    """Blocks K = ceil(ln(2/beta) / ln(1/failure)): with probability 1 - beta/2 the learner succeeds on one of them."""
    checks.probability("beta", beta)
    checks.probability("failure", failure)
    return max(1, ceil(log(2 / beta) / log(1 / failure)))


def fresh_rows(count: int, good: float, goal: float, epsilon: float, beta: float) -> int:
    """Rows on which the exponential mechanism selects a hypothesis of error <= goal, if one of K has error <= good.

    The least n with levels u and v, n kl(u, good) >= L and n kl(v, goal) >= L for L = ln(4 (K + 1) / beta), and
    n (v - u) >= 2 ln(4 K / beta) / epsilon. Proof: the good hypothesis has at most u n errors and all of error above
    goal have at least v n, but for beta/4 (Chernoff, at most K + 1 events); the mechanism loses less than (v - u) n,
    but for beta/4. One hypothesis needs no row. Never more than `fresh_rows_printed`.

    Args:
      count: K >= 1. good: in (0, goal). goal: in (0, 1). epsilon: of the mechanism. beta: in (0, 1).
    """
    checks.integer("count", count, 1)
    checks.epsilon(epsilon)
    checks.probability("beta", beta)
    checks.probability("goal", goal)
    if not 0 < checks.number("good", good) < goal:
        raise InputError("good", f"an error in (0, goal = {goal:g})", repr(good), "take a more accurate learner")
    if count == 1:
        return 0
    level, lost = log(4 * (count + 1) / beta), 2 * log(4 * count / beta) / epsilon

    def enough(n: int) -> bool:
        u = _bisected(lambda u: n * relative_entropy(u, good) >= level, good, goal)
        v = _bisected(lambda v: n * relative_entropy(v, goal) >= level, goal, good)
        return n * (v - u) >= lost

    return smallest(enough)


def _bisected(holds: Callable[[float], bool], start: float, end: float) -> float:
    """A point between start and end where ``holds``, within 2**-50 of the first one from the start; else the end."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(start + (end - start) * middle) else (middle, high)
    return start + (end - start) * high


def fresh_rows_printed(count: int, gap: float, epsilon: float, beta: float) -> int:
    """The same by Hoeffding's bound for goal = good + 3 gap, for comparison.

    max of ln(4 (K + 1) / beta) / (2 gap^2) and 2 ln(4 K / beta) / (epsilon gap).
    """
    deviation = log(4 * (count + 1) / beta) / (2 * gap**2)
    return ceil(max(deviation, 2 * log(4 * count / beta) / (epsilon * gap)))


host_functions(globals())
