"""A lower bound for private interior points by the size of the domain: plain numbers on the host.

An interior point of n records of {0..size-1} is an element between the least and the greatest of them. The bound is for
all (epsilon, delta)-private algorithms under REPLACE_ONE: docs/proofs/interior-point.md.
"""

from functools import lru_cache
from math import exp, floor, inf, log, log2

from dpjax.core import checks

_UP = 1 + 1e-9  # more than the rounding of all logarithms
_BASES = tuple(sorted({*range(2, 129), *(round(1.04**i) for i in range(124, 350))}))  # tried bases, up to 10^6
_STEPS = 2048  # what is left of the success is rounded down to such parts, so that few values occur
_EXACT = 4096  # sizes of up to so many bits are whole numbers
_LARGEST = 1000.0  # bits of a size that may be an exponent
_MOST = 8  # records: the tower for one less has more, whatever the budget


def guess(size: int, epsilon: float, delta: float) -> float:
    """The largest probability with which a private algorithm repeats one uniform element of ``size`` that it is given.

    delta + (1 - delta) / (1 + (size - 1) e^-epsilon). Randomized response attains it for delta = 0.
    """
    checks.integer("size", size, 1)
    checks.epsilon(epsilon)
    checks.delta(delta)
    if size == 1:
        return 1.0
    others = log(size - 1) - epsilon
    return delta + (1 - delta) / (1 + exp(others)) if others < 700 else delta


def log_size(records: int, epsilon: float, delta: float, success: float) -> float:
    """log2 of a domain size from which on so few ``records`` >= 1 have no private interior point with this success on
    every database; inf if the proof has none, or none that a float holds.

    A tower: 2 to the power of the size for one record less, times log2 of a base, for which about 350 are tried.
    Reference: Bun, Nissim, Stemmer, Vadhan 2015, Theorem 3.2; bases, guesses and constants are our own.
    """
    checks.integer("records", records, 1)
    checks.epsilon(epsilon)
    checks.delta(delta)
    checks.probability("success", success)
    if any(_size(fewer, epsilon, delta, success)[0] > _LARGEST for fewer in range(1, min(records, _MOST))):
        return inf
    return _size(records, epsilon, delta, success)[0] if records <= _MOST else inf


def fewest_records(log_domain: float, epsilon: float, delta: float, success: float) -> int:
    """The least number of records that `log_size` does not exclude over 2**log_domain elements: of the order of log* of
    the size.

    log_domain: log2 of the number of elements, >= 0.
    """
    checks.number("log_domain", log_domain)
    records = 1
    while log_size(records, epsilon, delta, success) <= log_domain:
        records += 1
    return records


@lru_cache(maxsize=1 << 16)
def _size(records: int, epsilon: float, delta: float, success: float) -> tuple[float, int | None]:
    """log2 of the size, and the size itself where that has few bits."""
    if records == 1:
        return _one(epsilon, delta, success)
    best, exact = inf, None
    for base in _BASES:
        left = floor((success - guess(base, epsilon, delta)) * _STEPS) / _STEPS
        if left <= delta or log2(base) >= best:
            continue
        below, size = _size(records - 1, epsilon, delta, left)
        if below > _LARGEST:
            continue
        digits = size - 1 if size is not None else 2.0**below - 1
        if (bits := digits * log2(base)) < best:
            best, exact = bits, base ** (size - 1) if size is not None and bits < _EXACT else None
    return (log2(exact), exact) if exact is not None else (best * _UP, None)


def _one(epsilon: float, delta: float, success: float) -> tuple[float, int | None]:
    """Of the least size with `guess` below ``success``."""
    if success <= delta:
        return inf, None
    others = epsilon + log((1 - success) / (success - delta))
    if others > 30:
        return others / log(2) * _UP, None
    size = 2 + floor(exp(others))
    while guess(size, epsilon, delta) >= success:  # where rounding decides
        size += 1
    return log2(size), size
