"""How often a private median finds an interior point: many plans of one shape, and many n, in one program."""

from dataclasses import fields, replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax import checks, keys
from dpjax.checks import InputError
from dpjax.mechanisms.median import MedianPlan, RscPlan, private_median, rank_quality
from dpjax.types import Privacy, at_most

Numbers = tuple[dict[str, Any], ...]  # of a plan: its share at the bottom, then those of each step

_BLOCK_CELLS = 1 << 14  # limbs worked on at once
_SHAPE = ("bits",)  # what a step's arrays are as wide as


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
            "rows", f"{-(-plan.bits // 32)} limbs for {plan.bits} bits", f"{width}", "encode them with bits.encode"
        )
    block = max(1, min(trials, _BLOCK_CELLS // (capacity * width)))
    budget = Privacy(at_most(checks.epsilon(epsilon)), at_most(checks.delta(delta)))
    numbers, shape = ((), plan) if isinstance(plan, RscPlan) else (numbers_of(plan), shape_of(plan))
    found = _program(shape, block)(keys.per_index(key, trials), jnp.asarray(rows), np.int32(n), budget, numbers)
    return np.asarray(found)


def numbers_of(plan: Any) -> Numbers:
    """All that one plan of a shape differs in from another: shares float32, exactly, and integers int32."""
    steps = getattr(plan, "steps", ())
    parts: list[dict[str, Any]] = [{"base": np.float32(plan.base)} if steps else {}]
    for step in steps:
        values = {field.name: getattr(step, field.name) for field in fields(step) if field.name not in _SHAPE}
        parts.append({name: np.int32(v) if isinstance(v, int) else np.float32(v) for name, v in values.items()})
    return tuple(parts)


def shape_of(plan: Any) -> Any:
    """The plan with its numbers replaced by 0: equal for all plans that one program runs."""
    blank = {field.name: 0 for field in fields(plan) if field.name not in ("bits", "size", "steps", "base_size")}
    steps = tuple(type(step)(**{f.name: getattr(step, f.name) if f.name in _SHAPE else 0 for f in fields(step)})
                  for step in getattr(plan, "steps", ()))  # fmt: skip
    return replace(plan, **blank, **({"steps": steps} if steps else {}))


def with_numbers(shape: Any, numbers: Numbers) -> Any:
    """The plan of a shape with these numbers, which may be traced."""
    if not numbers or not numbers[0]:
        return shape
    steps = tuple(replace(step, **values) for step, values in zip(shape.steps, numbers[1:], strict=True))
    return replace(shape, steps=steps, **numbers[0])


@cache
def _program(shape: Any, block: int) -> Any:
    def run(trial_keys: Array, rows: Array, n: Array, budget: Privacy, numbers: Numbers) -> Array:
        plan = with_numbers(shape, numbers)
        mask = jnp.arange(rows.shape[1], dtype=jnp.int32) < n

        def trial(own: tuple[Array, Array]) -> Array:
            key, x = own
            found = private_median(key, x, mask, budget, plan)
            return (found.outcome == 0) & (rank_quality(x, mask, found.element) >= 1)

        return jax.lax.map(trial, (trial_keys, rows), batch_size=block)

    return jax.jit(run)
