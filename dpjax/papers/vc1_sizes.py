"""What `learners.ImproperVC1` is planned with at any height, also beyond the 2**64 that a domain can have."""

from dpjax.core.types import Accuracy, Privacy
from dpjax.learners.vc1_improper import subsamples_and_median
from dpjax.theory import vc1 as theory


def planned_rows(method: str, bits: int, privacy: Privacy, accuracy: Accuracy) -> tuple[int, int]:
    """(subsamples t, rows n) of the learner planned for depths of ``bits`` bits, a tree of height 2**bits - 1.

    Equal to those of ``ImproperVC1.planned(Thresholds(Domain(2**bits)), privacy, accuracy, method)`` up to 64 bits.
    """
    t, _ = subsamples_and_median(method, bits, privacy, accuracy)
    return t, theory.improper(t, float(accuracy.alpha), float(accuracy.beta))
