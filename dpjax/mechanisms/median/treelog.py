"""TreeLog: where many rows leave the heavy path together, their branching; else a prefix of the heavy path itself."""

import jax.numpy as jnp
from jax import Array

from dpjax.accounting.composition import basic
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.zcdp import exponential_guarantee
from dpjax.core import keys
from dpjax.core.draws import asked
from dpjax.core.types import Neighboring, Privacy, as_float
from dpjax.laws import Categorical, Laplace
from dpjax.mechanisms.choosing import choosing, choosing_guarantee
from dpjax.mechanisms.median import bits as B
from dpjax.mechanisms.median import trie as T
from dpjax.mechanisms.median.answer import MedianAnswer, roomy, trimmed
from dpjax.mechanisms.median.exponential import Margins, exponential_median, three_candidates
from dpjax.mechanisms.median.plan_treelog import TreeLogPlan, TreeStep, unstable_from

_SOURCE = "Cohen, Lyu, Nelson, Sarlos and Stemmer 2023 (skeleton); constants derived"


def treelog(
    key: Array, x: Array, mask: Array, privacy: Privacy, plan: TreeLogPlan, margins: Margins = (1, 1)
) -> MedianAnswer:
    """An element with at least ``margins[0]`` rows at or below it and ``margins[1]`` at or above it.

    Args:
      key: consumed.
      x: ``uint32[capacity, W]``, rows in any order, W limbs of plan.bits bits. mask: ``bool[capacity]``.
      privacy: traced; the plan's own budget is where its utility is proved, privacy holds at every one.
      plan: static, from `plan_treelog`.
      margins: ``int32[]`` or integers >= 1, public. Under ADD_OR_REMOVE_ONE they must not depend on n.

    Privacy: (epsilon, delta), REPLACE_ONE and, with constant margins, ADD_OR_REMOVE_ONE, for every database. A level
      publishes whether its stability test passed. Unless it did so wrongly, which has probability at most d_t, the
      deepest rows and the rest's depths of neighbours differ by one row (see `trie.embed`); if it failed, only the
      choice among branching nodes looks at the data.
    Utility: with n >= plan.required(alpha) rows, margins ceil((1/2 - alpha) n) fail with probability at most
      plan.failure; with plan.required() rows, margins (1, 1).
    Reference: Cohen, Lyu, Nelson, Sarlos, Stemmer 2023 (trim, heavy path, depths, recursion); the stability test, its
      branch and all constants are our own.
    """
    return _level(key, x, mask, privacy, plan, 0, margins)


def _level(
    key: Array, x: Array, mask: Array, privacy: Privacy, plan: TreeLogPlan, level: int, margins: Margins
) -> MedianAnswer:
    epsilon, delta = as_float(privacy.epsilon), as_float(privacy.delta)
    if level == plan.levels:
        width = max(1, plan.steps[-1].bits.bit_length())
        found = exponential_median(x, mask, plan.base * epsilon, bits=width, size=plan.base_size, margins=margins)
        return MedianAnswer.of(found.sample(key), jnp.bool_(True))
    x, mask = roomy(x, mask)
    step = plan.steps[level]
    of_test, of_split, of_length, of_prefix, of_point = keys.streams(key, "test", "split", "length", "prefix", "point")
    rows, n = B.sort_rows(x, mask), jnp.sum(mask, dtype=jnp.int32)
    cuts = (jnp.asarray(margin, jnp.int32) + jnp.int32(step.gap - 2) for margin in margins)
    middle, left = trimmed(rows, n, *cuts)
    nodes = T.trie(middle, left, step.bits)
    balanced = stability_test(nodes.gamma, step, epsilon, delta).sample(of_test) == 0

    at = choosing(nodes.light, step.split * epsilon, step.split_delta * delta).sample(of_split)
    split = T.split_points(middle, nodes, step.bits)[jnp.maximum(at, 0)]

    parts = T.embed(middle, left, nodes, step.deepest, step.bits)
    depths = jnp.maximum(parts.depth, 0).astype(jnp.uint32)[:, None]
    below = _level(of_length, depths, parts.rest, privacy, plan, level + 1, (1, 1))
    length = jnp.minimum(below.element[0], jnp.uint32(step.bits)).astype(jnp.int32)
    weights = T.prefix_weights(middle, left, length, parts.deep, step.bits)
    chosen = choosing(weights, step.prefix * epsilon, step.prefix_delta * delta).sample(of_prefix)
    points, law = three_candidates(
        x, mask, step.final * epsilon, middle[jnp.maximum(chosen, 0)], length, bits=step.bits, margins=margins
    )
    along = points[law.sample(of_point)]

    answered = jnp.where(balanced, at >= 0, (below.outcome == 0) & (chosen >= 0))
    return MedianAnswer.of(jnp.where(balanced, split, along), answered)


def stability_test(gamma: Array, step: TreeStep, epsilon: Array, delta: Array) -> Categorical:
    """Whether gamma + Laplace(1 / e_t) <= T, see `plan_treelog.stability_threshold`: a law on {failed, passed}.

    Passed wrongly, for 2 gamma > K - 4, with probability at most d_t, whatever epsilon and delta are.
    """
    rate = step.test * epsilon
    needed = jnp.maximum(-jnp.log(2 * step.test_delta * delta), 0)  # in scales of the noise
    above = asked(gamma, "stability test", 1) - jnp.int32(unstable_from(step.deepest))
    noise = Laplace(jnp.zeros_like(rate), jnp.ones_like(rate))
    room = -needed - above.astype(rate.dtype) * rate
    return Categorical(jnp.stack([noise.log_survival(room), noise.log_cdf(room)]))


def treelog_guarantee(
    privacy: Privacy, plan: TreeLogPlan, neighboring: Neighboring = Neighboring.REPLACE_ONE, what: str = "TreeLog"
) -> Guarantee:
    """(epsilon, delta): a test, then the dearer of its two branches, level by level."""
    epsilon, delta = float(privacy.epsilon), float(privacy.delta)
    below = exponential_guarantee(
        plan.base * epsilon, f"depth among {plan.base_size} (exponential median)", neighboring
    )
    for level in reversed(range(plan.levels)):
        below = _tested(plan.steps[level], below, epsilon, delta, neighboring, f"{what}, level {level + 1}")
    return below


def _tested(
    step: TreeStep, below: Guarantee, epsilon: float, delta: float, neighboring: Neighboring, what: str
) -> Guarantee:
    test = Guarantee(
        step.test * epsilon, step.test_delta * delta, neighboring, "stability test",
        why="Laplace noise on a light weight of sensitivity 1; passes on unstable data with this delta",
    )  # fmt: skip

    def choice(epsilon: float, delta: float, what: str) -> Guarantee:
        return choosing_guarantee(epsilon, delta, neighboring=neighboring, what=f"{what} (choosing)")

    split = choice(step.split * epsilon, step.split_delta * delta, "branching node")
    prefix = choice(step.prefix * epsilon, step.prefix_delta * delta, "prefix")
    point = exponential_guarantee(step.final * epsilon, "one of three points", neighboring)
    path = basic((below, prefix, point), "test passed: depth, prefix, point")
    return Guarantee(
        test.epsilon + max(split.epsilon, path.epsilon), test.delta + max(split.delta, path.delta), neighboring, what,
        why="the test is published; then one of the two branches", parts=(test, split, path), source=_SOURCE,
    )  # fmt: skip
