"""Public grids on which the values of columns are placed. Nothing in this module is read from the data."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from dpjax.concepts import Cube, Domain
from dpjax.concepts.cube import MOST_BITS
from dpjax.concepts.packing import pack
from dpjax.core import checks, wide
from dpjax.core.checks import InputError


@dataclass(frozen=True)
class Grid:
    """Public numbers that map a column to {0, ..., 2**bits - 1}, never read from the data.

    low, high: the declared bounds; cell c holds low + [c, c + 1) (high - low) / 2**bits, the last one also ``high``.
    flip: counts cells from the top, so that large values come first.
    """

    low: float
    high: float
    bits: int
    flip: bool = False

    def __post_init__(self) -> None:
        low, high = checks.number("low", self.low), checks.number("high", self.high)
        if not 0 < high - low < math.inf:
            raise InputError("bounds", "low < high", f"{low!r}, {high!r}", "give the smaller end first")
        checks.integer("bits", self.bits, 1, 52)

    def outside(self, values: np.ndarray) -> np.ndarray:
        """Mask of values outside the bounds, ``bool[n]``; False for NaN."""
        return (values < self.low) | (values > self.high)

    def require(self, name: str, values: np.ndarray) -> None:
        """Raises InputError for values outside the bounds."""
        outside = self.outside(values)
        if outside.any():
            raise InputError(
                f"column {name!r}", f"values within the declared bounds {self.low:g}:{self.high:g}",
                f"{values[outside][0]:g} in row {int(np.flatnonzero(outside)[0]) + 1}",
                "declare wider bounds from what you know of the quantity, or use --clip",
            )  # fmt: skip

    def place(self, name: str, values: np.ndarray, clip: bool) -> np.ndarray:
        """``uint64[n]`` cells. InputError for a value outside the bounds, unless ``clip`` moves it to the nearest."""
        if not clip:
            self.require(name, values)
        share = (np.clip(values, self.low, self.high) - self.low) / (self.high - self.low)
        cell = np.minimum(np.floor(share * 2.0**self.bits), 2.0**self.bits - 1).astype(np.uint64)
        return np.uint64(2**self.bits - 1) - cell if self.flip else cell

    def edge(self, cells: int) -> float:
        """The end of the first ``cells`` cells, in the column's units."""
        share = math.ldexp(cells, -self.bits) * (self.high - self.low)
        return self.high - share if self.flip else self.low + share

    def interval(self, first: int, last: int) -> tuple[float, float] | None:
        """(lower, upper) end of the values of elements first to last; None for no values.

        Element 0 lies before all cells, and element e is cell e - 1.
        """
        if last < max(first, 1):
            return None
        ends = self.edge(max(first, 1) - 1), self.edge(last)
        return min(ends), max(ends)

    def sentence(self, name: str, first: int, last: int) -> str:
        """A description of the function that is 1 on elements first to last, in the column's units."""
        found = self.interval(first, last)
        if found is None:
            return "0 everywhere"
        at_low, at_high = found[0] <= self.low, found[1] >= self.high
        if at_low and at_high:
            return "1 everywhere"
        low, high = (f"{value:.6g}" for value in found)
        return (
            f"1 iff {name} < {high}" if at_low else f"1 iff {name} {f'>= {low}' if at_high else f'in [{low}, {high})'}"
        )


@dataclass(frozen=True)
class Placing:
    """Which columns are features, and each one's grid; ``shape``: two coordinates of the plane; ``cube``: of a cube.

    On a line, elements are cells counted from 1; element 0, which no value has, gives classes their empty concept. On a
    cube, each feature has a coordinate for each edge between cells, 1 if the value is at least the edge: a column of 0
    and 1 with one bit is a single coordinate.
    """

    features: tuple[str, ...]
    grids: tuple[Grid, ...]
    shape: bool = False
    cube: bool = False

    @property
    def domain(self) -> Domain | Cube:
        """The 2**bits cells of a line, and the element below them; or the cube."""
        edges = 2 ** self.grids[0].bits - 1
        return Cube(edges * len(self.grids)) if self.cube else Domain(edges + 2)

    def elements(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """``uint32[n, limbs]``, with an axis of features before the last if there are several lines; values are clipped
        to the bounds."""
        cells = [grid.place(name, one, True) for name, grid, one in self._with(values)]
        if self.cube:
            above = [cell[:, None] > np.arange(2 ** self.grids[0].bits - 1) for cell in cells]
            return np.asarray(pack(jnp.asarray(np.concatenate(above, axis=1))))[:, ::-1]
        if self.shape:
            return np.stack(cells, axis=1).astype(np.uint32)
        columns = [wide.encode(one + np.uint64(1), self.domain.limbs) for one in cells]
        return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)

    def literal(self, coordinate: int, value: int) -> str:
        """A description of the function that is 1 where a coordinate of the cube has this value."""
        feature, edge = divmod(coordinate, 2 ** self.grids[0].bits - 1)
        at = self.grids[feature].edge(edge + 1)
        return f"1 iff {self.features[feature]} {'>=' if value else '<'} {at:.6g}"

    def outside(self, values: Sequence[np.ndarray]) -> dict[str, int]:
        """Number of values of each feature outside its bounds."""
        return {name: int(np.sum(grid.outside(one))) for name, grid, one in self._with(values)}

    def require(self, values: Sequence[np.ndarray]) -> None:
        """Raises InputError for values outside the bounds."""
        for name, grid, one in self._with(values):
            grid.require(name, one)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, for `of`."""
        grids = [{"name": n, "low": g.low, "high": g.high, "bits": g.bits, "flip": g.flip} for n, g, _ in self._with()]
        return {"shape": self.shape, "cube": self.cube, "features": grids}

    @staticmethod
    def of(data: Mapping[str, Any]) -> "Placing":
        """The inverse of `to_dict`."""
        features = data["features"]
        made = tuple(Grid(float(f["low"]), float(f["high"]), int(f["bits"]), bool(f["flip"])) for f in features)
        return Placing(
            tuple(str(f["name"]) for f in features), made, bool(data["shape"]), bool(data.get("cube", False))
        )

    def _with(self, values: Sequence[Any] | None = None) -> Any:
        return zip(self.features, self.grids, values or (None,) * len(self.grids), strict=True)


def on_lines(features: Sequence[str], bounds: Sequence[str], bits: int, flip: Sequence[str] = ()) -> Placing:
    """Parses ``name=low:high`` for every feature. InputError for missing or invalid bounds."""
    checks.integer("bits", bits, 1, 52)
    parsed = {}
    for text in bounds:
        name, equals, span = text.rpartition("=")
        if not equals:
            advice = f"write {features[0]}={text}" if features else "name the feature"
            raise InputError("bounds", "name=low:high", repr(text), advice)
        low, _, high = span.partition(":")
        try:
            pair = float(low), float(high)
        except ValueError:
            pair = math.nan, math.nan
        if not (math.isfinite(pair[0]) and math.isfinite(pair[1]) and pair[0] < pair[1]):
            raise InputError("bounds", "name=low:high with low < high", repr(text), "for example 'mean radius=0:40'")
        parsed[name] = pair
    for name in (*parsed, *flip):
        checks.choice("bounds or flip", name, features)
    missing = [name for name in features if name not in parsed]
    if missing:
        raise InputError(
            "bounds", f"bounds for every feature ({len(features)})", f"none for {', '.join(map(repr, missing))}",
            "give --bounds 'name=low:high' from what is known of the quantity; bounds and grid are public and never "
            "read from the data, because that would leak it",
        )  # fmt: skip
    return Placing(tuple(features), tuple(Grid(*parsed[name], bits, name in flip) for name in features))


def on_cube(features: Sequence[str], bounds: Sequence[str], bits: int) -> Placing:
    """The cube of all edges of the features' grids. InputError as in `on_lines`, and for more than 4096 edges."""
    made = on_lines(features, bounds, bits, ())
    if len(features) * (2**bits - 1) > MOST_BITS:
        most = max(1, (MOST_BITS // len(features) + 1).bit_length() - 1)
        raise InputError(
            "bits", f"at most {most} for {len(features)} features", str(bits),
            f"a class over a cube has a coordinate for each of the 2**bits - 1 edges of a feature, {MOST_BITS} at most",
        )  # fmt: skip
    return replace(made, cube=True)


def on_plane(features: Sequence[str], box: Sequence[float], bits: int) -> Placing:
    """The public grid of a box x0, y0, x1, y1. InputError for a missing or invalid box."""
    checks.integer("bits", bits, 1, 30)
    if not box:
        raise InputError(
            "box", "--box X0 Y0 X1 Y1, corners of a rectangle", "none",
            "give one from what is known of the region; the box is public and never read from the data, because that "
            "would leak it",
        )  # fmt: skip
    if len(box) != 4:
        raise InputError("box", "four numbers X0 Y0 X1 Y1", " ".join(map(str, box)), "give its two corners")
    x0, y0, x1, y1 = (checks.number("box", float(value)) for value in box)
    if not (x0 < x1 and y0 < y1):
        raise InputError("box", "X0 Y0 X1 Y1 with X0 < X1 and Y0 < Y1", repr(tuple(box)), "give its lower corner first")
    return Placing(tuple(features), (Grid(x0, x1, bits), Grid(y0, y1, bits)), shape=True)
