"""How often a private median finds an interior point: many plans of one shape, and many n, in one program."""

from dataclasses import fields, replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.types import Privacy, at_most
from dpjax.mechanisms.median import (
    MedianPlan,
    RecPrefixPlan,
    RscPlan,
    plan_exponential,
    plan_recprefix,
    plan_rsc,
    plan_treelog,
    private_median,
    rank_quality,
)

Numbers = tuple[dict[str, Any], ...]  # of a plan: its share at the bottom, then those of each step

_BLOCK_CELLS = 1 << 14  # limbs worked on at once
_PREFIX, _FINAL, _MARGIN = 5 / 16, 7 / 32, 0.23  # of RecPrefix in practice: shares of epsilon, and pairs above by n
_SLACKS = tuple(i / 20 for i in range(161))


def plan_near(method: str, bits: int, epsilon: float, delta: float, n: int) -> MedianPlan:
    """The plan of a method, one level deep, that is meant to find an interior point of n >= 1 rows; nothing is proved.

    method: "treelog" or "rsc", the largest slack whose plan asks for n rows or fewer; "recprefix", fixed shares, no
        trims and the margin 0.23 n, found by search at epsilon = 1, delta = 1e-6 for domains of 16 to 1024 bits;
        "exponential".
    """
    checks.choice("method", method, ("exponential", "recprefix", "treelog", "rsc"))
    checks.integer("n", n, 1)
    if method == "exponential":
        return plan_exponential(bits, epsilon, slack=0.0)
    if method == "recprefix":
        plan = plan_recprefix(bits, epsilon, delta, slack=0.0)
        step = replace(plan.steps[0], prefix=_PREFIX, final=_FINAL, gap=1, margin=max(1, round(_MARGIN * n)))
        return replace(plan, steps=(step,), base=1 - _PREFIX - _FINAL, interior=n)
    planner = plan_treelog if method == "treelog" else plan_rsc
    plans = [planner(bits, epsilon, delta, slack=slack) for slack in _SLACKS]
    return max((plan for plan in plans if plan.interior <= n), key=lambda plan: plan.slack or 0.0, default=plans[0])


def interior_points(key: Array, rows: np.ndarray, n: int, plan: MedianPlan, epsilon: float, delta: float) -> np.ndarray:
    """Which databases get an element between their least and their largest row, ``bool[trials]``; no answer is none.

    Another n, budget or plan of the same shape (method, bits, levels) compiles nothing, but for `RscPlan`, whose tables
    are the host's.

    Args:
      key: consumed; trial i has key i of `keys.per_index`, whatever the number of trials.
      rows: ``uint32[trials, capacity, W]``, W limbs of plan.bits bits; the first n >= 1 of each are real.
      epsilon, delta: the budget; an `RscPlan` does not look at it.
    """
    rows = np.asarray(rows)
    trials, capacity, width = rows.shape
    checks.integer("n", n, 1, capacity)
    if width != -(-plan.bits // 32):
        raise InputError(
            "rows", f"{-(-plan.bits // 32)} limbs for {plan.bits} bits", f"{width}",
            "encode them with mechanisms.median.bits.encode",
        )  # fmt: skip
    block = max(1, min(trials, _BLOCK_CELLS // (capacity * width)))
    budget = Privacy(at_most(checks.epsilon(epsilon)), at_most(checks.delta(delta)))
    shape, numbers = taken_apart(plan)
    found = _program(shape, block)(keys.per_index(key, trials), jnp.asarray(rows), np.int32(n), budget, numbers)
    return np.asarray(found)


def taken_apart(plan: Any) -> tuple[Any, Numbers]:
    """A plan without its numbers, static and equal for all plans that one program runs, and its numbers.

    Shares become float32, which is exact for them, and whole numbers int32. An `RscPlan` stays whole.
    """
    if isinstance(plan, RscPlan):
        return plan, ()
    kept = ("bits", "size", "base_size", "steps")
    shape = replace(plan, **{field.name: 0 for field in fields(plan) if field.name not in kept})
    if not hasattr(plan, "steps"):
        return shape, ()
    numbers: list[dict[str, Any]] = [{"base": np.float32(plan.base)}]
    for step in plan.steps:
        values = {field.name: getattr(step, field.name) for field in fields(step) if field.name != "bits"}
        numbers.append({name: np.int32(v) if isinstance(v, int) else np.float32(v) for name, v in values.items()})
    blank = tuple(replace(step, **dict.fromkeys(part, 0)) for step, part in zip(plan.steps, numbers[1:], strict=True))
    return replace(shape, steps=blank), tuple(numbers)


def put_together(shape: Any, numbers: Numbers) -> Any:
    """The plan of a shape with numbers, which may be traced."""
    if not numbers:
        return shape
    steps = tuple(replace(step, **part) for step, part in zip(shape.steps, numbers[1:], strict=True))
    return replace(shape, steps=steps, **numbers[0])


def turning_weight(plan: MedianPlan) -> int:
    """The weight of a light child at which the plan's test turns: half the deepest rows, or RecPrefix's count."""
    step = getattr(plan, "steps", (None,))[0]
    if isinstance(plan, RecPrefixPlan):
        return plan.steps[0].count
    return 40 if step is None else step.deepest // 2


@cache
def _program(shape: Any, block: int) -> Any:
    def run(trial_keys: Array, rows: Array, n: Array, budget: Privacy, numbers: Numbers) -> Array:
        plan = put_together(shape, numbers)
        mask = jnp.arange(rows.shape[1], dtype=jnp.int32) < n

        def trial(own: tuple[Array, Array]) -> Array:
            key, x = own
            found = private_median(key, x, mask, budget, plan)
            return (found.outcome == 0) & (rank_quality(x, mask, found.element) >= 1)

        return jax.lax.map(trial, (trial_keys, rows), batch_size=block)

    return jax.jit(run)
