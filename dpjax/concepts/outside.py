"""Hypotheses outside of their class: they say themselves what they predict, and how often they err."""

import inspect
from abc import abstractmethod
from typing import Any

from jax import Array

from dpjax.concepts.hypothesis import Hypothesis, Rule
from dpjax.core.checks import InputError
from dpjax.core.members import Base


class Outside(Base):
    """Base class of k hypotheses that are no concepts of the class that they were learned for, such as a majority of
    its concepts.

    ``outcome``: ``int32[k]``, as in `Hypothesis`. Every array has k as its leading axis.
    """

    outcome: Array

    @abstractmethod
    def predict_in(self, concepts: Any, x: Array) -> Array:
        """Labels ``bool[..., k]`` of elements of the class's domain."""

    @abstractmethod
    def error_in(self, concepts: Any, distribution: Any, target: Hypothesis) -> Array:
        """The mass on which they differ from concepts of the class, ``uint64[k]``; 64-bit types enabled."""

    @abstractmethod
    def describe_in(self, concepts: Any, rule: Rule | None = None) -> list[str]:
        """A sentence for each of them, on the host; ``rule`` as in `describe`."""


def predict(concepts: Any, hypothesis: Any, x: Array) -> Array:
    """``bool[..., k]``, by the hypothesis if it is an `Outside`, else by its class."""
    if isinstance(hypothesis, Outside):
        return hypothesis.predict_in(concepts, x)
    return concepts.predict(hypothesis, x)


def error(concepts: Any, distribution: Any, hypothesis: Any, target: Hypothesis) -> Array:
    """Mass of the disagreement, ``[k]``, by the hypothesis if it is an `Outside`, else by its class.

    InputError for another hypothesis with a method ``error`` or ``error_in``, which nothing would call.
    """
    if isinstance(hypothesis, Outside):
        return hypothesis.error_in(concepts, distribution, target)
    if method := next((name for name in ("error", "error_in") if hasattr(hypothesis, name)), None):
        actual = f"{type(hypothesis).__name__} with a method {method}"
        advice = "inherit from dpjax.concepts.Outside, and write predict_in and error_in"
        raise InputError("hypothesis", "a Hypothesis of the class, or an Outside", actual, advice)
    return concepts.error(distribution, hypothesis, target)


def describe(concepts: Any, hypothesis: Any, rule: Rule | None = None) -> list[str]:
    """Sentences by the hypothesis if it is an `Outside`, else by its class.

    rule: the sentence for an interval of a line, for classes whose ``describe`` accepts one.
    """
    if isinstance(hypothesis, Outside):
        return list(hypothesis.describe_in(concepts, rule))
    ruled = rule is not None and "rule" in inspect.signature(concepts.describe).parameters
    return list(concepts.describe(hypothesis, rule=rule) if ruled else concepts.describe(hypothesis))
