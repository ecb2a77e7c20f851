"""Families of cuts: {x : value(theta, x) >= t} and its complement, with an integer value that is affine in theta.

Halfplanes are such a family. theta and t are integers on a lattice that does not depend on the data, so
integer arithmetic decides whether a cut hits a row: the same bits in every program. Integers have W words of 64 bits:
`core.integers.Integers`, which are ``int64`` arrays for W = 1 and written ``integers`` in shapes below.
"""

import itertools
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.integers import Integers, constant, decoded, encoded, stack, where

_LANES, _MARKS = 32, 2


@register_dataclass
@dataclass(frozen=True)
class Cut:
    """A cut hits x iff value(theta, x) >= t (``above``) or iff value(theta, x) < t.

    chart: ``int32[]``. theta: ``uint32[D, 2 W]``, t: ``uint32[2 W]``, in two's complement, upper halves first.
    above: ``bool[]``.
    """

    chart: Array
    theta: Array
    t: Array
    above: Array

    @staticmethod
    def of(chart: Array, theta: Integers, t: Integers, above: Array) -> "Cut":
        """From integers theta and t, under 64-bit types."""
        return Cut(chart, encoded(theta), encoded(t), above)

    def whole(self) -> tuple[Any, Any]:
        """theta ``integers[D]`` and t ``integers[]``, under 64-bit types."""
        return decoded(self.theta), decoded(self.t)


@dataclass(frozen=True)
class Cells:
    """Boxes {low, ..., high - 1} of theta that tile the lattice, on the host.

    chart: ``int32[C]``; low, high: ``int64[C, D]``, or Python integers, ``object[C, D]``. words: W.
    """

    chart: np.ndarray
    low: np.ndarray
    high: np.ndarray
    words: int = 1


@dataclass(frozen=True)
class Support:
    """The values of t that the base measure reaches: ``integers[]`` from ``low`` to ``high``, each of weight 1.

    below, above: ``float64[]``, the weight of the cuts below ``low`` and above ``high``, which become the cuts
    t = first and t = last + 1 that hit all rows or none: a data-independent map of the base measure.
    """

    low: Any
    high: Any
    below: Array
    above: Array


class Cuts(Protocol):
    """A frozen dataclass, static, equal by value. first and last are at most 2**(64 W - 3) in size, and they differ by
    less than 2**(64 W - 2) - 8, so that nothing overflows.

    value(theta, x) = offset - theta . slope with slope >= 0, in {first, ..., last}. The base measure has weight
    exp(log_density) at each lattice theta of a chart, times the weight of t under `support`; t is a multiple of
    2**step. All methods but `cells` are traced under 64-bit types.
    """

    @property
    def first(self) -> int:
        """The smallest value."""

    @property
    def last(self) -> int:
        """The largest value."""

    @property
    def step(self) -> int:
        """t is a multiple of 2**step."""

    def features(self, x: Array) -> tuple[Any, Array]:
        """offset ``integers[charts, n]`` and slope >= 0 of the rows.

        slope: ``int64[charts, n, D]`` for W = 1, ``uint64`` for more words.
        """

    def cells(self) -> Cells:
        """The initial partition of the lattice of theta, on the host; the sampler refines it."""

    def log_density(self, chart: Array, theta: Any) -> Array:
        """``float64[]`` for ``integers[D]``."""

    def log_peak(self, chart: Array, low: Any, high: Any) -> Array:
        """An upper bound of log_density on a cell, ``float64[]`` for ``integers[D]``."""

    def support(self, chart: Array, low: Any, high: Any) -> Support:
        """A range of t that covers every theta of a cell, with tail weights at least as large; exact for one theta."""


def grid_points(x: Array, d: int, dimension: int) -> Array:
    """Rows ``int[n, dimension]`` as ``int64``, coordinates clipped to {0, ..., d}: a map of each row separately."""
    if x.ndim != 2 or x.shape[1] != dimension or not jnp.issubdtype(x.dtype, jnp.integer):
        raise InputError(
            "x",
            f"whole numbers of shape [n, {dimension}]",
            f"{x.dtype}{list(x.shape)}",
            f"give coordinates in {{0, ..., {d}}}, for example int32",
        )
    return jnp.clip(x.astype(jnp.int64), 0, d)


def affine(offset: Any, slope: Array, theta: Any) -> Any:
    """offset - theta . slope, ``integers[n]``, of ``integers[n]``, slopes ``[n, D]`` and ``integers[D]``."""
    for i in range(slope.shape[-1]):
        offset = offset - theta[i] * slope[..., i]
    return offset


@register_dataclass
@dataclass(frozen=True)
class Rows:
    """The rows of one selection: features, and a code that is 1 for a target, 2 for another row, 0 for neither.

    favored: None, or a `region.Favored`: which cuts have more weight than the base measure gives them.
    """

    offset: Any  # integers[charts, n]
    slope: Array  # int64 or uint64[charts, n, D]
    code: Array  # int64[n]
    favored: Any = None

    @staticmethod
    def of(cuts: Cuts, x: Array, target: Array, other: Array, favored: Any = None) -> "Rows":
        """Rows in both masks have code 3; rows in neither become zeros, and at least one such row is present, at least
        three beside ``favored`` (`sweep` puts its two ends in their place).

        The number of rows is padded to a multiple of 32, which makes XLA's CPU code for sums ten times faster.
        """
        spare = _LANES - x.shape[0] % _LANES
        if favored is not None and spare <= _MARKS:
            spare += _LANES
        code = jnp.pad(target.astype(jnp.int64) + 2 * other.astype(jnp.int64), (0, spare))
        real = code > 0
        offset, slope = cuts.features(x)
        offset = jax.tree.map(lambda part: jnp.where(real[None], jnp.pad(part, ((0, 0), (0, spare))), 0), offset)
        slope = jnp.where(real[None, :, None], jnp.pad(slope, ((0, 0), (0, spare), (0, 0))), 0)
        return Rows(offset, slope, code, favored)

    def values(self, chart: Array, theta: Any) -> Any:
        """value(theta, x), ``integers[n]``."""
        return affine(self.offset[chart], self.slope[chart], theta)

    def ordered(self, cuts: Cuts, chart: Array, theta: Any) -> Any:
        """`values`, with ignored rows beyond all t."""
        values = self.values(chart, theta)
        return where(self.code > 0, values, constant(cuts.last + 1, values))

    def weight(self) -> Array:
        """Targets in the lower half, others in the upper half of an ``int64[n]``, so that one sum counts both."""
        return (self.code & 1) + ((self.code >> 1) << 32)


def halves(weight: Array) -> tuple[Array, Array]:
    """The numbers of targets and of others in a sum of `Rows.weight`, as float64."""
    return (weight & 0xFFFFFFFF).astype(jnp.float64), (weight >> 32).astype(jnp.float64)


def cut_hits(cuts: Cuts, h: Cut, x: Array) -> Array:
    """Which rows a cut hits, ``bool[n]``, by integer arithmetic."""
    with jax.enable_x64(True):
        theta, t = h.whole()
        offset, slope = cuts.features(x)
        return (affine(offset[h.chart], slope[h.chart], theta) >= t) == h.above


def corners_of(low: Any, high: Any) -> list[Any]:
    """The corners of a cell, 2^D lattice points ``integers[D]``."""
    sides = [(low[i], high[i] - 1) for i in range(low.shape[0])]
    return [stack(corner) for corner in itertools.product(*sides)]


LARGEST = 64.0
"""Larger coefficients are clipped to this value in families of cuts, so that weights keep their precision."""


def check_sizes(slabs: int, bins: int, spare: int, walls: int) -> None:
    """Checks the sizes of a sampler, on the host."""
    checks.integer("slabs", slabs, 2, 2**14)
    checks.integer("bins", bins, 2, 2**14)
    checks.integer("spare", spare, 0, 2**20)
    checks.integer("walls", walls, 2, 2**14)
