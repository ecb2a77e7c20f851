"""What `learners.ImproperVC1` is planned with at any height, also beyond 2**64, and a variant planned for practice."""

from dataclasses import dataclass

from dpjax.core.types import Accuracy, Privacy
from dpjax.learners import ImproperVC1
from dpjax.learners.vc1_improper import subsamples_and_median
from dpjax.mechanisms.median import MedianDesign, MedianPlan
from dpjax.papers.medians import plan_near
from dpjax.theory import vc1 as theory


def planned_rows(method: str, bits: int, privacy: Privacy, accuracy: Accuracy) -> tuple[int, int]:
    """(subsamples t, rows n) of the learner planned for depths of ``bits`` bits, a tree of height 2**bits - 1.

    Equal to those of ``ImproperVC1(Thresholds(Domain(2**bits)), method)`` up to 64 bits.
    """
    t, _ = subsamples_and_median(method, bits, privacy, accuracy)
    return t, theory.improper(t, float(accuracy.alpha), float(accuracy.beta))


@dataclass(frozen=True)
class PracticalVC1(ImproperVC1):
    """An `ImproperVC1` whose median is that of `medians.plan_near` for 2 t / 3 rows: as private, without a proof."""

    def median(self, design: MedianDesign, t: int) -> MedianPlan:
        """At the design's budget."""
        return plan_near(self.method, design.bits, design.epsilon, design.delta, 2 * t // 3).plan()
