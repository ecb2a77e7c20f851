"""What is known about outputs before any run: a score that does not depend on the tested runs.

All runs test it, those included that train the choice of other events. It need not be right: a program that does not
follow its stated law is tested no less validly. See `sampling.known`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import Array

from dpjax.core.checks import InputError

if TYPE_CHECKING:  # what answers questions builds on targets
    from dpjax.audit.sampling.questions import Question
    from dpjax.audit.sampling.thresholds import Aim


class Known(ABC):
    """A score of outputs on two databases, and the question that it leads to. Hashable: it is static in programs."""

    @abstractmethod
    def score(self, output: Any, first: Any, second: Any, plan: Any) -> Array:
        """``float32[]``, larger for outputs that are more likely on the first database; jittable, never NaN."""

    @abstractmethod
    def question(self, key: Array, first: Any, second: Any, plan: Any, aim: "Aim", guesses: bool) -> "Question":
        """Events of kind "stated" on the score; it must not depend on runs of the audited program."""

    def of_objects(self, outputs: Sequence[Any]) -> np.ndarray:
        """Scores ``float32[t]`` of outputs that are no arrays; by default an InputError, since there is none."""
        del outputs
        name, advice = type(self).__name__, "name an event instead, KnownEvent, leave it out, or return numbers"
        raise InputError("known", f"outputs that are numbers or arrays for a {name}", "others", advice)
