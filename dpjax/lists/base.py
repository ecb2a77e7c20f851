"""Learners that are not private by themselves: each makes a short list of functions from a batch of rows."""

from abc import abstractmethod
from typing import Any

from jax import Array

from dpjax.concepts.base import ConceptClass
from dpjax.concepts.finite import Finite
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.members import Base, implements, required
from dpjax.core.types import Accuracy, Privacy

MOST_ELEMENTS = 32


class ListPlan(Base):
    """Base class of the plans of lists: a `core.plans.plan_type`."""

    @required
    def ends(self) -> Any:
        """``int32[parts]``, ascending: part j of a batch ends at the fraction ends[j] / ends[-1] of its rows."""

    @required
    def length(self) -> int:
        """Static: the entries of a list, >= 1."""


class Lists(Base):
    """Base class of makers of lists: a frozen dataclass, equal by value; `SparseAggregate` makes a private learner of
    it.

    A list is any function of its batch and of its key: no condition on it is needed for privacy.
    """

    @required
    def concepts(self) -> Finite:
        """The class, over at most 32 elements: a function is named by the word whose bit x is its label at x."""

    @abstractmethod
    def plan(self, accuracy: Accuracy) -> ListPlan:
        """Every number that `names` needs, on the host."""

    @abstractmethod
    def names(self, key: Array, counts: Array, plan: Any) -> tuple[Array, Array]:
        """The list of one batch: (``uint32[length, 1]``, which entries are filled ``bool[length]``).

        counts: ``int32[parts, N, 2]``, the rows of each part by element and label.
        """

    @abstractmethod
    def rows(self, accuracy: Accuracy) -> int:
        """Rows of a batch for which the theorem holds."""

    @abstractmethod
    def batches(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """Batches for which the theorem holds."""


def require_lists(lists: Any) -> None:
    """Raises InputError unless ``lists`` is an instance of a subclass of `Lists`, with a class whose functions have
    names."""
    advice = "build one, such as GloballyStable(concepts); a new kind inherits from dpjax.lists.Lists"
    checks.instance("lists", lists, Lists, advice)
    require_nameable(lists.concepts)


def require_nameable(concepts: Any) -> None:
    """Raises InputError unless it is a finite class of binary functions on at most 32 elements."""
    if not implements(concepts, ConceptClass.of_labels) or concepts.columns > 1:
        actual = type(concepts).__name__
        raise InputError("concepts", "a finite class of binary functions", actual, "give a matrix: Finite.of")
    if (width := concepts.domain.size) > MOST_ELEMENTS:
        advice = "take a smaller domain: the name of a function is a word with a bit for each element"
        raise InputError("concepts", f"at most {MOST_ELEMENTS} elements", str(width), advice)
