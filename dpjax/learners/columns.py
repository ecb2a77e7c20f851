"""The learner of k concepts that corresponds to a learner."""

from typing import Any

from dpjax.core import checks
from dpjax.learners.base import Learner, require_learner
from dpjax.learners.independent import Independent


def for_concepts(learner: Any, k: int) -> Learner:
    """``learner.for_concepts(k)``; if that is None, `Independent` under optimal composition.

    A learner of one concept is returned unchanged for k = 1.
    """
    checks.integer("k", k, 1)
    require_learner(learner)
    if (joint := learner.for_concepts(k)) is not None:
        return joint
    return learner if k == 1 else Independent(learner, k, "optimal")
