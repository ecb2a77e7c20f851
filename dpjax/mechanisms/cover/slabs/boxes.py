"""Boxes of pairs of lines: two slopes and two values of t, with upper bounds of the weight of all their points.

A lower line has the wedge above it, an upper line below it. Lines have three kinds: flat ones in chart 0, and in chart
1 those of slopes s >= 0 and s < 0, for which "above" means x - s y < t and x - s y >= t. So every line that is not
vertical has one place, and a box of two lines has one of nine kinds.

In a box, t is sheared: it is the t of the line plus s times a coordinate of the pivot of a node, so that a box of small
sides has lines that are close to each other near the pivot. A sheared t is whole, and has all its lattice points.
"""

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core.integers import clip, constant, integers, minimum, stack, where, widened
from dpjax.mechanisms.cover.lines.cuts import affine
from dpjax.mechanisms.cover.lines.envelope import slackened
from dpjax.mechanisms.cover.lines.measures import Grid, Kinematic
from dpjax.mechanisms.cover.score import Score
from dpjax.mechanisms.cover.slabs.nodes import Nodes, Widths
from dpjax.mechanisms.cover.slabs.ordered import Ordered
from dpjax.mechanisms.cover.slabs.pairs import Sums, sums

CHARTS = np.array([0, 1, 1], np.int32)
LOWEST, HIGHEST = np.array([-1, 0, -1]), np.array([1, 1, 0])
"""The slopes of the three kinds, from the first up to but not including the second."""
ABOVE = np.array([[True, False, True], [False, True, False]])
"""Whether a lower line, and an upper line, of each kind keeps the values from t on."""
MEASURE: Any = Kinematic(margin=0.0)
_FRACTION = 30
_DEVIATIONS = 3  # rows are together if they move more than so many mean deviations from their mean
_SHARE = 0.25  # of the side of t, which rows that are together may move before s is split


@register_dataclass
@dataclass(frozen=True)
class Boxes:
    """Boxes of one node each. node: ``int32[...]``. kind: ``int32[..., 2]``, of the lower and of the upper line.

    low, high: ``integers[..., 2, 2]``, {low, ..., high - 1} of (s, sheared t) of both lines.
    """

    node: Array
    kind: Array
    low: Any
    high: Any

    @staticmethod
    def roots(grid: Grid, nodes: Nodes) -> "Boxes":
        """The nine boxes of all lines for each node, ``[9 nodes]``."""
        kinds = np.array(list(product(range(3), repeat=2)), np.int32)
        count, words = nodes.exists.shape[0], grid.words
        ends = [integers((side[kinds].astype(object) << grid.bits), words) for side in (LOWEST, HIGHEST)]
        pivots = nodes.pivot[:, CHARTS[kinds]]  # uint64[nodes, 9, 2]
        shifts = [part * _unsigned(pivots, words) for part in (_tiled(ends[0], count), _tiled(ends[1] - 1, count))]
        least = minimum(*shifts) + grid.first
        most = where(shifts[0] < shifts[1], shifts[1], shifts[0]) + (grid.last + 2)
        low = stack([_tiled(ends[0], count), least], -1)
        high = stack([_tiled(ends[1], count), most], -1)
        node = jnp.repeat(jnp.arange(count, dtype=jnp.int32), len(kinds))
        flat = jax.tree.map(lambda part: part.reshape(-1, 2, 2), (low, high))
        return Boxes(node, jnp.tile(jnp.asarray(kinds), (count, 1)), *flat)

    @staticmethod
    def point(node: Array, kind: Array, at: Any) -> "Boxes":
        """The boxes of one point each."""
        return Boxes(node, kind, at, at + 1)

    def halves(self, axis: Array, middle: Any) -> tuple["Boxes", "Boxes"]:
        """The parts of a box below ``middle`` along an axis, 0 to 3 in the order of low, and from there on."""
        here = (jnp.arange(4, dtype=jnp.int32) == axis).reshape(2, 2)
        return replace(self, high=where(here, middle, self.high)), replace(self, low=where(here, middle, self.low))

    def log_points(self) -> Array:
        """The log of the number of lattice points of each box, ``float64[...]``."""
        return jnp.sum(jnp.log((self.high - self.low).astype(jnp.float64)), axis=(-2, -1))


@register_dataclass
@dataclass(frozen=True)
class Bound:
    """log: ``float64[]``, of density times the sum over (a, b): that of a box of one point, or a bound for all points.

    axis: ``int32[]`` and middle: ``integers[]``, where to split the box: low < middle < high for more than one point.
    """

    log: Array
    axis: Array
    middle: Any


@register_dataclass
@dataclass(frozen=True)
class Instance:
    """What the weights of boxes depend on: rows, nodes with their widths ``[k, m]``, and a `pairs.reachable` score."""

    rows: Ordered
    nodes: Nodes
    widths: Widths
    score: Score

    @property
    def rounding(self) -> Array:
        """More than the rounding errors of two `pairs.sums`, ``float64[]``, see there."""
        return 2.0**-48 * (self.rows.real.astype(jnp.float64) + 1.0) ** 2

    @staticmethod
    def of(rows: Ordered, nodes: Nodes, score: Score) -> "Instance":
        """With the widths of all nodes."""
        return Instance(rows, nodes, jax.lax.map(lambda node: Widths.of(rows, node), nodes), score)


@dataclass(frozen=True)
class _Sides:
    """One line of a box against all rows: which are surely inside and outside, and what tells where to split."""

    inside: Array
    outside: Array
    distance: Array  # float64[m], of each row from the pivot, as a part of d
    least: Any  # integers[m], the sheared t that pass through the row are from here
    most: Any  # to here


def _sides(grid: Grid, instance: Instance, node: Nodes, line: int, box: Boxes) -> _Sides:
    chart, above = jnp.asarray(CHARTS)[box.kind[line]], jnp.asarray(ABOVE[line])[box.kind[line]]
    pivot, slope = node.pivot[chart], instance.rows.points[chart]
    offset = widened(instance.rows.points[1 - chart], grid.words) << grid.bits
    after = slope >= pivot
    away = jnp.where(after, slope - pivot, pivot - slope)
    across = _unsigned(away, grid.words)[:, None]
    first, low, last, high = box.low[line, 0], box.low[line, 1], box.high[line, 0] - 1, box.high[line, 1]
    most = affine(offset, across, where(after, first[None], -last[None])[None])
    least = affine(offset, across, where(after, last[None], -first[None])[None])
    over, under = least >= high - 1, most < low
    distance = away.astype(jnp.float64) * (1.0 / grid.d)
    return _Sides(jnp.where(above, over, under), jnp.where(above, under, over), distance, least, most)


def _between(grid: Grid, instance: Instance, box: Boxes) -> tuple[tuple[_Sides, _Sides], Array]:
    """Both lines of a box, and the rows that are in some of its wedges, ``bool[m]``."""
    node = instance.nodes.at(box.node)
    lower, upper = (_sides(grid, instance, node, line, box) for line in range(2))
    x = instance.rows.points[0]
    return (lower, upper), (node.first <= x) & (x <= node.last) & ~(lower.outside | upper.outside)


def evaluate(grid: Grid, instance: Instance, box: Boxes) -> tuple[Bound, Sums]:
    """The log of density times the sum over (a, b), in O(n) steps: exact for a box of one point.

    For others it is at least that of each point, but for rounding: it counts the targets that may be in a wedge, and
    the others that surely are, as far as the lines decide. -inf without a point of the base measure.
    """
    sides, may = _between(grid, instance, box)
    widths = jax.tree.map(lambda part: part[box.node], instance.widths)
    rows, surely = instance.rows, sides[0].inside & sides[1].inside
    made = sums(widths, may & rows.target, may & surely & rows.other, instance.score)
    log = made.log_total(instance.score.coefficient) + log_peak(grid, box)
    log = jnp.where(_meets(grid, instance, box), log, -jnp.inf)
    return Bound(log, *_split(grid, box, sides, may & (rows.target | rows.other))), made


def root_logs(grid: Grid, instance: Instance, roots: Boxes) -> Array:
    """Upper bounds for the boxes of all lines, ``float64[9 nodes]``: as if all targets of a node were in each slab."""
    rows, nodes, score = instance.rows, instance.nodes, instance.score
    x = rows.points[:1]
    within = (nodes.first[:, None] <= x) & (x <= nodes.last[:, None]) & rows.target[None]
    best = jnp.minimum(jnp.sum(within, axis=1, dtype=jnp.int32).astype(jnp.float64) - score.share, 0.0)
    each = jnp.logaddexp(score.coefficient * best, score.log_least)
    log = (nodes.log_pairs() + each)[roots.node] + jax.vmap(lambda box: log_peak(grid, box))(roots)
    return upper_bound(instance, log)


def upper_bound(instance: Instance, log: Array) -> Array:
    """A number that is above the log of `evaluate` also with the rounding of that of any of its points."""
    some = log > -jnp.inf
    return jnp.where(some, slackened(jnp.where(some, log, 0.0)) + instance.rounding, -jnp.inf)


def log_peak(grid: Grid, box: Boxes) -> Array:
    """The largest log-density of both lines of a box, ``float64[]``."""
    logs = []
    for line in range(2):
        slope = clip(constant(0, box.low), box.low[line, 0], box.high[line, 0] - 1)
        logs.append(MEASURE.log_density(grid, jnp.int32(0), slope[None]))
    return logs[0] + logs[1]


def unsheared(grid: Grid, instance: Instance, box: Boxes, at: Any) -> Any:
    """t of both lines at a point ``integers[2, 2]`` of a box, ``integers[2]``."""
    pivot = instance.nodes.pivot[box.node][jnp.asarray(CHARTS)[box.kind]]
    return at[:, 1] - at[:, 0] * _unsigned(pivot, grid.words)


def _meets(grid: Grid, instance: Instance, box: Boxes) -> Array:
    """Whether the base measure may have some point of the box; of a box of one point, whether it has it."""
    pivot = _unsigned(instance.nodes.pivot[box.node][jnp.asarray(CHARTS)[box.kind]], grid.words)
    ends = [side * pivot for side in (box.low[:, 0], box.high[:, 0] - 1)]
    swapped = ends[1] < ends[0]
    least, most = where(swapped, ends[1], ends[0]), where(swapped, ends[0], ends[1])
    highest, lowest = box.high[:, 1] - 1 - least, box.low[:, 1] - most
    return jnp.all((highest >= grid.first) & (lowest <= grid.last + 1))


def _split(grid: Grid, box: Boxes, sides: tuple[_Sides, _Sides], may: Array) -> tuple[Array, Any]:
    """The line that leaves more rows undecided is split: across s if they move more with s than they are apart in t.

    s is split in the middle, t just above the row that is next to the mean. Rows that are together, on one line or at
    one point, are set apart from the t without them first: t is split at their ends. Numbers are sums of integers, so
    that padding changes no bit.
    """
    unit, splits = 2.0**_FRACTION, []
    for line, side in enumerate(sides):
        unsure = may & ~side.inside
        count = jnp.sum(unsure, dtype=jnp.int64)
        some = jnp.maximum(count, 1)

        def mean(parts: Array, unsure: Array = unsure, some: Array = some) -> Array:
            units = jnp.sum(jnp.where(unsure, (parts * unit).astype(jnp.int64), 0)) // some
            return units.astype(jnp.float64) / unit

        first, last = box.low[line], box.high[line]
        half = _mean(first, last)
        wide, high = ((last - first)[i].astype(jnp.float64) for i in range(2))
        through = _mean(side.least, side.most)
        place = (clip(through, first[1], last[1] - 1) - first[1]).astype(jnp.float64) / high
        from_center = jnp.abs(place - mean(place))
        apart, moved = mean(from_center), mean(side.distance) * float(grid.d) * wide / high
        together = moved > _DEVIATIONS * apart
        by_slope = ((moved > jnp.where(together, _SHARE, 1.0)) & (wide > 1)) | (high < 2)
        row = largest(jnp.where(unsure, -from_center, -2.0))
        every = stack([side.least, through, side.most])
        least, center, most = (jax.tree.map(lambda part, row=row, i=i: part[i, row], every) + 1 for i in range(3))
        t = where(together, where(most < last[1], most, least), center)
        t = where((count > 0) & (first[1] < t) & (t < last[1]), t, half[1])
        axis = 2 * line + jnp.where(by_slope, 0, 1).astype(jnp.int32)
        splits.append((count, axis, where(by_slope, half[0], t), jnp.all(last - first == 1)))
    (of_lower, lower_axis, lower_middle, alone), (of_upper, upper_axis, upper_middle, _) = splits
    upper = (of_upper > of_lower) | alone
    return jnp.where(upper, upper_axis, lower_axis), where(upper, upper_middle, lower_middle)


def largest(values: Array) -> Array:
    """The place of the first of the largest numbers along the first axis, ``int32``.

    `jax.lax.argmax` of float64 cannot be lowered where 64-bit types are not the default; that of truth values can.
    """
    return jax.lax.argmax(values == jnp.max(values, axis=0, keepdims=True), 0, jnp.int32)


def _mean(low: Any, high: Any) -> Any:
    return low + ((high - low) >> 1)


def _unsigned(values: Array, words: int) -> Array:
    """``uint64`` factors as products of integers of so many words take them."""
    return values.astype(jnp.int64) if words == 1 else values


def _tiled(value: Any, count: int) -> Any:
    return jax.tree.map(lambda part: jnp.tile(part[None], (count, *[1] * part.ndim)), value)
