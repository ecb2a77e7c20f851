"""Plans: all numbers that a budget and an accuracy determine, as a value that is passed to a program.

A plan is a pytree. Its leaves are numbers (epsilons, coefficients, scales, thresholds, counts), traced, so that a sweep
over budgets does not recompile; its static fields are structure (rounds, levels, buffer sizes): each value compiles
its own program. A guarantee adds up the leaves that run. Leaves are therefore rounded on the host towards less
spending: jit would silently round float64 leaves to the nearest float32.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, dataclass_transform

import jax
import numpy as np
from jax.tree_util import register_dataclass

from dpjax.core import checks, html
from dpjax.core.checks import InputError

Spends = Literal["pure", "bounded range", "approximate"]
"""What a learner satisfies at every budget: pure DP and bounded range, pure DP, or approximate DP (delta > 0) at most.

It says how a budget is split between runs. A learner without privacy has the last one, and the guarantee None.
"""


class Leaf(NamedTuple):
    """What a guarantee requires of a scalar leaf, as metadata of the field's type.

    expected: in words. low, high: finite values strictly between them; with ``closed``, low itself too.
    kinds: of dtypes, as in NumPy.
    """

    expected: str
    low: float = -math.inf
    high: float = math.inf
    closed: bool = False
    kinds: str = "f"


Number = Annotated[Any, Leaf("a finite number", kinds="fiub")]
"""A leaf: NumPy ``float32[]`` or ``int32[]`` on the host, a traced array in a program. See `require_leaves`."""
Positive = Annotated[Any, Leaf("a number > 0", 0)]
"""An epsilon, a rate, a coefficient or a scale of noise."""
Probability = Annotated[Any, Leaf("a number in (0, 1)", 0, 1)]
"""A delta of a mechanism that needs one, or the ratio of a geometric sequence."""
Slack = Annotated[Any, Leaf("a number in [0, 1)", 0, 1, closed=True)]
"""A delta that may be 0."""
Count = Annotated[Any, Leaf("a whole number >= 0", 0, closed=True, kinds="iu")]
"""A number of rows, draws or records."""
NARROW = (np.float32, np.int32, np.uint32, np.bool_)
"""The dtypes of leaves: jit rounds or wraps all others in silence."""
STATIC: dict[str, Any] = {"static": True}
"""``field(metadata=STATIC)`` makes a plan's field static."""
_MOST_SHOWN = 8  # entries of an array
_RATIO = 16 ** (1 / 3)
_Plan = TypeVar("_Plan")


@dataclass_transform(frozen_default=True, eq_default=False)
def plan_type(kind: type[_Plan]) -> type[_Plan]:
    """Makes a class a plan: a frozen dataclass and a pytree.

    Compare plans with `same_plan`, not ``==``: arrays have no truth value. Static fields are int, str, bool, None,
    enums, tuples of these, and frozen dataclasses of these and of floats, for choices that depend on no budget. Floats
    and arrays are an InputError when the plan is created, because each budget would then compile its own program.
    """
    check = vars(kind).get("__post_init__")

    def checked(self: Any) -> None:
        for field in fields(self):
            if field.metadata.get("static") and not _structural(getattr(self, field.name)):
                expected = "structure: whole numbers, names, and tuples of these"
                advice = "make it a leaf: leave out metadata=STATIC"
                raise InputError(f"{kind.__name__}.{field.name}", expected, repr(getattr(self, field.name)), advice)
        if check is not None:
            check(self)

    kind.__post_init__ = checked  # type: ignore[attr-defined]
    kind._repr_html_ = _html  # type: ignore[attr-defined]
    return register_dataclass(dataclass(frozen=True, eq=False)(kind))


def _html(plan: Any) -> str:
    """A plan in a notebook: its numbers, and its structure."""
    rows = [
        (field.name, _shown(getattr(plan, field.name)), "structure" if field.metadata.get("static") else "number")
        for field in fields(plan)
    ]
    return html.table(
        [html.Column("field", "text"), html.Column("value", "text"), html.Column("kind", "text")],
        rows,
        type(plan).__name__,
    )


def _shown(value: Any) -> str:
    if hasattr(value, "_repr_html_"):
        return html.Markup(value._repr_html_())
    large = getattr(value, "size", 0) > _MOST_SHOWN
    return f"{value.dtype}{list(value.shape)}" if large else str(value)


def _structural(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(_structural(part) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        parts = [getattr(value, field.name) for field in fields(value)]
        return all(isinstance(part, float) or _structural(part) for part in parts)
    return value is None or isinstance(value, int | str | Enum)


def require_leaves(plan: Any, name: str = "plan", kind: Any = None) -> None:
    """InputError unless every leaf has a dtype of `NARROW` (or float32 numbers in float64, see `widened`), is finite,
    and is what its field's type says.

    Guarantees call it: their proofs assume these ranges, whoever wrote the numbers. A field of type `Number`,
    `Positive`, `Probability`, `Slack` or `Count` holds a scalar; arrays have other types.
    """
    ranges = [part for part in getattr(kind, "__metadata__", ()) if isinstance(part, Leaf)]
    if is_dataclass(plan) and not ranges:
        for field in fields(plan):
            if not field.metadata.get("static"):
                require_leaves(getattr(plan, field.name), f"{name}.{field.name}", field.type)
        return
    if isinstance(plan, tuple | list) and not ranges:
        for i, part in enumerate(plan):
            require_leaves(part, f"{name}[{i}]")
        return
    for leaf in [plan] if ranges else jax.tree.leaves(plan):
        dtype = getattr(leaf, "dtype", None)
        traced = isinstance(leaf, jax.core.Tracer)
        if traced or (dtype not in NARROW and not _is_widened(leaf)):
            actual = "a traced array" if traced else f"{leaf!r} ({dtype or type(leaf).__name__})"
            advice = "round on the host: dpjax.core.plans.down for budgets, up for scales, whole for counts"
            raise InputError(name, "float32, int32, uint32 or bool", actual, advice)
        values: Any = np.asarray(leaf)
        fits = bool(np.all(np.isfinite(values)))
        for part in ranges:
            fits = fits and values.shape == () and values.dtype.kind in part.kinds and _inside(values.item(), part)
        if not fits:
            expected = ranges[0].expected if ranges else "finite numbers"
            actual = str(values) if values.size < 8 else f"{dtype}{values.shape}"
            raise InputError(name, expected, actual, "make the plan with the method plan, or correct this number")


def _is_widened(leaf: Any) -> bool:
    """Whether it has float32 numbers in float64, as `widened` makes them."""
    if getattr(leaf, "dtype", None) != np.float64:
        return False
    with np.errstate(over="ignore"):
        return np.array_equal(np.asarray(leaf, np.float32), leaf, equal_nan=True)


def _inside(value: float, leaf: Leaf) -> bool:
    return leaf.low < value < leaf.high or (leaf.closed and value == leaf.low)


def require_shape(name: str, leaf: Any, shape: tuple[int, ...]) -> None:
    """InputError unless the leaf is an array of this shape, which the plan's structure says."""
    if np.shape(leaf) != shape:
        raise InputError(name, f"shape {shape}", f"shape {np.shape(leaf)}", "make the plan with the method plan")


@plan_type
class Claim:
    """The budget that a plan was calibrated for. Guarantees verify the other leaves against it."""

    epsilon: Positive
    delta: Slack


def down(value: float) -> np.float32:
    """The largest float32 that is at most ``value``: for budgets, rates and coefficients."""
    with np.errstate(over="ignore"):  # overflow gives inf, then the largest finite float32
        rounded = np.float32(value)
    return rounded if float(rounded) <= value else np.nextafter(rounded, np.float32(-np.inf))


def up(value: float) -> np.float32:
    """The least float32 that is at least ``value``: for scales of noise and for thresholds."""
    return -down(-value)


def whole(value: int) -> np.int32:
    """A count as ``int32``."""
    count = int(value)
    if not -(2**31) <= count < 2**31:
        advice = "raise epsilon, alpha or beta, or set the number yourself where the learner has an argument for it"
        raise InputError("rows or draws of the plan", "fewer than 2^31", str(count), advice)
    return np.int32(count)


def bucket(size: int) -> int:
    """The smallest size >= ``size`` on the fixed grid of ratio 16^(1/3) that starts at 1.

    A function of the size alone. A factor of 16 spans four sizes, so that a sweep over epsilon has few programs.
    """
    checks.integer("size", size, 0, 2**30)
    step = max(0, math.floor(math.log(max(size, 1), _RATIO)) - 1)
    while round(_RATIO**step) < size:
        step += 1
    return round(_RATIO**step)


def least_in_bucket(size: int) -> int:
    """The smallest size whose `bucket` is that of ``size``."""
    least, most = 0, bucket(size)
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if bucket(middle) == bucket(size) else (middle, most)
    return most


def stack_plans(plans: Sequence[Any]) -> Any:
    """Stacks plans of one structure into one plan with a leading axis on each leaf, for ``vmap`` over budgets."""
    if not isinstance(plans, Sequence) or not plans:
        actual = "none" if isinstance(plans, Sequence) else type(plans).__name__
        raise InputError("plans", "a list of one or more plans", actual, "write stack_plans([plan, another])")
    structures = {jax.tree.structure(plan) for plan in plans}
    if len(structures) != 1:
        raise InputError(
            "plans", "plans of one structure", f"{len(structures)} structures", "group them by jax.tree.structure"
        )
    return jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *plans)


def same_plan(one: Any, other: Any) -> bool:
    """Whether two plans have the same structure and bitwise equal leaves."""
    if len({jax.tree.structure(one), jax.tree.structure(other)}) > 1:
        return False
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.asarray(a).dtype == np.asarray(b).dtype and np.array_equal(a, b) for a, b in pairs)


def widened(plan: Any) -> Any:
    """The plan with its leaves cast to float64, for exact audits of the float32 values that run."""
    is_float = lambda leaf: np.issubdtype(np.asarray(leaf).dtype, np.floating)  # noqa: E731
    return jax.tree.map(lambda leaf: np.asarray(leaf, np.float64) if is_float(leaf) else leaf, plan)
