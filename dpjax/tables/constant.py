"""The baseline of a hypothesis: the most frequent label."""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from dpjax.concepts import Hypothesis
from dpjax.concepts.base import ConceptClass
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.learners.base import Learner


@dataclass(frozen=True)
class Constant(Learner):
    """For each of the k columns the constant with the fewest errors; 0 for a tie. NOT private."""

    concepts: ConceptClass
    own_points: ClassVar[bool] = True

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> None:
        """None: there are no numbers to plan."""
        return None

    def _learn(self, key: Array, sample: Sample, plan: None) -> Hypothesis:
        """k constants; the key is not used."""
        ones = jnp.sum(sample.y & sample.mask[:, None], axis=0, dtype=jnp.int32)
        mostly = 2 * ones > jnp.sum(sample.mask, dtype=jnp.int32)
        k = mostly.shape[0]
        return Hypothesis(jnp.zeros((k, 2), jnp.uint32), ~mostly, jnp.zeros(k, jnp.int32))

    def _guarantee(self, plan: None) -> None:
        """None: it is not private."""
        return None

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[..., k]`` of ``uint32[..., limbs]``."""
        return jnp.broadcast_to(~hypothesis.zero, (*x.shape[:-1], hypothesis.zero.shape[0]))
