"""Basic types: sample, privacy budget, accuracy, and the neighboring relation."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import GetAttrKey, register_dataclass, register_pytree_with_keys

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.plans import Positive, Slack

Scalar = Any  # a plain number, a NumPy scalar, or a traced array
MOST_ROWS = 2**31 - 1
"""The most rows of a sample."""


class Neighboring(Enum):
    """Which pairs of databases are neighbors (names as in dp_accounting).

    REPLACE_ONE: same public size n, one row differs. ADD_OR_REMOVE_ONE: one database has one additional row.
    """

    REPLACE_ONE = "replace-one"
    ADD_OR_REMOVE_ONE = "add-or-remove-one"


def require_relation(neighboring: Neighboring) -> None:
    """InputError unless the value is a member of `Neighboring` (its name is not enough)."""
    advice = "say under which relation neighbors differ, for example Neighboring.REPLACE_ONE"
    checks.instance("neighboring", neighboring, Neighboring, advice, "a member of dpjax.core.types.Neighboring")


def replace_one_only(neighboring: Neighboring, why: str) -> None:
    """Raises InputError unless the relation is REPLACE_ONE, for algorithms that need a public n."""
    require_relation(neighboring)
    if neighboring is not Neighboring.REPLACE_ONE:
        raise InputError("neighboring", "replace-one", neighboring.value, why)


@register_dataclass
@dataclass(frozen=True)
class Sample:
    """A k-labeled database in a buffer of static capacity.

    x: domain elements, ``[capacity, ...]``; points and thresholds use ``uint32[capacity, limbs]``,
       most significant limb first.
    y: labels, ``bool[capacity, k]``; the concept axis is present also for k = 1.
    mask: ``bool[capacity]``; the first n rows are real. Entries where mask is False are ignored.

    Reference: Bun, Nissim, Stemmer 2016, Definition 2.2.
    """

    x: Array
    y: Array
    mask: Array

    @property
    def capacity(self) -> int:
        """Rows of the buffer. Static: each capacity compiles its own program."""
        return self.mask.shape[0]

    @property
    def size(self) -> Array:
        """The number of real rows, ``int32[]``. Public under REPLACE_ONE."""
        return jnp.sum(self.mask, dtype=jnp.int32)


def known(check: Callable[[Any], Any], value: Any) -> None:
    """Checks a scalar that is known on the host; tracers and arrays with axes are not checked."""
    if not isinstance(value, jax.core.Tracer) and not getattr(value, "shape", ()):
        check(value)


@checks.named_arguments
@dataclass(frozen=True)
class Privacy:
    """A total budget: epsilon > 0 and 0 <= delta < 1. InputError for invalid values that are not traced."""

    epsilon: Positive
    delta: Slack = 0.0

    def __post_init__(self):
        known(checks.epsilon, self.epsilon)
        known(checks.delta, self.delta)


@checks.named_arguments
@dataclass(frozen=True)
class Accuracy:
    """Error alpha in (0, 1) and failure probability beta in (0, 1). InputError for invalid untraced values."""

    alpha: Scalar
    beta: Scalar

    def __post_init__(self):
        known(partial(checks.probability, "alpha"), self.alpha)
        known(partial(checks.probability, "beta"), self.beta)


def _as_pytree(kind: type, *names: str) -> None:
    """Registers a pytree that is unflattened without the constructor's checks."""

    def rebuilt(_: None, leaves: Any) -> Any:
        made: Any = object.__new__(kind)
        vars(made).update(zip(names, leaves, strict=True))
        return made

    register_pytree_with_keys(kind, lambda tree: ([(GetAttrKey(k), getattr(tree, k)) for k in names], None), rebuilt)


_as_pytree(Privacy, "epsilon", "delta")
_as_pytree(Accuracy, "alpha", "beta")


def host_numbers(privacy: Privacy, accuracy: Accuracy) -> tuple[float, float, float, float]:
    """(epsilon, delta, alpha, beta) as checked plain numbers."""
    checks.instance("privacy", privacy, Privacy, "give Privacy(epsilon, delta)")
    checks.instance("accuracy", accuracy, Accuracy, "give Accuracy(alpha, beta)")
    return checks.epsilon(privacy.epsilon), checks.delta(privacy.delta), *checks.accuracy(accuracy.alpha, accuracy.beta)


def as_float(value: Scalar, like: Array | None = None) -> Array:
    """``value`` as a scalar of its own float dtype; Python numbers become float32.

    A float64 array keeps its precision, so that exact audits run the same code in float64.
    """
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jnp.floating):
        return value
    dtype = jnp.float32 if like is None else like.dtype
    return jnp.asarray(value, dtype)
