"""A family of cuts from outside the package: discs over the grid {0, ..., d}^2, and their complements."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core import checks
from dpjax.core.integers import on_host
from dpjax.mechanisms.cover.lines.cuts import Cells, Cut, Support, check_sizes, grid_points
from dpjax.mechanisms.cover.lines.rejection import CutFamily


@dataclass(frozen=True)
class Discs(CutFamily):
    """|p - c|^2 < r^2 and its complement: as a cut, |p|^2 - 2 c . p against t = r^2 - |c|^2.

    d: 1 to 2**28; rows are ``int32[n, 2]``, coordinates outside {0, ..., d} count as the nearest inside.
    The base measure is uniform in the centre, over the square from -d/2 to 3d/2 on both axes, and in t from -4 d^2 to
    4 d^2, which has the disc of every radius that matters around each centre; c and t are multiples of 2**-bits with
    bits = 58 - 2 ceil(log2 d). slabs: cells of the centre on each axis; the other sizes are those of `HalfPlanes`.

    Reference: the set cover of Kaplan, Mansour, Matias and Stemmer 2019, Section 3, for another family; derived here.
    """

    d: int
    slabs: int = 24
    bins: int = 256
    spare: int = 2048
    walls: int = 256

    def __post_init__(self):
        checks.integer("d", self.d, 1, 2**28)
        check_sizes(self.slabs, self.bins, self.spare, self.walls)

    @property
    def bits(self) -> int:
        """Binary digits of a centre after the point."""
        return 58 - 2 * (self.d - 1).bit_length()

    @property
    def first(self) -> int:
        """The least value, -4 d^2."""
        return -self.last

    @property
    def last(self) -> int:
        """The largest value, 4 d^2."""
        return (4 * self.d**2) << self.bits

    @property
    def step(self) -> int:
        """All t of the lattice."""
        return 0

    def features(self, x: Array) -> tuple[Array, Array]:
        """|p|^2, and 2 p for each axis."""
        points = grid_points(x, self.d, 2)
        return (jnp.sum(points * points, axis=-1) << self.bits)[None], (points << 1)[None]

    def cells(self) -> Cells:
        """Squares of centres."""
        half = self.d << (self.bits - 1)
        edges = [4 * half * i // self.slabs - half for i in range(self.slabs + 1)]
        low, high = (np.array([[a, b] for a in part for b in part], np.int64) for part in (edges[:-1], edges[1:]))
        real = np.all(low < high, axis=1)
        return Cells(np.zeros(int(real.sum()), np.int32), low[real], high[real])

    def log_density(self, chart: Array, theta: Array) -> Array:
        """Uniform."""
        return jnp.float64(0)

    def log_peak(self, chart: Array, low: Array, high: Array) -> Array:
        """Uniform."""
        return jnp.float64(0)

    def support(self, chart: Array, low: Array, high: Array) -> Support:
        """All values, without tails."""
        return Support(jnp.int64(self.first), jnp.int64(self.last + 1), jnp.float64(0), jnp.float64(0))

    def circle(self, h: Cut) -> np.ndarray:
        """Host: (c_x, c_y, r^2), ``float64[..., 3]``; h hits the inside, or the outside where ``above``."""
        scale = 2.0**-self.bits
        centre = on_host(h.theta).astype(np.float64) * scale
        square = on_host(h.t).astype(np.float64) * scale + np.sum(centre**2, axis=-1)
        return np.concatenate([centre, square[..., None]], axis=-1)
