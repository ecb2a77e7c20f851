"""The exponential median: an element of large rank from both sides, in a domain of bit strings of any width.

n rows cut the domain into at most 2 n + 1 cells of constant score: the values that occur and the gaps
between them. A cell is drawn with probability proportional to width x exp(rate x score), then one of its elements
uniformly. `mechanisms.intervals` does the same in 64-bit integers. Here numbers are limbs of the domain's width, the
draw inside a cell is exact, and the position of a cell does not depend on the buffer's capacity.
"""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.zcdp import exponential_guarantee
from dpjax.core import bit_strings as B
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.draws import asked, drawn
from dpjax.core.plans import STATIC, Positive, Spends, plan_type, require_leaves
from dpjax.core.types import Neighboring
from dpjax.laws import Categorical
from dpjax.laws.base import Law, Support, listed
from dpjax.mechanisms.exponential import exponential, rate, resolved, scaled
from dpjax.mechanisms.median.answer import Margins, MedianAnswer, MedianPlan


@register_dataclass
@dataclass(frozen=True)
class MedianLaw(Law):
    """A law on {0, ..., size - 1}: a Categorical over cells, uniform inside the cell.

    first, last: ``uint32[p, W]``, both inclusive. alive: ``bool[p]``; False for an empty cell. size: static.
    """

    choice: Categorical
    first: Array
    last: Array
    alive: Array
    size: int = field(metadata={"static": True})

    @drawn
    def sample(self, key: Array) -> Array:
        """One element, ``uint32[W]``; element 0, a fixed default, if no cell has a finite weight."""
        of_piece, inside = jax.random.split(key)
        index = self.choice.sample(of_piece)
        piece = jnp.maximum(index, 0)
        offset = B.uniform_up_to(inside, B.subtract(self.last[piece], self.first[piece]))
        return jnp.where(index < 0, jnp.uint32(0), B.add(self.first[piece], offset))

    def log_prob(self, element: Array) -> Array:
        """log P(element), ``float64[]``, for ``uint32[W]``; -inf outside the domain.

        Computed from the stored log-weights: exact if these are float64, from a float64 epsilon.
        """
        with jax.enable_x64(True):
            inside = self.alive & B.less_equal(self.first, element) & B.less_equal(element, self.last)
            width = B.log_count(B.subtract(self.last, self.first), jnp.float64)
            log_mass = jax.scipy.special.logsumexp(jnp.where(inside, self.choice.log_probs() - width, -jnp.inf))
            default = jnp.where(jnp.all(element == 0), 0.0, -jnp.inf)
            return jnp.where(jnp.any(self.choice.log_weights > -jnp.inf), log_mass, default)

    def support(self, limit: int) -> Support | None:
        """All elements of the domain."""
        if self.size > limit:
            return None
        return listed(B.encode(range(self.size), 32 * self.first.shape[-1]), self.log_prob)


def exponential_median(
    x: Array,
    mask: Array,
    epsilon: Array | float,
    *,
    bits: int,
    size: int | None = None,
    margins: Margins = (1, 1),
    monotonic: bool = False,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
) -> MedianLaw:
    """The exponential mechanism over {0, ..., size - 1} with score `rank_quality`.

    Args:
      x: ``uint32[capacity, W]``, rows in any order. mask: ``bool[capacity]``, which rows are real.
      epsilon: traced scalar > 0.
      bits: static; W = limbs(bits).
      size: static, in [1, 2**bits], by default 2**bits. Larger rows are clipped to size - 1.
      margins: ``int32[]`` or integers from 1 to 2**30, public: they may depend on n if n is public.
      monotonic: static; see `mechanisms.exponential.rate`. Adding a row never decreases the score.

    Returns: MedianLaw; uniform if there are no rows.

    Privacy: (epsilon, 0) under ``neighboring``, for every database; each score changes by at most 1 between neighbors.
    Utility: the score is at least max - (ln size + s) / rate with probability 1 - exp(-s). With margins (1, 1) and
      rate epsilon / 2, an interior point has probability 1 - beta if n >= (4 / epsilon) ln(size / beta).
    Reference: McSherry and Talwar 2007, Theorem 6, for the rank score of a median; constants derived here.
    """
    _check(x, mask, bits)
    factor = resolved(rate(epsilon, monotonic=monotonic, neighboring=neighboring), bits * math.log(2))
    top = _top(bits, size)
    rows = B.sort_rows(jnp.where(B.less(top, x)[:, None], top[None], x), mask)
    first, last, score, alive = _pieces(rows, jnp.sum(mask, dtype=jnp.int32), top, margins)
    asked(_packed(first, last, score, alive), "exponential_median", 1, "pieces")
    with jax.enable_x64(True):
        widths = B.log_count(B.subtract(last, first), jnp.float64)
    return MedianLaw(scaled(score, factor, alive, widths), first, last, alive, 2**bits if size is None else size)


@plan_type
class ExponentialPlan(MedianPlan):
    """The exponential median at ``epsilon``, over {0..size - 1}, or all 2**bits values for None."""

    epsilon: Positive
    bits: int = field(metadata=STATIC)
    size: int | None = field(metadata=STATIC)
    spends: ClassVar[Spends] = "bounded range"

    def run(self, key: Array, x: Array, mask: Array, margins: Margins = (1, 1)) -> MedianAnswer:
        """See `exponential_median`."""
        law = exponential_median(x, mask, self.epsilon, bits=self.bits, size=self.size, margins=margins)
        return MedianAnswer.of(law.sample(key), jnp.bool_(True))

    def guarantee(self, what: str = "private median") -> Guarantee:
        """(epsilon, 0), REPLACE_ONE."""
        require_leaves(self)
        return exponential_guarantee(float(self.epsilon), f"{what} (exponential)")


def rank_quality(x: Array, mask: Array, z: Array, margins: Margins = (1, 1)) -> Array:
    """min(#{x <= z} - (low - 1), #{x >= z} - (high - 1)), ``int32[...]`` for elements z, ``uint32[..., W]``.

    margins: (low, high). A score of 1 or more means that at least ``low`` rows are at or below z and ``high`` at or
    above it; with (1, 1), that z is an interior point. Sensitivity 1 under both relations; nondecreasing in added rows.
    A median has half of the rows on either side, so some score is at least that.

    Reference: Yan 2025, Fact 1.
    """
    low, high = _spare(margins)
    below, above = B.less_equal(x, z[..., None, :]), B.less_equal(z[..., None, :], x)
    real = jnp.broadcast_to(mask, below.shape)
    at_most = jnp.sum(real & below, axis=-1, dtype=jnp.int32)
    at_least = jnp.sum(real & above, axis=-1, dtype=jnp.int32)
    return jnp.minimum(at_most - low, at_least - high)


def three_candidates(
    x: Array,
    mask: Array,
    epsilon: Array | float,
    prefix: Array,
    length: Array,
    *,
    bits: int,
    margins: Margins = (1, 1),
    monotonic: bool = False,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
) -> tuple[Array, Categorical]:
    """The exponential mechanism over v000..., v0111... and v111... with score `rank_quality`.

    Args:
      prefix: ``uint32[W]``, whose first ``length`` (``int32[]``, in [0, bits]) bits are v. Both public.
      The rest as in `exponential_median`.

    Returns: the points, ``uint32[3, W]``, and a Categorical over the distinct ones.

    Privacy: (epsilon, 0) under ``neighboring``.
    Utility: the score is at least max - (ln 3 + s) / rate with probability 1 - exp(-s).
    Reference: McSherry and Talwar 2007, Theorem 6; the three points are derived here, see `trie.embed`.
    """
    _check(x, mask, bits)
    left = jnp.asarray(bits, jnp.int32) - jnp.asarray(length, jnp.int32)  # free bits
    points = jnp.stack([end(prefix, length, bits) for end in (B.prefix, B.middle, B.rightmost)])
    distinct = jnp.stack([jnp.bool_(True), left > 1, left > 0])
    scores = rank_quality(x, mask, points, margins)
    law = exponential(scores, epsilon, where=distinct, monotonic=monotonic, neighboring=neighboring)
    return points, law


def _check(x: Array, mask: Array, bits: int) -> None:
    width = B.limbs(bits)
    if x.shape[1:] != (width,) or mask.shape != x.shape[:1] or mask.size == 0:
        expected = f"one or more rows of {width} limbs with a truth value each, for {bits} bits"
        advice = "encode the rows with core.bit_strings.encode(values, bits)"
        raise InputError("x", expected, f"shapes {x.shape}, {mask.shape}", advice)


def _top(bits: int, size: int | None) -> Array:
    """size - 1, ``uint32[W]``."""
    size = 2**bits if size is None else checks.integer("size", size, 1, 2**bits)
    return jnp.asarray(B.encode(size - 1, bits))


def _spare(margins: Margins) -> list[Array]:  # margins clipped to [1, 2**30], minus 1: scores never wrap
    return [jnp.clip(jnp.asarray(margin, jnp.int32), 1, 1 << 30) - 1 for margin in margins]


def _pieces(rows: Array, n: Array, top: Array, margins: Margins) -> tuple[Array, Array, Array, Array]:
    """(first, last, score, alive) of gap 0, row 0, gap 1, row 1, ..., in ascending order, for sorted rows."""
    count = rows.shape[0]
    low, high = _spare(margins)
    place, gap = jnp.arange(count, dtype=jnp.int32), jnp.arange(count + 1, dtype=jnp.int32)
    zero = jnp.zeros_like(top)[None]

    # gap g lies strictly between rows g - 1 and g; gap 0 begins at the bottom, gap n ends at the top
    begin, end = jnp.concatenate([zero, rows]), jnp.concatenate([rows, zero])
    at_bottom, at_top = gap == 0, gap == n
    first = jnp.where(at_bottom[:, None], zero, B.add_one(begin))
    last = jnp.where(at_top[:, None], top[None], B.subtract_one(end))
    room = (at_bottom | B.less(begin, top)) & (at_top | B.less(zero, end))
    gap_alive = (gap <= n) & room & B.less_equal(first, last)
    gap_score = jnp.minimum(gap - low, n - gap - high)

    # a value is stored at its first row; its rows end where the next value begins
    begins = (place < n) & jnp.append(jnp.ones(1, bool), ~B.equal(rows[1:], rows[:-1]))
    boundary = jnp.where(begins | (place >= n), place, count)
    after = jnp.append(jax.lax.cummin(boundary, reverse=True)[1:], jnp.int32(count))
    score = jnp.minimum(jnp.minimum(after, n) - low, n - place - high)

    def interleaved(of_gaps, of_rows):
        of_rows = jnp.concatenate([of_rows, jnp.zeros((1, *of_rows.shape[1:]), of_rows.dtype)])
        return jnp.stack([of_gaps, of_rows], axis=1).reshape(2 * count + 2, *of_gaps.shape[1:])

    return (
        interleaved(first, rows),
        interleaved(last, rows),
        interleaved(gap_score, score),
        interleaved(gap_alive, begins),
    )


def _packed(first: Array, last: Array, score: Array, alive: Array) -> Array:
    """``int32[p, 2 W + 2]``, W at least 2: the bits of first and last, the score, and whether the cell is alive."""
    ends = [jnp.pad(end, ((0, 0), (max(2 - end.shape[1], 0), 0))) for end in (first, last)]
    limbs = jax.lax.bitcast_convert_type(jnp.concatenate(ends, axis=1), jnp.int32)
    return jnp.concatenate([limbs, score[:, None], alive.astype(jnp.int32)[:, None]], axis=1)
