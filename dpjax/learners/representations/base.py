"""The interface of probabilistic representations: families of functions that are drawn without looking at the data."""

from dataclasses import dataclass
from typing import Any, Protocol

import jax.numpy as jnp
from jax import Array

from dpjax.concepts.base import columns_of
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Sample
from dpjax.mechanisms.exponential import exponential

MEMBERS = ("concepts", "sized", "for_accuracy", "failure", "draw", "errors", "member")
MOST_LISTED = 1 << 20


class Representation(Protocol):
    """A frozen dataclass, equal by value. A family is any pytree of arrays.

    To add one, write one file; `RepresentationLearner` takes it as it is. Optional: ``choose(key, family, sample,
    epsilon)``, the hypothesis that the exponential mechanism over the family selects, for families that are too large
    to list their errors. A hypothesis that is no concept of the class is an `concepts.outside.Outside`: it predicts,
    measures and describes itself.

    Reference: Bun, Gaboardi, Sivakumar 2021, Definitions 8.1 and 8.2; Beimel, Nissim, Stemmer 2019.
    """

    @property
    def concepts(self) -> Any:
        """The class that is represented."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Static sizes of a family; () if there are none."""

    def sized(self, sizes: tuple[int, ...]) -> "Representation":
        """The same representation with these sizes."""

    def for_accuracy(self, near: float, failure: float) -> "Representation | None":
        """The smallest one of its kind that is a (near, failure)-representation; None if there is none. Sizes that a
        person has set are kept."""

    def failure(self, near: float) -> float:
        """A bound, for every concept and distribution, of the probability that no member errs at most ``near``."""

    @property
    def count(self) -> int:
        """The number of members N."""

    def draw(self, key: Array) -> Any:
        """A family; ``key`` is consumed, and all randomness is drawn from laws."""

    def errors(self, family: Any, sample: Sample) -> Array:
        """Errors of all members on a sample, ``int32[N]``; a replaced row changes each by at most 1."""

    def member(self, family: Any, index: Array) -> Hypothesis:
        """The hypothesis of member ``int32[]``; all its arrays have a leading axis of length 1, of concepts."""


def require_representation(value: Any) -> None:
    """Raises InputError unless ``value`` is an instance with the members of the protocol."""
    checks.members("representation", value, MEMBERS, "see dpjax.learners.representations, or give Whole(concepts)")


def choose(representation: Any, key: Array, family: Any, sample: Sample, epsilon: Array) -> Hypothesis:
    """The exponential mechanism over the members, by the representation's own method or from the list of errors.

    Privacy: (epsilon, 0) given the family, replace-one and add-or-remove-one, for every sample.
    """
    if (own := getattr(representation, "choose", None)) is not None:
        return own(key, family, sample, epsilon)
    require_listed(representation.count)
    chosen = exponential(-representation.errors(family, sample), epsilon).sample(key)
    return representation.member(family, jnp.maximum(chosen, 0))


def require_listed(count: int) -> None:
    """Raises InputError for more members than can be listed."""
    if count > MOST_LISTED:
        raise InputError(
            "representation", f"at most 2^20 = {MOST_LISTED} functions, or one with a method choose", f"{count}",
            "take a larger alpha or beta, or fewer functions",
        )  # fmt: skip


def errors_of_labels(predictions: Array, sample: Sample) -> Array:
    """Masked errors of N functions, ``int32[N]``, from bits ``bool[n, N, L]`` of predictions at the rows."""
    wrong = jnp.any(predictions != sample.y[:, None, :], axis=-1) & sample.mask[:, None]
    return jnp.sum(wrong, axis=0, dtype=jnp.int32)


@dataclass(frozen=True)
class Fixed:
    """Base of representations without free sizes; a subclass has a field or a property ``concepts``."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """None."""
        return ()

    def sized(self, sizes: tuple[int, ...]) -> Any:
        """The same."""
        return self

    def for_accuracy(self: Any, near: float, failure: float) -> Any:
        """The same if it is accurate enough."""
        return self if self.failure(near) <= failure else None


def columns(representation: Any) -> int:
    """Label columns of a sample of the represented class."""
    return columns_of(representation.concepts)
