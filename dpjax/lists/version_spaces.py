"""Version spaces of a small class after any sequence of labeled elements, by tables over all sets of concepts."""

from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts.base import require_class
from dpjax.concepts.finite import Finite
from dpjax.core.checks import InputError
from dpjax.dimensions.subsets import SubsetTables, subset_tables
from dpjax.lists.base import require_nameable

MOST_CONCEPTS, MOST_ELEMENTS = 20, 32


def require_small(concepts: Finite, learner: str) -> None:
    """Raises InputError unless the class is finite and small enough for `tables_of`."""
    require_class(concepts)
    size, width = concepts.size, concepts.domain.size
    if size > MOST_CONCEPTS or width > MOST_ELEMENTS:
        expected = f"at most {MOST_CONCEPTS} concepts over {MOST_ELEMENTS} elements for {learner}"
        actual = f"{size} concepts over {width} elements, tables of 2^{size} sets"
        raise InputError("concepts", expected, actual, "take a smaller class, or KLN")
    require_nameable(concepts)
    if len(np.unique(concepts.matrix(), axis=0)) < size:
        raise InputError("concepts", "distinct concepts", "equal rows", "list every concept once: numpy.unique")


@lru_cache(32)
def tables_of(concepts: Finite) -> SubsetTables:
    """The tables of the class."""
    return subset_tables(concepts.matrix())


def dimension_of(concepts: Finite) -> int:
    """The Littlestone dimension."""
    return int(tables_of(concepts).littlestone[-1])


class State(NamedTuple):
    """The concepts that agree with a sequence, and its other items.

    space ``uint32[...]``: bit i says whether concept i agrees. patched, value ``uint32[...]``: the elements, as bits,
    of items with which no concept of the space agreed, and their labels.
    """

    space: Array
    patched: Array
    value: Array

    @staticmethod
    def whole(concepts: Finite, shape: tuple[int, ...]) -> "State":
        """After the empty sequence."""
        nothing = jnp.zeros(shape, jnp.uint32)
        return State(jnp.full(shape, (1 << concepts.size) - 1, jnp.uint32), nothing, nothing)


def after(concepts: Finite, state: State, seen: Array, labels: Array) -> State:
    """The state after one item for each element that is seen, in ascending order.

    seen, labels: ``uint32[...]``, the elements and those with label 1, as bits.
    """
    ones = jnp.asarray(tables_of(concepts).ones)

    def item(state: State, x: Array) -> tuple[State, None]:
        bit = jnp.uint32(1) << x
        there, label = (seen & bit) > 0, (labels & bit) > 0
        kept = state.space & jnp.where(label, ones[x], ~ones[x])
        fits = kept > 0
        patch = jnp.where(there & ~fits, bit, jnp.uint32(0))
        space = jnp.where(there & fits, kept, state.space)
        value = jnp.where(patch > 0, jnp.where(label, state.value | bit, state.value & ~bit), state.value)
        return State(space, state.patched | patch, value), None

    return jax.lax.scan(item, state, jnp.arange(concepts.width, dtype=jnp.uint32))[0]


def prediction(concepts: Finite, state: State, seen: Array, labels: Array) -> Array:
    """The standard optimal prediction of the state's space, overwritten by its patches and by a last block of items,
    as bits ``uint32[...]``."""
    optimal = jnp.asarray(tables_of(concepts).prediction)[state.space.astype(jnp.int32)]
    patched = (optimal & ~state.patched) | (state.value & state.patched)
    return (patched & ~seen) | (labels & seen)


def block_bits(counts: Array) -> tuple[Array, Array]:
    """Which elements a block has, and which of them have label 1 more often than 0: bits ``uint32[...]`` of
    ``int32[..., N, 2]``."""
    weights = jnp.uint32(1) << jnp.arange(counts.shape[-2], dtype=jnp.uint32)
    word = lambda flags: jnp.sum(jnp.where(flags, weights, jnp.uint32(0)), axis=-1, dtype=jnp.uint32)  # noqa: E731
    return word(jnp.sum(counts, axis=-1) > 0), word(counts[..., 1] > counts[..., 0])
