"""Slab wedges over the grid {0, ..., d}^2 as a family of the set cover."""

from dataclasses import dataclass, replace
from math import exp, log
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.integers import concatenate, constant, stack, widened
from dpjax.mechanisms.cover.lines.cuts import LARGEST, Cut
from dpjax.mechanisms.cover.lines.halfplanes import HalfPlanes
from dpjax.mechanisms.cover.lines.measures import Grid
from dpjax.mechanisms.cover.score import Score
from dpjax.mechanisms.cover.slabs.boxes import ABOVE, CHARTS, Boxes, Scene, pair_sums, unsheared
from dpjax.mechanisms.cover.slabs.nodes import Nodes
from dpjax.mechanisms.cover.slabs.ordered import Ordered
from dpjax.mechanisms.cover.slabs.pairs import draw_pair, reachable
from dpjax.mechanisms.cover.slabs.rejection import Sizes, draw_lines
from dpjax.mechanisms.cover.triangles.strips import all_hit

_USUAL = Sizes()
_OF_LINES = 189.75
_MOST_NATS = 700  # its exponential is a float


@dataclass(frozen=True)
class SlabWedges:
    """{(x, y): a <= x <= b, above a line, below a line}: whole a <= b, and any two lines that are not vertical.

    The base measure has uniform pairs (a, b) in {0, ..., d}, and independent lines from `measures.Kinematic` without
    margin, of which those that a lower line of a wedge may be are one half: each with the side above it.

    d: 1 to 2**64 - 1, rows as `HalfPlanes` has them.
    bits: slopes and t are multiples of 2**-bits; None for all that the lattice of `HalfPlanes` has. With fewer the
    family is not ``complete``; on small grids its laws can then be listed.
    sizes: of the sampler, see `rejection.Sizes`; they change the time of a draw, never its law.

    A polygon of e edges is a union of at most e - 1 wedges, a triangle of two.
    """

    d: int
    bits: int | None = None
    sizes: Sizes = _USUAL
    edges: ClassVar[int] = 4
    """The cuts of a wedge, see `Planar`: from a on, up to b, above the lower line and below the upper one."""
    per_triangle: ClassVar[int] = 2
    """How many members a triangle needs, see `Planar`."""

    def __post_init__(self):
        checks.integer("d", self.d, 1, 2**64 - 1)
        checks.whole_or_none("bits", self.bits, 0, self.planes.grid.bits)

    @property
    def planes(self) -> HalfPlanes:
        """The lattice that the lines are on, see `Planar`."""
        return HalfPlanes(self.d)

    @property
    def grid(self) -> Grid:
        """The lattice of lines; that of `planes`, or a coarser part of it."""
        fine = self.planes.grid
        return fine if self.bits is None else replace(fine, dropped=fine.bits - self.bits)

    @property
    def complete(self) -> bool:
        """Whether each trapezoid with two vertical sides has the rows of members, 1 / ``size`` of the measure or more.

        See `Planar`: so a triangle is a union of ``per_triangle`` such sets.
        """
        return self.grid.exact

    @property
    def log_cost(self) -> float:
        """2 ln(189.75 d^4) + ln((d + 1) (d + 2) / 2), the log of `size`.

        In one way that a line divides the rows, with the side above it, there is at least 1 / (126.5 * 3 d^4) of all
        lines with both sides by `Kinematic.log_cost`, and each line is on one of two sides.
        """
        return 2 * log(_OF_LINES) + 8 * log(self.d) + log((self.d + 1) * (self.d + 2) / 2)

    @property
    def size(self) -> float:
        """mu(H) / mu(the members with the rows of one trapezoid) at most; InputError for a lattice that is too coarse.
        """
        if not self.complete:
            raise InputError("bits", "None, so that each trapezoid has members", repr(self.bits), "leave it out")
        return exp(self.log_cost)

    def select(self, key: Array, x: Array, target: Array, other: Array, score: Score) -> Cut:
        """See `Family.select`: the exponential mechanism, exactly, for the score `Score` itself.

        Returns: cuts, each leaf with a leading axis of 4.
        """
        from dpjax.mechanisms.cover.slabs.law import WedgeLaw

        return WedgeLaw(x, target, other, score, self).sample(key)

    def hits(self, h: Cut, x: Array) -> Array:
        """Which rows are in all halfplanes of a wedge, ``bool[n]``, by integer arithmetic."""
        return all_hit(self.planes, h, x)


def select_wedge(
    family: SlabWedges, key: Array, x: Array, target: Array, other: Array, score: Score
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
    """The cuts of a wedge on the lattice ``grid``: kind ``int32[2]``, slope and t ``integers[2]``, a, b ``uint64[]``."""
    ends = stack([widened(a, grid.words), widened(b, grid.words) + 1]) << grid.bits
    none = stack([constant(0, slope)] * 2)
    lines = jnp.arange(2, dtype=jnp.int32)
    chart = jnp.concatenate([jnp.ones(2, jnp.int32), jnp.asarray(CHARTS)[kind]])
    above = jnp.concatenate([jnp.asarray([True, False]), jnp.asarray(ABOVE)[lines, kind]])
    return Cut.of(chart, concatenate([none, slope])[:, None], concatenate([ends, t]), above)


def _points(family: SlabWedges, x: Array) -> Array:
    """Rows as ``uint64[n, 2]``."""
    _, across = family.planes.features(x)
    return across[..., 0].T.astype(jnp.uint64)
