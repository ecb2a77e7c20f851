"""Base measures on lines in the plane. Privacy holds for any data-independent measure; measures differ in utility.

Chart 0 has the lines y - s x = t, chart 1 the lines x - s y = t, |s| <= 1. A measure gives s a density and t a range.
s is a multiple of 2**-bits and represents the lines up to the next multiple, a data-independent map. Its density is
evaluated at these multiples and not integrated, so cells of any size have exactly the right mass. How much of its area
a cell keeps on this lattice, and the costs: docs/proofs/lines.md.
"""

from abc import abstractmethod
from dataclasses import dataclass
from math import floor, log, pi, sqrt, tan
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core import checks
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.integers import constant, maximum, minimum, where
from dpjax.core.members import Base, missing
from dpjax.mechanisms.cover.lines.cuts import Cells, Support

_FINER = 6


@dataclass(frozen=True)
class Grid:
    """Lines across {0, ..., d}^2: slopes in units of 2**-bits, t in the same unit, from ``first`` to ``last`` + 1.

    words: the 64-bit words of an integer. No number is above 2**(64 words - 3).
    dropped: how many bits fewer there are than the words hold, for small lattices whose lines can be listed.
    """

    d: int
    words: int
    dropped: int = 0

    @staticmethod
    def fine(d: int) -> "Grid":
        """The one with the fewest words that is `exact`: 1 up to d = 2**18, 2 to 2**39, 3 to 2**60, 4 to 2**64."""
        return next(grid for words in range(1, 5) if (grid := Grid(d, words)).exact)

    @property
    def exact(self) -> bool:
        """Whether every cell of the arrangement of any points has lines, in proportion to its area as `log_cost` says.

        The slopes of a cell are an interval of length at least 1 / d^2, and 2**bits is at least 64 d^2.
        """
        return self.bits >= 2 * (self.d - 1).bit_length() + _FINER

    @property
    def bits(self) -> int:
        """As many as the words hold, less those that are dropped."""
        return 64 * self.words - 4 - (self.d - 1).bit_length() - self.dropped

    @property
    def first(self) -> int:
        """The smallest value, -d."""
        return -(self.d << self.bits)

    @property
    def last(self) -> int:
        """The largest value, 2 d."""
        return self.d << (self.bits + 1)


class LineMeasure(Base):
    """Base class of measures of lines: a frozen dataclass; see `cuts.Cuts` for the meaning of the methods. Slopes are
    ``integers[1]``."""

    @abstractmethod
    def log_cost(self, d: int) -> float:
        """An upper bound of ln(mu(H) / mu(C)) for every class C of halfplanes that cut {0, ..., d}^2 in one way.

        It holds on every lattice that is `Grid.exact`. NoTheoremError if the measure has no such bound.
        """

    @abstractmethod
    def step(self, grid: Grid) -> int:
        """t is a multiple of 2**step."""

    @abstractmethod
    def cells(self, grid: Grid, slabs: int) -> Cells:
        """A partition of the slopes, on the host."""

    @abstractmethod
    def log_density(self, grid: Grid, chart: Array, slope: Any) -> Array:
        """``float64[]`` at a slope, not larger at a steeper slope of the chart: the sampler's bounds rely on it."""

    @abstractmethod
    def support(self, grid: Grid, chart: Array, low: Any, high: Any) -> Support:
        """The values of t reached from the slopes of a cell."""

    def mass(self, d: int) -> float:
        """The measure of all lines with one sign: a family can favor lines only with it. Optional."""
        raise missing("measure", self, LineMeasure.mass, "take Kinematic, or give the measure its mass")

    def log_cost_along(self, d: int, width: float, length: float) -> float:
        """An upper bound of ln(mu(H) / mu(the lines along a rectangle)); NoTheoremError without one."""
        given = type(self).__name__
        raise NoTheoremError("margin", "a measure with log_cost_along, such as Kinematic", given, "leave it out")


def _array(values: list[int], words: int) -> np.ndarray:
    return np.array(values, np.int64 if words == 1 else object)


def _uniform_edges(grid: Grid, slabs: int) -> np.ndarray:
    unit = 1 << grid.bits
    return _array([unit * (2 * i - slabs) // slabs for i in range(slabs + 1)], grid.words)


def _cells(grid: Grid, parts: list[tuple[int, np.ndarray]]) -> Cells:
    chart = np.concatenate([np.full(len(edges) - 1, chart, np.int32) for chart, edges in parts])
    low = np.concatenate([edges[:-1] for _, edges in parts])
    high = np.concatenate([edges[1:] for _, edges in parts])
    real = low < high
    return Cells(chart[real], low[real, None], high[real, None], grid.words)


@dataclass(frozen=True)
class Kinematic(LineMeasure):
    """dphi drho, the only measure invariant under rotation and translation up to a factor: (1 + s^2)^(-3/2) ds dt.

    It covers the lines with t in [-(1 + margin) d, (2 + margin) d] in a chart, including all that meet the square.
    A halfplane that a cell of the arrangement realizes costs at most 4 ln d + 6.1 nats (`log_cost`), and O(1) in the
    typical case.
    Reference: Santalo 1976, Integral geometry, I.3, as a base measure; constants derived here.
    """

    name: ClassVar[str] = "kinematic"
    margin: float = 0.25

    def __post_init__(self):
        if not 0 <= checks.number("margin", self.margin) <= 1:
            raise InputError("margin", "a number in [0, 1]", repr(self.margin), "use for example 0.25")

    def log_cost(self, d: int) -> float:
        """ln(126.5 (3 + 2 margin) d^4).

        The cell of C in the dual plane has a triangle of area at least 1/(2 d^3); rotated so that a vertex is in its
        chart, it keeps a density of 5^(-3/2). All lines with both signs have mass 4 sqrt(2) (3 + 2 margin) d.
        """
        return log(126.5 * (3 + 2 * self.margin)) + 4 * log(checks.integer("d", d, 1))

    def log_cost_along(self, d: int, width: float, length: float) -> float:
        """ln of the mass of all lines, with both signs, over that of the lines, with one, along a rectangle.

        They cross both of its sides of length ``width``, ``length`` apart. By Crofton's formula they have mass
        2 (sqrt(length^2 + width^2) - length), and on the lattice at least 1 - 2^-10 times that for a width of one unit
        or more, and 2^-20 of the length. The rectangle meets the square, and its width is at most half of the margin.
        """
        checks.integer("d", d, 1)
        if not 0 < checks.number("length", length) <= checks.number("width", width) * 2.0**20:
            raise InputError("length", "more than 0, at most width 2**20", repr(length), "take a wider rectangle")
        if not 1 <= width <= self.margin * d / 2:
            expected = f"a width from 1 to {self.margin * d / 2:g}, half of the margin of lines"
            raise InputError("width", expected, repr(width), "take a wider margin of lines, or a narrower rectangle")
        along = 2 * width**2 / (sqrt(length**2 + width**2) + length)
        return log(2 * self.mass(d) / (along * (1 - 2.0**-10)))

    def mass(self, d: int) -> float:
        """Of all lines with one sign, 2 sqrt(2) (3 + 2 margin) d; those that meet a polygon have its perimeter."""
        return 2 * sqrt(2) * (3 + 2 * self.margin) * d

    def step(self, grid: Grid) -> int:
        """All t of the lattice are used."""
        return 0

    def cells(self, grid: Grid, slabs: int) -> Cells:
        """``slabs`` cells of equal width in each chart."""
        edges = _uniform_edges(grid, slabs)
        return _cells(grid, [(0, edges), (1, edges)])

    def log_density(self, grid: Grid, chart: Array, slope: Any) -> Array:
        """-(3/2) ln(1 + s^2)."""
        s = slope[0].astype(jnp.float64) * 2.0**-grid.bits
        return -1.5 * jnp.log1p(s * s)

    def support(self, grid: Grid, chart: Array, low: Any, high: Any) -> Support:
        """The same for all slopes."""
        tail = jnp.float64(self.margin * grid.d * 2.0**grid.bits)
        return Support(constant(grid.first, low), constant(grid.last + 1, low), tail, tail)


@dataclass(frozen=True)
class Box(LineMeasure):
    """Lebesgue measure on the dual points (a, b) in [-2 d^2, 2 d^2]^2, the lines y = a x + b.

    Chart 1 has |a| > 1 with s = 1 / a and t = -b / a: density |s|^-3 and |t| <= 2 d^2 |s|. A halfplane that a cell of
    the arrangement realizes costs at most 7 ln d + 4.6 nats (`log_cost`); in the typical case 3 ln d + O(1).
    On a lattice that is not `Grid.exact` the steepest slopes are omitted.
    Reference: Kaplan, Mansour, Matias and Stemmer 2019, Claim 4.6 and Lemma 4.7; corrected constants derived here.
    """

    name: ClassVar[str] = "box"

    def log_cost(self, d: int) -> float:
        """ln(96 d^7).

        Without a lattice 64 d^7: mass 32 d^4 over an area of 1/(2 d^3). The density of steep lines differs from one
        slope of the lattice to the next, which costs at most the rest.
        """
        return log(96) + 7 * log(checks.integer("d", d, 1))

    def step(self, grid: Grid) -> int:
        """All t of the lattice are used."""
        return 0

    def cells(self, grid: Grid, slabs: int) -> Cells:
        """Uniform slabs in chart 0; in chart 1 the same width, but a ratio of at most sqrt(2) below s = 3/width."""
        unit, least = 1 << grid.bits, self._least(grid)
        edges = [unit]
        while edges[-1] > least:
            wide = max(edges[-1] - max(2 * unit // slabs, 1), floor(edges[-1] * sqrt(0.5)))
            edges.append(max(least, min(wide, edges[-1] - 1)))
        steep = _array(edges[::-1], grid.words)
        return _cells(grid, [(0, _uniform_edges(grid, slabs)), (1, steep), (1, 1 - steep[::-1])])

    def log_density(self, grid: Grid, chart: Array, slope: Any) -> Array:
        """-3 ln|s| in chart 1."""
        size = maximum(slope[0], -slope[0])
        s = maximum(size, constant(1, size)).astype(jnp.float64) * 2.0**-grid.bits
        return jnp.where(chart == 0, 0.0, -3.0 * jnp.log(s))

    def support(self, grid: Grid, chart: Array, low: Any, high: Any) -> Support:
        """|t| <= 2 d^2 |s| in chart 1; the same with |s| = 1 in chart 0."""
        square, bits = 2 * grid.d**2, grid.bits
        steepest = maximum(maximum(low[0], -low[0]), maximum(high[0] - 1, 1 - high[0]))
        size = where(chart == 0, constant(1 << bits, steepest), steepest)
        ends, tails = [], []
        for value in (-grid.first, grid.last + 1):
            enough = constant(-(-value // square), size)  # from this |s| on, all values are reached
            ends.append(minimum(minimum(size, enough) * square, constant(value, size)))
            tails.append(maximum(size - enough, constant(0, size)).astype(jnp.float64) * float(square))
        return Support(-ends[0], ends[1], tails[0], tails[1])

    @staticmethod
    def _least(grid: Grid) -> int:
        return min(max(1, -(-(1 << grid.bits) // (2 * grid.d**2))), 1 << grid.bits)


@dataclass(frozen=True)
class Net(LineMeasure):
    """A finite set: ``directions`` equally spaced in angle, and t at multiples of a power of two, at least ``offsets``.

    Utility only for data that are smooth at this resolution; the cheapest base measure, ln(4 directions offsets) nats.
    """

    name: ClassVar[str] = "net"
    directions: int = 64
    offsets: int = 256

    def __post_init__(self):
        checks.integer("directions", self.directions, 2, 2**14)
        checks.integer("offsets", self.offsets, 2, 2**30)

    def log_cost(self, d: int) -> float:
        """NoTheoremError: a net has no line in most cells, so no number of rows is enough for every distribution."""
        raise NoTheoremError(
            "measure",
            "one that has lines in every cell of the arrangement of any points",
            repr(self),
            "use Kinematic() or Box() for a sample size; a net learns only from data that are smooth at its resolution",
        )

    def step(self, grid: Grid) -> int:
        """The largest power of two with at least ``offsets`` multiples in range."""
        return max(0, ((grid.last + 1 - grid.first) // self.offsets).bit_length() - 1)

    def cells(self, grid: Grid, slabs: int) -> Cells:
        """One cell per direction; ``slabs`` is ignored."""
        unit = 1 << grid.bits
        charts, slopes = [], []
        for i in range(self.directions):
            angle = -pi / 4 + pi * (i + 0.5) / self.directions  # of the line against the axis of chart 0
            steep = angle > pi / 4
            s = tan(pi / 2 - angle) if steep else tan(angle)
            charts.append(int(steep))
            slopes.append(round(s * unit))
        low = _array(slopes, grid.words)[:, None]
        return Cells(np.array(charts, np.int32), low, low + 1, grid.words)

    def log_density(self, grid: Grid, chart: Array, slope: Any) -> Array:
        """Constant."""
        return jnp.float64(0)

    def support(self, grid: Grid, chart: Array, low: Any, high: Any) -> Support:
        """The same for all slopes, without tails."""
        return Support(constant(grid.first, low), constant(grid.last + 1, low), jnp.float64(0), jnp.float64(0))
