"""A lower bound for private interior points by the size of the domain: plain numbers on the host.

An interior point of n records of {0..size-1} is an element between the least and the greatest of them. The bound is for
all (epsilon, delta)-private algorithms under REPLACE_ONE: docs/proofs/interior-point.md.
"""

from functools import lru_cache
from math import exp, floor, inf, log2

from dpjax.core import checks

_UP = 1 + 1e-9  # more than the rounding of all logarithms
_BASES = tuple(sorted({max(2, round(1.04**i)) for i in range(350)}))  # tried bases, up to 10^6
_STEPS = 1024  # what is left of the success is rounded down to such parts, so that few values occur


def guess(size: int, epsilon: float, delta: float) -> float:
    """The largest probability with which a private algorithm repeats one uniform element of ``size`` that it is given.

    (1 + (size - 1) e^-epsilon delta) / (1 + (size - 1) e^-epsilon), at most 1. Randomized response attains it for
    delta = 0.
    """
    others = (checks.integer("size", size, 1) - 1) * exp(-checks.epsilon(epsilon))
    return min(1.0, (1 + others * checks.delta(delta)) / (1 + others))


def log_size(records: int, epsilon: float, delta: float, success: float) -> float:
    """log2 of a domain size from which on so few ``records`` >= 1 have no private interior point with this success on
    every database; inf if this proof has none.

    A tower: 2 to the power of the size for one record less, times log2 of a base, which is chosen best.
    Reference: Bun, Nissim, Stemmer, Vadhan 2015, Theorem 3.2; bases, guesses and constants are our own.
    """
    checks.integer("records", records, 1)
    checks.epsilon(epsilon)
    checks.delta(delta)
    return _log_size(records, epsilon, delta, checks.probability("success", success))


def fewest_records(log_domain: float, epsilon: float, delta: float, success: float) -> int:
    """The least number of records that is not excluded over 2**log_domain elements: of the order of log* of the size.

    log_domain: log2 of the number of elements, >= 0.
    """
    checks.number("log_domain", log_domain)
    records = 1
    while log_size(records, epsilon, delta, success) <= log_domain:
        records += 1
    return records


@lru_cache(maxsize=1 << 16)
def _log_size(records: int, epsilon: float, delta: float, success: float) -> float:
    if records == 1:
        return _one(epsilon, delta, success)
    best = inf
    for base in _BASES:
        left = floor((success - guess(base, epsilon, delta)) * _STEPS) / _STEPS
        if left <= delta or log2(base) >= best:
            continue
        below = _log_size(records - 1, epsilon, delta, left)
        best = min(best, (2.0**below - 1) * log2(base) * _UP if below < 1000 else inf)
    return best


def _one(epsilon: float, delta: float, success: float) -> float:
    """log2 of the least size with `guess` below ``success``."""
    if success <= delta:
        return inf
    size = max(2, int((1 - success) / (success - delta) * exp(epsilon)))
    while guess(size, epsilon, delta) >= success:
        size += 1 + size // 1000
    return log2(size) * _UP
