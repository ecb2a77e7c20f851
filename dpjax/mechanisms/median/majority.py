"""Majority: a private length on the path of prefixes of more than half of the rows, and the prefix of that length."""

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
from dpjax.mechanisms.choosing import choosing, choosing_guarantee
from dpjax.mechanisms.exponential import exponential
from dpjax.mechanisms.median.answer import Margins, MedianAnswer, MedianPlan, roomy, trimmed
from dpjax.mechanisms.median.trie import prefix_weights


@plan_type
class MajorityPlan(MedianPlan):
    """The arguments of `majority`.

    length: epsilon of the exponential mechanism among lengths. prefix, delta: of the choosing mechanism among prefixes.
    threshold: ``int32[]``, rows with one prefix from which its length counts, at least half of them; privacy does not
      depend on it. bits: of the domain.
    """

    length: Positive
    prefix: Positive
    delta: Probability
    threshold: Count
    bits: int = field(metadata=STATIC)
    spends: ClassVar[Spends] = "approximate"

    def run(self, key: Array, x: Array, mask: Array, margins: Margins = (1, 1)) -> MedianAnswer:
        """See `majority`."""
        return majority(key, x, mask, self, margins)

    def guarantee(self, what: str = "private median") -> Guarantee:
        """The sum of the two steps, REPLACE_ONE."""
        require_leaves(self)
        parts = (
            exponential_guarantee(float(self.length), f"length among {self.bits + 1} (exponential)"),
            choosing_guarantee(float(self.prefix), float(self.delta), what="prefix of that length (choosing)"),
        )
        return basic(parts, f"{what} (majority)")


def majority(key: Array, x: Array, mask: Array, plan: MajorityPlan, margins: Margins = (1, 1)) -> MedianAnswer:
    """An element with at least ``margins[0]`` rows at or below it and ``margins[1]`` at or above it.

    Args:
      key: consumed.
      x: ``uint32[capacity, W]``, rows in any order, W limbs of plan.bits bits. mask: ``bool[capacity]``.
      plan: from `plan_majority`.
      margins: ``int32[]`` or integers >= 1, public; they may depend on n.

    Privacy: `MajorityPlan.guarantee`, REPLACE_ONE, for every database and every n: more than half of the rows have at
      most one prefix of a length, the same one in neighbors, so the scores of lengths have sensitivity 1:
      docs/proofs/majority.md#privacy.
    Utility: with n >= required(alpha) rows of the plan's design, margins ceil((1/2 - alpha) n) fail with probability at
      most the design's failure; with required() rows, margins (1, 1): docs/proofs/majority.md#utility.
    Reference: our own. The problem is that of Bun, Nissim, Stemmer, Vadhan 2015, and the prefix is chosen as theirs.
    """
    of_length, of_prefix = keys.streams(key, "length", "prefix")
    x, mask = roomy(x, mask)
    rows, n = B.sort_rows(x, mask), jnp.sum(mask, dtype=jnp.int32)
    middle, left = trimmed(rows, n, *(jnp.asarray(margin, jnp.int32) - 1 for margin in margins))
    scores = split_scores(middle, left, plan.threshold, plan.bits)
    length = exponential(scores, plan.length).sample(of_length)
    real = jnp.arange(x.shape[0], dtype=jnp.int32) < left
    chosen = choosing(prefix_weights(middle, left, length, real, plan.bits), plan.prefix, plan.delta).sample(of_prefix)
    point = B.middle(middle[jnp.maximum(chosen, 0)], length, plan.bits)
    return MedianAnswer.of(point, chosen >= 0)


def split_scores(rows: Array, n: Array, threshold: Array, bits: int) -> Array:
    """For each length z the score of v0111..., v the prefix of z bits of more than h rows, ``int32[bits + 1]`` >= 0.

    It is the least of the rows beyond h that begin with v, of the rows at or below v0111..., and of those above; for
    z = bits, where v is an element, of the first alone; and 0 if there is no such v. h is ``threshold`` or, if more,
    half of the rows, rounded up. rows: sorted, ``uint32[capacity, W]``, the first n real.

    Sensitivity 1 under REPLACE_ONE.
    """
    place, length = jnp.arange(rows.shape[0], dtype=jnp.int32), jnp.arange(bits + 1, dtype=jnp.int32)
    half = n // 2
    center = rows[half]  # it has every prefix of more than half of the rows
    shared = B.lcp(rows, center, bits)
    real = place < n
    counts = lambda where: jnp.zeros(bits + 1, jnp.int32).at[shared].add(where.astype(jnp.int32))  # noqa: E731
    both, lower = counts(real), counts(real & (place < half))
    with_prefix = jnp.cumsum(both[::-1], dtype=jnp.int32)[::-1]  # rows that share z bits or more
    limb = center[center.shape[0] - 1 - (bits - 1 - length[:-1]) // 32]
    one = (limb >> ((bits - 1 - length[:-1]) % 32).astype(jnp.uint32)) & jnp.uint32(1) == 1
    low = jnp.cumsum(lower, dtype=jnp.int32)[:-1] + jnp.where(one, 0, with_prefix[1:])
    beyond = with_prefix - jnp.maximum(threshold, (n + 1) // 2)
    splits = jnp.minimum(low, n - low)
    return jnp.maximum(jnp.minimum(beyond, jnp.append(splits, n)), 0)
