"""The selection of one slab wedge: two lines by rejection, then a and b from their exact law; or of another piece."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core.integers import concatenate, constant, stack, widened
from dpjax.mechanisms.cover.lines.cuts import LARGEST, Cut
from dpjax.mechanisms.cover.lines.measures import Grid
from dpjax.mechanisms.cover.score import Score
from dpjax.mechanisms.cover.slabs.boxes import ABOVE, CHARTS, Instance, evaluate
from dpjax.mechanisms.cover.slabs.nodes import Nodes
from dpjax.mechanisms.cover.slabs.ordered import Ordered
from dpjax.mechanisms.cover.slabs.pairs import draw_pair, reachable
from dpjax.mechanisms.cover.slabs.rejection import draw_lines


class Selected(NamedTuple):
    """Cuts, each leaf with a leading axis of 4; whether they are one of the pieces; the numbers of steps and boxes."""

    cut: Cut
    piece: Array
    steps: Array
    boxes: Array


def select_wedge(family: Any, key: Array, x: Array, target: Array, other: Array, score: Score) -> Selected:
    """One wedge of a `wedges.SlabWedges`, or one of its pieces, with density proportional to mu(h) exp(c q(h))."""
    of_lines, of_pair, of_piece = jax.random.split(key, 3)
    with jax.enable_x64(True):
        grid, pieces = family.grid, family.pieces
        rows = Ordered.of(_points(family, x), target, other)
        score = reachable(score.capped(LARGEST), rows)
        nodes = Nodes.of(rows, family.d, family.sizes.depth)
        instance = Instance.of(rows, nodes, score)
        log_pieces = jnp.float64(-jnp.inf)
        if pieces is not None:
            log_pieces = family.log_measure + pieces.log_total(x, target, other, score)
        drawn = draw_lines(of_lines, grid, instance, family.sizes, log_pieces)
        sums = evaluate(grid, instance, drawn.point)[1]
        a, b = draw_pair(of_pair, rows, nodes.at(drawn.point.node), sums, score)
        point = drawn.point.lines
        lines = point.low << grid.dropped, point.base[:, 0] << grid.dropped
        cut = of_parts(family.planes.grid, drawn.point.kind, *lines, a, b)
        if pieces is not None:
            piece = pieces.select(of_piece, x, target, other, score)
            cut = jax.tree.map(lambda one, two: jnp.where(drawn.other, one, two), piece, cut)
        return Selected(cut, drawn.other, drawn.steps, drawn.boxes)


def of_parts(grid: Grid, kind: Array, slope: Any, t: Any, a: Array, b: Array) -> Cut:
    """The cuts of a wedge, on the lattice ``grid``: kind ``int32[2]``, slope, t ``integers[2]``, a, b ``uint64[]``."""
    ends = stack([widened(a, grid.words), widened(b, grid.words) + 1]) << grid.bits
    none = stack([constant(0, slope)] * 2)
    lines = jnp.arange(2, dtype=jnp.int32)
    chart = jnp.concatenate([jnp.ones(2, jnp.int32), jnp.asarray(CHARTS)[kind]])
    above = jnp.concatenate([jnp.asarray([True, False]), jnp.asarray(ABOVE)[lines, kind]])
    return Cut.of(chart, concatenate([none, slope])[:, None], concatenate([ends, t]), above)


def _points(family: Any, x: Array) -> Array:
    """Rows as ``uint64[n, 2]``."""
    _, across = family.planes.features(x)
    return across[..., 0].T.astype(jnp.uint64)
