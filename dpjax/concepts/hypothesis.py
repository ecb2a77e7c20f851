"""The output of a learner of an indexed class: k concepts by their numbers."""

from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

Rule = Callable[[int, int], str]
"""A sentence for the indicator function of the elements first to last of a line, first <= last."""


@register_dataclass
@dataclass(frozen=True)
class Hypothesis:
    """k hypotheses of one class.

    concept: ``uint32[k, W]``, the number of a concept in its class (a point, a threshold, a row of a matrix): two
        limbs, or as many as an element of a larger domain.
    zero: ``bool[k]``; True if the hypothesis is the all-zero function instead.
    outcome: ``int32[k]``; 0 if the learner answered, -1 if it abstained (the hypothesis is then the same
        for all databases: the all-zero function, or the root of a tree).
    """

    concept: Array
    zero: Array
    outcome: Array

    @staticmethod
    def of(concept: Array) -> "Hypothesis":
        """The plain concepts with these numbers, ``uint32[k, W]``."""
        count = concept.shape[0]
        return Hypothesis(concept, jnp.zeros(count, bool), jnp.zeros(count, jnp.int32))


def sentences(hypothesis: Hypothesis, rule: Callable[[np.ndarray], str]) -> list[str]:
    """Host: a sentence for each of the k hypotheses; ``rule`` describes the concept with words ``uint32[W]``."""
    columns = (np.asarray(part) for part in (hypothesis.concept, hypothesis.zero, hypothesis.outcome))
    return [
        ("0 everywhere" if zero else rule(words)) + (" (no answer)" if outcome < 0 else "")
        for words, zero, outcome in zip(*columns, strict=True)
    ]
