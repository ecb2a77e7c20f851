"""The exact law of a private halfplane as data: trapezoids of lines that hit the same rows, and how many of each.

A chart shows a line by slope s and offset t: chart 0 has the lines y = s x + t and gives a row the value y - s x,
chart 1 the lines x = s y + t and x - s y. A row's values are a line over the (s, t) plane, all of them cut the plane
into cells, and vertical segments cut these into trapezoids. `slab_cells` does so by brute force, a slab of slopes
between two neighboring crossings after the other: the reference. `events.cells` is exact for large d, and fast.

Reference: Kaplan, Mansour, Matias, Stemmer, "Differentially private learning of geometric concepts", Section 4.
"""

import dataclasses
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import checks, random, wide
from dpjax.core.checks import InputError
from dpjax.laws import Categorical

_BLOCK = 128  # slabs at a time
_WIDEST_BOX, _WIDEST, _LARGEST = 2**30, 2**61, 2**64 - 1
_FARTHEST = 2**70
_FINEST_SLABS = 2**17  # beyond it crossings that differ may fall together in float64


@dataclass(frozen=True)
class Frame:
    """A base measure on lines, from integers: density 1 in (s, t), or (1 + s**2)**(-3/2), for each of the two signs.

    d: rows are in [0, d]^2. low, high: t is in [low, high]. kinematic: False for chart 0 alone, |s| <= 2 d**2 and
    density 1; True for both charts, |s| <= 1 in each, and the density that rotations leave alone. d is at most 2**61,
    or 2**64 - 1 where the frame is ``open``.
    """

    d: int
    low: int
    high: int
    kinematic: bool

    def __post_init__(self):
        checks.integer("d", self.d, 1, _LARGEST if self.kinematic else _WIDEST_BOX)
        checks.integer("low", self.low, -_FARTHEST)
        checks.integer("high", self.high, self.low + 1, _FARTHEST)
        if not self.open:
            checks.integer("d", self.d, 1, _WIDEST)
            checks.integer("low", self.low, -(2**63) + self.d + 1, 2**63 - 1)
            checks.integer("high", self.high, self.low + 1, min(2**63 - 1, 2**63 - 1 + self.low))

    @staticmethod
    def box(d: int) -> "Frame":
        """Lebesgue measure on [-2 d**2, 2 d**2]^2: the seed paper's. d at most 2**30."""
        return Frame(d, -2 * d * d, 2 * d * d, False)

    @staticmethod
    def rotations(d: int) -> "Frame":
        """The kinematic measure on the lines with t from -5 d / 4 to 9 d / 4, rounded outwards. d at most 2**64 - 1.

        Among these are all lines that meet the square of side 5 d / 4 about the centre of the domain.
        """
        return Frame(d, *_around(d), True)

    @property
    def open(self) -> bool:
        """Whether the frame is kinematic and the values of all rows stay d / 4 or more within low and high."""
        low, high = _around(self.d)
        return self.kinematic and self.low <= low and high <= self.high

    @property
    def wall(self) -> int:
        """The largest |s|."""
        return 1 if self.kinematic else 2 * self.d * self.d

    @property
    def charts(self) -> int:
        """1 or 2."""
        return 2 if self.kinematic else 1

    def rows(self, x: Array) -> Array:
        """``int64[charts, n, 2]`` of ``int32[n, 2]`` or ``uint32[n, 2, limbs]``, moved into [0, d]^2, by chart.

        ``uint64`` where d is above 2**61.
        """
        if x.ndim == 3:
            inside = jnp.minimum(wide.join(x), jnp.uint64(self.d))
        else:
            inside = jnp.minimum(jnp.maximum(x, 0).astype(jnp.uint64), jnp.uint64(self.d))
        inside = inside if self.d > _WIDEST else inside.astype(jnp.int64)
        return jnp.stack([inside, inside[:, ::-1]][: self.charts])

    def mass(self, p: Array, q: Array, pq: Array, pt: Array, qt: Array) -> Array:
        """The measure of a trapezoid from slope p_y / p_x to q_y / q_x, ``float64[...]``, without cancellation.

        p, q: ``float64[2, ...]``. pq: their cross product. pt, qt: p_x and q_x times the height at either slope.
        """
        if not self.kinematic:
            return (pt / p[0] + qt / q[0]) * (pq / (2 * p[0] * q[0]))
        # the integral of R sin(angle) over an angle D is tan(D / 2) (R sin(first) + R sin(last))
        p_norm, q_norm = jnp.sqrt(p[0] ** 2 + p[1] ** 2), jnp.sqrt(q[0] ** 2 + q[1] ** 2)
        return (pt / p_norm + qt / q_norm) * (pq / (p_norm * q_norm + (p[0] * q[0] + p[1] * q[1])))


def _around(d: int) -> tuple[int, int]:
    """All values of rows in [0, d]^2, -d to 2 d, and d / 4 on either side."""
    return -((5 * d + 3) // 4), (9 * d + 3) // 4


@register_dataclass
@dataclass(frozen=True)
class Line:
    """A line with a side: a row is hit if sign x (its value in the chart at ``slope`` - offset) < 0.

    chart, sign: ``int32[]``. slope, offset: ``float64[]``, rounded from real numbers.
    """

    chart: Array
    slope: Array
    offset: Array
    sign: Array

    def hits(self, x: Array) -> Array:
        """``bool[n]`` of ``int32[n, 2]`` or ``uint32[n, 2, limbs]``; right unless one is on the line up to rounding."""
        with jax.enable_x64(True):
            rows = (wide.join(x) if x.ndim == 3 else x).astype(jnp.float64)
            rows = jnp.where(self.chart == 0, rows, rows[:, ::-1])
            return self.sign.astype(jnp.float64) * (rows[:, 1] - self.slope * rows[:, 0] - self.offset) < 0


@register_dataclass
@dataclass(frozen=True)
class Trapezoids:
    """m trapezoids that cover the frame, each with both signs; those of mass 0 are there for a fixed shape.

    chart: ``int32[m]``. slopes: ``float64[m, 2]``, the two ends; base, height: ``float64[m, 2]``, least t and span of
    t at either end. mass: ``float64[m]``. below: ``int32[m, 2]``, how many target and other rows have values below.
    total: ``int32[2]``, how many there are.
    """

    chart: Array
    slopes: Array
    base: Array
    height: Array
    mass: Array
    below: Array
    total: Array
    frame: Frame = field(metadata={"static": True})

    def table(self) -> tuple[Array, Array, Array]:
        """Log-mass, T and O (target and other rows hit), ``float64[m, 2]`` and ``int32[m, 2]``; signs +1, -1 last."""
        with jax.enable_x64(True):
            hit = jnp.stack([self.below, self.total[None] - self.below], axis=1)
            return jnp.broadcast_to(jnp.log(self.mass)[:, None], hit.shape[:2]), hit[..., 0], hit[..., 1]

    def law(self, budget: Array, k: int, coefficient: Array) -> Categorical:
        """Over 2 m candidates, (trapezoid, sign): mass x exp(coefficient min(T - budget / k, -O)).

        budget, coefficient: ``float64[]``. k: static.
        """
        with jax.enable_x64(True):
            log_mass, target, other = self.table()
            least = jnp.asarray(budget, jnp.float64) / k
            quality = jnp.minimum(target.astype(jnp.float64) - least, -other.astype(jnp.float64))
            return Categorical((log_mass + jnp.asarray(coefficient, jnp.float64) * quality).reshape(-1))

    def select(self, key: Array, budget: Array, k: int, coefficient: Array) -> Line:
        """A line whose density against the base measure is proportional to exp(coefficient q); ``key`` is consumed.

        The trapezoid has its law to float64's precision; slope and offset are then rounded, so that beyond d = 2**17 a
        line may leave a thin trapezoid. Use it to compare with: what a line hits is not decided on integers.
        """
        of_cell, inside = jax.random.split(key)
        with jax.enable_x64(True):
            index = jnp.maximum(self.law(budget, k, coefficient).sample(of_cell), 0)
            cell, sign = index // 2, 1 - 2 * (index % 2)
            slope, offset = self._point(inside, cell)
            return Line(self.chart[cell], slope, offset, sign)

    def _point(self, key: Array, cell: Array) -> tuple[Array, Array]:
        """Slope and offset of a line drawn from the base measure inside a trapezoid, by inverse distribution functions.

        With the fraction u of the mass to its left, a height has the square (1 - u) h0**2 + u h1**2; in the kinematic
        measure, heights being distances of parallel lines, u (1 - u) mass**2 more.
        """
        u, across = random.uniform(key, (2,), jnp.float64)
        (left, right), base, height, mass = self.slopes[cell], self.base[cell], self.height[cell], self.mass[cell]
        if self.frame.kinematic:  # by the angle from the left end: tan of its half is u mass / (h0 + height)
            norm = jnp.sqrt(1 + left * left)
            first, last = height[0] / norm, height[1] / jnp.sqrt(1 + right * right)
            level = jnp.sqrt((1 - u) * first**2 + u * last**2 + u * (1 - u) * mass**2)
            run, rise = first + level, u * mass
            cosine, sine = run * run - rise * rise, 2 * run * rise
            slope = (sine + left * cosine) / (cosine - left * sine)
            span = level * jnp.sqrt(1 + slope * slope)
        else:
            span = jnp.sqrt((1 - u) * height[0] ** 2 + u * height[1] ** 2)
            slope = left + 2 * u * mass / (height[0] + span)
        slope = jnp.clip(jnp.where(jnp.isnan(slope), left, slope), left, right)
        part = jnp.where(right > left, (slope - left) / (right - left), 0.0)
        return slope, base[0] + (base[1] - base[0]) * part + across * span


def slab_cells(x: Array, target: Array, other: Array, frame: Frame) -> Trapezoids:
    """All trapezoids, slab by slab: charts x (n (n - 1) / 2 + 2 n + 1) x (n + 1) of them, so n below 60 or so.

    x: ``int32[n, 2]``, rows. target, other: ``bool[n]``; rows under neither are not looked at. d at most 2**17: the
    relative error of a cell grows to about d**2 2**-52, where crossings are as close to each other as they can be.
    """
    with jax.enable_x64(True):
        cells = jax.vmap(lambda slab: _slab(slab, x, target, other, frame))(_slabs(x, target, other, frame))
        flat = jax.tree.map(lambda part: part.reshape(-1, *part.shape[2:]), cells)
        return dataclasses.replace(flat, total=cells.total[0])


def slab_select(
    key: Array, x: Array, target: Array, other: Array, budget: Array, k: int, coefficient: Array, frame: Frame
) -> Line:
    """`Trapezoids.select` of `slab_cells` in O(n**2) memory: first a slab, then a trapezoid of it. n up to 200."""
    of_slab, inside = jax.random.split(key)
    with jax.enable_x64(True):
        chart, left, right = _slabs(x, target, other, frame)
        wall = jnp.full(-chart.shape[0] % _BLOCK, frame.wall, jnp.float64)  # slabs of width 0, to fill the last block
        none = jnp.zeros(wall.shape, jnp.int32)
        slabs = tuple(map(jnp.concatenate, ((chart, none), (left, wall), (right, wall))))

        def weight(slab):
            return _log_sum(_slab(slab, x, target, other, frame).law(budget, k, coefficient).log_weights)

        blocks = jax.tree.map(lambda part: part.reshape(-1, _BLOCK), slabs)
        weights = jax.lax.map(jax.vmap(weight), blocks).reshape(-1)
        slab = jnp.maximum(Categorical(weights).sample(of_slab), 0)
        chosen = jax.tree.map(lambda part: part[slab], slabs)
        return _slab(chosen, x, target, other, frame).select(inside, budget, k, coefficient)


def _slabs(x: Array, target: Array, other: Array, frame: Frame) -> tuple[Array, Array, Array]:
    """Chart, left and right slope of every slab, ``[slabs]`` each; those of width 0 come last, the charts alternate."""
    if frame.d > _FINEST_SLABS:
        raise InputError("d", f"at most 2**17 = {_FINEST_SLABS} for slabs", str(frame.d), "use events.cells")
    real, wall = target | other, float(frame.wall)
    i, j = np.triu_indices(x.shape[0], 1)

    def edges(rows):
        across, up = rows[:, 0], rows[:, 1]
        dx = jnp.concatenate([across[i] - across[j], across, across])
        dy = jnp.concatenate([up[i] - up[j], up - frame.low, up - frame.high])
        there = jnp.concatenate([real[i] & real[j], real, real]) & (dx != 0)
        slopes = dy.astype(jnp.float64) / jnp.where(there, dx, 1).astype(jnp.float64)
        slopes = jnp.clip(jnp.where(there, slopes, wall), -wall, wall)
        return jnp.sort(jnp.concatenate([slopes, jnp.asarray([-wall, wall], jnp.float64)]))

    ends = jnp.stack([edges(rows) for rows in frame.rows(x)], axis=1)
    chart = jnp.broadcast_to(jnp.arange(frame.charts, dtype=jnp.int32), ends[1:].shape)
    return chart.reshape(-1), ends[:-1].reshape(-1), ends[1:].reshape(-1)


def _slab(slab: tuple[Array, Array, Array], x: Array, target: Array, other: Array, frame: Frame) -> Trapezoids:
    """The n + 1 trapezoids of a slab, from below; what does not exist is an empty one at the top."""
    chart, left, right = slab
    real = target | other
    rows = frame.rows(x)[chart].astype(jnp.float64)
    order = jnp.argsort(jnp.where(real, rows[:, 1] - (left + right) / 2 * rows[:, 0], jnp.inf))
    low, high = float(frame.low), float(frame.high)

    def sides(slope):
        values = jnp.clip(jnp.where(real, rows[:, 1] - slope * rows[:, 0], high)[order], low, high)
        ends = [jnp.full(1, end, jnp.float64) for end in (low, high)]
        return jnp.concatenate([ends[0], values]), jnp.concatenate([values, ends[1]])

    (low0, high0), (low1, high1) = sides(left), sides(right)
    h0, h1 = jnp.maximum(high0 - low0, 0), jnp.maximum(high1 - low1, 0)
    p, q = (jnp.stack([jnp.ones((), jnp.float64), slope]) for slope in (left, right))
    mass = frame.mass(p, q, right - left, h0, h1)
    weights = jnp.stack([target, other], axis=1).astype(jnp.int32)
    below = jnp.concatenate([jnp.zeros((1, 2), jnp.int32), jnp.cumsum(weights[order], axis=0, dtype=jnp.int32)])
    size = h0.shape[0]
    return Trapezoids(
        jnp.broadcast_to(chart, (size,)),
        jnp.broadcast_to(jnp.stack([left, right]), (size, 2)),
        jnp.stack([low0, low1], axis=1),
        jnp.stack([h0, h1], axis=1),
        mass,
        below,
        jnp.sum(weights, axis=0, dtype=jnp.int32),
        frame,
    )


def _log_sum(values: Array) -> Array:
    """log of the sum of exp, added up in pairs, so that a tail of -inf makes no difference to any bit."""
    largest = jnp.max(values)
    largest = jnp.where(jnp.isfinite(largest), largest, 0.0)
    parts = jnp.exp(values - largest)
    while parts.shape[0] > 1:
        parts = jnp.concatenate([parts, jnp.zeros(parts.shape[0] % 2, parts.dtype)])
        parts = parts[0::2] + parts[1::2]
    return largest + jnp.log(parts[0])
