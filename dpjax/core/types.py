"""The nouns: a sample, a privacy budget, an accuracy, and the neighbouring relation."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import checks

Scalar = Any  # a plain number, a NumPy scalar, or a traced array


class Neighboring(Enum):
    """When two databases count as neighbours (the names are dp_accounting's).

    REPLACE_ONE: same public size n, one row differs. ADD_OR_REMOVE_ONE: one has one row more.
    """

    REPLACE_ONE = "replace-one"
    ADD_OR_REMOVE_ONE = "add-or-remove-one"


@register_dataclass
@dataclass(frozen=True)
class Sample:
    """A k-labelled database in a buffer of static capacity.

    x: domain elements, ``[capacity, ...]``; points and thresholds use ``uint32[capacity, limbs]``,
       most significant limb first.
    y: labels, ``bool[capacity, k]``; the concept axis is always there.
    mask: ``bool[capacity]``; the first n rows are real. What lies under a False never matters.
    """

    x: Array
    y: Array
    mask: Array

    @property
    def capacity(self) -> int:
        """Rows of the buffer. Static: another capacity is another program."""
        return self.mask.shape[0]

    @property
    def size(self) -> Array:
        """The number of real rows, ``int32[]``. Public under REPLACE_ONE."""
        return jnp.sum(self.mask, dtype=jnp.int32)


@register_dataclass
@dataclass(frozen=True)
class Privacy:
    """A total budget: epsilon > 0 and 0 <= delta < 1. Plain numbers are checked: InputError."""

    epsilon: Scalar
    delta: Scalar = 0.0

    def __post_init__(self):
        if isinstance(self.epsilon, int | float):
            checks.epsilon(self.epsilon)
        if isinstance(self.delta, int | float):
            checks.delta(self.delta)


@register_dataclass
@dataclass(frozen=True)
class Accuracy:
    """Error alpha in (0, 1) and failure probability beta in (0, 1). Plain numbers are checked: InputError."""

    alpha: Scalar
    beta: Scalar

    def __post_init__(self):
        for name in ("alpha", "beta"):
            if isinstance(getattr(self, name), int | float):
                checks.probability(name, getattr(self, name))


def host_numbers(privacy: Privacy, accuracy: Accuracy) -> tuple[float, float, float, float]:
    """(epsilon, delta, alpha, beta) as checked plain numbers."""
    budget = checks.epsilon(float(privacy.epsilon)), checks.delta(float(privacy.delta))
    return *budget, *checks.accuracy(float(accuracy.alpha), float(accuracy.beta))


def as_float(value: Scalar, like: Array | None = None) -> Array:
    """``value`` as a scalar of its own float dtype; Python numbers become float32.

    An explicit float64 array keeps its precision, so exact audits run the same code in float64.
    """
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jnp.floating):
        return value
    dtype = jnp.float32 if like is None else like.dtype
    return jnp.asarray(value, dtype)
