"""Amplification by subsampling: running a private algorithm on a random part of the rows."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from dpjax.accounting.distance import scaled_delta
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.numeric.ranges import non_negative
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring

Pair = tuple[float, float]


def with_replacement_pair(epsilon: float, delta: float, draws: int, mass: float) -> Pair:
    """(epsilon, delta) of a REPLACE_ONE-private algorithm on ``draws`` = m independent draws of rows.

    Args:
      epsilon: >= 0, of the base algorithm on m rows.
      delta: in [0, 1), of the base algorithm.
      draws: m >= 1; may exceed the number of rows.
      mass: a in [0, 1], see ``special_mass``; 1/n for uniform draws from n rows.

    Returns:
      (m ln(1 + a (e^epsilon - 1)), delta (e^{epsilon'} - 1)/(e^epsilon - 1)), for every epsilon; the delta may be >= 1.

    Proof: a draw is common to both databases with probability 1 - a, so the number K of special draws is
    Binomial(m, a). By group privacy f_k <= e^{k epsilon} min over j <= k of f'_j + delta (e^{k epsilon} - 1)/(e^epsilon
    - 1), where f_k, f'_k are the two probabilities of an event given K = k. The minimum falls with k and e^{k epsilon}
    rises, so Chebyshev's sum inequality splits the expectation into E[e^{K epsilon}] E[f'_K].
    """
    _base(epsilon, delta)
    checks.integer("draws", draws, 1)
    if not 0 <= checks.number("mass", mass) <= 1:
        raise InputError("mass", "a number in [0, 1]", repr(mass), "give 1/n for uniform draws, or special_mass")
    amplified = draws * _log_mean(epsilon, mass)
    return amplified, scaled_delta(delta, amplified, epsilon, draws * mass) if mass > 0 else 0.0


def with_replacement_base(
    epsilon: float, delta: float, draws: int, rows: int | None = None, mass: float | None = None
) -> Pair:
    """The largest (epsilon, delta) of a base algorithm for which ``draws`` draws stay within (epsilon, delta).

    The inverse of `with_replacement_pair` at ``mass`` a: ln(1 + (e^{epsilon/m} - 1) / a), and delta in proportion, at
    most 1/2. Both are reduced by 1e-12 for rounding. It falls with the mass: what is private at n rows is so at more.

    Args:
      epsilon: > 0, of the whole. delta: in [0, 1), of the whole. draws: m >= 1.
      rows: n >= 1, of uniform draws, whose mass is 1/n; or mass: in (0, 1], of others. Give exactly one of them.
    """
    checks.epsilon(epsilon)
    checks.delta(delta)
    each = epsilon / checks.integer("draws", draws, 1)
    if (rows is None) == (mass is None):
        raise InputError("rows, mass", "exactly one of them", f"{rows}, {mass}", "give rows for uniform draws")
    if mass is not None and not 0 < checks.number("mass", mass) <= 1:
        raise InputError("mass", "a number in (0, 1]", repr(mass), "give 1/n for uniform draws, or special_mass")
    n = checks.integer("rows", rows, 1) if mass is None else 1 / mass
    grown = math.log1p(n * math.expm1(each)) if each < 1 else each + math.log(n - (n - 1) * math.exp(-each))
    base = grown * (1 - 1e-12)
    return base, min(0.5, scaled_delta(delta, base, epsilon, 1.0)) * (1 - 1e-12)


def special_mass(weights: ArrayLike, other_weights: ArrayLike | None = None, index: int | None = None) -> float:
    """The probability a that one weighted draw distinguishes two neighbors: 1 - sum over i != i0 of min(mu_i, mu'_i).

    Args:
      weights: ``float64[n]``, >= 0, summing to 1: the row probabilities on D.
      other_weights: the same on D'; by default equal to ``weights``.
      index: i0, the replaced row; by default the worst one.
    """
    first = _probabilities("weights", weights)
    second = first if other_weights is None else _probabilities("other_weights", other_weights)
    if first.shape != second.shape:
        raise InputError("other_weights", f"{first.size} weights", f"{second.size}", "neighbors have equal size")
    common = np.minimum(first, second)
    rest = math.fsum(np.maximum(first - second, 0.0))
    if index is None:
        return min(1.0, rest + float(np.max(common)))
    return min(1.0, rest + float(common[checks.integer("index", index, 0, first.size - 1)]))


def without_replacement_pair(epsilon: float, delta: float, draws: int, rows: int) -> Pair:
    """(epsilon, delta) of a REPLACE_ONE-private algorithm on a uniform m-subset of n rows, in random order.

    **Rows kept in the order of the database break this, unless the algorithm ignores order**: the proof exchanges the
    replaced row for another one in its position, and with sorted rows that moves all rows between.

    Args:
      epsilon: >= 0, of the base algorithm on m rows.
      delta: in [0, 1), of the base algorithm.
      draws: m in [1, n].
      rows: n.

    Returns:
      (ln(1 + (m/n)(e^epsilon - 1)), (m/n) delta).
    Reference: Balle, Barthe, Gaboardi, "Privacy amplification by subsampling", Theorem 9.
    """
    _base(epsilon, delta)
    rate = checks.integer("draws", draws, 1, checks.integer("rows", rows, 1)) / rows
    return _log_mean(epsilon, rate), rate * delta


def poisson_pair(epsilon: float, delta: float, rate: float) -> Pair:
    """(epsilon, delta) of an ADD_OR_REMOVE_ONE-private algorithm on rows kept independently at ``rate`` in (0, 1].

    Reference: Balle, Barthe, Gaboardi, Theorem 8.
    """
    _base(epsilon, delta)
    if not 0 < checks.number("rate", rate) <= 1:
        raise InputError("rate", "a number in (0, 1]", repr(rate), "give the probability of keeping a row")
    return _log_mean(epsilon, rate), rate * delta


def secrecy_pair(epsilon: float, delta: float, draws: int, rows: int, form: str = "corrected") -> Pair:
    """The constants of Bun, Nissim and Stemmer's Lemma 2.25: n draws with replacement from m >= 2n rows.

    Args:
      epsilon: in (0, 1].
      delta: in [0, 1).
      draws: n, the sample that the base algorithm reads.
      rows: m >= 2n, the database.
      form: "corrected": 6 epsilon n/m and 4 e^{6 epsilon n/m} (n/m) delta, implied by ``with_replacement_pair``.
        "printed": the same with m/n, the inverse ratio; true, but larger than the base's own guarantee.

    Reference: Bun, Nissim, Stemmer 2016, Lemma 2.25.
    """
    _base(epsilon, delta)
    if not 0 < epsilon <= 1:
        raise InputError(
            "epsilon", "a number in (0, 1], a hypothesis of the lemma", repr(epsilon), "use with_replacement"
        )
    checks.integer("draws", draws, 1)
    checks.integer("rows", rows, 2 * draws)
    printed = checks.choice("form", form, ("corrected", "printed")) == "printed"
    ratio = rows / draws if printed else draws / rows
    amplified = 6 * epsilon * ratio
    return amplified, 4 * ratio * delta * math.exp(min(amplified, 700.0))


def with_replacement(base: Guarantee, draws: int, rows: int | None = None, mass: float | None = None) -> Guarantee:
    """``base`` on ``draws`` independent draws: uniform from ``rows`` rows, or weighted, with ``mass``.

    mass: from ``special_mass``.

    Privacy: ``with_replacement_pair``; REPLACE_ONE. Give exactly one of ``rows`` and ``mass``.
    """
    if (rows is None) == (mass is None):
        raise InputError("rows, mass", "exactly one of them", f"{rows}, {mass}", "give rows for uniform draws")
    if mass is None:
        mass = 1 / checks.integer("rows", rows, 1)
    return _amplified(
        base,
        Neighboring.REPLACE_ONE,
        lambda e, d: with_replacement_pair(e, d, draws, mass),
        f"{draws} draws with replacement, each tells the neighbors apart with probability {mass:.6g}",
        "Chebyshev's sum inequality over the number of special draws",
    )


def without_replacement(base: Guarantee, draws: int, rows: int) -> Guarantee:
    """``base`` on a uniform subset of ``draws`` of ``rows`` rows, in random order (the start of a permutation).

    Privacy: ``without_replacement_pair``; REPLACE_ONE. A subset of an i.i.d. sample is i.i.d., so this is the form
    for PAC learners.
    """
    return _amplified(
        base,
        Neighboring.REPLACE_ONE,
        lambda e, d: without_replacement_pair(e, d, draws, rows),
        f"a uniform subset of {draws} of {rows} rows",
        "Balle, Barthe, Gaboardi, Theorem 9",
    )


def poisson(base: Guarantee, rate: float) -> Guarantee:
    """``base`` on rows kept independently with probability ``rate``.

    Privacy: ``poisson_pair``; ADD_OR_REMOVE_ONE.
    """
    return _amplified(
        base,
        Neighboring.ADD_OR_REMOVE_ONE,
        lambda e, d: poisson_pair(e, d, rate),
        f"rows kept with probability {rate:.6g}",
        "Balle, Barthe, Gaboardi, Theorem 8",
    )


def secrecy_of_the_sample(base: Guarantee, draws: int, rows: int, form: str = "corrected") -> Guarantee:
    """Lemma 2.25 with its own constants, for comparison; ``with_replacement`` is never worse.

    Privacy: ``secrecy_pair``; REPLACE_ONE.
    Reference: Bun, Nissim, Stemmer 2016, Lemma 2.25.
    """
    return _amplified(
        base,
        Neighboring.REPLACE_ONE,
        lambda e, d: secrecy_pair(e, d, draws, rows, form),
        f"{draws} draws with replacement from {rows} rows, {form} constants",
        "Bun, Nissim, Stemmer, Lemma 2.25",
    )


def _amplified(base: Guarantee, relation: Neighboring, pair: Callable[[float, float], Pair], why: str, source: str):
    if base.neighboring is not relation or base.distance != 1:
        expected = f"a guarantee under {relation.name} at distance 1"
        advice = "this subsampling preserves the other relation: restate the base first"
        raise InputError("base", expected, f"{base.neighboring.name} at distance {base.distance}", advice)
    epsilon, delta = pair(base.epsilon, base.delta)
    if delta >= 1:
        raise InputError(
            "delta", "an amplified delta below 1", f"{delta:.6g}", "this is not a privacy guarantee: draw fewer rows"
        )
    head = epsilon, delta, relation, f"subsampled {base.what}"
    return Guarantee(*head, f"subsampling: {why}", (base,), source=source, contract=base.contract)


def _log_mean(epsilon: float, rate: float) -> float:
    """ln(1 + rate (e^epsilon - 1)) without overflow."""
    if rate == 0:
        return 0.0
    if epsilon < 1:
        return math.log1p(rate * math.expm1(epsilon))
    return epsilon + math.log(rate + (1 - rate) * math.exp(-epsilon))


def _base(epsilon: float, delta: float) -> None:
    non_negative("epsilon", epsilon)
    checks.delta(delta)


def _probabilities(name: str, weights: ArrayLike) -> np.ndarray:
    array = np.asarray(weights, np.float64)
    if array.ndim != 1 or not np.all(array >= 0) or not abs(math.fsum(array) - 1) <= 1e-9:
        raise InputError(name, "a vector of probabilities", np.array2string(array, threshold=4), "divide by the sum")
    return array
