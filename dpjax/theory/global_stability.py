"""The globally stable learner: how often its most frequent hypothesis occurs, and what the private learner needs."""

from math import ceil, e, expm1, log

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.host import host_functions
from dpjax.theory.search import smallest

_MOST_ATTEMPTS = 8


def correct(dimension: int, attempts: int) -> tuple[float, ...]:
    """c_0..c_d, lower bounds of the probability that a draw of level k exists and all its k coins are right, as long
    as no level j < k has a hypothesis of probability c_j / 2.

    c_0 = 1, c_1 = (1 - 2^-attempts) / 2, and c_k = c_{k-1}^2 / 4 with one attempt.

    Proof: docs/proofs/global-stability.md#right-draws.

    Args:
      dimension: the Littlestone dimension d in 0..9. attempts: at level 1, >= 1.
    Reference: after Bun, Livni, Moran 2020, Section 3; the constants are our own.
    """
    checks.integer("attempts", attempts, 1)
    checks.integer("dimension", dimension, 0, 9)  # beyond, bounds are below the least positive float64
    bounds = [1.0, (1 - 2.0**-attempts) / 2]
    while len(bounds) <= dimension:
        bounds.append(bounds[-1] ** 2 / 4)
    return tuple(bounds[: dimension + 1])


def levels(dimension: int, attempts: int) -> tuple[tuple[float, ...], float]:
    """(the probabilities with which levels 0..d are drawn, the stability eta).

    Each level is drawn with probability in inverse proportion to its bound, so that the bound on the whole does not
    depend on which level it is: eta = 1 / (2 / c_0 + ... + 2 / c_{d-1} + 1 / c_d). Proof:
    docs/proofs/global-stability.md#stability.
    """
    bounds = correct(dimension, attempts)
    needs = [*(2 / bound for bound in bounds[:-1]), 1 / bounds[-1]]
    return tuple(need / sum(needs) for need in needs), 1 / sum(needs)


def blocks(dimension: int, attempts: int) -> int:
    """Blocks of rows that one run reads: those of a draw of level d, and one more."""
    checks.integer("dimension", dimension, 0, 2**10)
    count = 0
    for level in range(1, dimension + 1):
        count = (checks.integer("attempts", attempts, 1) if level == 1 else 1) * (2 * count + 2)
    return count + 1


def best_attempts(dimension: int) -> int:
    """The number of attempts for which blocks / eta is least."""
    return min(range(1, _MOST_ATTEMPTS + 1), key=lambda a: blocks(dimension, a) / levels(dimension, a)[1])


def block(eta: float, alpha: float) -> int:
    """Rows of a block, ceil(ln(16 / eta) / alpha): a hypothesis of probability p is consistent with the last block with
    probability p, so its error is at most ln(1 / p) / rows; what is selected has p >= eta / 16."""
    if not 0 < checks.number("eta", eta) <= 1:
        raise InputError("eta", "a number in (0, 1]", repr(eta), "see levels")
    return ceil(log(16 / eta) / checks.probability("alpha", alpha))


def batches(eta: float, epsilon: float, delta: float, beta: float) -> int:
    """Batches m for which the selected hypothesis has probability at least eta / 16, with probability 1 - beta.

    Four events of probability beta / 4 each. The stable hypothesis has fewer than eta m / 2 votes: exp(-eta m / 8). The
    selection abstains at that count. The selected one has fewer than eta m / 4 votes, out of at most m names. Some
    hypothesis of probability below eta / 16 has s = eta m / 4 votes or more: the sum of (e m p / s)^s over them is at
    most (e / 4)^(s - 1) 4 e / eta. Proof: docs/proofs/global-stability.md#batches.
    """
    checks.epsilon(epsilon)
    checks.delta(delta, positive_for="a selection from lists")
    checks.probability("beta", beta)
    part, rate = beta / 4, epsilon / 2
    gate = 1 + log(1 / min(delta, expm1(min(rate, 1.0)))) / rate  # e^1 - 1 is above every delta

    def enough(m: int) -> bool:
        votes = eta * m
        return (
            votes / 8 >= log(1 / part)
            and rate * (votes / 2 - gate) >= log(1 / part)
            and rate * votes / 4 >= log(m / part)
            and (votes / 4 - 1) * (log(4) - 1) >= log(4 * e / (eta * part))
        )

    # m / ln m grows from 3 on; all other conditions are monotone
    return max(3, smallest(lambda m: enough(m + 2)) + 2)


def rows(dimension: int, epsilon: float, delta: float, alpha: float, beta: float) -> int:
    """Rows in all for error alpha with probability 1 - beta, with `best_attempts`; InputError above 2^62."""
    attempts = best_attempts(dimension)
    eta = levels(dimension, attempts)[1]
    return blocks(dimension, attempts) * block(eta, alpha) * batches(eta, epsilon, delta, beta)


host_functions(globals())
