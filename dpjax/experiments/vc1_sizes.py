"""What `learners.ImproperVC1` is planned with at any height, also beyond the 2**64 that a domain can have."""

from dpjax.learners.vc1_improper import subsamples_and_median
from dpjax.theory import vc1 as theory
from dpjax.types import Goal, Privacy


def planned_rows(method: str, bits: int, privacy: Privacy, goal: Goal) -> tuple[int, int]:
    """(subsamples t, rows n) of the learner planned for depths of ``bits`` bits, a tree of height 2**bits - 1.

    Equal to those of ``ImproperVC1.planned(Thresholds(Domain(2**bits)), privacy, goal, method)`` up to 64 bits.
    """
    t, _ = subsamples_and_median(method, bits, privacy, goal)
    return t, theory.improper(t, float(goal.alpha), float(goal.beta))
