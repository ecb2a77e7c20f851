"""The interface of concept classes: a frozen dataclass, static, equal by value."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from jax import Array

from dpjax.concepts.hypothesis import Hypothesis
from dpjax.mechanisms.intervals import Pieces


class ConceptClass(Protocol):
    """A class over a domain whose concepts are represented by numbers or bit strings, ``uint32[..., limbs]``.

    Reference: Bun, Gaboardi, Sivakumar 2021, Definition 2.5.
    """

    @property
    def domain(self) -> Any:
        """The domain: has ``size``, ``limbs`` and ``encode``."""

    @property
    def size(self) -> int:
        """The number of concepts."""

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """Labels ``bool[..., k]`` of elements."""

    def error(self, distribution: Any, hypothesis: Hypothesis, target: Hypothesis) -> Array:
        """The mass on which they differ, ``uint64[k]`` in units of the distribution; 64-bit types enabled."""


class Described(ConceptClass, Protocol):
    """A class that describes hypotheses in words; figures, trials and tables use this if present.

    A class over a line whose concepts are intervals may accept ``describe(hypothesis, rule=...)``, a `hypothesis.Rule`:
    tables then write the sentence in the units of their columns.
    """

    def describe(self, hypothesis: Hypothesis) -> list[str]:
        """A sentence for each hypothesis, on the host."""

    def targets(self, count: int) -> Any:
        """Host: at most ``count`` concepts, encoded, from which a `Task` draws its targets if none are given."""


class InPieces(ConceptClass, Protocol):
    """A class that can list its concepts by their errors on a sample, as cells of equal error."""

    def pieces(self, x: Array, y: Array, mask: Array) -> Pieces:
        """The cells of concepts of equal error on one column of labels."""


class Bounded(ConceptClass, Protocol):
    """A class that tells what lower bounds ask for, all optional; see `dpjax.experiments.sweep.lower_bounds`."""

    @property
    def any_distribution(self) -> bool:
        """Whether examples may come from any distribution, as is the default."""

    @property
    def chain(self) -> int:
        """The largest number of elements over which it has all thresholds."""

    def separated(self, alpha: float) -> float:
        """ln of a number of concepts, any two of which differ on more than 2 alpha of one distribution."""


class Group(NamedTuple):
    """``number`` groups of concepts that are bad for one reason, of a cover of the bad concepts: see `Covered`.

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


class Covered(ConceptClass, Protocol):
    """A class that tells how few things can go wrong when one of its concepts is chosen: optional, see `covers_of`."""

    def covers(self, alpha: float, agnostic: bool) -> Iterable[Cover]:
        """Covers of the concepts whose error exceeds the target's (agnostic: the best concept's) by more than alpha.

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


def covers_of(concepts: Any, alpha: float, agnostic: bool) -> Iterable[Cover]:
    """The covers of a `Covered` class; for others all concepts one by one."""
    if hasattr(concepts, "covers"):
        return concepts.covers(alpha, agnostic)
    return [(Group(max(1, concepts.size - 1), False, 0.0),)]


class OnALine(ConceptClass, Protocol):
    """A class that places its elements on a line of its own, where sanitizers of thresholds meet them: optional.

    Its ``dichotomies`` take points of this line, see `line_of`.
    """

    @property
    def line(self) -> Any:
        """A domain {0, ..., size - 1}."""

    def on_line(self, x: Array) -> Array:
        """The place of each element, ``uint32[..., limbs]`` of the line."""


def line_of(concepts: Any) -> Any:
    """The line of an `OnALine` class; for others the domain."""
    return getattr(concepts, "line", concepts.domain)


def on_line(concepts: Any, x: Array) -> Array:
    """The elements as points of `line_of`."""
    return concepts.on_line(x) if hasattr(concepts, "on_line") else x


class Hard(ConceptClass, Protocol):
    """A class that tells on which examples it is hard to learn, for `dpjax ask`; see `dpjax.advice.workloads`."""

    def hard(self, alpha: float) -> Any:
        """By name, pairs of a distribution and of targets (None for the class's own) where error alpha is hard."""


class Labeled(ConceptClass, Protocol):
    """A class of functions to more than two labels: samples and predictions have a column for each bit of a label."""

    @property
    def columns(self) -> int:
        """Label columns of one concept, least significant bit first."""


def columns_of(concepts: Any, k: int = 1) -> int:
    """The label columns of k concepts: k, times the bits of a label of a `Labeled` class."""
    return k * getattr(concepts, "columns", 1)
