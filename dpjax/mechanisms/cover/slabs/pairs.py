"""The exact sum of exp(coefficient q) over all pairs (a, b) of a node, and one pair from its law, in O(n).

With T targets and O others among the rows of [a, b], q = min(T - share, -O) is T - share if T + O < share, and -O if
not. Let P and N count targets and others before a gap. For b in gap j, the near a are those with fewer than share rows
between, with weights exp(c (P[j] - P[i] - share)); the far a have weights exp(-c (N[j] - N[i])). Both kinds are
contiguous ranges of gaps i, and their sums are decaying sums along the rows. Exponents are relative to the largest.

The near a are a difference of two sums, which loses digits: docs/proofs/slab-wedges.md#the-sum-over-a-and-b.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core.integers import widened
from dpjax.laws import Categorical
from dpjax.mechanisms.cover.lines.sweep import below
from dpjax.mechanisms.cover.score import Score
from dpjax.mechanisms.cover.slabs.nodes import Nodes, Spans, Widths
from dpjax.mechanisms.cover.slabs.ordered import Ordered
from dpjax.mechanisms.cover.slabs.recurrences import decayed
from dpjax.mechanisms.cover.triangles.corners import unit_sum


class Sums(NamedTuple):
    """Weights by the gap j of b, divided by exp(coefficient top), ``float64[m]``, and of slabs without rows.

    least: ``float64[]``, the log of what `Score.log_least` adds for all pairs, not divided.
    start: ``int32[m]``, the first gap whose a are near. p, o: ``int32[m]``, targets and others before each gap.
    """

    near: Array
    far: Array
    same: Array
    top: Array
    least: Array
    start: Array
    p: Array
    o: Array

    def log_total(self, coefficient: Array) -> Array:
        """log of the sum, ``float64[]``; -inf for a node without pairs. The same bits with any padding."""
        parts = self.near + self.far
        most = jnp.maximum(jnp.max(parts), self.same)
        unit = jnp.where(most > 0, most, 1.0)
        total = unit_sum(parts / unit) + self.same / unit
        log = jnp.where(most > 0, coefficient * self.top + jnp.log(unit) + jnp.log(total), -jnp.inf)
        return jnp.logaddexp(log, self.least)


def reachable(score: Score, rows: Ordered) -> Score:
    """The score with a share in [0, n + 1], for n rows that count: another one has the same law, q plus a constant."""
    return score.moved(jnp.clip(score.share, 0.0, rows.real.astype(jnp.float64) + 1.0))


def sums(widths: Widths, target: Array, other: Array, score: Score) -> Sums:
    """The sums over all (a, b) of a node; ``target`` and ``other``, ``bool[m]``, are the rows between both lines."""
    c, share = score.coefficient, score.share
    both = jnp.cumsum(target.astype(jnp.int64) + (other.astype(jnp.int64) << 32))
    both = jnp.concatenate([jnp.zeros(1, jnp.int64), both[:-1]])
    p, o = (both & 0xFFFFFFFF).astype(jnp.int32), (both >> 32).astype(jnp.int32)
    count = target.shape[0]
    place = jnp.arange(count, dtype=jnp.int32)
    rank = p + o
    row = jnp.zeros(count, jnp.int32).at[jnp.where(target | other, rank, jnp.int32(count))].set(place, mode="drop")
    last = rank - jnp.ceil(share).astype(jnp.int32)  # of the rows before a near a, in the order of those that count
    start = jnp.where(last >= 0, row[jnp.maximum(last, 0)] + 1, jnp.int32(0))
    start = jnp.where(share > 0, start, place)
    first, final = widths.after[start], widths.before[start]
    is_near, is_far = (first < place) & (widths.b > 0), (final >= 0) & (widths.b > 0)
    first, final = jnp.minimum(first, place), jnp.maximum(final, 0)
    gained = (p - p[first]).astype(jnp.float64)
    up, down = gained - share, (o[final] - o).astype(jnp.float64)
    none = -jnp.inf
    most = jnp.maximum(jnp.max(jnp.where(is_near, up, none)), jnp.max(jnp.where(is_far, down, none)))
    most = jnp.maximum(most, jnp.where(widths.same > 0, -share, none))
    top = jnp.where(most > none, most, 0.0)
    fewer = jnp.exp(-c)
    kept = jnp.stack(
        [jnp.concatenate([jnp.ones(1), jnp.where(other, fewer, 1.0)[:-1]]), jnp.where(target, fewer, 1.0)[::-1]]
    )
    before, after = decayed(jnp.stack([widths.a, widths.a[::-1]]), kept)
    after = after[::-1]
    window = jnp.maximum(after[first] - jnp.exp(-c * gained) * after, 0.0)
    near = jnp.where(is_near, widths.b * jnp.exp(c * (up - top)) * window, 0.0)
    far = jnp.where(is_far, widths.b * jnp.exp(c * (down - top)) * before[final], 0.0)
    same = widths.same * jnp.exp(jnp.minimum(c * (-share - top), 0.0))  # at most 0 if there are such pairs
    return Sums(near, far, same, top, widths.every + score.log_least, start, p, o)


def draw_pair(key: Array, rows: Ordered, node: Nodes, made: Sums, score: Score) -> tuple[Array, Array]:
    """One pair (a, b) of a node from its law, ``uint64[]`` each."""
    of_kind, of_gap, of_ends = jax.random.split(key, 3)
    spans = Spans.of(rows, node)
    count = made.near.shape[0]
    place = jnp.arange(count, dtype=jnp.int32)
    pairs = spans.pairs(node.leaf)
    same = _logs(pairs) + score.coefficient * (-score.share - made.top)
    least = (made.least - score.coefficient * made.top)[None]
    logs = jnp.concatenate([_logs(made.near), _logs(made.far), same, least])
    chosen = jnp.maximum(Categorical(logs).sample(of_kind), 0)
    kind, gap = chosen // count, chosen % count
    p, o = (part.astype(jnp.float64) for part in (made.p, made.o))
    by_targets, by_others = score.coefficient * (p[gap] - p), score.coefficient * (o - o[gap])
    near = (place >= made.start[gap]) & (place < gap)
    inside = jnp.where(kind == 0, near, place < made.start[gap]) & spans.some_a
    logs = jnp.log(jnp.maximum((spans.last_a - spans.first_a).astype(jnp.float64) + 1.0, 1.0))
    logs = jnp.where(inside, logs + jnp.where(kind == 0, by_targets, by_others), -jnp.inf)
    start = jnp.where(kind == 2, gap, jnp.maximum(Categorical(logs).sample(of_gap), 0))
    from_, to = jax.tree.map(lambda part: part[start], spans), jax.tree.map(lambda part: part[gap], spans)
    every = Spans.whole(node)
    from_, to = (jax.tree.map(lambda one, all_: jnp.where(kind == 3, all_, one), part, every) for part in (from_, to))
    last_a, last_b = from_.last_a - from_.first_a, to.last_b - to.first_b
    # in one gap of a leaf: a uniform pair i <= j belongs to two cells of a table of last + 2 and last + 1
    last = from_.last_b - from_.first_a
    sizes = widened(jnp.stack([last_a, last_b, last, last]), 2) + widened(jnp.array([1, 1, 2, 1], jnp.uint64), 2)
    a, b, first, second = below(of_ends, sizes).astype(jnp.uint64)
    up = first <= second
    low, high = jnp.where(up, first, second), jnp.where(up, second, first - 1)
    together = node.leaf & (kind >= 2)
    return from_.first_a + jnp.where(together, low, a), jnp.where(together, from_.first_a + high, to.first_b + b)


def _logs(weights: Array) -> Array:
    return jnp.where(weights > 0, jnp.log(jnp.where(weights > 0, weights, 1.0)), -jnp.inf)
