"""The largest per-round parameter whose composed guarantee stays within a target."""

from collections.abc import Callable

from dpjax.accounting.composition import advanced, basic
from dpjax.accounting.gaussian import gaussian_guarantee
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.numeric.bisection import largest
from dpjax.accounting.optimal_composition import optimal
from dpjax.accounting.zcdp import exponential_guarantee, zcdp
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring

Family = Callable[[float, int, float], Guarantee]
"""(parameter, rounds, delta) -> the composed guarantee, with total delta at most ``delta``, increasing in parameter."""


def calibrate(target_epsilon: float, target_delta: float, family: str | Family, rounds: int = 1) -> float:
    """The largest parameter of one round for which ``rounds`` rounds are (target_epsilon, target_delta)-private.

    Args:
      target_epsilon: > 0, of all rounds.
      target_delta: in [0, 1), of all rounds; families other than "basic", "optimal" and "exponential" need > 0.
      family: a name of ``FAMILIES`` or a function of that type. **Its epsilon must increase with its parameter.**
      rounds: >= 1.

    Returns:
      The parameter, found by bisection to the last bit and never above the target. Values for which the family raises
      InputError (such as epsilon0 >= 1 in the printed theorem) count as above the target.
    """
    checks.epsilon(target_epsilon, "target_epsilon")
    checks.delta(target_delta, "target_delta")
    checks.integer("rounds", rounds, 1)
    if isinstance(family, str):
        family = FAMILIES[checks.choice("family", family, FAMILIES)]
    compose: Family = family

    def within(parameter: float) -> bool:
        whole = compose(parameter, rounds, target_delta)
        return whole.epsilon <= target_epsilon and whole.delta <= target_delta

    def accepted(parameter: float) -> bool:
        try:
            return within(parameter)
        except InputError:
            return False

    low = target_epsilon / rounds
    for _ in range(200):
        if accepted(low):
            return largest(accepted, low)
        low /= 2
    within(low)  # if the family rejects every parameter, its own error explains why
    advice = f"the parameter {low:.3g} already spends more: relax the target"
    raise InputError("target_epsilon", "a target that some parameter meets", repr(target_epsilon), advice)


def _pure(epsilon0: float) -> Guarantee:
    return Guarantee(epsilon0, 0.0, Neighboring.REPLACE_ONE, "pure mechanism")


def _zcdp(epsilon0: float, rounds: int, delta: float) -> Guarantee:
    return zcdp([exponential_guarantee(epsilon0)], delta, rounds)


def _exponential(epsilon0: float, rounds: int, delta: float) -> Guarantee:
    by_losses = optimal(exponential_guarantee(epsilon0), rounds, delta)
    if delta == 0:
        return by_losses
    return min(by_losses, _zcdp(epsilon0, rounds, delta), key=lambda whole: whole.epsilon)


FAMILIES: dict[str, Family] = {
    "basic": lambda epsilon0, rounds, delta: basic([_pure(epsilon0)], "basic composition", rounds),
    "advanced-printed": lambda epsilon0, rounds, delta: advanced(_pure(epsilon0), rounds, delta, "printed"),
    "advanced": lambda epsilon0, rounds, delta: advanced(_pure(epsilon0), rounds, delta, "tight"),
    "optimal": lambda epsilon0, rounds, delta: optimal(_pure(epsilon0), rounds, delta),
    "exponential-zcdp": _zcdp,
    "exponential": _exponential,
    "gaussian": lambda ratio, rounds, delta: gaussian_guarantee([1 / ratio] * rounds, 1.0, delta),
}
"""The parameter is epsilon0 of one pure or exponential mechanism; for "gaussian" it is sensitivity / sigma."""
