"""The split of a budget among k adaptive runs, and the total of k runs: one formula for each composition theorem."""

import math
from dataclasses import dataclass
from functools import lru_cache

from dpjax.accounting.calibrate import calibrate
from dpjax.accounting.composition import advanced, basic
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.numeric.bisection import largest
from dpjax.accounting.numeric.ranges import part_of
from dpjax.accounting.optimal_composition import optimal, optimal_epsilon0
from dpjax.accounting.zcdp import exponential_epsilon0, pure_rho, zcdp, zcdp_rho
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.plans import Spends, down

COMPOSITIONS = ("basic", "advanced", "optimal", "zcdp")


@dataclass(frozen=True)
class Split:
    """The budget of one run, and the delta of the composition theorem."""

    epsilon: float
    delta: float
    slack: float


def require_composition(composition: str, spends: Spends) -> None:
    """InputError for an unknown composition, and for zCDP of runs that spend delta, for which it is not defined."""
    checks.choice("composition", composition, COMPOSITIONS)
    if composition == "zcdp" and spends == "approximate":
        raise InputError("composition", "basic, advanced or optimal for runs that spend delta", "zcdp", "use optimal")


def split(epsilon: float, delta: float, rounds: int, composition: str, spends: Spends) -> Split:
    """The largest (epsilon0, delta0) of one run for which `composed` stays within (epsilon, delta).

    Args:
      epsilon: > 0. delta: in [0, 1). rounds: k >= 1.
      composition: "basic"; "advanced" (tight Dwork, Rothblum, Vadhan); "optimal" (Kairouz, Oh, Viswanath); "zcdp".
      spends: of one run. Runs that spend delta get half of it, in equal parts, if the composition takes the other half.

    Returns: basic composition's split if the composition gives a smaller one, and if delta is 0 in float32.
    """
    require_composition(composition, spends)
    checks.epsilon(epsilon)
    checks.delta(delta)
    checks.integer("rounds", rounds, 1)
    plain = Split(
        optimal_epsilon0(epsilon, 0.0, rounds), part_of(delta, rounds) if spends == "approximate" else 0.0, 0.0
    )
    slack = float(down(delta / 2 if spends == "approximate" else delta))  # float32, as in a plan: 1e-46 becomes 0
    if composition == "basic" or rounds == 1 or slack == 0:
        return plain
    if composition == "advanced":
        most = calibrate(epsilon, slack, "advanced", rounds)
    elif composition == "optimal":
        most = optimal_epsilon0(epsilon, slack, rounds)
    elif spends == "bounded range":
        most = exponential_epsilon0(epsilon, slack, rounds)
    else:
        rho = zcdp_rho(epsilon, slack) / rounds
        most = largest(lambda epsilon0: pure_rho(epsilon0) <= rho, min(rho, rho**0.5))
    if most <= plain.epsilon:
        return plain
    if spends != "approximate":
        return Split(most, 0.0, slack)
    delta0 = -math.expm1((math.log1p(-delta) - math.log1p(-slack)) / rounds)  # inverse of `joint_delta`
    return Split(most, delta0 * (1 - 1e-12), slack)


@lru_cache(maxsize=1024)
def best_split(epsilon: float, delta: float, rounds: int, spends: Spends) -> tuple[Split, str]:
    """The split with the largest epsilon0 of one run, and the name of its composition."""
    names = [name for name in COMPOSITIONS if name != "zcdp" or spends != "approximate"]
    splits = [(split(epsilon, delta, rounds, name, spends), name) for name in names]
    return max(splits, key=lambda entry: entry[0].epsilon)


def composed(part: Guarantee, rounds: int, slack: float, composition: str, what: str) -> Guarantee:
    """``rounds`` runs of ``part``: by the named theorem with ``slack`` or, if that is smaller, by basic composition."""
    if composition == "basic" or rounds == 1 or slack == 0:
        return basic((part,), what, rounds=rounds)
    if composition == "advanced":
        whole = advanced(part, rounds, slack, form="tight", what=what)
    elif composition == "optimal":
        whole = optimal(part, rounds, slack, what=what)
    else:
        whole = zcdp((part,), slack, rounds, what=what)
    if rounds * part.delta > whole.delta:  # a total delta of 1 is no guarantee
        return whole
    plain = basic((part,), what, rounds=rounds)
    return plain if plain.epsilon <= whole.epsilon and plain.delta <= whole.delta else whole


def least_composed(part: Guarantee, rounds: int, slack: float, what: str) -> Guarantee:
    """`composed` by the theorem with the smallest epsilon; matches `best_split`."""
    names = [name for name in COMPOSITIONS if name != "zcdp" or part.delta == 0]
    return min((composed(part, rounds, slack, name, what) for name in names), key=lambda whole: whole.epsilon)
