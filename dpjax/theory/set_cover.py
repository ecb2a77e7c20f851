"""Sample sizes of the private set cover: plain numbers on the host."""

from math import ceil, exp, expm1, log, log1p

import numpy as np

from dpjax.core import checks
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.host import host_functions
from dpjax.theory.search import fewest_rows, least

_TIMES, _EXPONENTS = np.linspace(0.5, 3.0, 26), np.geomspace(2.0**-10, 8.0, 27)
_PARTS = 0.1, 0.5, 0.9
"""The grid of `realizable`: t as multiples of the coefficient and as they are, and parts of beta."""
_LEAST = 1e-300  # of beta
_OF_FLOOR = 0.01  # the part of beta for the nats of a score


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
    _check(functions, k, rounds, coefficient, scale)
    checks.number("offset", offset)
    checks.probability("beta", beta)
    share, weights = _weights(k, rounds)
    of_choices = beta / 2 if scale else beta
    extra = (weights.sum() * log(functions) + _exponentials(weights, of_choices)) / coefficient
    if scale:
        above, below = _noise(rounds, beta / 2, scale, offset)
        extra += rounds * above / k + (1 - share) * below
    return share, float(extra)


def realizable(
    functions: float,
    k: int,
    rounds: int,
    coefficient: float,
    alpha: float,
    beta: float,
    scale: float = 0.0,
    offset: float = 0.0,
    missed: float = 0.0,
    nats: float | None = None,
) -> int:
    """Rows n of an (alpha, beta)-PAC learner by ``rounds`` rounds of a set cover; every larger n is enough, too.

    The functions that a run may return are not counted: given the sample their law has a density of at most
    functions^m e^(-coefficient (l_1 + ... + l_m)), and functions that do not depend on the sample and have error above
    alpha err on few of n rows with probability e^(-n psi). Proof: docs/proofs/set-cover-rows.md. The exponent and the
    parts of beta are the best of a grid.

    Args:
      functions: mu(H) / mu(G_i) for each of k sets of good functions, as in `sample_errors`.
      missed: the mass, at most, of targets that none of the k sets hits as a whole.
      nats: of the score, see `mechanisms.cover.score.Saturating`; `nats_for` or more, and ``missed`` is 0. Others:
        `sample_errors`.

    NoTheoremError if the rounds are too few for alpha at any n.
    Reference: Kaplan, Mansour, Matias, Stemmer 2019, Theorem 3.2; the proof and the constants are our own.
    """
    checks.accuracy(alpha, beta)
    _check(functions, k, rounds, coefficient, scale)
    checks.number("offset", offset)
    if beta < _LEAST:
        raise InputError("beta", f"a probability from {_LEAST:g} up", repr(beta), "parts of it are no numbers")
    if not 0 <= checks.number("missed", missed) < 1:
        raise InputError("missed", "a mass in [0, 1)", repr(missed), "0 if every edge has lines that cut like it")
    share, weights = _weights(k, rounds)
    if share >= alpha:
        wanted = f"enough that (1 - 1/{k})^rounds < alpha = {alpha:g}"
        raise NoTheoremError("rounds", wanted, str(rounds), f"take {rounds_for(k, alpha)} rounds")
    of_noise, of_missed = (beta / 2 if scale else 0.0), (beta / 20 if missed else 0.0)
    left = beta - of_noise - of_missed
    above, below = _noise(rounds, of_noise, scale, offset) if scale else (0.0, 0.0)
    if nats is not None:
        least = nats_for(functions, k, rounds, coefficient, beta, scale, offset)
        if missed or nats < least:
            raise NoTheoremError("nats", f"{least} or more, and missed = 0", f"{nats}, {missed:g}", "use None")
        left -= _OF_FLOOR * beta
    gains_most = log(alpha / share) + log1p(-share) - log1p(-alpha) if share else 0.0  # the best t, whatever it costs
    more = gains_most * _TIMES if 0 < gains_most < coefficient else ()
    parts = []
    for t in (*(coefficient * _TIMES), *_EXPONENTS, *more):
        grown = np.maximum(1.0, t / coefficient * weights)  # by how much a nat of each round counts
        gain, over = -log1p(alpha * expm1(-t)) - t * share, grown[grown > 1] - 1
        noise = np.maximum(t, coefficient - t * (weights - 1)).sum() * above / k + t * (1 - share) * below
        for part in _PARTS:
            needed = grown.sum() * log(functions) + noise - log(left * (1 - part))
            needed += _exponentials(over, left * part) if over.size else 0.0
            rate = grown.sum() * coefficient / k if missed else 0.0
            if gain > rate * missed:
                parts.append((gain, rate, needed))
    if not parts:
        raise NoTheoremError("missed", f"far less than alpha = {alpha:g}", repr(missed), "assume less, or add rounds")

    def enough(which: int, n: int) -> bool:
        gain, rate, needed = parts[which]
        return n * (gain - (rate * _most(missed, n, of_missed) if rate else 0.0)) >= needed

    return fewest_rows(range(len(parts)), enough)[0]


def nats_for(
    functions: float, k: int, rounds: int, coefficient: float, beta: float, scale: float = 0.0, offset: float = 0.0
) -> int:
    """Fewest whole nats with which no round draws by the added exp(-nats), up to a probability of beta / 100.

    A good set has mass 1 / functions and weights of exp(-coefficient max(0, u_j) / k) or more. Arguments: `realizable`.
    """
    above = _noise(rounds, beta / 2, scale, offset)[0] if scale else 0.0
    return ceil(log(functions) + log(rounds / (_OF_FLOOR * beta)) + coefficient * above / k)


def _check(functions: float, k: int, rounds: int, coefficient: float, scale: float) -> None:
    checks.integer("k", k, 1)
    checks.integer("rounds", rounds, 1)
    for name, value, low in (("functions", functions, 1.0), ("coefficient", coefficient, 0.0), ("scale", scale, 0.0)):
        if checks.number(name, value) < low or (name == "coefficient" and value == 0):
            raise InputError(name, f"a number from {low:g} up", repr(value), "use the numbers of a calibration")


def _weights(k: int, rounds: int) -> tuple[float, np.ndarray]:
    """s = (1 - 1/k)^m, and 1 + (1 - 1/k)^(m - j) for each round j."""
    keep = 1 - 1 / k
    return keep**rounds, 1 + keep ** np.arange(rounds)[::-1]


def _noise(rounds: int, beta: float, scale: float, offset: float) -> tuple[float, float]:
    """max(0, D - offset) and max(0, D + offset), D as in `sample_errors`."""
    most = max(0.0, scale * log(2 * rounds / (beta * (1 + exp(-1 / scale)))))
    return max(0.0, most - offset), max(0.0, most + offset)


def _most(mass: float, n: int, beta: float) -> float:
    """A share of n draws that an event of this mass exceeds with probability at most beta, by Chernoff's bound."""
    return least(lambda share: n * _excess(share, mass) >= -log(beta), mass, 1.0)


def _excess(share: float, mass: float) -> float:
    """kl(share, mass) >= 0 of Bernoulli variables, for 0 < mass <= share; precise for small masses."""
    if share <= mass:
        return 0.0
    rest = (1 - share) * (log1p(-share) - log1p(-mass)) if share < 1 else 0.0
    return share * (log(share) - log(mass)) + rest


def _exponentials(weights: np.ndarray, beta: float) -> float:
    """x with P[sum of weights_j E_j > x] <= beta: min over t of (ln(1/beta) - sum of ln(1 - t weights_j)) / t."""
    from scipy.optimize import minimize_scalar  # a slow import, deferred

    def bound(u: float) -> float:
        t = u / weights.max()
        return float((-log(beta) - np.log1p(-t * weights).sum()) / t)

    minimum = minimize_scalar(bound, bounds=(1e-9, 1 - 1e-9), method="bounded", options={"xatol": 1e-12})
    return bound(float(minimum.x))


def _divergence(share: float, alpha: float) -> float:
    """kl(share, alpha) >= 0 of Bernoulli variables, for share <= alpha."""
    if share >= alpha:
        return 0.0
    first = share * log(share / alpha) if share > 0 else 0.0
    return first + (1 - share) * (log1p(-share) - log1p(-alpha))


host_functions(globals())
