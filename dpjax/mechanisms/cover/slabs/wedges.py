"""Slab wedges over the grid {0, ..., d}^2 as a family of the set cover."""

from dataclasses import dataclass, replace
from math import exp, log
from typing import ClassVar

from jax import Array

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.members import implements, missing
from dpjax.mechanisms.cover.lines.cuts import Cut
from dpjax.mechanisms.cover.lines.halfplanes import HalfPlanes, Planar
from dpjax.mechanisms.cover.lines.measures import Grid
from dpjax.mechanisms.cover.score import Score
from dpjax.mechanisms.cover.slabs.boxes import MEASURE
from dpjax.mechanisms.cover.slabs.law import WedgeLaw
from dpjax.mechanisms.cover.slabs.rejection import Sizes
from dpjax.mechanisms.cover.triangles.strips import all_hit

_USUAL = Sizes()
_OF_LINES = 189.75
_MOST_ROWS = 2**20


@dataclass(frozen=True)
class SlabWedges(Planar):
    """{(x, y): a <= x <= b, above a line, below a line}: whole a <= b, and any two lines that are not vertical.

    The base measure has uniform pairs (a, b) in {0, ..., d}, and independent lines from `measures.Kinematic` without
    margin, of which those that a lower line of a wedge may be are one half: each with the side above it.

    d: 1 to 2**64 - 1; rows as `HalfPlanes` has them.
    pieces: another family of as many cuts with a `Planar.log_total`, which has half of the measure: `Pieces`, for
      shapes that few directions fit. None for wedges alone.
    bits: slopes and t are multiples of 2**-bits; None for all that the lattice of `HalfPlanes` has. With fewer the
      family is not ``complete``; on small grids its laws can then be listed.
    sizes: of the sampler, see `rejection.Sizes`; they change the time of a draw, never its law.

    A simple polygon of e edges has the rows of a union of at most e - 1 wedges.

    Reference: Kaplan, Mansour, Matias and Stemmer 2019, Section 5, whose theorem they give in place of triangles; the
      family, its cost and the sampler are derived in docs/proofs/slab-wedges.md.
    """

    d: int
    pieces: Planar | None = None
    bits: int | None = None
    sizes: Sizes = _USUAL
    floored: ClassVar[bool] = True
    edges: ClassVar[int] = 4
    """The cuts of a wedge, see `Planar`: from a on, up to b, above the lower line and below the upper one."""

    def __post_init__(self):
        checks.integer("d", self.d, 1, 2**64 - 1)
        checks.whole_or_none("bits", self.bits, 0, self.planes.grid.bits)
        if self.pieces is not None:
            advice = f"leave it out for wedges alone, or take Pieces({self.d})"
            checks.instance("pieces", self.pieces, Planar, advice)
            if not implements(self.pieces, Planar.log_total):
                raise missing("pieces", self.pieces, Planar.log_total, advice)
            if (self.pieces.edges, self.pieces.planes.grid) != (self.edges, self.planes.grid):
                wanted = f"a family of {self.edges} cuts on the lattice of HalfPlanes({self.d})"
                raise InputError("pieces", wanted, repr(self.pieces), advice)

    @property
    def most_rows(self) -> int:
        """See `Planar`."""
        return _MOST_ROWS if self.pieces is None else min(_MOST_ROWS, self.pieces.most_rows)

    @property
    def passes(self) -> int:
        """The bounds of boxes of a usual draw (docs/gallery/slab-wedges.md), and those of the pieces; see `Planar`."""
        return self.sizes.boxes // 16 + (0 if self.pieces is None else self.pieces.passes)

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

        See `Planar`, and `enough`.
        """
        return self.grid.exact

    @property
    def log_cost(self) -> float:
        """2 ln(189.75 d^4) + ln((d + 1) (d + 2) / 2), the log of `size`.

        In one way that a line divides the rows, with the side above it, there is at least 1 / (126.5 * 3 d^4) of all
        lines with both sides by `Kinematic.log_cost`, and each line is on one of two sides. Half of the measure: ln 2.
        """
        half = 0.0 if self.pieces is None else log(2)
        return 2 * log(_OF_LINES) + 8 * log(self.d) + log((self.d + 1) * (self.d + 2) / 2) + half

    @property
    def log_measure(self) -> float:
        """At most the log of the measure of all wedges of a complete family, when a line of slope 0 has 1: pieces have
        this much beside them.

        The lattice has 2**(2 bits) lines for each unit of `Kinematic.mass`, and a few more on the border.
        """
        lines = log(MEASURE.mass(self.d)) + 2 * self.grid.bits * log(2)
        return 2 * lines + log((self.d + 1) * (self.d + 2) / 2)

    @property
    def size(self) -> float:
        """mu(H) / mu(the members with the rows of one trapezoid) at most; InputError for too coarse a lattice."""
        if not self.complete:
            raise InputError("bits", "None, so that each trapezoid has members", repr(self.bits), "leave it out")
        return exp(self.log_cost)

    def enough(self, triangles: int, polygons: int) -> int:
        """A simple polygon of e edges counts as e - 2 triangles and is e - 1 wedges: docs/proofs/slab-wedges.md."""
        return triangles + min(polygons, triangles)

    def select(self, key: Array, x: Array, target: Array, other: Array, score: Score) -> Cut:
        """See `Family.select`: the exponential mechanism, exactly, for the score `Score` itself.

        It ends when a trial is accepted, which takes longer for rows that few wedges fit, and without
        `Saturating.nats` possibly without end: docs/proofs/slab-wedges.md#how-long-a-draw-takes.

        Returns: cuts, each leaf with a leading axis of 4.
        """
        return WedgeLaw(x, target, other, score, self).sample(key)

    def hits(self, h: Cut, x: Array) -> Array:
        """Which rows are in all halfplanes of a wedge, ``bool[n]``, by integer arithmetic."""
        return all_hit(self.planes, h, x)
