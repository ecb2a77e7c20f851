"""How often a private median finds an interior point: many plans of one shape, and many n, in one program."""

from dataclasses import replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.mechanisms.median import (
    MedianDesign,
    MedianPlan,
    RecPrefixDesign,
    plan_exponential,
    plan_recprefix,
    plan_rsc,
    plan_treelog,
    private_median,
    rank_quality,
)

_BLOCK_CELLS = 1 << 14  # limbs worked on at once
_PREFIX, _FINAL, _MARGIN = 5 / 16, 7 / 32, 0.23  # of RecPrefix in practice: shares of epsilon, and pairs above by n
_SLACKS = tuple(i / 20 for i in range(161))


def plan_near(method: str, bits: int, epsilon: float, delta: float, n: int) -> MedianDesign:
    """The design of a method, one level deep, meant to find an interior point of n >= 1 rows; nothing is proved.

    method: "treelog" or "rsc", the largest slack whose design asks for n rows or fewer; "recprefix", fixed shares, no
        trims and the margin 0.23 n, found by search at epsilon = 1, delta = 1e-6 for domains of 16 to 1024 bits;
        "exponential".
    """
    checks.choice("method", method, ("exponential", "recprefix", "treelog", "rsc"))
    checks.integer("n", n, 1)
    if method == "exponential":
        return plan_exponential(bits, epsilon, slack=0.0)
    if method == "recprefix":
        prefix = plan_recprefix(bits, epsilon, delta, slack=0.0)
        step = replace(prefix.steps[0], prefix=_PREFIX, final=_FINAL, gap=1, margin=max(1, round(_MARGIN * n)))
        return replace(prefix, steps=(step,), base=1 - _PREFIX - _FINAL, interior=n)
    planner: Any = plan_treelog if method == "treelog" else plan_rsc
    designs = [planner(bits, epsilon, delta, slack=slack) for slack in _SLACKS]
    return max((one for one in designs if one.interior <= n), key=lambda one: one.slack or 0.0, default=designs[0])


def interior_points(key: Array, rows: np.ndarray, n: int, plan: MedianPlan) -> np.ndarray:
    """Which databases get an element between their least and their largest row, ``bool[trials]``; no answer is none.

    Another n or a plan of the same structure (method, bits, levels) compiles nothing.

    Args:
      key: consumed; trial i has key i of `keys.per_index`, whatever the number of trials.
      rows: ``uint32[trials, capacity, W]``, W limbs of plan.bits bits; the first n >= 1 of each are real.
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
    return np.asarray(_program(block)(keys.per_index(key, trials), jnp.asarray(rows), np.int32(n), plan))


def turning_weight(design: MedianDesign) -> int:
    """The weight of a light child at which the test turns: half the deepest rows, or RecPrefix's count."""
    step: Any = getattr(design, "steps", (None,))[0]
    if isinstance(design, RecPrefixDesign):
        return design.steps[0].count
    return 40 if step is None else step.deepest // 2


@cache
def _program(block: int) -> Any:
    def run(trial_keys: Array, rows: Array, n: Array, plan: MedianPlan) -> Array:
        mask = jnp.arange(rows.shape[1], dtype=jnp.int32) < n

        def trial(own: tuple[Array, Array]) -> Array:
            key, x = own
            found = private_median(key, x, mask, plan)
            return (found.outcome == 0) & (rank_quality(x, mask, found.element) >= 1)

        return jax.lax.map(trial, (trial_keys, rows), batch_size=block)

    return jax.jit(run)
