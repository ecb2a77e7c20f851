"""Conversion of a learner of parities, proper or not, to one that is proper and exact: the nearest parity."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.parities import Parities, nearest
from dpjax.core import checks
from dpjax.core.plans import Spends
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.learners.base import Learner, OfLearner, require_learner
from dpjax.learners.columns import for_concepts

_BELOW_A_QUARTER = float(np.nextafter(0.25, 0))


@dataclass(frozen=True)
class NearestParity(OfLearner):
    """Replaces each hypothesis of a learner of parities by a parity that agrees with it on most of {0, 1}^d.

    Two parities differ on half of the cube. So a hypothesis that differs from a parity on less than a quarter of it is
    nearer to this one than to any other: whatever alpha is asked for, the learner runs at one just below 1/4, and the
    error is 0 where it succeeds.

    Args:
      learner: of `Parities` over {0, 1}^d, d <= 16; its hypotheses are evaluated on the whole cube.

    Privacy: that of the learner, for every sample: hypotheses are post-processed.
    Utility: no error with probability 1 - beta, on uniform examples, from the learner's own sample size for an alpha
      just below 1/4.
    Reference: Bun, Nissim, Stemmer 2016, Lemma 5.3.
    """

    learner: Learner
    proper: ClassVar[bool] = True

    def __post_init__(self):
        require_learner(self.learner)
        concepts: Any = self.learner.concepts
        checks.instance("concepts", concepts, Parities, "take a learner of Parities")
        concepts.check_listed(16, "parities", "use ParityLearner, which solves for them")

    @property
    def k(self) -> int:
        """The number of concepts."""
        return self.learner.number_of_concepts

    def for_concepts(self, k: int) -> "NearestParity":
        """The same for the learner of k concepts."""
        return replace(self, learner=for_concepts(self.learner, k))

    @property
    def assumes(self) -> str:
        """Uniform examples; what the learner assumes must hold for these."""
        return "uniform examples"

    @property
    def spends(self) -> Spends:
        """As the learner."""
        return self.learner.spends

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> Any:
        """The learner's plan for an alpha just below 1/4."""
        return self.learner.plan(privacy, _of_quarter(accuracy), n)

    def _learn(self, key: Array, sample: Sample, plan: Any) -> Hypothesis:
        """k parities; one whose hypothesis abstained is rounded, too, and is still marked as no answer."""
        hypothesis = self.learner.learn(key, sample, plan)
        cube = jnp.asarray(self.concepts.domain.encode(range(self.concepts.size)))
        chosen = Hypothesis.of(jax.vmap(nearest, 1)(self.learner.predict(hypothesis, cube)))
        return replace(chosen, outcome=chosen.outcome + getattr(hypothesis, "outcome", jnp.int32(0)))

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """The parity's own labels."""
        return self.concepts.predict(hypothesis, x)

    def most_rows(self, plan: Any) -> int:
        """Those of the learner."""
        return self.learner.most_rows(plan)

    def _guarantee(self, plan: Any) -> Guarantee | None:
        """That of the learner."""
        return self.learner.guarantee(plan)

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """The learner's sample size for an alpha just below 1/4."""
        return self.learner.sample_size(privacy, _of_quarter(accuracy))


def _of_quarter(accuracy: Accuracy) -> Accuracy:
    return Accuracy(_BELOW_A_QUARTER, accuracy.beta)
