"""The selection of one slab wedge: two lines by rejection, then a and b from their exact law."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core.integers import concatenate, constant, stack, widened
from dpjax.mechanisms.cover.lines.cuts import LARGEST, Cut
from dpjax.mechanisms.cover.lines.measures import Grid
from dpjax.mechanisms.cover.score import Score
from dpjax.mechanisms.cover.slabs.boxes import ABOVE, CHARTS, Scene, pair_sums, unsheared
from dpjax.mechanisms.cover.slabs.nodes import Nodes
from dpjax.mechanisms.cover.slabs.ordered import Ordered
from dpjax.mechanisms.cover.slabs.pairs import draw_pair, reachable
from dpjax.mechanisms.cover.slabs.rejection import draw_lines


def select_wedge(
    family: Any, key: Array, x: Array, target: Array, other: Array, score: Score
) -> tuple[Cut, Array, Array]:
    """One wedge with density proportional to mu(h) exp(coefficient q(h)); the numbers of steps and of boxes."""
    of_lines, of_pair = jax.random.split(key)
    with jax.enable_x64(True):
        grid = family.grid
        rows = Ordered.of(_points(family, x), target, other)
        score = reachable(score.capped(LARGEST), rows)
        nodes = Nodes.of(rows, family.d, family.sizes.depth)
        scene = Scene.of(rows, nodes, score)
        found, steps, boxes = draw_lines(of_lines, grid, scene, family.sizes)
        a, b = draw_pair(of_pair, rows, nodes.at(found.node), pair_sums(grid, scene, found), score)
        lines = found.low[:, 0] << grid.dropped, unsheared(grid, scene, found, found.low) << grid.dropped
        return of_parts(family.planes.grid, found.kind, *lines, a, b), steps, boxes


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
