"""What a sanitizer is: rows in, a synthetic database out.

Rows are numbers of ``bits`` bits as in `mechanisms.median`: ``uint32[capacity, W]``, the real ones under ``mask``.
"""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.accounting.guarantee import Guarantee
from dpjax.core.checks import InputError
from dpjax.core.draws import asked
from dpjax.core.plans import Number, Spends
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.laws import Laplace, RoundedLaplace
from dpjax.mechanisms.median import bits as B


@register_dataclass
@dataclass(frozen=True)
class Sanitized:
    """A synthetic database of r weighted points; the share of a threshold t is the weight of the points <= t.

    points: ``uint32[r, W]``, r static, in any order.
    weights: ``int32[r]``, at least 0 and not all 0; a share is a weight over their sum.
    outcome: ``int32[r]``, 0, or -1 where a part gave no answer: its point is then element 0, and its weight stays.
    """

    points: Array
    weights: Array
    outcome: Array

    @staticmethod
    def of(points: Array, weights: Array, outcome: Array | None = None) -> "Sanitized":
        """Weights that are all 0, as those of no rows, become all 1."""
        weights = jnp.where(jnp.any(weights > 0), weights, jnp.ones_like(weights))
        if outcome is None:
            outcome = jnp.zeros(weights.shape, jnp.int32)
        return Sanitized(points, weights, outcome)

    def share(self, threshold: Array) -> Array:
        """The estimated share of rows <= threshold, ``float32[...]`` for ``uint32[..., W]``."""
        below = B.less_equal(self.points, threshold[..., None, :])
        weight = jnp.sum(jnp.where(below, self.weights, 0), axis=-1, dtype=jnp.int32)
        return weight.astype(jnp.float32) / jnp.sum(self.weights, dtype=jnp.int32).astype(jnp.float32)


class SanitizerPlan(Protocol):
    """A class made by `core.plans.plan_type`."""

    @property
    def size(self) -> int:
        """Points of the synthetic database, r. Static."""


class Sanitizer(Protocol):
    """A frozen dataclass, equal by value, without a budget: its fields are structure.

    A field that may be None is chosen by `plan` from the accuracy; a value in it overrides that choice. Where the best
    choice depends on epsilon, the planner takes the one for epsilon = 1, so that a sweep of epsilon is one program.
    """

    @property
    def bits(self) -> int:
        """Of a row."""

    @property
    def neighboring(self) -> Neighboring:
        """The relation under which `guarantee` holds."""

    @property
    def spends(self) -> Spends:
        """What it spends whatever its budget: "pure", "bounded range" (and pure) or "approximate"."""

    def plan(self, privacy: Privacy, accuracy: Accuracy) -> Any:
        """Every number that `sanitize` needs, a `SanitizerPlan`, on the host. InputError for what cannot be planned."""

    def sanitize(self, key: Array, x: Array, mask: Array, plan: Any) -> Sanitized:
        """Jittable and total. x: ``uint32[capacity, W]``, rows in any order. mask: ``bool[capacity]``."""

    def guarantee(self, plan: Any) -> Guarantee:
        """What `sanitize` spends with this plan, for every database, on the host."""

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """Rows from which `error` is at most alpha with probability 1 - beta; InputError where that is not proved."""

    def parts_of_a_difference(self, concepts: Any) -> int:
        """How many of its queries make up the symmetric difference of two concepts; InputError if none do."""

    def answers_differences(self, concepts: Any) -> bool:
        """Whether all these queries are among those that it answers."""


class OfElements:
    """What sanitizers share that answer all queries of one kind."""

    kind: ClassVar[str]
    """"points" or "thresholds", as in the ``differences`` of a class."""

    def parts_of_a_difference(self, concepts: Any) -> int:
        """See `Sanitizer`."""
        parts = getattr(concepts, "differences", {}).get(self.kind)
        if parts is None:
            raise InputError(
                "sanitizer", f"one for {type(concepts).__name__}", repr(self),
                "take BLR or MWEM for a matrix, PointCounts for points, another one for thresholds",
            )  # fmt: skip
        return parts

    def answers_differences(self, concepts: Any) -> bool:
        """All of them are answered."""
        return True


@dataclass(frozen=True)
class OfThresholds(OfElements):
    """What sanitizers of all thresholds share; an interval takes two. A row has ``bits`` in [1, 2**30]."""

    bits: int
    neighboring: Neighboring = field(default=Neighboring.REPLACE_ONE, kw_only=True)
    kind: ClassVar[str] = "thresholds"

    def __post_init__(self):
        B.limbs(self.bits)


def whole_rows(rows: float, alpha: float, least: str, parts: str) -> int:
    """Rows as an integer; InputError where no number of rows is enough, so that alpha must exceed ``least``."""
    if rows == math.inf:
        raise InputError("alpha", f"more than {least}", repr(alpha), f"take more {parts}")
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
