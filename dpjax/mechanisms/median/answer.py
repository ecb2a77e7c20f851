"""The output of a private median, and the base class of its plans."""

from abc import abstractmethod
from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.accounting.guarantee import Guarantee
from dpjax.core.members import Base, required
from dpjax.core.plans import Spends

Margins = tuple[Array | int, Array | int]
"""Rows at or below, and rows at or above the median."""


@register_dataclass
@dataclass(frozen=True)
class MedianAnswer:
    """An element of the domain, ``uint32[W]``, and an outcome, ``int32[]``: 0, or -1 for abstain (element 0)."""

    element: Array
    outcome: Array

    @staticmethod
    def of(element: Array, answered: Array) -> "MedianAnswer":
        """``element`` if ``answered``, else abstain."""
        value = jnp.where(answered, element, jnp.uint32(0))
        return MedianAnswer(value, jnp.where(answered, jnp.int32(0), jnp.int32(-1)))


class MedianPlan(Base):
    """Base class of plans of medians, made by `core.plans.plan_type`: numbers as leaves, structure as static fields.

    A new median is one file with such a class; its planner returns a `plans.MedianDesign`.
    """

    @required
    def bits(self) -> int:
        """Bits of an element of the domain."""

    @required
    def spends(self) -> Spends:
        """What the median satisfies at every budget."""

    @abstractmethod
    def run(self, key: Array, x: Array, mask: Array, margins: Margins = (1, 1)) -> MedianAnswer:
        """An element with margins[0] rows at or below it and margins[1] at or above it, or abstain; traced."""

    @abstractmethod
    def guarantee(self, what: str = "private median") -> Guarantee:
        """What the leaves spend, REPLACE_ONE, on the host."""


def roomy(x: Array, mask: Array) -> tuple[Array, Array]:
    """The same rows in a buffer of at least two rows, so that arrays of gaps between rows are not empty."""
    lacking = max(0, 2 - x.shape[0])
    return jnp.pad(x, ((0, lacking), (0, 0))), jnp.pad(mask, (0, lacking))


def trimmed(rows: Array, n: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Sorted rows without the first ``low`` and the last ``high`` of the n real ones: (rows, how many remain).

    Neighbors stay neighbors if the cuts do not depend on the data: under REPLACE_ONE at most one row is replaced,
    under ADD_OR_REMOVE_ONE at most one is added.
    """
    capacity = rows.shape[0]
    low, high = jnp.clip(low, 0, capacity), jnp.clip(high, 0, capacity)
    place = jnp.minimum(jnp.arange(capacity, dtype=jnp.int32) + low, capacity - 1)
    return rows[place], jnp.maximum(n - low - high, 0)
