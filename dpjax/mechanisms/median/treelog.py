"""TreeLog: a branching node if many rows leave the heavy path together, else a prefix of the heavy path."""

import math
from dataclasses import field
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.accounting.composition import basic
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.zcdp import exponential_guarantee
from dpjax.core import bit_strings as B
from dpjax.core import keys
from dpjax.core.draws import asked
from dpjax.core.plans import STATIC, Count, Number, Positive, Probability, Spends, plan_type, require_leaves
from dpjax.core.types import Neighboring, as_float
from dpjax.laws import Categorical, Laplace
from dpjax.mechanisms.choosing import choosing, choosing_guarantee
from dpjax.mechanisms.median import trie as T
from dpjax.mechanisms.median.answer import Margins, MedianAnswer, MedianPlan, roomy, trimmed
from dpjax.mechanisms.median.exponential import ExponentialPlan, three_candidates

_SOURCE = "Cohen, Lyu, Nelson, Sarlos and Stemmer 2023 (skeleton); constants derived"


@plan_type
class TreeStep:
    """One level of the recursion. Budgets are epsilons and deltas of the steps.

    test: rate of the stability test on the light weight gamma, noise Laplace(1 / test).
    reserve: distance of the test's threshold below the smallest unstable weight, in scales of the noise.
    split, split_delta: of the choice among branching nodes if the test fails.
    prefix, prefix_delta: of the choosing mechanism among prefixes of the deepest records.
    final: of the exponential mechanism among three points.
    deepest, gap: ``int32[]``, see `plan_treelog.TreeStepDesign`; privacy does not depend on them.
    bits: of a value of this level's list; the level below has values {0..bits}.
    """

    test: Positive
    reserve: Number
    split: Positive
    split_delta: Probability
    prefix: Positive
    prefix_delta: Probability
    final: Positive
    deepest: Count
    gap: Count
    bits: int = field(metadata=STATIC)


@plan_type
class TreeLogPlan(MedianPlan):
    """The arguments of `treelog`.

    steps: outermost level first. base: epsilon of the exponential median at the bottom, over {0..base_size - 1}.
    bits: of the domain.
    """

    steps: tuple[TreeStep, ...]
    base: Positive
    bits: int = field(metadata=STATIC)
    base_size: int = field(metadata=STATIC)
    spends: ClassVar[Spends] = "approximate"

    def run(self, key: Array, x: Array, mask: Array, margins: Margins = (1, 1)) -> MedianAnswer:
        """See `treelog`."""
        return treelog(key, x, mask, self, margins)

    def guarantee(self, what: str = "private median") -> Guarantee:
        """See `treelog_guarantee`."""
        return treelog_guarantee(self, what=f"{what} (TreeLog)")


def treelog(key: Array, x: Array, mask: Array, plan: TreeLogPlan, margins: Margins = (1, 1)) -> MedianAnswer:
    """An element with at least ``margins[0]`` rows at or below it and ``margins[1]`` at or above it.

    Args:
      key: consumed.
      x: ``uint32[capacity, W]``, rows in any order, W limbs of plan.bits bits. mask: ``bool[capacity]``.
      plan: from `plan_treelog`.
      margins: ``int32[]`` or integers >= 1, public. Under ADD_OR_REMOVE_ONE they must not depend on n.

    Privacy: `treelog_guarantee`, REPLACE_ONE and, with constant margins, ADD_OR_REMOVE_ONE, for every database. A level
      publishes whether its stability test passed. If it passed correctly (see `stability_test`), the deepest rows and
      the depths of the rest differ by one row between neighbors (see `trie.embed`); if it failed, only the choice among
      branching nodes reads the data. Proof: docs/proofs/treelog.md#privacy.
    Utility: with n >= required(alpha) rows of the plan's design, margins ceil((1/2 - alpha) n) fail with probability at
      most the design's failure; with required() rows, margins (1, 1).
    Reference: Cohen, Lyu, Nelson, Sarlos, Stemmer 2023 (trim, heavy path, depths, recursion); the stability test, its
      branch and all constants are our own.
    """
    return _level(key, x, mask, plan, 0, margins)


def _level(key: Array, x: Array, mask: Array, plan: TreeLogPlan, level: int, margins: Margins) -> MedianAnswer:
    if level == len(plan.steps):
        width = max(1, plan.steps[-1].bits.bit_length())
        return ExponentialPlan(plan.base, width, plan.base_size).run(key, x, mask, margins)
    x, mask = roomy(x, mask)
    step = plan.steps[level]
    of_test, of_split, of_length, of_prefix, of_point = keys.streams(key, "test", "split", "length", "prefix", "point")
    rows, n = B.sort_rows(x, mask), jnp.sum(mask, dtype=jnp.int32)
    cuts = (jnp.asarray(margin, jnp.int32) + (step.gap - 2) for margin in margins)
    middle, left = trimmed(rows, n, *cuts)
    nodes = T.trie(middle, left, step.bits)
    balanced = stability_test(nodes.gamma, step).sample(of_test) == 0

    at = choosing(nodes.light, step.split, step.split_delta).sample(of_split)
    split = T.split_points(middle, nodes, step.bits)[jnp.maximum(at, 0)]

    parts = T.embed(middle, left, nodes, step.deepest, step.bits)
    depths = jnp.maximum(parts.depth, 0).astype(jnp.uint32)[:, None]
    below = _level(of_length, depths, parts.rest, plan, level + 1, (1, 1))
    length = jnp.minimum(below.element[0], jnp.uint32(step.bits)).astype(jnp.int32)
    weights = T.prefix_weights(middle, left, length, parts.deep, step.bits)
    chosen = choosing(weights, step.prefix, step.prefix_delta).sample(of_prefix)
    points, law = three_candidates(
        x, mask, step.final, middle[jnp.maximum(chosen, 0)], length, bits=step.bits, margins=margins
    )
    along = points[law.sample(of_point)]

    answered = jnp.where(balanced, at >= 0, (below.outcome == 0) & (chosen >= 0))
    return MedianAnswer.of(jnp.where(balanced, split, along), answered)


def stability_test(gamma: Array, step: TreeStep) -> Categorical:
    """Whether gamma + Laplace(1 / test) <= unstable_from(K) - reserve / test: a law on {failed, passed}.

    Unstable data, 2 gamma > K - 4, pass with probability at most `passes_unstable` (reserve), for any ``deepest`` = K.
    """
    rate = as_float(step.test)
    above = asked(gamma, "stability test", 1) - unstable_from(step.deepest)
    reserve = as_float(step.reserve, rate)
    with jax.enable_x64(True):
        room = -reserve.astype(jnp.float64) - above.astype(jnp.float64) * rate.astype(jnp.float64)
        noise = Laplace(jnp.zeros_like(room), jnp.ones_like(room))
        return Categorical.of(jnp.stack([noise.log_survival(room), noise.log_cdf(room)]), rate.dtype)


def unstable_from(deepest: Number) -> Number:
    """floor(K / 2) - 1, the smallest light weight gamma with 2 gamma > K - 4."""
    return deepest // 2 - 1


def passes_unstable(reserve: float) -> float:
    """P[Laplace(1) <= -reserve]: the probability that data of the smallest unstable weight pass."""
    return 0.5 * math.exp(-reserve) if reserve >= 0 else 1 - 0.5 * math.exp(reserve)


def treelog_guarantee(
    plan: TreeLogPlan, neighboring: Neighboring = Neighboring.REPLACE_ONE, what: str = "TreeLog"
) -> Guarantee:
    """(epsilon, delta): per level the cost of the test plus the more expensive branch."""
    require_leaves(plan)
    below = exponential_guarantee(float(plan.base), f"depth among {plan.base_size} (exponential median)", neighboring)
    for level in reversed(range(len(plan.steps))):
        below = _tested(plan.steps[level], below, neighboring, f"{what}, level {level + 1}")
    return below


def _tested(step: TreeStep, below: Guarantee, neighboring: Neighboring, what: str) -> Guarantee:
    test = Guarantee(
        float(step.test),
        passes_unstable(float(step.reserve)),
        neighboring,
        "stability test",
        why="Laplace noise on a light weight of sensitivity 1; passes on unstable data with this delta",
    )

    def choice(epsilon: Number, delta: Number, what: str) -> Guarantee:
        return choosing_guarantee(float(epsilon), float(delta), neighboring=neighboring, what=f"{what} (choosing)")

    split = choice(step.split, step.split_delta, "branching node")
    prefix = choice(step.prefix, step.prefix_delta, "prefix")
    point = exponential_guarantee(float(step.final), "one of three points", neighboring)
    path = basic((below, prefix, point), "test passed: depth, prefix, point")
    return Guarantee(
        test.epsilon + max(split.epsilon, path.epsilon),
        test.delta + max(split.delta, path.delta),
        neighboring,
        what,
        why="the test is published; then one of the two branches",
        parts=(test, split, path),
        source=_SOURCE,
    )
