"""RecPrefix: recursion on the common-prefix lengths of random pairs of rows; a lower level returns a prefix length."""

from dataclasses import field
from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from dpjax.accounting.composition import basic
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.zcdp import exponential_guarantee
from dpjax.core import bit_strings as B
from dpjax.core import keys
from dpjax.core.plans import STATIC, Count, Positive, Probability, Spends, plan_type, require_leaves
from dpjax.core.types import Neighboring
from dpjax.mechanisms.choosing import choosing, choosing_guarantee
from dpjax.mechanisms.median.answer import Margins, MedianAnswer, MedianPlan, roomy, trimmed
from dpjax.mechanisms.median.exponential import ExponentialPlan, three_candidates
from dpjax.mechanisms.median.trie import prefix_weights
from dpjax.mechanisms.shuffle import Matching

_SOURCE = "Bun, Nissim, Stemmer and Vadhan 2015, Section 4; constants derived"


@plan_type
class PrefixStep:
    """One level of the recursion, on the lengths of the common prefixes of random pairs of the list.

    prefix, delta: of the choosing mechanism among prefixes. final: epsilon of the exponential mechanism among three
      points. gap, margin: ``int32[]``, see `plan_recprefix.PrefixStepDesign`; privacy does not depend on them.
    bits: of a value of this level's list; the level below has values {0..bits}.
    """

    prefix: Positive
    delta: Probability
    final: Positive
    gap: Count
    margin: Count
    bits: int = field(metadata=STATIC)


@plan_type
class RecPrefixPlan(MedianPlan):
    """The arguments of `recprefix`.

    steps: outermost level first. base: epsilon of the exponential median at the bottom, over {0..base_size - 1}.
    bits: of the domain.
    """

    steps: tuple[PrefixStep, ...]
    base: Positive
    bits: int = field(metadata=STATIC)
    base_size: int = field(metadata=STATIC)
    spends: ClassVar[Spends] = "approximate"

    def run(self, key: Array, x: Array, mask: Array, margins: Margins = (1, 1)) -> MedianAnswer:
        """See `recprefix`."""
        return recprefix(key, x, mask, self, margins)

    def guarantee(self, what: str = "private median") -> Guarantee:
        """See `recprefix_guarantee`."""
        return recprefix_guarantee(self, f"{what} (RecPrefix)")


def recprefix(key: Array, x: Array, mask: Array, plan: RecPrefixPlan, margins: Margins = (1, 1)) -> MedianAnswer:
    """An element with at least ``margins[0]`` rows at or below it and ``margins[1]`` at or above it.

    Args:
      key: consumed.
      x: ``uint32[capacity, W]``, rows in any order, W limbs of plan.bits bits. mask: ``bool[capacity]``.
      plan: from `plan_recprefix`.
      margins: ``int32[]`` or integers >= 1, public; they may depend on n.

    Privacy: `recprefix_guarantee`, REPLACE_ONE, for every database and every n: basic composition over the levels.
      Trimmed lists of neighbors differ by one replacement, and matchings can be coupled to differ in one pair:
      docs/proofs/recprefix.md#privacy.
    Utility: with n >= required(alpha) rows of the plan's design, margins ceil((1/2 - alpha) n) fail with probability at
      most the design's failure; with required() rows, margins (1, 1).
    Reference: Bun, Nissim, Stemmer, Vadhan 2015, Section 4; asymmetric margins and constants are our own.
    """
    return _level(key, x, mask, plan, 0, margins)


def _level(key: Array, x: Array, mask: Array, plan: RecPrefixPlan, level: int, margins: Margins) -> MedianAnswer:
    if level == len(plan.steps):
        width = max(1, plan.steps[-1].bits.bit_length())
        return ExponentialPlan(plan.base, width, plan.base_size).run(key, x, mask, margins)
    x, mask = roomy(x, mask)
    step = plan.steps[level]
    of_pairs, of_length, of_prefix, of_point = keys.streams(key, "pairs", "length", "prefix", "point")
    rows, n = B.sort_rows(x, mask), jnp.sum(mask, dtype=jnp.int32)
    cuts = (jnp.asarray(margin, jnp.int32) + (step.gap - 2) for margin in margins)
    middle, left = trimmed(rows, n, *cuts)

    lengths, paired = _common_prefixes(of_pairs, middle, left, step.bits)
    below = _level(of_length, lengths, paired, plan, level + 1, (1, step.margin))
    length = jnp.minimum(below.element[0], jnp.uint32(step.bits)).astype(jnp.int32)

    real = jnp.arange(x.shape[0], dtype=jnp.int32) < left
    weights = prefix_weights(middle, left, length, real, step.bits)
    chosen = choosing(weights, step.prefix, step.delta).sample(of_prefix)
    points, law = three_candidates(
        x, mask, step.final, middle[jnp.maximum(chosen, 0)], length, bits=step.bits, margins=margins
    )
    return MedianAnswer.of(points[law.sample(of_point)], (below.outcome == 0) & (chosen >= 0))


def _common_prefixes(key: Array, rows: Array, n: Array, bits: int) -> tuple[Array, Array]:
    """The number of leading bits that pairs of a random matching share, ``uint32[pairs, 1]``, and which are real."""
    capacity = rows.shape[0]
    order = Matching(n, capacity).sample(key)
    pairs = capacity // 2
    shuffled = rows[order[: 2 * pairs]].reshape(pairs, 2, rows.shape[1])
    shared = B.lcp(shuffled[:, 0], shuffled[:, 1], bits)
    return shared.astype(jnp.uint32)[:, None], jnp.arange(pairs, dtype=jnp.int32) < n // 2


def recprefix_guarantee(plan: RecPrefixPlan, what: str = "RecPrefix") -> Guarantee:
    """The sum of the plan's epsilons and deltas, REPLACE_ONE."""
    require_leaves(plan)
    parts = []
    for level, step in enumerate(plan.steps, 1):
        parts += [
            choosing_guarantee(float(step.prefix), float(step.delta), what=f"prefix, level {level} (choosing)"),
            exponential_guarantee(float(step.final), f"one of three points, level {level}"),
        ]
    parts.append(exponential_guarantee(float(plan.base), f"length among {plan.base_size} (exponential median)"))
    whole = basic(parts, what)
    return Guarantee(
        whole.epsilon,
        whole.delta,
        Neighboring.REPLACE_ONE,
        what,
        why="basic composition over the levels",
        parts=tuple(parts),
        source=_SOURCE,
    )
