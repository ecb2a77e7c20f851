"""Targets of attacks: learners that are private or only claim it, and words of pirates that do not obey.

The words are strategies as in `attacks.pirates`, but may violate the marking assumption: a code must be sound for them.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.attacks import pirates
from dpjax.baselines import ERM
from dpjax.concepts import Finite, Hypothesis
from dpjax.core import random
from dpjax.core.plans import Spends
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.learners.base import Learner


@dataclass(frozen=True)
class Constant(ERM):
    """Thresholds that label all elements 1, whatever the sample: private at epsilon 0."""

    def _learn(self, key: Array, sample: Sample, plan: None) -> Hypothesis:
        """The last threshold in every column."""
        last = jnp.asarray([0, int(self.concepts.domain.size) - 1], jnp.uint32)
        return Hypothesis.of(jnp.tile(last, (sample.y.shape[1], 1)))


@dataclass(frozen=True)
class Leaky(ERM):
    """The best hypotheses, with a claim of epsilon = 1 and delta = 1e-6: a planted leak."""

    def _guarantee(self, plan: None) -> Guarantee:  # type: ignore[override]
        """A claim that is wrong."""
        return Guarantee(1.0, 1e-6, self.neighboring, "a planted leak")


@dataclass(frozen=True)
class LastLabel(Learner):
    """Answers the last row's label, flipped with probability 1 / (1 + e^epsilon): a correct claim that is tight."""

    concepts: ClassVar[Finite] = Finite.of([[0], [1]])
    spends: ClassVar[Spends] = "pure"

    def for_concepts(self, k: int) -> "LastLabel":
        """Itself, for one concept."""
        return self

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> Any:
        """epsilon."""
        return np.float32(privacy.epsilon)

    def _guarantee(self, plan: np.float32) -> Guarantee:
        """That of randomized response."""
        return Guarantee(float(plan), 0.0, self.neighboring, "randomized response")

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """One row."""
        return 1

    def _learn(self, key: Array, sample: Sample, plan: Any) -> Hypothesis:
        """Randomized response."""
        label = sample.y[-1] ^ (random.uniform(key, (1,)) < 1 / (1 + jnp.exp(plan)))
        return Hypothesis.of(jnp.stack([jnp.zeros(1, jnp.uint32), label.astype(jnp.uint32)], axis=1))


def noise(key: Array, bits: Array, members: Array) -> Array:
    """Fair coins."""
    return random.uniform(key, bits.shape[1:]) < 0.5


def constant(key: Array, bits: Array, members: Array) -> Array:
    """1 in every column."""
    return jnp.ones(bits.shape[1], bool)


def opposite(key: Array, bits: Array, members: Array) -> Array:
    """The complement of the majority."""
    return ~pirates.majority(key, bits, members)


def opposed(key: Array, bits: Array, members: Array) -> Array:
    """The complement of the first member's code word."""
    return ~bits[0]
