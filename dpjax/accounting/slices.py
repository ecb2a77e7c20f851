"""Reorder-slice-compute: many mechanisms, each on its own slice of the data, at a cost independent of their number.

In every round the remaining rows are sorted in a public order, the first m + g of them, g geometric, are cut off, and
a mechanism reads this slice, immediately or later. An added row changes the slices only until the geometric
length absorbs the difference, so few slices differ.
"""

import math

import numpy as np

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.numeric.bisection import MARGIN, largest, smallest
from dpjax.accounting.numeric.ranges import non_negative
from dpjax.accounting.zcdp import softplus
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring

_SUMMED = 4096
"""Longer chains use the bound for any number of rounds; shorter ones are summed term by term."""
_LARGEST = 300.0  # of both epsilons: beyond it the total of a delta of the parts is taken for 1
_ULP = 1e-15
"""The rounding error of the losses, which matters where delta falls to 0, at the largest loss."""
_SOURCE = "Cohen, Lyu, Nelson, Sarlos, Stemmer, reorder-slice-compute; proof and constants our own"


def slices_delta(
    epsilon: float, length_epsilon: float, epsilon0: float, delta0: float = 0.0, rounds: int | None = None
) -> float:
    """A delta for which the transcript of reorder-slice-compute is (epsilon, delta)-private under ADD_OR_REMOVE_ONE.

    Args:
      epsilon: >= 0, of the transcript.
      length_epsilon: e_g > 0 of the slice lengths m + g, P[g >= k] = exp(-e_g k); m >= 1 is public.
      epsilon0: e_A > 0, the total epsilon of all mechanisms that read one slice, under ADD_OR_REMOVE_ONE.
      delta0: delta_A in [0, 1), likewise. A mechanism that reads several slices at once is charged to each of them and
        must be pure; with delta0 > 0 each slice is read by one mechanism.
      rounds: tau >= 1, the number of slices, or None for any number.

    Returns:
      max(A, B) + (1 + h (1 + e^{e_A})) delta0, at most 1, where s = 1 / (1 + e^{-e_g}), h = e^{e_g} (1 - s^tau), and A
      is the mean of (1 - e^{epsilon - X})_+, X = J (e_g + 2 e_A) + (e_A - e_g)_+ and P[J] = (1 - s) s^J; B the same for
      X = J (2 e_A - e_g)_+ + e_g + e_A and P[J] = s (1 - s)^J. With J = tau identities there is no absorption: the
      last summand of X is 0. Nothing is truncated: the series are geometric.

    The order may depend on earlier outputs; it must preserve adjacency, beyond the first m rows and for these as a set.
    A slice longer than the remaining rows has all of them. Proof: docs/proofs/slices.md.

    Reference: Cohen, Lyu, Nelson, Sarlos, Stemmer, "Optimal differentially private learning of thresholds and
      quasi-concave optimization", the reorder-slice-compute theorem (O(e0 ln(1/delta)), delta + 2 tau delta0).
    """
    non_negative("epsilon", epsilon)
    _check(length_epsilon, epsilon0, delta0, rounds)
    spent = _spent(length_epsilon, epsilon0, delta0, rounds)
    return min(1.0, _response_delta(epsilon, length_epsilon, epsilon0, rounds) + spent)


def slices_epsilon(
    delta: float, length_epsilon: float, epsilon0: float, delta0: float = 0.0, rounds: int | None = None
) -> float:
    """The smallest epsilon with ``slices_delta(epsilon, ...) <= delta``, rounded up.

    Args:
      delta: in [0, 1), more than the total of the mechanisms' own delta0; 0 needs ``rounds``.
      length_epsilon, epsilon0, delta0, rounds: see ``slices_delta``.
    """
    checks.delta(delta, positive_for=None if rounds else "an unlimited number of slices")
    _check(length_epsilon, epsilon0, delta0, rounds)
    slack = delta - _spent(length_epsilon, epsilon0, delta0, rounds)
    if slack < 0 or (slack == 0 and rounds is None):
        raise InputError(
            "delta0", f"slices that spend less than {delta:.3g} together", repr(delta0), "choose a smaller delta0"
        )
    worst = math.inf if rounds is None else max(_largest_losses(length_epsilon, epsilon0, rounds)) * (1 + MARGIN)
    if slack == 0:
        return worst
    high = length_epsilon + epsilon0
    while high < worst and _response_delta(high, length_epsilon, epsilon0, rounds) > slack * (1 - MARGIN):
        high *= 2
    target = slack * (1 - MARGIN)
    high = min(high, worst)
    least = smallest(lambda e: _response_delta(e, length_epsilon, epsilon0, rounds) <= target, high)
    return min(least * (1 + _ULP), worst)


def slices_rate(epsilon: float, delta: float, rounds: int | None = None) -> float:
    """The largest e0 = e_g = e_A for which pure mechanisms on slices are (epsilon, delta)-private, rounded down.

    Args:
      epsilon: > 0, of the transcript.
      delta: in [0, 1); 0 needs ``rounds`` and gives epsilon / (3 tau), close to the best at any delta for few slices.
      rounds: see ``slices_delta``.
    """
    checks.epsilon(epsilon)
    checks.delta(delta, positive_for=None if rounds else "an unlimited number of slices")

    def holds(rate: float) -> bool:
        if rounds is not None and max(_largest_losses(rate, rate, rounds)) * (1 + MARGIN) <= epsilon:
            return True
        return _response_delta(epsilon, rate, rate, rounds) <= delta * (1 - MARGIN)

    low = epsilon / 3
    while not holds(low):
        low /= 2
    return largest(holds, low) * (1 - _ULP)


def slices(
    part: Guarantee, length_epsilon: float, slack: float, rounds: int | None = None, what: str = "reorder-slice-compute"
) -> Guarantee:
    """The transcript of reorder-slice-compute with ``part`` on every slice.

    Args:
      part: under ADD_OR_REMOVE_ONE, with epsilon > 0; see ``slices_delta`` for a part that reads several slices.
      length_epsilon: > 0, of the geometric slice lengths.
      slack: in [0, 1), delta in addition to that of the parts; 0 needs ``rounds``.
      rounds: the number of slices, or None for any number.
      what: the name of the whole.

    Privacy: (slices_epsilon(slack, ...), slack + the parts' total delta), under ADD_OR_REMOVE_ONE.
    """
    if part.neighboring is not Neighboring.ADD_OR_REMOVE_ONE or part.distance != 1:
        expected = "a guarantee under ADD_OR_REMOVE_ONE at distance 1"
        advice = "state what the part spends when a row is added"
        raise InputError("part", expected, f"{part.neighboring.value} at distance {part.distance}", advice)
    _check(length_epsilon, part.epsilon, part.delta, rounds)
    epsilon = slices_epsilon(slack, length_epsilon, part.epsilon, 0.0, rounds)
    delta = min(slack + _spent(length_epsilon, part.epsilon, part.delta, rounds), 1.0)
    why = f"slices of geometric length at {length_epsilon:.6g}, {rounds or 'any number of'} of them"
    return Guarantee(epsilon, delta, Neighboring.ADD_OR_REMOVE_ONE, what, why, (part,), source=_SOURCE)


def response_masses(length_epsilon: float, excesses: int) -> np.ndarray:
    """The joint law of label and excess at a hit: ``float64[2, 2, excesses]``, indexed [world, label, excess].

    World 1 is the larger database, label 1 is "identity". Each row sums to randomized response at ``length_epsilon`` as
    ``excesses`` grows: identity has probability 1 / (1 + e^{-e_g}) in world 1 and the rest in world 0, and the ratio of
    the worlds is e^{e_g} at every identity, e^{-e_g} at every absorption. At an absorption the index is world 0's
    excess; that of world 1 is one more.
    """
    checks.epsilon(length_epsilon, "length_epsilon")
    excess = np.arange(checks.integer("excesses", excesses, 1), dtype=np.float64)
    length = -np.expm1(-length_epsilon) * np.exp(-length_epsilon * excess)
    kept, absorbed = np.exp(-length_epsilon * excess), -np.expm1(-length_epsilon * (excess + 1))
    step = math.exp(-length_epsilon)
    return np.array([[length * absorbed, length * kept * step], [length * step * absorbed, length * kept]])


def _response_delta(epsilon: float, length_epsilon: float, epsilon0: float, rounds: int | None) -> float:
    """The larger of the two sums, for pure parts."""
    forth = length_epsilon + 2 * epsilon0, max(0.0, epsilon0 - length_epsilon)
    back = max(0.0, 2 * epsilon0 - length_epsilon), length_epsilon + epsilon0
    return max(
        _chain_delta(epsilon, length_epsilon, *forth, rounds), _chain_delta(epsilon, -length_epsilon, *back, rounds)
    )


def _chain_delta(epsilon: float, log_odds: float, step: float, last: float, rounds: int | None) -> float:
    """The mean of (1 - exp(epsilon - X))_+, X = step J + last; a step follows with odds exp(log_odds)."""
    log_go, log_stop = -softplus(-log_odds), -softplus(log_odds)
    if epsilon < last:
        first = 0
    elif step == 0:
        return 0.0
    else:
        first = math.floor((epsilon - last) / step) + 1
    if rounds is not None and rounds - first <= _SUMMED:
        count = np.arange(min(first, rounds), rounds, dtype=np.float64)
        terms = -np.exp(log_stop + log_go * count) * np.expm1(np.minimum(0.0, epsilon - last - step * count))
        end = -math.exp(log_go * rounds) * math.expm1(min(0.0, epsilon - step * rounds))
        return math.fsum([*terms.tolist(), end])
    # The sum over J >= first of (1 - s) s^J (1 - e^{epsilon - X}) is s^first (y + 1 - e^{-x}) / (1 + y), where
    # x >= 0 is the first X - epsilon and y = s / (1 - s) x (1 - e^{-step}); there is no cancellation.
    beyond = max(0.0, step * first + last - epsilon)
    odds = -math.exp(min(log_odds, 700.0)) * math.expm1(-step)
    return math.exp(log_go * first) * (odds - math.expm1(-beyond)) / (1 + odds)


def _largest_losses(length_epsilon: float, epsilon0: float, rounds: int) -> tuple[float, float]:
    """The largest log-ratios of the two directions over ``rounds`` slices."""
    step, last = length_epsilon + 2 * epsilon0, max(0.0, epsilon0 - length_epsilon)
    forth = max(step * rounds, step * (rounds - 1) + last)
    step, last = max(0.0, 2 * epsilon0 - length_epsilon), length_epsilon + epsilon0
    return forth, max(step * rounds, step * (rounds - 1) + last)


def _spent(length_epsilon: float, epsilon0: float, delta0: float, rounds: int | None) -> float:
    """The total delta of the parts' own delta0, at most 1."""
    if delta0 == 0:
        return 0.0
    if max(length_epsilon, epsilon0) > _LARGEST:
        return 1.0
    log_go = -softplus(-length_epsilon)
    identities = math.exp(length_epsilon) * (1.0 if rounds is None else -math.expm1(rounds * log_go))
    return min(1.0, (1 + identities * (1 + math.exp(epsilon0))) * delta0)


def _check(length_epsilon: float, epsilon0: float, delta0: float, rounds: int | None) -> None:
    checks.epsilon(length_epsilon, "length_epsilon")
    checks.epsilon(epsilon0, "epsilon0")
    checks.delta(delta0, "delta0")
    if rounds is not None:
        checks.integer("rounds", rounds, 1)
