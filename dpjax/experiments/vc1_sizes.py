"""What `learners.ImproperVC1` is planned with at any height, also beyond the 2**64 that a domain can have."""

from dpjax import checks
from dpjax.mechanisms.median import plan_for
from dpjax.theory import vc1 as theory
from dpjax.types import Goal, Privacy


def planned_rows(method: str, bits: int, privacy: Privacy, goal: Goal) -> tuple[int, int]:
    """(subsamples t, rows n) of the learner planned for depths of ``bits`` bits, a tree of height 2**bits - 1.

    Equal to those of ``ImproperVC1.planned(Thresholds(Domain(2**bits)), privacy, goal, method)`` up to 64 bits.
    """
    epsilon, delta = checks.epsilon(float(privacy.epsilon)) / 2, checks.delta(float(privacy.delta))
    beta = checks.probability("beta", float(goal.beta)) / 3
    plan = plan_for(method, bits, epsilon, delta / 2, beta)
    of_choice = delta if plan.levels == 0 else delta / 2  # a pure median takes none
    t = max(plan.required(1 / 3), theory.subsamples(epsilon, of_choice, beta))
    return t, theory.improper(t, float(goal.alpha), float(goal.beta))
