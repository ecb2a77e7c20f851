"""Lists of optimal predictions of irreducible subclasses: one function is on almost every list."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from jax import Array

from dpjax.concepts.base import ConceptClass, require_class
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.versions import Versions
from dpjax.concepts.versions.base import Space
from dpjax.core import checks
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.host_calls import source_of
from dpjax.core.members import implements, missing
from dpjax.core.plans import STATIC, Count, Number, down, plan_type, whole
from dpjax.core.types import Accuracy, Privacy
from dpjax.dimensions.littlestone import Search
from dpjax.lists.base import ListPlan, Lists, require_nameable
from dpjax.lists.on_host import Listing
from dpjax.lists.reducing_trees import Counted, largest_leaves
from dpjax.lists.versions import versions_of
from dpjax.theory import irreducibility as theory

_MOST_NAMES = 1 << 28


@plan_type
class IrreducibilityPlan(ListPlan):
    """ends: of the two halves, ``int32[2]``. cuts ``float32[d + 1]``, keep ``float32[]``: largest empirical errors.

    depths, lengths: static, of the trees and of the lists of the levels. most_rows: of both halves.
    """

    ends: Any
    cuts: Any
    keep: Number
    most_rows: Count
    depths: tuple[int, ...] = field(metadata=STATIC)
    lengths: tuple[int, ...] = field(metadata=STATIC)

    @property
    def length(self) -> int:
        """Of the whole list."""
        return sum(self.lengths)


@dataclass(frozen=True)
class Irreducibility(Lists):
    """For each of d + 1 levels of error and each way in which concepts label the elements of a batch with no larger
    empirical error, a tree of queries reduces the Littlestone dimension of the concepts that do so as far as possible.
    The list has the optimal predictions of the leaves that keep the largest dimension of all and are irreducible (at
    every element exactly one label keeps it), if the second half of the batch agrees.

    Args:
      concepts: a class of two labels and Littlestone dimension d. It has `ConceptClass.versions`, with
        `Versions.function` or on at most 4096 elements with `ConceptClass.of_labels`, so that functions have names (one
        from outside is as good); or is a matrix, `Finite`, of up to 4096 elements, whose trees query all elements.
      depth: r >= 1; the trees of level j have depth (2^j - 1)(r + elements of a batch). By default the theorem's; with
        smaller ones nothing is proved.
      longest: the leaves of each level that are looked at, >= 1. By default the theorem's: `Versions.longest_list`, or
        of order (queries)^d; more than 2^28 are refused. A number that is larger than the theorem's, such as 2**1000,
        asks for the theorem's: a trial takes the memory and the time that its lists turn out to need.

    Lists are made on the host, in time that depends on the class: it grows with the number of labelings that err
    little, with that of leaves, and with the elements of a batch; for a matrix and another depth exponentially in it.

    Not private by itself: see `SparseAggregate`.
    Utility: for realizable rows, one function that depends on the distribution and the target alone is on the list of
      every batch whose empirical errors separate the levels; `theory.irreducibility.sizes`. A batch has no more rows
      than these: others are not read. A first half that no concept labels, such as an empty one, has no list.
    Reference: Bun, Gaboardi, Sivakumar 2021, Theorem 3.6, after Ghazi, Golowich, Kumar, Manurangsi 2021 (irreducible
      classes, reducing trees); the improper learner and its proof are our own: docs/proofs/irreducibility.md.
    """

    concepts: ConceptClass
    depth: int | None = None
    longest: int | None = None

    def __post_init__(self):
        require_class(self.concepts)
        if not self._numbered:
            labeled = implements(self.concepts, ConceptClass.of_labels)
            if not labeled and implements(self.concepts, ConceptClass.versions):
                advice = "write it, or ConceptClass.of_labels for at most 4096 elements"
                raise missing("versions", self.versions, Versions.function, advice)
            require_nameable(self.concepts)
        checks.whole_or_none("depth", self.depth, 1)
        checks.whole_or_none("longest", self.longest, 1)

    @property
    def versions(self) -> Versions:
        """The version spaces of the class."""
        return versions_of(self.concepts)

    @property
    def cells(self) -> int | None:
        """The elements of a small domain, or those of a batch."""
        return None if self._numbered else self.concepts.domain.size

    @property
    def words(self) -> int:
        """Whether it is the zero function, and the words of a concept; or the labels of all elements."""
        return 1 + self._concept_words if self._numbered else super().words

    @property
    def dimension(self) -> int:
        """The Littlestone dimension of the class."""
        return self._reduced(0)

    @property
    def eta(self) -> float:
        """The stability that is promised: a lower bound of the largest probability of one function on a list, for
        trees of the theorem's depth."""
        return theory.ETA

    def sizes(self, accuracy: Accuracy) -> theory.Sizes:
        """`theory.irreducibility.sizes` of the class."""
        numbers = self.concepts.size, self.concepts.domain.size, float(accuracy.alpha)
        return theory.sizes(self.dimension, *numbers, self._depth, self.versions.longest_list)

    def plan(self, accuracy: Accuracy) -> IrreducibilityPlan:
        """The cuts, and the halves in the theorem's proportion."""
        sizes = self.sizes(accuracy)
        if self.longest is None and sum(sizes.lengths) > _MOST_NAMES:
            bits = max(sizes.lengths).bit_length()
            expected = f"given for lists of more than 2^28 = {_MOST_NAMES} names"
            advice = f"give longest=2**{bits} for lists as long as they turn out, or write Versions.longest_list"
            raise InputError("longest", expected, f"up to 2^{bits} names a level", advice)
        self._reduced(sizes.depths[-1])
        ends = np.stack([whole(sizes.first), whole(sizes.first + sizes.second)])
        cuts = np.array(sizes.cuts, np.float32)
        return IrreducibilityPlan(ends, cuts, down(sizes.keep), ends[-1], sizes.depths, self._lengths(sizes))

    def listing(self, plan: IrreducibilityPlan) -> tuple[Listing, tuple[Any, ...]]:
        """The candidates of all levels, on the host."""
        return _Listing(self, plan.depths, plan.lengths), (plan.cuts, plan.keep)

    def name(self, space: Space) -> list[int] | None:
        """Host: the words of the name of a version space's optimal prediction; None if it has none."""
        versions = self.versions
        if not self._numbered:
            labels = sum(versions.prediction(space, x) << x for x in range(versions.elements))
            return [labels >> 32 * i & 0xFFFFFFFF for i in range(self.words)]
        numbers = versions.function(space)
        if numbers is None:
            return None
        each = self._concept_words // max(len(numbers), 1)
        words = [number >> 32 * i & 0xFFFFFFFF for number in numbers for i in reversed(range(each))]
        return [0, *words] if words else [1] + [0] * self._concept_words

    def hypothesis(self, name: Array, outcome: Array) -> Hypothesis:
        """The function with that name."""
        if not self._numbered:
            return super().hypothesis(name, outcome)
        return Hypothesis(name[1:][None], ((name[0] > 0) | (outcome < 0))[None], outcome[None])

    def rows(self, accuracy: Accuracy) -> int:
        """Both halves of a batch; NoTheoremError for smaller trees or lists than the theorem's."""
        sizes, theirs = self.sizes(accuracy), Irreducibility(self.concepts).sizes(accuracy)
        if sizes.depths < theirs.depths:
            least = theory.irreducible_depth(
                self.dimension, self.concepts.size, self.concepts.domain.size, float(accuracy.alpha)
            )
            raise NoTheoremError("depth", f"at least the theorem's {least}", str(self.depth), "leave it to the planner")
        if self.longest is not None and self.longest < max(sizes.lengths):
            expected = f"at least the theorem's, which is below 2^{max(sizes.lengths).bit_length()}"
            raise NoTheoremError("longest", expected, str(self.longest), "leave it to the planner, or search for n")
        return sizes.first + sizes.second

    def batches(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.irreducibility.batches`, for lists as long as they may be."""
        epsilon, delta = float(privacy.epsilon), float(privacy.delta)
        return theory.batches(sum(self._lengths(self.sizes(accuracy))), epsilon, delta, float(accuracy.beta))

    @property
    def _numbered(self) -> bool:
        """Whether functions are named as hypotheses of the class, or else by their labels."""
        return not implements(self.concepts, ConceptClass.of_labels) and implements(self.versions, Versions.function)

    def _reduced(self, depth: int) -> int:
        try:
            return self.versions.reduced(self.versions.whole, depth)
        except RecursionError:
            expected, advice = "version spaces that are asked without deep recursion", "override dimension and reduced"
            raise InputError("concepts", expected, type(self.versions).__name__, advice) from None

    @property
    def _depth(self) -> int | None:
        """r, if it is not the theorem's."""
        return self.versions.tree_depth if self.depth is None else self.depth

    @cached_property
    def _concept_words(self) -> int:
        return np.shape(self.concepts.targets(1))[1]

    def _lengths(self, sizes: theory.Sizes) -> tuple[int, ...]:
        return tuple(min(length, self.longest or length) for length in sizes.lengths)


@dataclass(frozen=True)
class _Listing(Listing):
    """The list of one batch."""

    lists: Irreducibility
    depths: tuple[int, ...]
    lengths: tuple[int, ...]

    @property
    def cache_token(self) -> str | None:
        """Of the code here, and of the version spaces."""
        tokens = source_of(_Listing, Search), self.lists.versions.cache_token
        return None if None in tokens else " ".join(map(str, tokens))

    @property
    def length(self) -> int:
        """Of all levels."""
        return sum(self.lengths)

    @property
    def words(self) -> int:
        """Of the names of the lists."""
        return self.lists.words

    def listed(self, elements: np.ndarray, counts: np.ndarray, *numbers: np.ndarray) -> Iterator[tuple[int, ...]]:
        """numbers: the cuts and keep."""
        cuts, keep = numbers
        places = [sum(int(limb) << 32 * i for i, limb in enumerate(reversed(row))) for row in elements.tolist()]
        first, second = (
            [(x, zeros, ones) for x, (zeros, ones) in zip(places, part, strict=True) if zeros or ones]
            for part in counts.tolist()
        )
        rows = [np.float32(counts[part].sum(dtype=np.int64)) for part in range(2)]
        versions = self.lists.versions
        levels = list(zip(self.depths, cuts, self.lengths, strict=True)) if _realizable(versions, first) else []
        for depth, cut, length in levels:
            count, largest = 0, 0
            for leaf in islice(largest_leaves(versions, first, cut * rows[0], depth), min(length, sys.maxsize)):
                count, largest = count + 1, versions.dimension(leaf)
                if _agrees(versions, leaf, second, keep * rows[1]) and (name := self.lists.name(leaf)) is not None:
                    yield tuple(name)
            if 0 < count < length and largest == 0:
                break  # each concept that errs so little is a leaf, and so it is at later levels


def _agrees(versions: Versions, leaf: Space, counts: list[Counted], most: Any) -> bool:
    """Whether the leaf is irreducible, and its optimal prediction errs on few rows."""
    if versions.reducible(leaf, 1):
        return False
    errors = 0
    for x, zeros, ones in counts:
        errors += zeros if versions.prediction(leaf, x) else ones
        if np.float32(errors) > most:
            return False
    return True


def _realizable(versions: Versions, counts: list[Counted]) -> bool:
    """Whether there are rows, and a concept labels them so."""
    labels = {x: int(ones > 0) for x, zeros, ones in counts if not (zeros and ones)}
    return 0 < len(labels) == len(counts) and versions.restricted(versions.whole, labels) is not None
