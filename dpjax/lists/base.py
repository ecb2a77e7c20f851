"""Learners that are not private by themselves: each makes a short list of functions from a batch of rows."""

from abc import abstractmethod
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts.base import ConceptClass
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.members import Base, implements, member, missing, required
from dpjax.core.types import Accuracy, Privacy
from dpjax.lists.on_host import Listing

MOST_NAMED = 1 << 12  # elements


class Cells(NamedTuple):
    """The rows of a batch, counted.

    elements ``uint32[c, limbs]``: all elements of a small domain, ascending, or else those that the batch has,
    ascending, then empty cells of zeros. counts ``int32[parts, c, 2]``: rows of each part by element and label.
    """

    elements: Array
    counts: Array


class ListPlan(Base):
    """Base class of the plans of lists: a `core.plans.plan_type`."""

    @required
    def ends(self) -> Any:
        """``int32[parts]``, ascending: part j of a batch ends at the fraction ends[j] / ends[-1] of its rows."""

    @required
    def length(self) -> int:
        """Static: the entries of a list, >= 1."""

    @member
    def most_rows(self) -> Any:
        """``int32[]``: of each batch so many rows are read, >= 1; by default all."""
        return np.int32(2**31 - 1)


class Lists(Base):
    """Base class of makers of lists: a frozen dataclass, equal by value; `SparseAggregate` makes a private learner of
    it.

    A list is any function of its batch and of its key: no condition on it is needed for privacy.
    """

    @required
    def concepts(self) -> ConceptClass:
        """The class."""

    @property
    def cells(self) -> int | None:
        """Static: the number of elements of the domain, each of which has a cell, or None if only those of a batch have
        one."""
        return self.concepts.domain.size

    @property
    def words(self) -> int:
        """Static: of a name; by default a bit for each element of the domain."""
        return -(-self.concepts.domain.size // 32)

    @abstractmethod
    def plan(self, accuracy: Accuracy) -> ListPlan:
        """Every number that `names` needs, on the host."""

    def listing(self, plan: Any) -> tuple[Listing, tuple[Any, ...]] | None:
        """For lists that stay on the host, as long as they turn out: what makes one, and the plan's numbers for it.

        None, the default, for arrays by `names`. The length is that of the plan. A listing has no key.
        """
        return None

    def names(self, key: Array, cells: Cells, plan: Any) -> tuple[Array, Array]:
        """The list of one batch: (``uint32[length, words]``, which entries are filled ``bool[length]``)."""
        raise missing("lists", self, Lists.names, "write it, or `listing` for lists on the host")

    def hypothesis(self, name: Array, outcome: Array) -> Hypothesis:
        """The function with a name ``uint32[words]``; outcome ``int32[]`` is -1, and the name 0, if none was chosen.

        By default a function on at most 4096 elements is named by its labels, that of element x at bit x % 32 of word
        x // 32.
        """
        labels = (name[:, None] >> jnp.arange(32, dtype=jnp.uint32) & 1).reshape(-1)[: self.concepts.domain.size]
        return self.concepts.of_labels(labels[None], outcome[None])

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
    checks.integer("words of the lists", lists.words, 1)
    if type(lists).hypothesis is Lists.hypothesis:
        require_nameable(lists.concepts)
    domain = lists.concepts.domain
    if lists.cells is not None and (lists.cells != domain.size or domain.limbs > 1):
        expected = f"None, or the {domain.size} elements of a domain below 2^32"
        raise InputError("cells of the lists", expected, f"{lists.cells}", "give None: cells of what a batch has")


def require_nameable(concepts: Any) -> None:
    """Raises InputError unless it is a finite class of binary functions on at most 4096 elements."""
    if not implements(concepts, ConceptClass.of_labels) or concepts.columns > 1:
        actual = type(concepts).__name__
        raise InputError("concepts", "a finite class of binary functions", actual, "give a matrix: Finite.of")
    if (width := concepts.domain.size) > MOST_NAMED:
        advice = "take a smaller domain: the name of a function has a bit for each element"
        raise InputError("concepts", f"at most {MOST_NAMED} elements", str(width), advice)
