"""A class as a representation of itself."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import Array

from dpjax.concepts.base import ConceptClass, require_class
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.core import wide
from dpjax.core.types import Sample
from dpjax.learners.representations.base import Representation, errors_of_labels, require_listed
from dpjax.learners.samples import label_columns
from dpjax.mechanisms.intervals import interval_exponential


@dataclass(frozen=True)
class Whole(Representation):
    """The class itself, with accuracy (0, 0): thresholds, points, matrices of two or more labels, and all others that
    list cells of equal error (``pieces``). The learner is then `KLN`.

    For thresholds the size is optimal up to a factor of 32, in fact of 8.

    Reference: Bun, Gaboardi, Sivakumar 2021, Theorem 8.8 (the factor 32).
    """

    concepts: ConceptClass

    def __post_init__(self):
        require_class(self.concepts, ConceptClass.pieces)

    def failure(self, near: float) -> float:
        """0."""
        return 0.0

    @property
    def count(self) -> int:
        """The number of concepts."""
        return self.concepts.size

    def draw(self, key: Array) -> Any:
        """Nothing is drawn."""
        return ()

    def errors(self, family: Any, sample: Sample) -> Array:
        """Errors of concepts 0, 1, ..., for at most 2^20 of them."""
        require_listed(self.count)
        numbers = Hypothesis.of(jnp.asarray(wide.encode(range(self.count))))
        predictions = self.concepts.predict(numbers, sample.x)
        return errors_of_labels(predictions.reshape(sample.capacity, self.count, self.concepts.columns), sample)

    def member(self, family: Any, index: Array) -> Hypothesis:
        """The concept with this number."""
        return Hypothesis.of(jnp.stack([jnp.zeros_like(index), index]).astype(jnp.uint32)[None])

    def choose(self, key: Array, family: Any, sample: Sample, epsilon: Array) -> Hypothesis:
        """By cells of equal error, whatever the size of the class."""
        labels = label_columns(sample, self.concepts, "Whole")
        law = interval_exponential(self.concepts.pieces(sample.x, labels, sample.mask), epsilon)
        return Hypothesis.of(law.sample(key)[None])
