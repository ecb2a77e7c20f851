"""RecPrefix: random pairs of rows go down as lengths of common prefixes, a prefix of the answer's length comes back."""

import jax.numpy as jnp
from jax import Array

from dpjax.accounting.composition import basic
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.zcdp import exponential_guarantee
from dpjax.core import keys
from dpjax.core.types import Neighboring, Privacy, as_float
from dpjax.mechanisms.choosing import choosing, choosing_guarantee
from dpjax.mechanisms.median import bits as B
from dpjax.mechanisms.median.answer import MedianAnswer, roomy, trimmed
from dpjax.mechanisms.median.exponential import Margins, exponential_median, three_candidates
from dpjax.mechanisms.median.plan_recprefix import RecPrefixPlan
from dpjax.mechanisms.median.trie import prefix_weights
from dpjax.mechanisms.shuffle import Matching

_SOURCE = "Bun, Nissim, Stemmer and Vadhan 2015, Section 4; constants derived"


def recprefix(
    key: Array, x: Array, mask: Array, privacy: Privacy, plan: RecPrefixPlan, margins: Margins = (1, 1)
) -> MedianAnswer:
    """An element with at least ``margins[0]`` rows at or below it and ``margins[1]`` at or above it.

    Args:
      key: consumed.
      x: ``uint32[capacity, W]``, rows in any order, W limbs of plan.bits bits. mask: ``bool[capacity]``.
      privacy: traced; the plan's own budget is where its utility is proved, privacy holds at every one.
      plan: static, from `plan_recprefix`.
      margins: ``int32[]`` or integers >= 1, public; they may depend on n.

    Privacy: (epsilon, delta), REPLACE_ONE, for every database and every n: basic composition over the levels. Trimmed
      lists of neighbours differ by one replacement; a uniformly random matching depends on the set of rows only, so the
      matchings can be coupled to differ in one pair.
    Utility: with n >= plan.required(alpha) rows, margins ceil((1/2 - alpha) n) fail with probability at most
      plan.failure; with plan.required() rows, margins (1, 1).
    Reference: Bun, Nissim, Stemmer, Vadhan 2015, Section 4; asymmetric margins and constants are our own.
    """
    return _level(key, x, mask, privacy, plan, 0, margins)


def _level(
    key: Array, x: Array, mask: Array, privacy: Privacy, plan: RecPrefixPlan, level: int, margins: Margins
) -> MedianAnswer:
    epsilon, delta = as_float(privacy.epsilon), as_float(privacy.delta)
    if level == plan.levels:
        width, size = plan.steps[-1].bits, plan.base_size
        found = exponential_median(x, mask, plan.base * epsilon, bits=_bits(width), size=size, margins=margins)
        return MedianAnswer.of(found.sample(key), jnp.bool_(True))
    x, mask = roomy(x, mask)
    step = plan.steps[level]
    of_pairs, of_length, of_prefix, of_point = keys.streams(key, "pairs", "length", "prefix", "point")
    rows, n = B.sort_rows(x, mask), jnp.sum(mask, dtype=jnp.int32)
    cuts = (jnp.asarray(margin, jnp.int32) + jnp.int32(step.gap - 2) for margin in margins)
    middle, left = trimmed(rows, n, *cuts)

    lengths, paired = _common_prefixes(of_pairs, middle, left, step.bits)
    below = _level(of_length, lengths, paired, privacy, plan, level + 1, (1, step.margin))
    length = jnp.minimum(below.element[0], jnp.uint32(step.bits)).astype(jnp.int32)

    real = jnp.arange(x.shape[0], dtype=jnp.int32) < left
    weights = prefix_weights(middle, left, length, real, step.bits)
    chosen = choosing(weights, step.prefix * epsilon, step.delta * delta).sample(of_prefix)
    points, law = three_candidates(
        x, mask, step.final * epsilon, middle[jnp.maximum(chosen, 0)], length, bits=step.bits, margins=margins
    )
    return MedianAnswer.of(points[law.sample(of_point)], (below.outcome == 0) & (chosen >= 0))


def _common_prefixes(key: Array, rows: Array, n: Array, bits: int) -> tuple[Array, Array]:
    """How many leading bits the pairs of a random matching share, ``uint32[pairs, 1]``, and which pairs are real."""
    capacity = rows.shape[0]
    order = Matching(n, capacity).sample(key)
    pairs = capacity // 2
    shuffled = rows[order[: 2 * pairs]].reshape(pairs, 2, rows.shape[1])
    shared = B.lcp(shuffled[:, 0], shuffled[:, 1], bits)
    return shared.astype(jnp.uint32)[:, None], jnp.arange(pairs, dtype=jnp.int32) < n // 2


def _bits(largest: int) -> int:
    """Of a domain {0..largest}."""
    return max(1, largest.bit_length())


def recprefix_guarantee(privacy: Privacy, plan: RecPrefixPlan, what: str = "RecPrefix") -> Guarantee:
    """(epsilon, delta), REPLACE_ONE: what each level spends."""
    epsilon, delta = float(privacy.epsilon), float(privacy.delta)
    parts = []
    for level, step in enumerate(plan.steps, 1):
        parts += [
            choosing_guarantee(step.prefix * epsilon, step.delta * delta, what=f"prefix, level {level} (choosing)"),
            exponential_guarantee(step.final * epsilon, f"one of three points, level {level}"),
        ]
    parts.append(exponential_guarantee(plan.base * epsilon, f"length among {plan.base_size} (exponential median)"))
    whole = basic(parts, what)
    return Guarantee(
        whole.epsilon, whole.delta, Neighboring.REPLACE_ONE, what, why="basic composition over the levels",
        parts=tuple(parts), source=_SOURCE,
    )  # fmt: skip
