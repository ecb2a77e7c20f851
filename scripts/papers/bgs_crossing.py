"""Labels of L independent points: rows of the exponential mechanism over the class, by its exact law, and bit by bit.

Bit i of the target is 1 on an element of its own, of mass 1.01 alpha / w with w = ceil(L / 2); the rest of the mass is
on one more element. A hypothesis is bad from w wrong bits on.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import comb, inf, log, sqrt

import numpy as np

from dpjax.concepts import Bitwise, Domain, Points, distributions
from dpjax.experiments.sweep.task import Task
from dpjax.learners import HashedPoints

_UNIT = 2**40
DRAWS = 20000


def hashed(bit: Points) -> HashedPoints:
    """The binary learner of a bit: pure, with a sample size that does not depend on the domain."""
    return HashedPoints(bit, 1)


def allowed(bits: int) -> int:
    """The number of wrong bits from which on a hypothesis is bad."""
    return (bits + 1) // 2


def mass(bits: int, alpha: float) -> float:
    """Of the element of a bit."""
    return 1.01 * alpha / allowed(bits)


def far_points(bits: int, depth: int, alpha: float) -> Task:
    """The workload over 2^depth elements."""
    concepts = Bitwise(Points(Domain(2**depth)), bits)
    elements, each = concepts.domain.spread(bits + 1), round(_UNIT * mass(bits, alpha))
    weights = [each] * bits + [_UNIT - bits * each]
    target = np.concatenate([concepts.bit.numbered([element]) for element in elements[:bits]], axis=1)
    return Task(concepts, distributions.from_weights(concepts.domain, elements, weights), target)


@lru_cache
def log_placements(bits: int, size: int) -> tuple[float, ...]:
    """For k = 0..L: ln of the number of ways to place L - k bits on a domain of ``size`` elements such that those bits
    are wrong, and the elements of the k right ones are left alone.

    A bit is right if it alone is at its own element. Inclusion and exclusion over the bits that are right after all.
    """
    counts = [
        sum((-1) ** m * comb(bits - k, m) * (size - k - m) ** (bits - k - m) for m in range(bits - k + 1))
        for k in range(bits + 1)
    ]
    return tuple(log(count) if count else -inf for count in counts)


def log_weights(counts: np.ndarray, rest: np.ndarray, bits: int, size: int, epsilon: float) -> np.ndarray:
    """ln of the total weight of the concepts with k right bits, ``float64[draws, L + 1]``.

    counts ``int[draws, L]``: rows on the elements of the bits. rest ``int[draws]``: on the other element. A concept has
    weight e^{-epsilon errors / 2}: one of a right bit less its element's rows, and, if a bit is 1 at the other element,
    the rows there more.
    """
    symmetric = np.full((len(counts), bits + 1), -inf)
    symmetric[:, 0] = 0.0
    for column in counts.T:
        symmetric[:, 1:] = np.logaddexp(symmetric[:, 1:], symmetric[:, :-1] + epsilon / 2 * column[:, None])
    everywhere, avoiding = (np.array(log_placements(bits, places)) for places in (size, size - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        touching = np.where(everywhere > avoiding, everywhere + np.log(-np.expm1(avoiding - everywhere)), -inf)
    return symmetric + np.logaddexp(avoiding, touching - epsilon / 2 * rest[:, None])


def success(n: int, bits: int, depth: int, epsilon: float, alpha: float, seed: int) -> float:
    """The success rate of the exponential mechanism over the class at n rows: the mean of its exact probability over
    20000 draws of the rows."""
    generator = np.random.default_rng([seed, n, bits])
    each = mass(bits, alpha)
    drawn = generator.multinomial(n, [*[each] * bits, 1 - bits * each], DRAWS)
    weights = log_weights(drawn[:, :-1], drawn[:, -1], bits, 2**depth, epsilon)
    good = np.logaddexp.reduce(weights[:, bits - allowed(bits) + 1 :], axis=1)
    return float(np.exp(good - np.logaddexp.reduce(weights, axis=1)).mean())


def margin(error: float) -> float:
    """Of a success rate from the mean of its draws, each in [0, 1], with probability 1 - error (Hoeffding)."""
    return sqrt(log(2 / error) / (2 * DRAWS))


def direct_bracket(
    grid: Sequence[int], bits: int, depth: int, epsilon: float, alpha: float, beta: float, error: float, seed: int
) -> tuple[int | None, int | None]:
    """(low, high) of an ascending grid: success is below 1 - beta at low and at least so at high, by bisection, with
    probability 1 - error; None for an end that was not found."""
    width = margin(error / (2 * len(grid).bit_length() + 2))

    def first(wanted: float) -> int:
        low, high = -1, len(grid)
        while high - low > 1:
            middle = (low + high) // 2
            enough = success(grid[middle], bits, depth, epsilon, alpha, seed) >= wanted
            low, high = (low, middle) if enough else (middle, high)
        return high

    low, high = first(1 - beta - width) - 1, first(1 - beta + width)
    return grid[low] if low >= 0 else None, grid[high] if high < len(grid) else None


def crossing(n: int, bits: int, epsilon: float, alpha: float, beta: float, error: float, seed: int) -> int:
    """The least log2 |X| at which n rows are too few for the exponential mechanism, with probability 1 - error."""
    low, high = bits.bit_length(), 2048
    width = margin(error / high.bit_length())
    while high - low > 1:
        middle = (low + high) // 2
        few = success(n, bits, middle, epsilon, alpha, seed) < 1 - beta - width
        low, high = (low, middle) if few else (middle, high)
    return high
