"""The base class of concept classes."""

import math
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jax import Array

from dpjax.concepts.domain import Domain, FiniteDomain
from dpjax.concepts.hypothesis import Hypothesis, sentences
from dpjax.concepts.listing import labels_of_all
from dpjax.concepts.versions import Versions
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.members import Base, implements, member, missing, required
from dpjax.core.wide import encode
from dpjax.mechanisms.intervals import Pieces


class Group(NamedTuple):
    """``number`` groups of concepts that are bad for one reason, of a cover of the bad concepts: see
    `ConceptClass.covers`.

    shared: False if a group is a single concept, True if it has any number. loss: in [0, alpha). differs: the part of
    the m rows of a difference that the representative of the target errs on. hidden: whether the group matters only if
    a set of mass alpha - loss has at most m differs rows.
    """

    number: float
    shared: bool
    loss: float
    differs: float = 1.0
    hidden: bool = False


Cover = Sequence[Group]
_LABELS = "give labels: Multiclass.of(matrix), or Bitwise(Points(domain), 4)"


class ConceptClass(Base):
    """Base class of concept classes: a frozen dataclass, static, equal by value.

    Concepts are numbers or bit strings, ``uint32[limbs]``, most significant limb first. A subclass has ``domain`` and
    ``size``, and implements ``predict`` and ``error``. All other members have defaults. An optional method for which no
    default is possible is an InputError, and `core.members.implements` says whether a class has it. To add a class to
    dpjax, write one file and export it from `dpjax.concepts`.

    Reference: Bun, Gaboardi, Sivakumar 2021, Definition 2.5.
    """

    @required
    def domain(self) -> FiniteDomain:
        """The domain of the examples."""

    @required
    def size(self) -> int:
        """The number of concepts, a whole number >= 1, of any size."""

    @abstractmethod
    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """Labels ``bool[..., k]`` of elements ``uint32[..., limbs]`` by k hypotheses; with several label columns
        ``bool[..., k columns]``, those of a concept together. False everywhere where ``hypothesis.zero``. Traced."""

    @abstractmethod
    def error(self, distribution: Any, hypothesis: Hypothesis, target: Hypothesis) -> Array:
        """The mass on which k hypotheses and k targets differ: ``uint64[k]`` in units of the distribution, at most
        2**64 - 1, or a probability ``float[k]``. Traced, with 64-bit types enabled."""

    # Targets and words: tasks, tables, figures and checks.

    def targets(self, count: int) -> Any:
        """Host: at most ``count`` >= 1 encoded concepts, ``uint32[c, limbs]``, the same in each call: the targets of a
        `Task` that has no others. By default spread over the numbers 0, ..., size - 1, for up to 2**64 concepts; a
        class whose words are not such numbers overrides it."""
        return self.numbered(Domain(self.size).spread(min(checks.integer("count", count, 1), self.size)))

    def numbered(self, numbers: Sequence[int]) -> np.ndarray:
        """Host: the concepts with these numbers in 0, ..., size - 1, ``uint32[c, limbs]``; by default two limbs, for at
        most 2**64 concepts."""
        if self.size > 2**64:
            actual = f"numbers of {type(self).__name__}"
            raise InputError("concepts", "encoded ones, uint32[c, limbs]", actual, "encode them as the class does")
        return encode(checks.indices("target", numbers, self.size))

    def targets_under(self, distribution: Any, count: int) -> Any:
        """Host: as `targets`, of concepts that a distribution tells apart; `Task` asks for these."""
        return self.targets(count)

    def describe(self, hypothesis: Hypothesis) -> list[str]:
        """Host: a sentence for each hypothesis, for figures, tables and trials; by default its words.

        A class of intervals of a line may accept ``describe(hypothesis, rule=...)``, a `hypothesis.Rule`: tables then
        write the sentence in the units of their columns.
        """
        return sentences(hypothesis, lambda words: f"the concept of words {words.tolist()}")

    def trimmed(self, hypothesis: Hypothesis) -> Hypothesis:
        """Host: one concept in its shortest encoding, with the same labels, which `dpjax learn` releases."""
        return hypothesis

    def halfplanes(self, words: Array) -> np.ndarray:
        """Host: a concept in the plane as a union of p intersections of e halfplanes a x + b y <= c, (a, b, c) as
        ``float64[p, e, 3]``: `dpjax learn --shape` writes it as a region. Optional."""
        raise missing("concepts", self, ConceptClass.halfplanes, "take ConvexPolygons or Unions")

    # Labels: functions to more than two.

    @member
    def columns(self) -> int:
        """Label columns of one concept, the bits of a label, the least significant first."""
        return 1

    @member
    def labels(self) -> int:
        """The number of labels, at most 2**columns: labels are 0..labels-1."""
        return 1 << self.columns

    @member
    def bit_classes(self) -> "Sequence[ConceptClass]":
        """The binary class of each bit of the labels, for `BitReduction`. Optional."""
        raise InputError("concepts", "one with classes of bits", type(self).__name__, _LABELS)

    def of_bit(self, learner: Any, hypothesis: Any) -> Any:
        """What `joined` needs of a bit that ``learner`` has learned; arrays of one shape for all bits. Optional.
        Traced."""
        raise missing("concepts", self, ConceptClass.of_bit, _LABELS)

    def joined(self, bits: Sequence[Any], outcome: Array) -> Any:
        """One function, of what `of_bit` returned for each bit; outcome ``int32[]`` is -1, and all labels 0, if a bit
        abstained. Optional. Traced."""
        raise missing("concepts", self, ConceptClass.joined, _LABELS)

    # Lists of concepts: learners that select among all of them, and dimensions.

    def pieces(self, x: Array, y: Array, mask: Array) -> Pieces:
        """All concepts as cells of equal error on one column of labels, for `KLN` and `ERM`. Optional. Traced.

        x ``uint32[n, limbs]``, y ``bool[n]`` (``bool[n, columns]`` if there are several), mask ``bool[n]``; masked rows
        are ignored. A replaced row changes each error by at most 1.
        """
        raise missing("concepts", self, ConceptClass.pieces, "choose a learner of this class: see `dpjax list`")

    def matrix(self) -> np.ndarray:
        """Host: the labels of all concepts at all elements, ``bool[concepts, d]``, or ``int64`` for more than two
        labels, in the order of both; by default from `pieces` and `predict`, for at most 2^26 labels."""
        if not implements(self, ConceptClass.pieces):
            raise missing(
                "concepts", self, ConceptClass.pieces, "take a class that lists its concepts: see `dpjax list`"
            )
        return labels_of_all(self)

    def of_labels(self, labels: Array, outcome: Array) -> Hypothesis:
        """Any functions on the domain, ``bool[k, d]`` or ``int32[k, d]``, with outcomes ``int32[k]``, as hypotheses,
        for learners whose outputs are no concepts. Optional. Traced."""
        raise missing("concepts", self, ConceptClass.of_labels, "take a Finite class: Finite.of(matrix)")

    def xor(self) -> Any:
        """Host: the class of all symmetric differences of two concepts, a `Finite`: queries of sanitizers. Optional."""
        raise missing("concepts", self, ConceptClass.xor, "take a Finite class: Finite.of(matrix)")

    def versions(self) -> Versions:
        """Host: the version spaces of a class of two labels by its structure: Littlestone dimensions, optimal
        predictions, and how far queries reduce them. Optional; `lists.versions.versions_of` takes the matrix of a class
        that does not say."""
        raise missing("concepts", self, ConceptClass.versions, "call dpjax.lists.versions_of")

    # Cuts of sets: `GenericLearner`, lower bounds and audits.

    def dichotomies(self, points: Array, real: Array) -> tuple[Array, Array]:
        """One concept for each way in which the class cuts a set of points of `line`: (``uint32[c, limbs]``, which of
        them count ``bool[c]``). points ``uint32[r, limbs]``, real ``bool[r]``. Optional. Traced."""
        raise missing("concepts", self, ConceptClass.dichotomies, "take Points, Thresholds, Tree or Finite")

    def growth(self, elements: int) -> int:
        """An upper bound of the ways in which the class labels ``elements`` elements, for the rows of
        `GenericLearner`; by default of all functions and all concepts."""
        return min(self.size, self.labels ** min(elements, self.size.bit_length()))

    def covers(self, alpha: float, agnostic: bool) -> Iterable[Cover]:
        """Covers of the concepts whose error exceeds the target's (agnostic: the best concept's) by more than alpha,
        for the rows of `GenericLearner`; by default all concepts one by one.

        H is a set of at most N concepts, chosen by any rule from n rows. One of them, the representative, errs on at
        most m rows more than the target. For a row let D_h be 1 if h errs and the target does not, -1 for the reverse,
        and 0 otherwise (never -1 if realizable). Without ``differs`` and ``hidden``, a group's concepts have D_h >= D
        for one D in {-1, 0, 1}, or {0, 1} if realizable, of mean more than alpha - loss.

        In general a cover holds if for each t > 0 the expectation of the sum of exp(-t (errors of h - errors of the
        representative)) over the bad h in H is at most the sum over its groups of

        number N^[shared] e^{t m differs} r(alpha - loss)^n, with r as in `theory.generic.rows`, or, if hidden,
        number N^[shared] e^{t m differs} P[Binomial(n, alpha - loss) <= m differs].

        Each cover returned holds for all distributions; the one that needs the fewest rows is used.
        """
        return [(Group(max(1, self.size - 1), False, 0.0),)]

    def agreement(self, alpha: float, n: int) -> float:
        """ln of a bound of the class's own, for every distribution, of the probability that any two concepts which
        differ on more than alpha of it agree on all of n rows; inf for none. `theory.generalization.agreement` has a
        bound for all classes."""
        return math.inf

    # A line: sanitizers of points and thresholds, trees.

    @member
    def line(self) -> FiniteDomain:
        """The domain {0, ..., size - 1} on which sanitizers see the elements; by default the class's own."""
        return self.domain

    def on_line(self, x: Array) -> Array:
        """The place of each element on the line, ``uint32[..., limbs]``. Traced."""
        return x

    @member
    def differences(self) -> Mapping[str, int]:
        """The number of "points", or of "thresholds", of the line whose indicators add up to the symmetric difference
        of two concepts; a sanitizer of such queries needs it."""
        return {}

    @member
    def sums(self) -> Collection[str]:
        """What the concepts are, if they are all "singles", indicators of one element of the domain, all "prefixes", of
        the elements up to one, or some of either; empty for other classes. `BLR` counts databases by it."""
        return ()

    @member
    def height(self) -> int | None:
        """The height of a class of VC dimension 1 as a tree; else None."""
        return None

    def relabel(self, x: Array, y: Array) -> Array:
        """Labels as those of the path of a node of the tree to the root, ``bool[n, k]``, for `StableNodes`, which needs
        ``line``, ``on_line`` and ``height``, too. Optional. Traced."""
        raise missing("concepts", self, ConceptClass.relabel, "take a Tree, such as Tree.of_class(matrix)")

    # Hardness: `dpjax ask` and lower bounds.

    @member
    def any_distribution(self) -> bool:
        """Whether learners of the class are for examples from any distribution."""
        return True

    @member
    def chain(self) -> int | None:
        """The largest number of elements over which the class has all thresholds; None if it does not say."""
        return None

    @member
    def spread(self) -> float:
        """Of a class that is learned from one distribution: the largest mean label of a concept under it minus the
        smallest. 0 if the class does not say."""
        return 0.0

    def separated(self, alpha: float) -> float:
        """ln of a number of concepts, any two of which differ on more than 2 alpha of one distribution; 0 for none."""
        return 0.0

    def hard(self, alpha: float) -> Mapping[str, Any]:
        """By name, pairs of a distribution and of targets (None for the class's own) where error alpha is hard."""
        return {}


def every_cover(concepts: ConceptClass, alpha: float, agnostic: bool) -> list[Cover]:
    """The covers of the class, and all concepts one by one, for learners that choose among all concepts."""
    return [*concepts.covers(alpha, agnostic), *ConceptClass.covers(concepts, alpha, agnostic)]


def require_class(concepts: Any, method: Callable | None = None, example: str = "Thresholds(Domain(256))") -> None:
    """Raises InputError unless ``concepts`` is an instance of a subclass of `ConceptClass`, with this optional method.

    example: a class that is right.
    """
    advice = f"build one, such as {example}; a new kind of class inherits from dpjax.ConceptClass"
    checks.instance("concepts", concepts, ConceptClass, advice, "a concept class")
    if method is not None and not implements(concepts, method):
        raise missing("concepts", concepts, method, f"take a class such as {example}, or another learner")
