"""TreeLog by reorder-slice-compute: its cost in epsilon does not grow with the levels, only with ln(1 / delta)."""

import jax.numpy as jnp
from jax import Array

from dpjax.core import keys, random
from dpjax.core.types import Neighboring
from dpjax.laws import Laplace
from dpjax.mechanisms.choosing import choosing
from dpjax.mechanisms.median import bits as B
from dpjax.mechanisms.median import trie as T
from dpjax.mechanisms.median.answer import MedianAnswer, roomy
from dpjax.mechanisms.median.exponential import Margins, exponential_median, three_candidates
from dpjax.mechanisms.median.plan_rsc import RscPlan
from dpjax.mechanisms.slicing import cut_slice

_ONE_MORE: dict = {"monotonic": True, "neighboring": Neighboring.ADD_OR_REMOVE_ONE}


def treelog_rsc(key: Array, x: Array, mask: Array, plan: RscPlan, margins: Margins = (1, 1)) -> MedianAnswer:
    """An element with at least ``margins[0]`` rows at or below it and ``margins[1]`` at or above it.

    Args:
      key: consumed.
      x: ``uint32[capacity, W]``, rows in any order, W limbs of plan.bits bits. mask: ``bool[capacity]``.
      plan: static, from `plan_rsc`; its budget is the budget.
      margins: ``int32[]`` or integers >= 1, public; they may depend on n.

    Privacy: plan.guarantee(), REPLACE_ONE, for every database: slices of the two ends and of the deepest rows by
      `slicing.cut_slice`, stability tests by AboveThreshold over all levels, one mechanism on a whole rest.
    Utility: with n >= plan.required(alpha) rows, margins ceil((1/2 - alpha) n) fail with probability at most
      plan.failure; with plan.required() rows, margins (1, 1).
    Reference: Cohen, Lyu, Nelson, Sarlos, Stemmer 2023; a reconstruction with our own tests, branch and constants.
    """
    of_threshold, of_levels = keys.streams(key, "threshold", "levels")
    shift = _laplace(of_threshold, 2 / plan.test)
    return _level(of_levels, x, mask, shift, plan, 0, margins)


def _level(
    key: Array, x: Array, mask: Array, shift: Array, plan: RscPlan, level: int, margins: Margins
) -> MedianAnswer:
    if level == plan.levels:
        width = max(1, plan.steps[-1].bits.bit_length())
        found = exponential_median(x, mask, plan.whole, bits=width, size=plan.base_size, **_ONE_MORE)
        return MedianAnswer.of(found.sample(key), jnp.bool_(True))
    x, mask = roomy(x, mask)
    step = plan.steps[level]
    names = "low", "high", "test", "split", "deep", "length", "prefix", "point"
    of_low, of_high, of_test, of_split, of_deep, of_length, of_prefix, of_point = keys.streams(key, *names)
    lengths = random.geometric_table(1 / plan.rate)
    rows, n = B.sort_rows(x, mask), jnp.sum(mask, dtype=jnp.int32)
    place = jnp.arange(x.shape[0], dtype=jnp.int32)
    ends = [jnp.asarray(margin, jnp.int32) + jnp.int32(step.gap - 1) for margin in margins]
    low, rest = cut_slice(of_low, (place,), place < n, ends[0], lengths)
    high, rest = cut_slice(of_high, (-place,), rest, ends[1], lengths)

    left = jnp.sum(rest, dtype=jnp.int32)
    middle = rows[jnp.minimum(place + jnp.sum(low, dtype=jnp.int32), x.shape[0] - 1)]  # the rest, to the front
    real = place < left
    nodes = T.trie(middle, left, step.bits)
    noisy = nodes.gamma.astype(jnp.float32) + _laplace(of_test, 2 / plan.test)
    balanced = noisy > jnp.float32(step.threshold) + shift

    at = choosing(nodes.light, plan.whole, plan.whole_delta, **_ONE_MORE).sample(of_split)
    split = T.split_points(middle, nodes, step.bits)[jnp.maximum(at, 0)]

    depth = T.embed(middle, left, nodes, 0, step.bits).depth
    deep, rest = cut_slice(of_deep, (-depth, -place), real, step.deepest, lengths)
    depths = jnp.maximum(depth, 0).astype(jnp.uint32)[:, None]
    below = _level(of_length, depths, rest, shift, plan, level + 1, (1, 1))
    length = jnp.minimum(below.element[0], jnp.uint32(step.bits)).astype(jnp.int32)
    weights = T.prefix_weights(middle, left, length, deep, step.bits)
    chosen = choosing(weights, plan.rate, plan.part_delta, **_ONE_MORE).sample(of_prefix)
    points, law = three_candidates(
        rows, low | high, plan.rate, middle[jnp.maximum(chosen, 0)], length, bits=step.bits, margins=margins,
        **_ONE_MORE,
    )  # fmt: skip
    along = points[law.sample(of_point)]

    answered = jnp.where(balanced, at >= 0, (below.outcome == 0) & (chosen >= 0))
    return MedianAnswer.of(jnp.where(balanced, split, along), answered)


def _laplace(key: Array, scale: float) -> Array:
    return Laplace(jnp.float32(0), jnp.float32(scale)).sample(key)
