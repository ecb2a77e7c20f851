"""Draws two lines with density proportional to mu times the sum over (a, b), exactly, for any database.

A step draws boxes by their bounds and a uniform point in each, and accepts a point with probability weight / bound. The
first accepted point of a step has the right law, whatever the boxes are. In the same pass over the rows the heaviest
boxes are halved, for the next step. When the table of boxes is full, steps go on with the boxes that it has: the loop
ends only with an acceptance. The number of steps depends on the data: the privacy guarantee does not cover the time of
a draw.

Another family of a known weight may have a part of the measure: its place among the boxes is one that always accepts.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import checks, random
from dpjax.core.retrying import retry
from dpjax.laws import Categorical
from dpjax.mechanisms.cover.lines.measures import Grid
from dpjax.mechanisms.cover.slabs.boxes import Boxes, Instance, evaluate_all, root_logs, split_line, upper_bound
from dpjax.mechanisms.cover.slabs.splits import largest
from dpjax.mechanisms.cover.slabs.trapezoids import Split

_KINDS = 9


@dataclass(frozen=True)
class Sizes:
    """Sizes of the sampler: they change the time of a draw, never its law.

    boxes: the largest number of boxes. batch: the points that a step tries, and the boxes that it splits. depth: of the
    tree of nodes, see `Nodes`.
    """

    boxes: int = 2**17
    batch: int = 16
    depth: int = 4

    def __post_init__(self):
        checks.integer("depth", self.depth, 0, 8)
        checks.integer("boxes", self.boxes, _KINDS * self.nodes, 2**20)
        checks.integer("batch", self.batch, 1, min(self.boxes, 2**12))

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return 2 ** (self.depth + 1) - 1


@register_dataclass
@dataclass(frozen=True)
class Bound:
    """log: ``float64[...]``, above the log of density times the sum over (a, b) of all points of a box.

    line: ``int32[...]``, 0 to split the lower line of the box, 1 for the upper line, at ``split``.
    """

    log: Array
    line: Array
    split: Split


@register_dataclass
@dataclass(frozen=True)
class Table:
    """Boxes ``[K]``, their bounds, and log-weights with their numbers of points; the first ``used`` entries are real.

    bound: its log is that of one point of the box. log_weight: ``float64[K]``, -inf for entries that are not real.
    """

    boxes: Boxes
    bound: Bound
    log_weight: Array
    used: Array

    @staticmethod
    def of(grid: Grid, instance: Instance, size: int) -> "Table":
        """The boxes of all lines for each node; a slope of each is halved first."""
        roots = Boxes.roots(grid, instance.nodes)
        count = roots.node.shape[0]
        lower = jax.tree.map(lambda part: part[:, 0], roots.lines)
        bounds = Bound(root_logs(grid, instance, roots), jnp.zeros(count, jnp.int32), Split.halving(lower))

        def padded(part: Array) -> Array:
            return jnp.pad(part, [(0, size - count), *[(0, 0)] * (part.ndim - 1)])

        log_weight = jnp.concatenate([bounds.log + roots.log_points(), jnp.full(size - count, -jnp.inf)])
        roots, bounds = jax.tree.map(padded, (roots, bounds))
        return Table(roots, bounds, log_weight, jnp.int32(count))

    def halves(self, batch: int) -> "Halves":
        """Those of ``batch`` heavy boxes that have more than one point, as far as there is room.

        The places of the table are dealt to ``batch`` groups, and the heaviest box of each is halved: that takes far
        less time than to sort all boxes.
        """
        weights = jnp.where(self.bound.split.possible, self.log_weight, -jnp.inf)
        weights = jnp.pad(weights, (0, -weights.shape[0] % batch), constant_values=-jnp.inf).reshape(-1, batch)
        place = largest(weights) * batch + jnp.arange(batch, dtype=jnp.int32)
        box, had, log_weight = jax.tree.map(lambda part: part[place], (self.boxes, self.bound, self.log_weight))
        can = had.split.possible & (log_weight > -jnp.inf)
        spot = self.used + jnp.cumsum(can.astype(jnp.int32)) - 1
        full = self.log_weight.shape[0]
        can = can & (spot < full)
        parts = jax.vmap(Boxes.halves)(box, had.line, had.split)
        parts = jax.tree.map(lambda low, high: jnp.concatenate([low, high]), *parts)
        where = jnp.concatenate([jnp.where(can, place, full), jnp.where(can, spot, full)])
        return Halves(parts, jnp.tile(had.log, 2), where, jnp.sum(can, dtype=jnp.int32))

    def split(self, halves: "Halves", made: Bound) -> "Table":
        """The table with halves in place of their boxes; ``made``: their bounds, which those of the boxes limit."""
        made = replace(made, log=jnp.minimum(made.log, halves.log))

        def put(column: Array, new: Array) -> Array:
            return column.at[halves.where].set(new, mode="drop")

        old = self.boxes, self.bound, self.log_weight
        new = halves.boxes, made, made.log + halves.boxes.log_points()
        boxes, bound, log_weight = jax.tree.map(put, old, new)
        return Table(boxes, bound, log_weight, self.used + halves.more)


class Halves(NamedTuple):
    """Halves of some boxes of a table, the bounds of these, the places of the halves, and how many are new."""

    boxes: Boxes
    log: Array
    where: Array
    more: Array


class Drawn(NamedTuple):
    """What a draw ends with.

    point: a box of one point. other: ``bool[]``, whether the other family's turn came instead.
    steps, boxes: ``int32[]``, how many there were.
    """

    point: Boxes
    other: Array
    steps: Array
    boxes: Array


class _State(NamedTuple):
    key: Array
    table: Table
    drawn: Drawn
    done: Array


def draw_lines(key: Array, grid: Grid, instance: Instance, sizes: Sizes, log_other: Array) -> Drawn:
    """Both lines and the node from their law; log_other: ``float64[]``, the log-weight of another family, or -inf."""

    def attempt(given: tuple[Instance, Array], state: _State) -> _State:
        instance, log_other = given
        key, of_box, of_point, of_coin = jax.random.split(state.key, 4)
        table, count = state.table, sizes.batch
        law = Categorical(jnp.concatenate([table.log_weight, log_other[None]]))
        place = jax.vmap(law.sample)(jax.random.split(of_box, count))
        other = place == sizes.boxes
        box, logs = jax.tree.map(lambda part: part[jnp.clip(place, 0, sizes.boxes - 1)], (table.boxes, table.bound.log))
        points = box.draw(of_point)
        halves = table.halves(count)
        both = jax.tree.map(lambda one, two: jnp.concatenate([one, two]), points, halves.boxes)
        made = evaluate_all(grid, instance, both)
        splits = jax.vmap(lambda box: split_line(grid, instance, box))(halves.boxes)
        coin = jnp.log(random.uniform(of_coin, (count,), jnp.float64))
        accepted = other | ((place >= 0) & (coin <= made[:count] - logs))
        first = jax.lax.argmax(accepted, 0, jnp.int32)
        table = table.split(halves, Bound(upper_bound(instance, made[count:]), *splits))
        point = jax.tree.map(lambda part: part[first], points)
        drawn = Drawn(point, other[first], state.drawn.steps + 1, state.table.used)
        return _State(key, table, drawn, jnp.any(accepted))

    def improve(given: tuple[Instance, Array], state: _State) -> _State:
        return state

    table = Table.of(grid, instance, sizes.boxes)
    first_box = jax.tree.map(lambda part: part[0], table.boxes)
    start = _State(key, table, Drawn(first_box, jnp.bool_(False), jnp.int32(0), table.used), jnp.bool_(False))
    end: Any = retry(attempt, improve, lambda state: state.done, (instance, log_other), start)
    return end.drawn
