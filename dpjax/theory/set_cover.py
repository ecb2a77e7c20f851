"""Sample sizes of the private set cover: plain numbers on the host."""

from math import ceil, exp, log, log1p

import numpy as np
from scipy.special import gammaln, logsumexp

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.theory.search import smallest


def rounds_for(k: int, alpha: float) -> int:
    """The fewest rounds after which (1 - 1/k)^rounds <= alpha / 4: at most k ln(4 / alpha), rounded up."""
    checks.integer("k", k, 1)
    checks.probability("alpha", alpha)
    return 1 if k == 1 else ceil(log(4 / alpha) / -log1p(-1 / k))


def sample_errors(
    functions: float, k: int, rounds: int, coefficient: float, beta: float, scale: float = 0.0, offset: float = 0.0
) -> tuple[float, float]:
    """(s, r): with probability 1 - beta the rounds of a set cover leave at most s n + r errors on n realizable rows.

    s = (1 - 1/k)^m with m = rounds, and r has the following parts.

    1. Choices. Let N_j targets remain before round j, u_j = noise - offset, and l_j = max q - q(h_j). Some h hits
       N_j / k targets and nothing else, so max q >= -max(0, u_j) / k. Hence h_j hits at most max(0, u_j) / k + l_j
       other rows and at least N_j / k + min(0, u_j) / k - l_j targets. Unrolled, errors are at most
       s N_1 + sum of (1 + (1 - 1/k)^(m - j)) l_j + the contribution of the noise.
    2. P[l_j > t | before] <= functions exp(-coefficient t): l_j is below (ln functions + E_j) / coefficient with
       independent standard exponentials E_j. Their weighted sum is bounded by Chernoff's bound with the best exponent.
    3. Noise: with probability 1 - beta / 2 all |noise| <= D, by the tail 2 q^D / (1 + q), q = exp(-1/scale), of a
       discrete Laplace variable. It adds at most m max(0, D - offset) / k + (1 - s) max(0, D + offset).

    Args:
      functions: mu(H) / mu(a good h) >= 1; the number of functions of a finite family.
      k, rounds: >= 1. coefficient: > 0, of q in the exponent. beta: in (0, 1). scale: >= 0, of the noise. offset: as in
        `mechanisms.cover.set_cover`.

    Reference: Kaplan, Mansour, Matias, Stemmer 2019, Claim 3.1 has max{n (1 - 1/(2 k))^m, 4 k lambda}; constants are
      our own.
    """
    checks.integer("k", k, 1)
    checks.integer("rounds", rounds, 1)
    checks.probability("beta", beta)
    for name, value, low in (("functions", functions, 1.0), ("coefficient", coefficient, 0.0), ("scale", scale, 0.0)):
        if checks.number(name, value) < low or (name == "coefficient" and value == 0):
            raise InputError(name, f"a number from {low:g} up", repr(value), "use the numbers of a calibration")
    keep = 1 - 1 / k
    share = keep**rounds
    weights = 1 + keep ** np.arange(rounds)[::-1]
    of_choices = beta / 2 if scale else beta
    extra = (weights.sum() * log(functions) + _exponentials(weights, of_choices)) / coefficient
    if scale:
        most = max(0.0, scale * log(4 * rounds / (beta * (1 + exp(-1 / scale)))))
        extra += rounds * max(0.0, most - offset) / k + (1 - share) * max(0.0, most + offset)
    return share, float(extra)


def realizable(
    functions: float, log_hypotheses: float, k: int, rounds: int, coefficient: float, alpha: float, beta: float,
    scale: float = 0.0, offset: float = 0.0,
) -> int:  # fmt: skip
    """Rows n of an (alpha, beta)-PAC learner by ``rounds`` rounds of a set cover.

    Half of beta is for `sample_errors`, s n + r <= g n. The other half is for hypotheses of error above alpha with at
    most g n < alpha n errors on the sample: exp(log_hypotheses - n kl(g, alpha)) <= beta / 2 by Chernoff's bound,
    kl the divergence of Bernoulli variables.

    Args:
      log_hypotheses: natural logarithm of the number of hypotheses that a run may return. Others: `sample_errors`.

    InputError if the rounds are too few for alpha at any n.
    """
    checks.accuracy(alpha, beta)
    share, extra = sample_errors(functions, k, rounds, coefficient, beta / 2, scale, offset)
    if share >= alpha:
        wanted = f"enough that (1 - 1/{k})^rounds < alpha = {alpha:g}"
        raise InputError("rounds", wanted, str(rounds), f"take {rounds_for(k, alpha)} rounds")
    needed = log_hypotheses + log(2 / beta)
    return smallest(lambda n: share + extra / n < alpha and n * _divergence(share + extra / n, alpha) >= needed)


def log_conjunctions(dimension: int, most: int) -> float:
    """ln of the number of ANDs of at most ``most`` literals over d coordinates, including the constant 0."""
    checks.integer("dimension", dimension, 1)
    i = np.arange(min(checks.integer("most", most, 0), dimension) + 1)
    log_count = gammaln(dimension + 1) - gammaln(i + 1) - gammaln(dimension - i + 1) + i * log(2)
    return float(np.logaddexp(logsumexp(log_count), 0.0))


def _exponentials(weights: np.ndarray, beta: float) -> float:
    """x with P[sum of weights_j E_j > x] <= beta: min over t of (ln(1/beta) - sum of ln(1 - t weights_j)) / t."""
    from scipy.optimize import minimize_scalar  # a slow import, deferred

    def bound(u: float) -> float:
        t = u / weights.max()
        return float((-log(beta) - np.log1p(-t * weights).sum()) / t)

    found = minimize_scalar(bound, bounds=(1e-9, 1 - 1e-9), method="bounded", options={"xatol": 1e-12})
    return bound(float(found.x))


def _divergence(share: float, alpha: float) -> float:
    """kl(share, alpha) >= 0 of Bernoulli variables, for share <= alpha."""
    if share >= alpha:
        return 0.0
    first = share * log(share / alpha) if share > 0 else 0.0
    return first + (1 - share) * (log1p(-share) - log1p(-alpha))
