"""Halfplanes over the grid {0, ..., d}^2, sampled exactly from any base measure on lines, for any number of rows."""

from dataclasses import dataclass
from math import exp
from typing import Protocol, runtime_checkable

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.mechanisms.cover.lines.cuts import Cells, Cut, Support, check_sizes, grid_points, signed
from dpjax.mechanisms.cover.lines.measures import Grid, Kinematic, LineMeasure
from dpjax.mechanisms.cover.lines.rejection import CutFamily
from dpjax.theory.halfplanes import slope_bits

_KINEMATIC = Kinematic()


@runtime_checkable
class Planar(Protocol):
    """A `mechanisms.cover.Family` whose functions are intersections of one or more cuts on the lattice of `HalfPlanes`.

    Its `select` returns a `Cut`; with several cuts per function each leaf has a leading axis ``edges``.
    """

    @property
    def planes(self) -> "HalfPlanes":
        """The lattice."""

    @property
    def edges(self) -> int:
        """The number of cuts of one function."""


@dataclass(frozen=True)
class HalfPlanes(CutFamily):
    """The halfplanes y - s x >= t and x - s y >= t, |s| <= 1, and their complements.

    d: 1 to 2**30; rows are ``int32[n, 2]``, coordinates are clipped to {0, ..., d}.
    measure: the base measure, see `measures`. slabs: cells of s per chart, and bins: of t, before refinement; they
    affect the time of a draw, never its law; good values grow like coefficient n / 8. spare, walls: see
    `rejection.select_cut`.

    s and t are multiples of 2**-bits with bits = 60 - ceil(log2 d): lines that differ by one step of s differ by
    at most d 2**-bits in the square, which is one grid unit for d = 2**30 and 2**-40 of one for d = 2**10.
    Larger grids, up to 2**64, are rounded to this one row by row: `concepts.Plane.rounded`.
    Reference: Kaplan, Mansour, Matias and Stemmer 2019, Section 4 (SelectHalfplane); the sampler is derived here.
    """

    d: int
    measure: LineMeasure = _KINEMATIC
    slabs: int = 128
    bins: int = 256
    spare: int = 2048
    walls: int = 64

    def __post_init__(self):
        checks.integer("d", self.d, 1, 2**30)
        check_sizes(self.slabs, self.bins, self.spare, self.walls)

    @property
    def planes(self) -> "HalfPlanes":
        """The family itself, see `Planar`."""
        return self

    @property
    def edges(self) -> int:
        """1, see `Planar`."""
        return 1

    @property
    def size(self) -> float:
        """mu(H) / mu(C) at most, see `LineMeasure.log_cost`: what counts as the number of functions in theorems.

        InputError if the lattice is too coarse for it, or the measure has no bound.
        """
        needed = slope_bits(self.d)
        if self.grid.bits < needed:
            raise InputError(
                "d", f"a lattice of slopes of {needed} bits, for every cut of every points", f"{self.grid.bits} bits",
                "take a smaller grid",
            )  # fmt: skip
        return exp(self.measure.log_cost(self.d))

    @property
    def grid(self) -> Grid:
        """The lattice of lines."""
        return Grid(self.d, 60 - (self.d - 1).bit_length())

    @property
    def first(self) -> int:
        """The smallest value."""
        return self.grid.first

    @property
    def last(self) -> int:
        """The largest value."""
        return self.grid.last

    @property
    def step(self) -> int:
        """t is a multiple of 2**step."""
        return self.measure.step(self.grid)

    def features(self, x: Array) -> tuple[Array, Array]:
        """Chart 0: y against x; chart 1: x against y."""
        points = grid_points(x, self.d, 2)
        return (points.T[::-1]) << self.grid.bits, points.T[..., None]

    def cells(self) -> Cells:
        """Slabs of s."""
        return self.measure.cells(self.grid, self.slabs)

    def log_density(self, chart: Array, theta: Array) -> Array:
        """The log-density of the measure."""
        return self.measure.log_density(self.grid, chart, theta)

    def log_peak(self, chart: Array, low: Array, high: Array) -> Array:
        """The log-density at the slope nearest to 0: no measure here has larger density at steeper lines."""
        return self.log_density(chart, jnp.clip(jnp.zeros_like(low), low, high - 1))

    def support(self, chart: Array, low: Array, high: Array) -> Support:
        """The support of the measure."""
        return self.measure.support(self.grid, chart, low, high)

    def normal(self, h: Cut) -> np.ndarray:
        """Host: (a, b, c), ``float64[..., 3]``; h hits (x, y) iff a x + b y >= c, or > c where not ``above``."""
        scale = 2.0**-self.grid.bits
        slope = signed(h.theta)[..., 0].astype(np.float64) * scale
        t = signed(h.t).astype(np.float64) * scale
        one, flat = np.ones_like(t), np.asarray(h.chart) == 0
        sign = np.where(np.asarray(h.above), 1.0, -1.0)
        return sign[..., None] * np.stack([np.where(flat, -slope, one), np.where(flat, one, -slope), t], axis=-1)
