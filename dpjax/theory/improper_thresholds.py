"""A lower bound for private learners of thresholds, proper or not, by the size of the domain: numbers on the host.

All (epsilon, delta)-private learners under REPLACE_ONE: docs/proofs/interior-point.md#improper-learners.
"""

from math import ceil, inf, log, log2

from dpjax.core import checks
from dpjax.core.host import host_functions

_LARGE = 1000.0  # an exponent beyond which a power of 2 is written as one


def log_star(value: float) -> int:
    """How often log2 is taken until 1 or less is left."""
    count = 0
    while checks.number("value", value) > 1:
        value, count = log2(value), count + 1
    return count


def least_log_star(records: int, epsilon: float, delta: float, alpha: float, beta: float) -> float:
    """The log* of a domain's size from which on no private learner has error at most ``alpha`` with probability
    1 - ``beta`` from so few ``records``, for all distributions and thresholds; inf if the proof has none.

    It is the number of records and a few more, so records grow like log* |X|, with the constant 1.

    Args:
      records: n, in [1, 10**4]. epsilon: inf beyond 10**12. delta: inf above about (1 - 2 (alpha + beta))^2 / n^2.
      alpha, beta: in (0, 1), together below 1/2, else inf.

    Reference: Alon, Livni, Malliaris, Moran 2019, Theorem 1 (a homogeneous set by Ramsey's theorem); the drop, the test
      and all constants are our own.
    """
    n, epsilon, delta = checks.integer("records", records, 1, 10**4), checks.epsilon(epsilon), checks.delta(delta)
    if epsilon > 1e12:
        return inf
    better = 1 - 2 * (checks.probability("alpha", alpha) + checks.probability("beta", beta))
    if better <= 0:
        return inf
    width = better / (16 * n)  # half of a color's cell
    drop = better / n * (2 - 1 / (2 * n) - 1 / 8)
    bits = ceil(log2(n * (n + 1) / width)) + 1.0  # so that rows hardly ever coincide
    while True:
        runs = ceil(2 * log(2 * bits) / drop**2)
        if runs * delta >= 0.25:
            return inf
        needed = (runs * epsilon - log(0.5 - runs * delta)) / log(2)
        if needed < bits:
            break
        bits = ceil(needed * (1 + 1e-12)) + 1.0
    power, exponent = 0, (n + 1) ** 2 * log2(ceil(1 / (2 * width))) + bits + 2  # of 2 to 2 to ... the exponent
    for size in range(2, n + 2):
        if power == 0 and size * exponent < _LARGE:
            exponent = 2.0 ** (size * exponent)
        else:
            more = size * exponent if power == 0 else exponent + log2(size) if power == 1 else exponent * (1 + 1e-9)
            power, exponent = power + 1, more
    return 2 + power + log_star(exponent)  # one more than that of the size itself


host_functions(globals())
