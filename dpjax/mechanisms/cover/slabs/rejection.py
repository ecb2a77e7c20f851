"""Draws two lines with density proportional to mu times the sum over (a, b), exactly, for any database.

A step draws boxes by their bounds and a uniform point in each, and accepts a point with probability weight / bound. The
first accepted point of a step has the right law, whatever the boxes are. After a step without one the heaviest boxes
are split. When the table of boxes is full, steps go on with the boxes that it has: the loop ends only with an
acceptance. The number of steps depends on the data: the privacy guarantee does not cover the time of a draw.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import checks, random
from dpjax.core.retrying import retry
from dpjax.laws import Categorical
from dpjax.mechanisms.cover.lines.measures import Grid
from dpjax.mechanisms.cover.lines.sweep import below
from dpjax.mechanisms.cover.slabs.boxes import Bound, Boxes, Scene, bound, on_grid, unsheared, weight

_KINDS = 9


@dataclass(frozen=True)
class Sizes:
    """Sizes of the sampler: they change the time of a draw, never its law.

    boxes: the largest number of boxes. batch: the points that a step tries, and the boxes that it splits. depth: of the
    tree of nodes, see `Nodes`.
    """

    boxes: int = 8192
    batch: int = 16
    depth: int = 4

    def __post_init__(self):
        checks.integer("boxes", self.boxes, _KINDS * self.nodes, 2**20)
        checks.integer("batch", self.batch, 1, 2**12)
        checks.integer("depth", self.depth, 0, 8)

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return 2 ** (self.depth + 1) - 1


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
    def of(grid: Grid, scene: Scene, sizes: Sizes) -> "Table":
        """The boxes of all lines for each node."""
        roots = Boxes.roots(grid, scene.nodes)
        count = roots.node.shape[0]
        grouped = jax.tree.map(lambda part: part.reshape(-1, _KINDS, *part.shape[1:]), roots)
        bounds = jax.lax.map(lambda some: jax.vmap(lambda box: bound(grid, scene, box))(some), grouped)
        bounds = jax.tree.map(lambda part: part.reshape(count, *part.shape[2:]), bounds)

        def padded(part: Array) -> Array:
            return jnp.pad(part, [(0, sizes.boxes - count), *[(0, 0)] * (part.ndim - 1)])

        log_weight = bounds.log + jax.vmap(Boxes.log_points)(roots)
        empty = jnp.full(sizes.boxes - count, -jnp.inf)
        roots, bounds = jax.tree.map(padded, (roots, bounds))
        return Table(roots, bounds, jnp.concatenate([log_weight, empty]), jnp.int32(count))

    def split(self, grid: Grid, scene: Scene, batch: int) -> "Table":
        """The table in which the ``batch`` heaviest boxes are halved, as far as there is room."""
        _, place = jax.lax.top_k(self.log_weight, batch)
        place = place.astype(jnp.int32)
        box, had = jax.tree.map(lambda part: part[place], (self.boxes, self.bound))
        axes = jax.vmap(lambda part, axis: jax.tree.map(lambda leaf: leaf.reshape(4)[axis], part))
        low, high = axes(box.low, had.axis), axes(box.high, had.axis)
        can = (low < had.middle) & (had.middle < high) & (self.log_weight[place] > -jnp.inf)
        spot = self.used + jnp.cumsum(can.astype(jnp.int32)) - 1
        full = self.log_weight.shape[0]
        can = can & (spot < full)
        parts = jax.vmap(Boxes.halves)(box, had.axis, had.middle)
        parts = jax.tree.map(lambda one, two: jnp.concatenate([one, two]), *parts)
        made = jax.vmap(lambda part: bound(grid, scene, part))(parts)
        made = Bound(jnp.minimum(made.log, jnp.tile(had.log, 2)), made.axis, made.middle)
        log_weight = made.log + jax.vmap(Boxes.log_points)(parts)
        where = jnp.concatenate([jnp.where(can, place, full), jnp.where(can, spot, full)])

        def put(column: Array, new: Array) -> Array:
            return column.at[where].set(new, mode="drop")

        columns = self.boxes, self.bound, self.log_weight
        columns = jax.tree.map(put, columns, (parts, made, log_weight))
        return Table(*columns, self.used + jnp.sum(can, dtype=jnp.int32))


class _State(NamedTuple):
    key: Array
    table: Table
    found: Boxes  # a box of one point
    done: Array
    steps: Array


def draw_lines(key: Array, grid: Grid, scene: Scene, sizes: Sizes) -> tuple[Boxes, Array, Array]:
    """A box of one point from the law of both lines and the node; the numbers of steps and of boxes, ``int32[]``."""

    def attempt(scene: Scene, state: _State) -> _State:
        key, of_box, of_point, of_coin = jax.random.split(state.key, 4)
        table = state.table
        law = Categorical(table.log_weight)
        place = jnp.maximum(jax.vmap(law.sample)(jax.random.split(of_box, sizes.batch)), 0)
        box, logs = jax.tree.map(lambda part: part[place], (table.boxes, table.bound.log))
        at = box.low + below(of_point, box.high - box.low)
        points = Boxes.point(box.node, box.kind, at)
        exact = jax.vmap(lambda point: weight(grid, scene, point))(points)
        t = jax.vmap(lambda point: unsheared(grid, scene, point, point.low))(points)
        coin = jnp.log(random.uniform(of_coin, (sizes.batch,), jnp.float64))
        accepted = (coin <= exact - logs) & jax.vmap(lambda one: on_grid(grid, one))(t)
        first = jax.lax.argmax(accepted, 0, jnp.int32)
        found = jax.tree.map(lambda part: part[first], points)
        return _State(key, table, found, jnp.any(accepted), state.steps + 1)

    def improve(scene: Scene, state: _State) -> _State:
        return state._replace(table=state.table.split(grid, scene, sizes.batch))

    table = Table.of(grid, scene, sizes)
    nothing = jax.tree.map(lambda part: part[0], table.boxes)
    start = _State(key, table, nothing, jnp.bool_(False), jnp.int32(0))
    end: Any = retry(attempt, improve, lambda state: state.done, scene, start)
    return end.found, end.steps, end.table.used
