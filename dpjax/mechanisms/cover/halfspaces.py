"""Halfspaces over the grid {0, ..., d}^3."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax import checks
from dpjax.mechanisms.cover.cuts import Cells, Cut, Support, check_sizes, grid_points, signed
from dpjax.mechanisms.cover.rejection import CutFamily

_OTHERS = ((1, 2), (0, 2), (0, 1))


@dataclass(frozen=True)
class HalfSpaces3(CutFamily):
    """x_c - s . (the other two coordinates) >= t for c = 0, 1, 2 and |s_1|, |s_2| <= 1, and the complements.

    d: 1 to 2**28; rows are ``int32[n, 3]``, coordinates outside {0, ..., d} count as the nearest inside.
    The base measure is the one that rotations and translations leave alone, (1 + |s|^2)^-2 ds dt, on t from -2 d to
    3 d; s and t are multiples of 2**-bits with bits = 59 - ceil(log2 d). slabs: cells of each slope in a chart; the
    other sizes are those of `HalfPlanes`.

    Reference: the set cover of Kaplan, Mansour, Matias and Stemmer 2019, Section 3, for another family; derived here.
    """

    d: int
    slabs: int = 16
    bins: int = 256
    spare: int = 2048
    walls: int = 64

    def __post_init__(self):
        checks.integer("d", self.d, 1, 2**28)
        check_sizes(self.slabs, self.bins, self.spare, self.walls)

    @property
    def bits(self) -> int:
        """Binary digits of a slope after the point."""
        return 59 - (self.d - 1).bit_length()

    @property
    def first(self) -> int:
        """The least value, -2 d."""
        return -(self.d << (self.bits + 1))

    @property
    def last(self) -> int:
        """The largest value, 3 d."""
        return (3 * self.d) << self.bits

    @property
    def step(self) -> int:
        """All t of the lattice."""
        return 0

    def features(self, x: Array) -> tuple[Array, Array]:
        """Chart c: coordinate c against the other two."""
        points = grid_points(x, self.d, 3)
        return points.T << self.bits, jnp.stack([points[:, np.array(pair)] for pair in _OTHERS])

    def cells(self) -> Cells:
        """Squares of slopes."""
        one, slabs = 1 << self.bits, self.slabs
        edges = [one * (2 * i - slabs) // slabs for i in range(slabs + 1)]
        low, high = (np.array([[a, b] for a in part for b in part], np.int64) for part in (edges[:-1], edges[1:]))
        return Cells(np.repeat(np.arange(3, dtype=np.int32), len(low)), np.tile(low, (3, 1)), np.tile(high, (3, 1)))

    def log_density(self, chart: Array, theta: Array) -> Array:
        """-2 ln(1 + |s|^2)."""
        s = theta.astype(jnp.float64) * 2.0**-self.bits
        return -2.0 * jnp.log1p(jnp.sum(s * s))

    def log_peak(self, chart: Array, low: Array, high: Array) -> Array:
        """At the slope nearest to 0."""
        return self.log_density(chart, jnp.clip(jnp.zeros_like(low), low, high - 1))

    def support(self, chart: Array, low: Array, high: Array) -> Support:
        """All values, without tails."""
        return Support(jnp.int64(self.first), jnp.int64(self.last + 1), jnp.float64(0), jnp.float64(0))

    def normal(self, h: Cut) -> np.ndarray:
        """Host: (a_1, a_2, a_3, c), ``float64[..., 4]``; h hits x iff a . x >= c, or > c where not ``above``."""
        scale = 2.0**-self.bits
        slope = signed(h.theta).astype(np.float64) * scale
        t = signed(h.t).astype(np.float64) * scale
        chart = np.asarray(h.chart)[..., None]
        one = np.ones_like(t)
        sides = [np.insert(-slope, c, one, axis=-1) for c in range(3)]
        chosen = np.where(chart == 0, sides[0], np.where(chart == 1, sides[1], sides[2]))
        return np.where(np.asarray(h.above), 1.0, -1.0)[..., None] * np.concatenate([chosen, t[..., None]], axis=-1)
