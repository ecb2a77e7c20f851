"""The interface of sanitizers: from rows to a synthetic database.

Rows are numbers of ``bits`` bits as in `mechanisms.median`: ``uint32[capacity, W]``, the real ones where ``mask``.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.accounting.guarantee import Guarantee
from dpjax.core import bit_strings as B
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.draws import asked
from dpjax.core.members import Base, member, required
from dpjax.core.plans import Number, Spends
from dpjax.core.types import MOST_ROWS, Accuracy, Neighboring, Privacy, replace_one_only
from dpjax.laws import Laplace, RoundedLaplace


@register_dataclass
@dataclass(frozen=True)
class Sanitized:
    """A synthetic database of r weighted points; a threshold t is estimated by the fraction of weight on points <= t.

    points: ``uint32[r, W]``, r static, in any order.
    weights: ``int32[r]``, at least 0 and not all 0; they are normalized by their sum.
    outcome: ``int32[r]``, 0, or -1 if a part abstained: its point is then element 0, and its weight is kept.
    listed: ``bool[r]``, the points between which concepts have to differ; by default those with weight.
    """

    points: Array
    weights: Array
    outcome: Array
    listed: Array

    @staticmethod
    def of(points: Array, weights: Array, outcome: Array | None = None, listed: Array | None = None) -> "Sanitized":
        """If all weights are 0, as without rows, they become all 1."""
        weights = jnp.where(jnp.any(weights > 0), weights, jnp.ones_like(weights))
        if outcome is None:
            outcome = jnp.zeros(weights.shape, jnp.int32)
        return Sanitized(points, weights, outcome, weights > 0 if listed is None else listed)

    def share(self, threshold: Array) -> Array:
        """The estimated fraction of rows <= threshold, ``float32[...]`` for ``uint32[..., W]``."""
        below = B.less_equal(self.points, threshold[..., None, :])
        weight = jnp.sum(jnp.where(below, self.weights, 0), axis=-1, dtype=jnp.int32)
        return weight.astype(jnp.float32) / jnp.sum(self.weights, dtype=jnp.int32).astype(jnp.float32)


class SanitizerPlan(Protocol):
    """A class made by `core.plans.plan_type`."""

    @property
    def size(self) -> int:
        """The number of points of the synthetic database, r. Static."""


class Sanitizer(Base):
    """Base class of sanitizers: a frozen dataclass, equal by value, without a budget: its fields are structure.

    If a field is None, `plan` chooses it from the accuracy; any other value is used as given. If the best choice
    depends on epsilon, the planner takes the one for epsilon = 1, so that a sweep of epsilon is one program.

    Reference: Bun, Nissim, Stemmer 2016, Definition 2.17.
    """

    @required
    def bits(self) -> int:
        """Bits of a row."""

    @member
    def neighboring(self) -> Neighboring:
        """The relation under which `guarantee` holds."""
        return Neighboring.REPLACE_ONE

    @member
    def spends(self) -> Spends:
        """What the sanitizer satisfies at every budget: "pure", "bounded range" (and pure) or "approximate"."""
        return "approximate"

    @abstractmethod
    def plan(self, privacy: Privacy, accuracy: Accuracy) -> Any:
        """Every number that `sanitize` needs, a `SanitizerPlan`, on the host. InputError if no plan exists."""

    @abstractmethod
    def sanitize(self, key: Array, x: Array, mask: Array, plan: Any) -> Sanitized:
        """Jittable and total. x: ``uint32[capacity, W]``, rows in any order. mask: ``bool[capacity]``."""

    @abstractmethod
    def guarantee(self, plan: Any) -> Guarantee:
        """What `sanitize` spends with this plan, for every database, on the host."""

    @abstractmethod
    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """Rows from which `error` is at most alpha with probability 1 - beta; InputError if that is not proved."""

    @abstractmethod
    def parts_of_a_difference(self, concepts: Any) -> int:
        """The number of queries whose sum is the symmetric difference of two concepts; InputError if there are none."""

    @abstractmethod
    def answers_differences(self, concepts: Any) -> bool:
        """Whether the sanitizer answers all these queries."""

    def unseen(self, concepts: Any, plan: Any, n: int, beta: float) -> float:
        """Optional: rows m such that with probability 1 - beta, for every concept, one that agrees with it on all
        listed points differs from it on at most m of any n rows. Without it `GenericLearner` derives such a bound from
        the accuracy of all queries. InputError without it."""
        raise InputError("sanitizer", "one with a bound of unseen rows", type(self).__name__, "use its accuracy")

    def most_rows(self, plan: Any) -> int:
        """The most rows that `sanitize` accepts."""
        return MOST_ROWS


class OfElements(Sanitizer):
    """Base class of sanitizers that answer all queries of one kind."""

    kind: ClassVar[str]
    """"points" or "thresholds", as in the ``differences`` of a class."""

    def parts_of_a_difference(self, concepts: Any) -> int:
        """See `Sanitizer`."""
        parts = concepts.differences.get(self.kind)
        if parts is None:
            advice = "take BLR or MWEM for a matrix, PointCounts for points, another one for thresholds"
            raise InputError("sanitizer", f"one for {type(concepts).__name__}", type(self).__name__, advice)
        return parts

    def answers_differences(self, concepts: Any) -> bool:
        """True: all of them are answered."""
        return True


@dataclass(frozen=True)
class OfThresholds(OfElements):
    """Base class of sanitizers of all thresholds; an interval needs two. A row has ``bits`` in [1, 2**30]."""

    bits: int
    neighboring: Neighboring = field(default=Neighboring.REPLACE_ONE, kw_only=True)
    kind: ClassVar[str] = "thresholds"

    def __post_init__(self):
        replace_one_only(self.neighboring, "its guarantee is for databases of one public size")
        B.limbs(self.bits)


def whole_rows(rows: float, alpha: float, least: str, parts: str) -> int:
    """Rows as an integer; NoTheoremError if no number of rows suffices: alpha must exceed ``least``."""
    if rows == math.inf:
        raise NoTheoremError("alpha", f"more than {least}", repr(alpha), f"use more {parts}")
    return int(rows)


def top_of(bits: int, size: int | None = None) -> Array:
    """The last element of {0..size - 1}, or of all 2**bits values, ``uint32[1, W]``."""
    return jnp.asarray(B.encode(2**bits - 1 if size is None else size - 1, bits))[None]


def noisy_counts(
    counts: Array, scale: Number, *, sensitivity: int, high: Array, most: int, low: Array | int = 0
) -> RoundedLaplace:
    """Counts with Laplace(scale) noise, rounded and clipped to [low, high]; ``most`` is static, see `RoundedLaplace`.

    Privacy: (sensitivity / scale, 0) under the relation for which the L1 ``sensitivity`` is stated.
    """
    counts = asked(counts, "laplace_mechanism", sensitivity, "sum")
    return RoundedLaplace.of(Laplace(counts, jnp.asarray(scale)), high, most, low)
