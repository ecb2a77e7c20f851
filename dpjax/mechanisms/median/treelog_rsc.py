"""TreeLog by reorder-slice-compute: its cost in epsilon grows with ln(1 / delta), not with the number of levels."""

from dataclasses import field
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.composition import basic
from dpjax.accounting.distance import as_replace_one
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.slices import slices
from dpjax.core import bit_strings as B
from dpjax.core import keys, random
from dpjax.core.checks import InputError
from dpjax.core.plans import STATIC, Count, Number, Positive, Probability, Spends, plan_type, require_leaves, same_plan
from dpjax.core.random import GeometricTable
from dpjax.core.types import Neighboring, as_float
from dpjax.laws import Laplace
from dpjax.mechanisms.choosing import choosing
from dpjax.mechanisms.median import trie as T
from dpjax.mechanisms.median.answer import Margins, MedianAnswer, MedianPlan, roomy
from dpjax.mechanisms.median.exponential import exponential_median, three_candidates
from dpjax.mechanisms.median.treelog import unstable_from
from dpjax.mechanisms.slicing import cut_slice

LEAST_RATE = 45 / 2.0**30
"""The smallest rate whose geometric lengths fit in int32."""
_ONE_MORE: dict = {"monotonic": True, "neighboring": Neighboring.ADD_OR_REMOVE_ONE}


@plan_type
class RscStep:
    """One level. deepest, gap: ``int32[]``, see `plan_rsc.RscStepDesign`; privacy does not depend on them.

    bits: of a value of this level's list; the level below has values {0..bits}.
    """

    deepest: Count
    gap: Count
    bits: int = field(metadata=STATIC)


@plan_type
class RscPlan(MedianPlan):
    """The arguments of `treelog_rsc`. Budgets hold under ADD_OR_REMOVE_ONE.

    Attributes:
      rate: e_0: slice lengths are m + Geom, P[Geom >= k] = e^{-rate k}, and each slice is read by one mechanism of
        weights e^{rate score}.
      lengths: the table of these lengths, ``uint32[31, 2]`` and ``uint32[2]``, from `lengths_of` (rate).
      part_delta: of the choosing mechanism on a slice of deepest records.
      slack: the delta of the slices' labels, see ``accounting.slices``. Used by the guarantee only.
      test: epsilon of AboveThreshold over all levels.
      reserve: distance of the threshold below the smallest unstable weight, in scales of the noise, 2 / test.
      whole, whole_delta: of the one mechanism that reads all remaining rows: the choice among branching nodes if a test
        fails, otherwise the exponential mechanism at the bottom, which uses no delta.
      steps: outermost level first.
      bits: of the domain. base_size: the bottom's domain is {0..base_size - 1}.
    """

    rate: Positive
    lengths: GeometricTable
    part_delta: Probability
    slack: Probability
    test: Positive
    reserve: Number
    whole: Positive
    whole_delta: Probability
    steps: tuple[RscStep, ...]
    bits: int = field(metadata=STATIC)
    base_size: int = field(metadata=STATIC)
    spends: ClassVar[Spends] = "approximate"

    def run(self, key: Array, x: Array, mask: Array, margins: Margins = (1, 1)) -> MedianAnswer:
        """See `treelog_rsc`."""
        return treelog_rsc(key, x, mask, self, margins)

    def guarantee(self, what: str = "private median") -> Guarantee:
        """See `treelog_rsc_guarantee`."""
        return treelog_rsc_guarantee(self, f"{what} (TreeLog by RSC)")


def lengths_of(rate: float) -> GeometricTable:
    """The table of slice lengths, as NumPy arrays whose shapes do not depend on the rate.

    Raises InputError below `LEAST_RATE`.
    """
    if rate < LEAST_RATE:
        advice = "use a larger epsilon, or another median"
        raise InputError("epsilon", f"enough for slices at a rate of {LEAST_RATE:.3g}", f"a rate of {rate:.3g}", advice)
    return jax.tree.map(np.asarray, random.geometric_table(1 / rate, random.MOST_LEVELS))


def treelog_rsc(key: Array, x: Array, mask: Array, plan: RscPlan, margins: Margins = (1, 1)) -> MedianAnswer:
    """An element with at least ``margins[0]`` rows at or below it and ``margins[1]`` at or above it.

    Args:
      key: consumed.
      x: ``uint32[capacity, W]``, rows in any order, W limbs of plan.bits bits. mask: ``bool[capacity]``.
      plan: from `plan_rsc`.
      margins: ``int32[]`` or integers >= 1, public; they may depend on n.

    Privacy: `treelog_rsc_guarantee`, REPLACE_ONE, for every database: slices of the two ends and of the deepest rows by
      `slicing.cut_slice`, stability tests by AboveThreshold over all levels, one mechanism on the remaining rows.
      Proof: docs/proofs/treelog-rsc.md#privacy.
    Utility: with n >= required(alpha) rows of the plan's design, margins ceil((1/2 - alpha) n) fail with probability at
      most the design's failure; with required() rows, margins (1, 1).
    Reference: Cohen, Lyu, Nelson, Sarlos, Stemmer 2023; a reconstruction with our own tests, branch and constants.
    """
    of_threshold, of_levels = keys.streams(key, "threshold", "levels")
    return _level(of_levels, x, mask, _noise(of_threshold), plan, 0, margins)


def _level(key: Array, x: Array, mask: Array, bar: Array, plan: RscPlan, level: int, margins: Margins) -> MedianAnswer:
    if level == len(plan.steps):
        width = max(1, plan.steps[-1].bits.bit_length())
        base_law = exponential_median(x, mask, plan.whole, bits=width, size=plan.base_size, **_ONE_MORE)
        return MedianAnswer.of(base_law.sample(key), jnp.bool_(True))
    x, mask = roomy(x, mask)
    step = plan.steps[level]
    names = "low", "high", "test", "split", "deep", "length", "prefix", "point"
    of_low, of_high, of_test, of_split, of_deep, of_length, of_prefix, of_point = keys.streams(key, *names)
    rows, n = B.sort_rows(x, mask), jnp.sum(mask, dtype=jnp.int32)
    place = jnp.arange(x.shape[0], dtype=jnp.int32)
    ends = [jnp.asarray(margin, jnp.int32) + (step.gap - 1) for margin in margins]
    low, rest = cut_slice(of_low, (place,), place < n, ends[0], plan.lengths)
    high, rest = cut_slice(of_high, (-place,), rest, ends[1], plan.lengths)

    left = jnp.sum(rest, dtype=jnp.int32)
    middle = rows[jnp.minimum(place + jnp.sum(low, dtype=jnp.int32), x.shape[0] - 1)]  # the rest, at the front
    real = place < left
    nodes = T.trie(middle, left, step.bits)
    test, reserve = as_float(plan.test), as_float(plan.reserve)
    with jax.enable_x64(True):
        gamma, test, reserve = (part.astype(jnp.float64) for part in (nodes.gamma, test, reserve))
        above = (gamma - unstable_from(jnp.asarray(step.deepest, jnp.int32)).astype(jnp.float64)) * test / 2
        balanced = above + reserve + _noise(of_test) > bar

    at = choosing(nodes.light, plan.whole, plan.whole_delta, **_ONE_MORE).sample(of_split)
    split = T.split_points(middle, nodes, step.bits)[jnp.maximum(at, 0)]

    depth = T.embed(middle, left, nodes, 0, step.bits).depth
    deep, rest = cut_slice(of_deep, (-depth, -place), real, step.deepest, plan.lengths)
    depths = jnp.maximum(depth, 0).astype(jnp.uint32)[:, None]
    below = _level(of_length, depths, rest, bar, plan, level + 1, (1, 1))
    length = jnp.minimum(below.element[0], jnp.uint32(step.bits)).astype(jnp.int32)
    weights = T.prefix_weights(middle, left, length, deep, step.bits)
    chosen = choosing(weights, plan.rate, plan.part_delta, **_ONE_MORE).sample(of_prefix)
    points, law = three_candidates(
        rows,
        low | high,
        plan.rate,
        middle[jnp.maximum(chosen, 0)],
        length,
        bits=step.bits,
        margins=margins,
        **_ONE_MORE,
    )
    along = points[law.sample(of_point)]

    answered = jnp.where(balanced, at >= 0, (below.outcome == 0) & (chosen >= 0))
    return MedianAnswer.of(jnp.where(balanced, split, along), answered)


def _noise(key: Array) -> Array:
    """Noise of the tests' threshold or of one weight, in units of 2 / test, ``float64[]`` since sums are compared."""
    with jax.enable_x64(True):
        unit = jnp.ones((), jnp.float64)
        return Laplace(jnp.zeros_like(unit), unit).sample(key)


def two_laplace_tail(value: float | np.ndarray) -> np.ndarray:
    """P[X - X' > y] of two independent Laplace(1) variables: (1 + y/2) e^{-y} / 2 for y >= 0."""
    size = np.abs(value)
    tail = 0.5 * (1 + 0.5 * size) * np.exp(-size)
    return np.where(value >= 0, tail, 1 - tail)


def treelog_rsc_guarantee(plan: RscPlan, what: str = "TreeLog by RSC") -> Guarantee:
    """What the slices, the tests and the mechanism on the remaining rows spend together, under REPLACE_ONE.

    Raises InputError if the table of lengths does not match the rate.
    """
    require_leaves(plan)
    rate, test = float(plan.rate), float(plan.test)
    if not same_plan(plan.lengths, lengths_of(rate)):
        raise InputError("plan", "the table of lengths for its rate", "another table", "make it with lengths_of(rate)")
    one_more, levels = Neighboring.ADD_OR_REMOVE_ONE, len(plan.steps)
    part = Guarantee(rate, float(plan.part_delta), one_more, "mechanism on a slice")
    unstable = levels * float(two_laplace_tail(float(plan.reserve)))
    parts = [
        slices(part, rate, float(plan.slack), 3 * levels, "trims and deepest records, in slices"),
        Guarantee(test, unstable, one_more, "stability tests by AboveThreshold"),
        Guarantee(
            float(plan.whole), float(plan.whole_delta), one_more, "branching node, or exponential median at the bottom"
        ),
    ]
    whole = as_replace_one(basic(parts, "one added or removed record"))
    return Guarantee(
        whole.epsilon, whole.delta, whole.neighboring, what, why=whole.why, parts=whole.parts, source=whole.source
    )
