"""Draws two lines with density proportional to mu times the sum over (a, b), exactly, for any database.

A step draws boxes by their bounds and a uniform point in each, and accepts a point with probability weight / bound. The
first accepted point of a step has the right law, whatever the boxes are. A point has a bound of its own, which is
seldom as large as the coin asks for: its weight is computed only then. In the same step heavy boxes are split, for the
next one. When the table of boxes is full, steps go on with the boxes that it has: the loop ends only with an
acceptance. The number of steps depends on the data: the privacy guarantee does not cover the time of
a draw.

Another family of a known weight may have a part of the measure: its place among the boxes is one that always accepts.
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
from dpjax.mechanisms.cover.slabs.boxes import Boxes, Instance, bounds, evaluate, root_logs, splits
from dpjax.mechanisms.cover.slabs.splits import largest

_KINDS = 9


@dataclass(frozen=True)
class Sizes:
    """Sizes of the sampler: they change the time of a draw, never its law.

    boxes: the largest number of boxes. batch: the boxes that a step splits. points: that it tries. depth: of the tree
    of nodes, see `Nodes`.
    """

    boxes: int = 2**15
    batch: int = 32
    points: int = 48
    depth: int = 4

    def __post_init__(self):
        checks.integer("depth", self.depth, 0, 8)
        checks.integer("boxes", self.boxes, _KINDS * self.nodes, 2**20)
        checks.integer("batch", self.batch, 1, min(self.boxes, 2**12))
        checks.integer("points", self.points, 1, 2**12)

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return 2 ** (self.depth + 1) - 1


@register_dataclass
@dataclass(frozen=True)
class Table:
    """Boxes ``[K]`` with bounds and log-weights; the first ``used`` entries are real.

    bound: ``float64[K]``, above the log of density times the sum over (a, b) of all points. log_weight: ``float64[K]``,
    with the number of points, -inf for entries that are not real. whole: ``bool[K]``, whether a box cannot be split.
    """

    boxes: Boxes
    bound: Array
    log_weight: Array
    whole: Array
    used: Array

    @staticmethod
    def of(grid: Grid, instance: Instance, size: int) -> "Table":
        """The boxes of all lines for each node."""
        roots = Boxes.roots(grid, instance.nodes)
        count = roots.node.shape[0]
        bound = root_logs(grid, instance, roots)

        def padded(part: Array) -> Array:
            return jnp.pad(part, [(0, size - count), *[(0, 0)] * (part.ndim - 1)])

        log_weight = jnp.concatenate([bound + roots.log_points(), jnp.full(size - count, -jnp.inf)])
        boxes = jax.tree.map(padded, roots)
        return Table(boxes, padded(bound), log_weight, jnp.zeros(size, bool), jnp.int32(count))

    def heavy(self, batch: int) -> Array:
        """``batch`` heavy boxes that may be split, ``int32``.

        The places of the table are dealt to ``batch`` groups, of which each gives its heaviest one: that takes far
        less time than to sort all boxes.
        """
        weights = jnp.where(self.whole, -jnp.inf, self.log_weight)
        weights = jnp.pad(weights, (0, -weights.shape[0] % batch), constant_values=-jnp.inf).reshape(-1, batch)
        return largest(weights) * batch + jnp.arange(batch, dtype=jnp.int32)

    def split(self, place: Array, quarters: Boxes, exists: Array, made: Array) -> "Table":
        """The table with ``Boxes[b, 4]`` in place of the boxes ``int32[b]``, as far as there is room.

        exists: ``bool[b, 4]``. made: ``float64[b, 4]``, their bounds, which those of the boxes limit.
        """
        size = self.log_weight.shape[0]
        real = ~self.whole[place] & (self.log_weight[place] > -jnp.inf)
        several = exists[:, 1] | exists[:, 2]
        more = jnp.where(real, jnp.sum(exists, axis=1, dtype=jnp.int32) - 1, 0)
        end = self.used + jnp.cumsum(more, dtype=jnp.int32)
        can = real & several & (end <= size)
        spot = (end - more - 1)[:, None] + jnp.cumsum(exists, axis=1, dtype=jnp.int32)
        spot = jnp.concatenate([place[:, None], spot[:, 1:]], axis=1)
        where = jnp.where(can[:, None] & exists, spot, size).reshape(-1)
        log = jnp.minimum(made, self.bound[place][:, None])

        def put(column: Array, new: Array) -> Array:
            return column.at[where].set(new.reshape(-1, *new.shape[2:]), mode="drop")

        old = self.boxes, self.bound, self.log_weight
        boxes, bound, log_weight = jax.tree.map(put, old, (quarters, log, log + quarters.log_points()))
        whole = self.whole.at[jnp.where(several, size, place)].set(True, mode="drop")
        used = self.used + jnp.sum(jnp.where(can, more, 0), dtype=jnp.int32)
        return Table(boxes, bound, log_weight, whole, used)


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
        table, count = state.table, sizes.points
        law = Categorical(jnp.concatenate([table.log_weight, log_other[None]]))
        place = jax.vmap(law.sample)(jax.random.split(of_box, count))
        other = place == sizes.boxes
        box, logs = jax.tree.map(lambda part: part[jnp.clip(place, 0, sizes.boxes - 1)], (table.boxes, table.bound))
        points = box.draw(of_point)
        heavy = table.heavy(sizes.batch)
        wholes = jax.tree.map(lambda part: part[heavy], table.boxes)
        split = jax.vmap(lambda one: splits(grid, instance, one))(wholes)
        quarters, exists = jax.vmap(Boxes.quarters)(wholes, *split)
        made = bounds(grid, instance, points)
        coin = logs + jnp.log(random.uniform(of_coin, (count,), jnp.float64))
        may = other | ((place >= 0) & (coin <= made))
        first, accepted = _first(grid, instance, points, coin, other, may)
        point = jax.tree.map(lambda part: part[first], points)
        drawn = Drawn(point, other[first], state.drawn.steps + 1, table.used)
        table = table.split(heavy, quarters, exists, bounds(grid, instance, quarters))
        return _State(key, table, drawn, accepted)

    def improve(given: tuple[Instance, Array], state: _State) -> _State:
        return state

    table = Table.of(grid, instance, sizes.boxes)
    first_box = jax.tree.map(lambda part: part[0], table.boxes)
    start = _State(key, table, Drawn(first_box, jnp.bool_(False), jnp.int32(0), table.used), jnp.bool_(False))
    end: Any = retry(attempt, improve, lambda state: state.done, (instance, log_other), start)
    return end.drawn


def _first(grid: Grid, instance: Instance, points: Boxes, coin: Array, other: Array, may: Array) -> tuple[Array, Array]:
    """The first of the points that ``may`` be accepted which is, ``int32[]``, and whether there is one.

    coin: ``float64[b]``, at most the log-weight of a point that is. Few have a bound of this size: only for these the
    exact weight is computed, one after the other.
    """

    def turn(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        may, _, _ = state
        first = jax.lax.argmax(may, 0, jnp.int32)
        weight = evaluate(grid, instance, jax.tree.map(lambda part: part[first], points))[0]
        accepted = may[first] & (other[first] | (coin[first] <= weight))
        return may & (jnp.arange(may.shape[0], dtype=jnp.int32) != first), first, accepted

    state = may, jnp.int32(0), jnp.bool_(False)
    _, first, accepted = jax.lax.while_loop(lambda state: jnp.any(state[0]) & ~state[2], turn, state)
    return first, accepted
