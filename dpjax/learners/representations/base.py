"""The interface of probabilistic representations: families of functions that are drawn without looking at the data."""

from abc import abstractmethod
from typing import Any

import jax.numpy as jnp
from jax import Array

from dpjax.concepts.base import ConceptClass
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.core import checks, members
from dpjax.core.checks import InputError
from dpjax.core.members import Base
from dpjax.core.types import MOST_ROWS, Sample
from dpjax.mechanisms.exponential import exponential

MOST_LISTED = 1 << 20


class Representation(Base):
    """Base class of representations: a frozen dataclass, equal by value. A family is any pytree of arrays.

    To add one, write one file; `RepresentationLearner` takes it as it is. A hypothesis that is no concept of the class
    is a `concepts.Outside`: it predicts, measures and describes itself.

    Reference: Bun, Gaboardi, Sivakumar 2021, Definitions 8.1 and 8.2; Beimel, Nissim, Stemmer 2019.
    """

    @members.required
    def concepts(self) -> ConceptClass:
        """The class that is represented."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Static sizes of a family; () if there are none."""
        return ()

    def sized(self, sizes: tuple[int, ...]) -> "Representation":
        """The same representation with these sizes."""
        return self

    def for_accuracy(self, near: float, failure: float) -> "Representation | None":
        """The smallest one of its kind that is a (near, failure)-representation; None if there is none. Sizes that a
        person has set are kept. Without sizes, the same one if it is accurate enough."""
        return self if self.failure(near) <= failure else None

    @abstractmethod
    def failure(self, near: float) -> float:
        """A bound, for every concept and distribution, of the probability that no member errs at most ``near``."""

    @members.required
    def count(self) -> int:
        """The number of members N."""

    @abstractmethod
    def draw(self, key: Array) -> Any:
        """A family; ``key`` is consumed, and all randomness is drawn from laws."""

    @abstractmethod
    def errors(self, family: Any, sample: Sample) -> Array:
        """Errors of all members on a sample, ``int32[N]``; a replaced row changes each by at most 1."""

    @abstractmethod
    def member(self, family: Any, index: Array) -> Hypothesis:
        """The hypothesis of member ``int32[]``; all its arrays have a leading axis of length 1, of concepts."""

    def choose(self, key: Array, family: Any, sample: Sample, epsilon: Array) -> Hypothesis:
        """The exponential mechanism over the members, from the list of their errors; overridden for families that are
        too large to list. ``key`` is consumed.

        Privacy: (epsilon, 0) given the family, replace-one and add-or-remove-one, for every sample.
        """
        require_listed(self.count)
        chosen = exponential(-self.errors(family, sample), epsilon).sample(key)
        return self.member(family, jnp.maximum(chosen, 0))

    @members.member
    def most_rows(self) -> int:
        """The most rows that `choose` accepts."""
        return MOST_ROWS


def require_representation(value: Any) -> None:
    """Raises InputError unless ``value`` is an instance of a subclass of `Representation`."""
    advice = "give one, such as Whole(concepts); a new kind inherits from dpjax.learners.representations.Representation"
    checks.instance("representation", value, Representation, advice)


def require_listed(count: int) -> None:
    """Raises InputError for more members than can be listed."""
    if count > MOST_LISTED:
        expected = f"at most 2^20 = {MOST_LISTED} functions, or one with a method choose"
        raise InputError("representation", expected, f"{count}", "take a larger alpha or beta, or fewer functions")


def errors_of_labels(predictions: Array, sample: Sample) -> Array:
    """Masked errors of N functions, ``int32[N]``, from bits ``bool[n, N, L]`` of predictions at the rows."""
    wrong = jnp.any(predictions != sample.y[:, None, :], axis=-1) & sample.mask[:, None]
    return jnp.sum(wrong, axis=0, dtype=jnp.int32)
