"""Hypotheses outside of their class: they say themselves what they predict, and how often they err."""

import inspect
from typing import Any, Protocol

from jax import Array

from dpjax.concepts.hypothesis import Hypothesis, Rule, sentences
from dpjax.core.checks import InputError


class Outside(Protocol):
    """k hypotheses that are no concepts of the class that they were learned for, such as a majority of its concepts.

    ``outcome``: ``int32[k]``, as in `Hypothesis`. Every array has k as its leading axis.
    """

    outcome: Array

    def predict_in(self, concepts: Any, x: Array) -> Array:
        """Labels ``bool[..., k]`` of elements of the class's domain."""

    def error_in(self, concepts: Any, distribution: Any, target: Hypothesis) -> Array:
        """The mass on which they differ from concepts of the class, ``uint64[k]``; 64-bit types enabled."""

    def describe_in(self, concepts: Any, rule: Rule | None = None) -> list[str]:
        """A sentence for each of them, on the host; ``rule`` as in `describe`."""


def predict(concepts: Any, hypothesis: Any, x: Array) -> Array:
    """``bool[..., k]``, by the hypothesis if it is an `Outside`, else by its class."""
    own = getattr(hypothesis, "predict_in", None)
    return concepts.predict(hypothesis, x) if own is None else own(concepts, x)


def error(concepts: Any, distribution: Any, hypothesis: Any, target: Hypothesis) -> Array:
    """Mass of the disagreement, ``[k]``, by the hypothesis if it is an `Outside`, else by its class.

    InputError for a hypothesis with a method ``error``, which nothing would call.
    """
    if hasattr(hypothesis, "error") and not hasattr(hypothesis, "error_in"):
        given = f"{type(hypothesis).__name__} with a method error"
        advice = "write predict_in(concepts, x) and error_in(concepts, distribution, target): concepts.outside.Outside"
        raise InputError("hypothesis", "a Hypothesis of the class, or an Outside", given, advice)
    own = getattr(hypothesis, "error_in", None)
    return concepts.error(distribution, hypothesis, target) if own is None else own(concepts, distribution, target)


def describe(concepts: Any, hypothesis: Any, rule: Rule | None = None) -> list[str]:
    """Sentences by the hypothesis if it is an `Outside`, else by ``concepts.describe``, else its encodings.

    rule: the sentence for an interval of a line, for classes whose ``describe`` accepts one.
    """
    if (own := getattr(hypothesis, "describe_in", None)) is not None:
        return list(own(concepts, rule))
    of_class = getattr(concepts, "describe", None)
    if of_class is None:
        return sentences(hypothesis, lambda words: f"the concept of words {words.tolist()}")
    ruled = rule is not None and "rule" in inspect.signature(of_class).parameters
    return list(of_class(hypothesis, rule=rule) if ruled else of_class(hypothesis))
