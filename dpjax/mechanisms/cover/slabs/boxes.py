"""Boxes of pairs of lines: a trapezoid of lower and one of upper lines, with upper bounds of the weight of all pairs.

A lower line has the wedge above it, an upper line below it. Lines have three kinds: flat ones in chart 0, and in chart
1 those of slopes s >= 0 and s < 0, for which "above" means x - s y < t and x - s y >= t. So every line that is not
vertical has one place, and a box of two lines has one of nine kinds.
"""

from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core.integers import clip, constant, integers, widened
from dpjax.mechanisms.cover.lines.envelope import slackened
from dpjax.mechanisms.cover.lines.measures import Grid, Kinematic
from dpjax.mechanisms.cover.score import Score
from dpjax.mechanisms.cover.slabs.groups import MOST, Groups, Parts, log_bound
from dpjax.mechanisms.cover.slabs.nodes import Nodes, Widths
from dpjax.mechanisms.cover.slabs.ordered import Ordered
from dpjax.mechanisms.cover.slabs.pairs import Sums, sums
from dpjax.mechanisms.cover.slabs.splits import some_of, split_of
from dpjax.mechanisms.cover.slabs.trapezoids import Crossed, Split, Trapezoids

CHARTS = np.array([0, 1, 1], np.int32)
LOWEST, HIGHEST = np.array([-1, 0, -1]), np.array([1, 1, 0])
"""The slopes of the three kinds, from the first up to but not including the second."""
ABOVE = np.array([[True, False, True], [False, True, False]])
"""Whether a lower line, and an upper line, of each kind keeps the values from t on."""
MEASURE: Any = Kinematic(margin=0.0)
_LOWER, _UPPER = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
"""Which half of each line a quarter of a box has."""
_DIFFERENT = slice(None, None, 2), slice(None, 2)
"""The quarters of a box that have different lower lines, and those that have different upper lines."""
_FEWER, _SAMPLE = 2, 512
"""A line is not split if the other one leaves more than so many times as many rows undecided, of so many rows."""


@register_dataclass
@dataclass(frozen=True)
class Boxes:
    """Boxes of one node each. node: ``int32[...]``. kind: ``int32[..., 2]``, of the lower and of the upper line.

    lines: ``Trapezoids[..., 2]``, of (s, t) of both lines.
    """

    node: Array
    kind: Array
    lines: Trapezoids

    @staticmethod
    def roots(grid: Grid, nodes: Nodes) -> "Boxes":
        """The nine boxes of all lines for each node, ``[9 nodes]``."""
        kinds = np.tile(np.array(list(product(range(3), repeat=2)), np.int32), (nodes.exists.shape[0], 1))
        low, high = (integers(side[kinds].astype(object) << grid.bits, grid.words) for side in (LOWEST, HIGHEST))
        ends = np.empty((*kinds.shape, 2), object)
        ends[...] = grid.first, grid.last + 2
        node = jnp.repeat(jnp.arange(nodes.exists.shape[0], dtype=jnp.int32), 9)
        return Boxes(node, jnp.asarray(kinds), Trapezoids.rectangles(low, high, integers(ends, grid.words)))

    def quarters(self, split: Split, use: Array) -> tuple["Boxes", Array]:
        """The parts of a box on either side of a split of each line, ``Boxes[4]``, and which there are, ``bool[4]``.

        split: ``[2]``. use: ``bool[2]``, whether to split the lower and the upper line; it has to be possible. There is
        always the first part.
        """
        before, after = jax.vmap(Trapezoids.halves)(self.lines, split)

        def four(one: Array, two: Array, whole: Array) -> Array:
            one = jnp.where(use.reshape(2, *[1] * (one.ndim - 1)), one, whole)
            both = jnp.stack([one, two])
            return jnp.stack([both[_LOWER, 0], both[_UPPER, 1]], axis=1)

        lines = jax.tree.map(four, before, after, self.lines)
        exists = (use[0] | (_LOWER == 0)) & (use[1] | (_UPPER == 0))
        return Boxes(jnp.tile(self.node, 4), jnp.tile(self.kind, (4, 1)), lines), exists

    def draw(self, key: Array) -> "Boxes":
        """A uniform point of each box."""
        return replace(self, lines=self.lines.draw(key))

    def log_points(self) -> Array:
        """The log of the number of lattice points of each box, ``float64[...]``."""
        return jnp.sum(self.lines.log_points(), axis=-1)


@register_dataclass
@dataclass(frozen=True)
class Instance:
    """What the weights of boxes depend on: rows, the same in groups, nodes, and a `pairs.reachable` score.

    some: up to 512 of the rows, which boxes are split by, ``uint64[2, s]``, and which places count, ``bool[s]``.
    """

    rows: Ordered
    groups: Groups
    some: tuple[Array, Array]
    nodes: Nodes
    score: Score

    @property
    def rounding(self) -> Array:
        """More than the rounding errors of a `pairs.sums` and a `groups.log_bound`, ``float64[]``, see there."""
        return 2.0**-48 * (self.rows.real.astype(jnp.float64) + 1.0) ** 2

    @staticmethod
    def of(rows: Ordered, nodes: Nodes, score: Score) -> "Instance":
        """With the groups of all nodes."""
        place, among = some_of(rows.target | rows.other, min(_SAMPLE, rows.target.shape[0]))
        return Instance(rows, Groups.of(rows, nodes), (rows.points[:, place], among), nodes, score)


class Sides(NamedTuple):
    """Lines of boxes against rows: which rows they surely keep, and which they surely do not, ``bool[...]``."""

    inside: Array
    outside: Array


def crossed(grid: Grid, points: Array, line: Trapezoids, kind: Array) -> Crossed:
    """One line of a box and the lines of rows, ``uint64[2, ...]``."""
    chart = jnp.asarray(CHARTS)[kind]
    base = widened(points[1 - chart], grid.words) << grid.bits
    return Crossed.of(line, base + 1, points[chart])


def sides(grid: Grid, points: Array, line: Trapezoids, kind: Array, place: Array) -> Sides:
    """One line against rows, ``uint64[2, ...]``; place: ``int32[]``, 0 for a lower line and 1 for an upper one."""
    above, rows = jnp.asarray(ABOVE)[place, kind], crossed(grid, points, line, kind)
    over, under = rows.over, rows.under
    return Sides(jnp.where(above, over, under), jnp.where(above, under, over))


def _line(box: Boxes, line: int) -> Trapezoids:
    return jax.tree.map(lambda part: part[line], box.lines)


def evaluate(grid: Grid, instance: Instance, box: Boxes) -> tuple[Array, Sums]:
    """The log of density times the sum over (a, b), ``float64[]``, of a box of one point, in O(n) steps: exact."""
    rows, node = instance.rows, instance.nodes.at(box.node)
    lower, upper = (sides(grid, rows.points, _line(box, i), box.kind[i], jnp.int32(i)) for i in range(2))
    between = lower.inside & upper.inside
    made = sums(Widths.of(rows, node), between & rows.target, between & rows.other, instance.score)
    return made.log_total(instance.score.coefficient) + log_peak(grid, box), made


def bounds(grid: Grid, instance: Instance, boxes: Boxes) -> Array:
    """Above the log of density times the sum over (a, b) of all points of boxes, ``float64[...]``, in O(n) steps each.

    They count the targets that may be in a wedge, and the others that surely are, as far as the lines decide.

    boxes: ``[b]``, or ``[b, 4]`` from `Boxes.quarters`: each of their lines is compared with the rows once.
    """
    groups = instance.groups
    each = jax.tree.map(lambda part: part.reshape(boxes.node.shape[0], -1, *part.shape[boxes.node.ndim :]), boxes)

    def compared(place: int) -> Sides:
        different = (slice(None), _DIFFERENT[place], place)
        lines = jax.tree.map(lambda part: part[different], (each.lines, each.kind))
        one = jax.vmap(lambda line, kind: sides(grid, groups.points, line, kind, jnp.int32(place)))
        return jax.lax.map(lambda given: one(*given), lines)

    # loops of their own: in one program with the sums XLA compares rows and lines again for each use of the result
    made = compared(0), compared(1)
    fewer = jnp.exp(-jnp.minimum(instance.score.coefficient, MOST))

    def parts(given: tuple[Array, Sides, Sides]) -> Parts:
        node, lower, upper = given
        a, b = groups.a[node], groups.b[node]

        def one(lower: Sides, upper: Sides) -> Parts:
            target = groups.target & ~(lower.outside | upper.outside)
            return Parts.of(a, b, target, groups.other & lower.inside & upper.inside, fewer)

        return jax.vmap(jax.vmap(one, (None, 0)), (0, None))(lower, upper)

    by_box = jax.lax.map(parts, (each.node[:, 0], *made))
    flat = jax.tree.map(lambda part: part.reshape(-1, part.shape[-1]), by_box)
    logs = jax.vmap(lambda node, parts: log_bound(groups, node, parts, instance.score))(each.node.reshape(-1), flat)
    peaks = jax.vmap(jax.vmap(lambda box: log_peak(grid, box)))(each)
    return upper_bound(instance, (logs + peaks.reshape(-1)).reshape(boxes.node.shape))


def splits(grid: Grid, instance: Instance, box: Boxes) -> tuple[Split, Array]:
    """Where to split both lines of a box, ``[2]``, and which of them to split, ``bool[2]``: those that leave rows
    undecided, without one that leaves far fewer than the other one.

    If there are no such rows, the line with more slopes.
    """
    (points, real), node = instance.some, instance.nodes.at(box.node)
    both = box.lines, box.kind
    made = jax.vmap(lambda *line: sides(grid, points, *line))(*both, jnp.arange(2, dtype=jnp.int32))
    may = (node.first <= points[0]) & (points[0] <= node.last) & ~jnp.any(made.outside, axis=0) & real
    unsure = may[None] & ~made.inside

    def one(line: Trapezoids, kind: Array, unsure: Array) -> Split:
        row, among = some_of(unsure)
        return split_of(line, crossed(grid, points[:, row], line, kind), among)

    split = jax.vmap(one)(*both, unsure)
    many, width = jnp.sum(unsure, axis=1, dtype=jnp.int32), box.lines.high - box.lines.low
    wider = jnp.arange(2, dtype=jnp.int32) == (width[0] < width[1]).astype(jnp.int32)
    wanted = jnp.where(jnp.any(many > 0), _FEWER * many >= jnp.max(many), wider)
    return split, wanted & split.possible


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
        one = _line(box, line)
        slope = clip(constant(0, one.low), one.low, one.high - 1)
        logs.append(MEASURE.log_density(grid, jnp.int32(0), slope[None]))
    return logs[0] + logs[1]
