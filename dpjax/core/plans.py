"""Plans: every number that a budget and an accuracy fix, as a value that a program is given.

A plan is a pytree. Its leaves are numbers (epsilons, coefficients, scales, thresholds, counts), traced, so that a sweep
over budgets compiles nothing; its static fields are structure (rounds, levels, sizes of buffers), each value a program.
A guarantee adds up the very leaves that run, so they are rounded on the host, towards less spending: jit would round
float64 leaves to the nearest float32 in silence.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, Literal, TypeVar, dataclass_transform

import jax
import numpy as np
from jax.tree_util import register_dataclass

from dpjax.core import checks
from dpjax.core.checks import InputError

Spends = Literal["pure", "bounded range", "approximate"]
"""What a learner spends whatever its budget: pure and bounded range, pure, or some delta."""
Number = Any
"""A leaf: ``float32[]`` or ``int32[]`` of NumPy on the host, a traced array in a program."""
STATIC: dict[str, Any] = {"static": True}
"""``field(metadata=STATIC)`` makes a field of a plan structure."""
_RATIO = 16 ** (1 / 3)
_Plan = TypeVar("_Plan")


@dataclass_transform(frozen_default=True, eq_default=False)
def plan_type(kind: type[_Plan]) -> type[_Plan]:
    """Makes a class a plan: a frozen dataclass and a pytree.

    Two plans are compared by `same_plan`, not by ``==``, since arrays have no truth value. Static fields are int, str,
    bool, None, enums and tuples of these; never floats or arrays, which would be a program for each budget: InputError
    when such a plan is made.
    """
    check = vars(kind).get("__post_init__")

    def checked(self: Any) -> None:
        for field in fields(self):
            if field.metadata.get("static") and not _structural(getattr(self, field.name)):
                raise InputError(
                    f"{kind.__name__}.{field.name}", "structure: whole numbers, names, and tuples of these",
                    repr(getattr(self, field.name)), "make it a leaf: leave out metadata=STATIC",
                )  # fmt: skip
        if check is not None:
            check(self)

    kind.__post_init__ = checked  # type: ignore[attr-defined]
    return register_dataclass(dataclass(frozen=True, eq=False)(kind))


def _structural(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(_structural(part) for part in value)
    return value is None or isinstance(value, int | str | Enum)


@plan_type
class Claim:
    """The budget that a plan's numbers are stated for. Guarantees check the others against it."""

    epsilon: Number
    delta: Number


def down(value: float) -> np.float32:
    """The largest float32 that is at most ``value``: for budgets, rates and coefficients."""
    with np.errstate(over="ignore"):  # a larger value becomes inf, and the next float32 below
        rounded = np.float32(value)
    return rounded if float(rounded) <= value else np.nextafter(rounded, np.float32(-np.inf))


def up(value: float) -> np.float32:
    """The least float32 that is at least ``value``: for scales of noise and for thresholds."""
    return -down(-value)


def whole(value: int) -> np.int32:
    """A count as ``int32``."""
    return np.int32(checks.integer("count", int(value), -(2**31), 2**31 - 1))


def bucket(size: int) -> int:
    """The least size of a fixed grid of ratio 16^(1/3), from 1 on, that is at least ``size``.

    A function of the size alone. Over a factor of 16 there are four sizes, so that a sweep of epsilon has few programs.
    """
    checks.integer("size", size, 0, 2**30)
    step = max(0, math.floor(math.log(max(size, 1), _RATIO)) - 1)
    while round(_RATIO**step) < size:
        step += 1
    return round(_RATIO**step)


def stack_plans(plans: Sequence[Any]) -> Any:
    """Plans of one structure as one plan whose leaves lead with their number, for ``vmap`` over budgets."""
    if not isinstance(plans, Sequence) or not plans:
        given = "none" if isinstance(plans, Sequence) else type(plans).__name__
        raise InputError("plans", "a list of one or more plans", given, "write stack_plans([plan, another])")
    structures = {jax.tree.structure(plan) for plan in plans}
    if len(structures) != 1:
        raise InputError(
            "plans", "plans of one structure", f"{len(structures)} structures",
            "group them by jax.tree.structure",
        )  # fmt: skip
    return jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *plans)


def same_plan(one: Any, other: Any) -> bool:
    """Whether two plans have the same structure and the same leaves, to the last bit."""
    if len({jax.tree.structure(one), jax.tree.structure(other)}) > 1:
        return False
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.asarray(a).dtype == np.asarray(b).dtype and np.array_equal(a, b) for a, b in pairs)


def widened(plan: Any) -> Any:
    """The plan with float64 leaves of the same values, for an audit in float64 of the numbers that run."""
    is_float = lambda leaf: np.issubdtype(np.asarray(leaf).dtype, np.floating)  # noqa: E731
    return jax.tree.map(lambda leaf: np.asarray(leaf, np.float64) if is_float(leaf) else leaf, plan)
