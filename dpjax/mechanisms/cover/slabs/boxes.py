"""Boxes of pairs of lines: a trapezoid of lower and one of upper lines, with upper bounds of the weight of all pairs.

A lower line has the wedge above it, an upper line below it. Lines have three kinds: flat ones in chart 0, and in chart
1 those of slopes s >= 0 and s < 0, for which "above" means x - s y < t and x - s y >= t. So every line that is not
vertical has one place, and a box of two lines has one of nine kinds.
"""

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core.integers import clip, constant, integers, where, widened
from dpjax.mechanisms.cover.lines.envelope import slackened
from dpjax.mechanisms.cover.lines.measures import Grid, Kinematic
from dpjax.mechanisms.cover.score import Score
from dpjax.mechanisms.cover.slabs.nodes import Nodes, Widths
from dpjax.mechanisms.cover.slabs.ordered import Ordered
from dpjax.mechanisms.cover.slabs.pairs import Sums, sums
from dpjax.mechanisms.cover.slabs.splits import split_of
from dpjax.mechanisms.cover.slabs.trapezoids import Crossed, Split, Trapezoids

CHARTS = np.array([0, 1, 1], np.int32)
LOWEST, HIGHEST = np.array([-1, 0, -1]), np.array([1, 1, 0])
"""The slopes of the three kinds, from the first up to but not including the second."""
ABOVE = np.array([[True, False, True], [False, True, False]])
"""Whether a lower line, and an upper line, of each kind keeps the values from t on."""
MEASURE: Any = Kinematic(margin=0.0)


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

    def halves(self, line: Array, split: Split) -> tuple["Boxes", "Boxes"]:
        """The parts of a box on either side of a split of one line, ``int32[]``."""
        here = jnp.arange(2, dtype=jnp.int32) == line
        whole = jax.tree.map(lambda part: part[line], self.lines)

        def put(new: Any, old: Any) -> Any:
            return jax.tree.map(
                lambda one, all_: jnp.where(here.reshape(2, *[1] * (all_.ndim - 1)), one[None], all_), new, old
            )

        one, two = (replace(self, lines=put(half, self.lines)) for half in whole.halves(split))
        return one, two

    def draw(self, key: Array) -> "Boxes":
        """A uniform point of each box."""
        return replace(self, lines=self.lines.draw(key))

    def log_points(self) -> Array:
        """The log of the number of lattice points of each box, ``float64[...]``."""
        return jnp.sum(self.lines.log_points(), axis=-1)


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
    """One line of a box against all rows: which it surely keeps or does not, by the lines of the rows."""

    inside: Array
    outside: Array
    rows: Crossed


def _sides(grid: Grid, instance: Instance, box: Boxes, line: int) -> _Sides:
    chart, above = jnp.asarray(CHARTS)[box.kind[line]], jnp.asarray(ABOVE[line])[box.kind[line]]
    base = widened(instance.rows.points[1 - chart], grid.words) << grid.bits
    rows = Crossed.of(_line(box, line), base + 1, instance.rows.points[chart])
    return _Sides(jnp.where(above, rows.over, rows.under), jnp.where(above, rows.under, rows.over), rows)


def _line(box: Boxes, line: int) -> Trapezoids:
    return jax.tree.map(lambda part: part[line], box.lines)


def _between(grid: Grid, instance: Instance, box: Boxes) -> tuple[list[_Sides], Array]:
    """Both lines of a box, and the rows that are in some of its wedges, ``bool[m]``."""
    node = instance.nodes.at(box.node)
    lower, upper = (_sides(grid, instance, box, line) for line in range(2))
    x = instance.rows.points[0]
    return [lower, upper], (node.first <= x) & (x <= node.last) & ~(lower.outside | upper.outside)


def evaluate(grid: Grid, instance: Instance, box: Boxes) -> tuple[Array, Sums]:
    """The log of density times the sum over (a, b), ``float64[]``, in O(n) steps: exact for a box of one point.

    For others it is at least that of each point, but for rounding: it counts the targets that may be in a wedge, and
    the others that surely are, as far as the lines decide.
    """
    return _weighed(grid, instance, box, *_counted(grid, instance, box))


def evaluate_all(grid: Grid, instance: Instance, boxes: Boxes) -> Array:
    """The logs of `evaluate` for several boxes, ``float64[b]``.

    Rows are compared with lines in a loop of its own: under one vmap XLA does it again for each use of the result.
    """
    counted = jax.lax.map(lambda box: _counted(grid, instance, box), boxes)
    return jax.vmap(lambda box, *rows: _weighed(grid, instance, box, *rows)[0])(boxes, *counted)


def _counted(grid: Grid, instance: Instance, box: Boxes) -> tuple[Array, Array]:
    """The targets between both lines for some point of a box, and the others that are so for each, ``bool[m]``."""
    sides, may = _between(grid, instance, box)
    rows, surely = instance.rows, sides[0].inside & sides[1].inside
    return may & rows.target, may & surely & rows.other


def _weighed(grid: Grid, instance: Instance, box: Boxes, target: Array, other: Array) -> tuple[Array, Sums]:
    widths = jax.tree.map(lambda part: part[box.node], instance.widths)
    made = sums(widths, target, other, instance.score)
    return made.log_total(instance.score.coefficient) + log_peak(grid, box), made


def split_line(grid: Grid, instance: Instance, box: Boxes) -> tuple[Array, Split]:
    """Which line of a box to split, ``int32[]``, and where: the one that leaves more rows undecided.

    If there are none, the one with more slopes.
    """
    sides, may = _between(grid, instance, box)
    may = may & (instance.rows.target | instance.rows.other)
    lines, unsure = [_line(box, line) for line in range(2)], [may & ~side.inside for side in sides]
    lower, upper = (split_of(lines[i], sides[i].rows, unsure[i]) for i in range(2))
    of_lower, of_upper = (jnp.sum(part, dtype=jnp.int64) for part in unsure)
    wider = lines[0].high - lines[0].low < lines[1].high - lines[1].low
    more = (of_upper > of_lower) | ((of_upper == of_lower) & wider)
    return more.astype(jnp.int32), where(more, upper, lower)


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
