"""Public grids on which the values of columns are placed. Nothing in this module is read from the data."""

import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from dpjax.concepts import Cube, Domain
from dpjax.concepts.cube import MOST_BITS
from dpjax.concepts.hypothesis import Rule
from dpjax.concepts.packing import pack
from dpjax.core import checks, wide
from dpjax.core.checks import InputError

RANGE = re.compile("\0(\\d+) (\\d+)\0")
"""What `Placing.range` returns."""
_NONE: Mapping[str, Sequence[str]] = {}


def written(value: float, within: float = 0.0) -> str:
    """The decimal with the fewest digits, but at least six, that differs from the value by at most ``within``."""
    decimals = (float(f"{value:.{digits}g}") for digits in range(6, 18))
    rounded = next((decimal for decimal in decimals if abs(decimal - value) <= within), float(value))
    usual = rounded == 0 or 1e-5 <= abs(rounded) < 1e16
    return np.format_float_positional(rounded, trim="-") if usual else repr(rounded)


@dataclass(frozen=True)
class Grid:
    """Public numbers that map a column to {0, ..., 2**bits - 1}, never read from the data.

    low, high: the declared bounds; cell c holds low + [c, c + 1) (high - low) / 2**bits, the last one also ``high``.
    flip: counts cells from the top, so that large values come first. category: (name, text) of a column of 0 and 1,
    which is 1 where the column of this name has this text.
    """

    low: float
    high: float
    bits: int
    flip: bool = False
    category: tuple[str, str] | None = None

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
            expected = f"values within the declared bounds {written(self.low)}:{written(self.high)}"
            actual = f"{written(values[outside][0])} in row {int(np.flatnonzero(outside)[0]) + 1}"
            advice = "declare wider bounds from what you know of the quantity, or use --clip"
            raise InputError(f"column {name!r}", expected, actual, advice)

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

    def shown(self, edge: float) -> str:
        """An edge to a tenth of a cell."""
        return written(edge, (self.high - self.low) / 2**self.bits / 10)

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
        ends = self.interval(first, last)
        at_low, at_high = ends is not None and ends[0] <= self.low, ends is not None and ends[1] >= self.high
        if at_low and at_high:
            return "1 everywhere"
        if ends is None or (self.category is not None and not (at_low or at_high)):
            return "0 everywhere"
        if self.category is not None:
            return f"1 iff {self.category[0]} is {'not ' * at_low}{self.category[1]!r}"
        low, high = map(self.shown, ends)
        return (
            f"1 iff {name} < {high}" if at_low else f"1 iff {name} {f'>= {low}' if at_high else f'in [{low}, {high})'}"
        )


@dataclass(frozen=True)
class Placing:
    """Which columns are features, and each one's grid; ``shape``: two coordinates of the plane; ``cube``: of a cube.

    On a line, elements are cells counted from 1; element 0, which no value has, gives classes their empty concept. On a
    cube, each feature has a coordinate for each edge between cells, 1 if the value is at least the edge: a column of 0
    and 1 with one bit is a single coordinate. A column of texts has a feature for each of its declared categories.
    """

    features: tuple[str, ...]
    grids: tuple[Grid, ...]
    shape: bool = False
    cube: bool = False

    def __post_init__(self):
        if self.cube:
            _ = self.domain  # InputError for too many edges, before they are listed

    @property
    def domain(self) -> Domain | Cube:
        """The 2**bits cells of a line, and the element below them; or the cube."""
        return Cube(sum(2**grid.bits - 1 for grid in self.grids)) if self.cube else Domain(2 ** self.grids[0].bits + 1)

    @property
    def places(self) -> dict[str, int]:
        """The columns of a file that are read, each with the place of its first feature."""
        columns = [grid.category[0] if grid.category else name for name, grid, _ in self._with()]
        return {name: columns.index(name) for name in columns}

    @property
    def categories(self) -> dict[str, list[str]]:
        """The categories of each column of texts."""
        texts: dict[str, list[str]] = {}
        for column, text in (grid.category for grid in self.grids if grid.category is not None):
            texts.setdefault(column, []).append(text)
        return texts

    @property
    def _edges(self) -> list[tuple[int, int]]:
        """(feature, edge) of each coordinate of the cube."""
        return [(i, edge) for i, grid in enumerate(self.grids) for edge in range(2**grid.bits - 1)]

    def elements(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """``uint32[n, limbs]``, with an axis of features before the last if there are several lines; values are clipped
        to the bounds."""
        cells = [grid.place(name, column, True) for name, grid, column in self._with(values)]
        if self.cube:
            above = [cells[feature] > edge for feature, edge in self._edges]
            return np.asarray(pack(jnp.asarray(np.stack(above, axis=1))))[:, ::-1]
        if self.shape:
            return np.stack(cells, axis=1).astype(np.uint32)
        columns = [wide.encode(column + np.uint64(1), self.domain.limbs) for column in cells]
        return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)

    @property
    def rule(self) -> Rule | None:
        """What classes over this line or cube call in ``describe``."""
        return None if self.shape else self.literal if self.cube else self.range

    def range(self, first: int, last: int) -> str:
        """A mark for the elements first to last of a line, which a description in units replaces; see `RANGE`."""
        if not 0 <= first <= last < self.domain.size:
            raise InputError(
                "describe",
                f"rule(first, last) with 0 <= first <= last < {self.domain.size}",
                f"rule({first}, {last})",
                "call it with the first and the last element that the concept labels 1; for none return '0 everywhere'",
            )
        return f"\0{first} {last}\0"

    def literal(self, coordinate: int, value: int) -> str:
        """A description of the function that is 1 where a coordinate of the cube has this value."""
        feature, edge = self._edges[coordinate]
        grid = self.grids[feature]
        if grid.category is not None:
            return f"1 iff {grid.category[0]} is {'' if value else 'not '}{grid.category[1]!r}"
        return f"1 iff {self.features[feature]} {'>=' if value else '<'} {grid.shown(grid.edge(edge + 1))}"

    def outside(self, values: Sequence[np.ndarray]) -> dict[str, int]:
        """Number of values of each feature outside its bounds."""
        return {name: int(np.sum(grid.outside(column))) for name, grid, column in self._with(values)}

    def require(self, values: Sequence[np.ndarray]) -> None:
        """Raises InputError for values outside the bounds."""
        for name, grid, column in self._with(values):
            grid.require(name, column)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, for `of`."""
        grids = [
            {"name": n, "low": g.low, "high": g.high, "bits": g.bits, "flip": g.flip}
            | ({} if g.category is None else {"category": [*g.category]})
            for n, g, _ in self._with()
        ]
        return {"shape": self.shape, "cube": self.cube, "features": grids}

    @staticmethod
    def of(data: Mapping[str, Any]) -> "Placing":
        """The inverse of `to_dict`."""
        features = data["features"]
        made = tuple(
            Grid(
                float(f["low"]),
                float(f["high"]),
                checks.integer("bits", f["bits"], 1, 52),
                bool(f["flip"]),
                (str(f["category"][0]), str(f["category"][1])) if "category" in f else None,
            )
            for f in features
        )
        return Placing(
            tuple(str(f["name"]) for f in features), made, bool(data["shape"]), bool(data.get("cube", False))
        )

    def _with(self, values: Sequence[Any] | None = None) -> Any:
        return zip(self.features, self.grids, values or (None,) * len(self.grids), strict=True)


def on_lines(
    features: Sequence[str],
    bounds: Sequence[str],
    bits: int | None = None,
    flip: Sequence[str] = (),
    categories: Mapping[str, Sequence[str]] = _NONE,
) -> Placing:
    """Parses ``name=low:high`` for every feature without categories. InputError for missing or invalid bounds.

    bits: by default 16, and 1 if all features are columns of texts. categories: of these columns; each of them is a
    column of 0 and 1, counted from the top unless its feature is in ``flip``.
    """
    bits = checks.integer("bits", (16 if bounds else 1) if bits is None else bits, 1, 52)
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
        if not (math.isfinite(pair[1] - pair[0]) and pair[0] < pair[1]):
            advice = "for example 'mean radius=0:40'; a date is a number of days, in the table and in its bounds"
            raise InputError("bounds", "name=low:high with numbers low < high", repr(text), advice)
        parsed[name] = pair
    for name in (*parsed, *flip, *categories):
        checks.choice("bounds, categories or flip", name, features)
    if both := parsed.keys() & categories.keys():
        raise InputError("bounds", "bounds or categories of a feature", f"both for {min(both)!r}", "leave one out")
    missing = [name for name in features if name not in parsed and name not in categories]
    if missing:
        raise InputError(
            "bounds",
            f"bounds for every feature ({len(features)})",
            f"none for {', '.join(map(repr, missing))}",
            "give --bounds 'name=low:high' from what is known of the quantity, or for a column of texts --categories "
            "'name=a,b,c'; both and the grid are public and never read from the data, because that would leak it",
        )
    made: list[tuple[str, Grid]] = []
    for name in features:
        if name in parsed:
            made.append((name, Grid(*parsed[name], bits, name in flip)))
        for text in categories.get(name, ()):
            made.append((f"{name}={text}", Grid(0.0, 1.0, bits, name not in flip, (name, text))))
    return Placing(tuple(name for name, _ in made), tuple(grid for _, grid in made))


def on_cube(
    features: Sequence[str],
    bounds: Sequence[str],
    bits: int | None = None,
    categories: Mapping[str, Sequence[str]] = _NONE,
) -> Placing:
    """The cube of all edges of the features' grids. InputError as in `on_lines`, and for more than 4096 edges.

    bits: by default 8, or fewer if there are more edges than that; a category is one coordinate.
    """
    made = on_lines(features, bounds, 1 if bits is None else bits, (), categories)
    numbers, texts = len(bounds), sum(grid.category is not None for grid in made.grids)
    most = ((MOST_BITS - texts) // max(1, numbers) + 1).bit_length() - 1
    bits = min(8, max(1, most)) if bits is None else bits
    if numbers * (2**bits - 1) + texts > MOST_BITS:
        raise InputError(
            "bits",
            f"at most {max(1, most)} for {numbers} features" + f" and {texts} categories" * (texts > 0),
            str(bits),
            f"a class over a cube has a coordinate for each of the 2**bits - 1 edges of a feature, {MOST_BITS} at most",
        )
    grids = (replace(grid, bits=bits if grid.category is None else 1, flip=False) for grid in made.grids)
    return replace(made, grids=tuple(grids), cube=True)


def categories_of(declared: Sequence[str], features: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Parses ``name=text,text``, with quotes around a text that contains a comma; no texts for a name alone."""
    categories: dict[str, tuple[str, ...]] = {}
    for text in declared:
        named = [name for name in features if text == name or text.startswith(f"{name}=")]
        name = max(named, key=len, default=None) or checks.choice("categories", text.partition("=")[0], features)
        texts = [cell.strip() for row in csv.reader(text[len(name) + 1 :].splitlines()) for cell in row]
        if len({*texts}) < len(texts) or "" in texts or (text != name and not texts):
            raise InputError("categories", "name=a,b,c with different texts", repr(text), "name each category once")
        categories[name] = tuple(texts)
    return categories


def on_plane(features: Sequence[str], box: Sequence[float], bits: int) -> Placing:
    """The public grid of a box x0, y0, x1, y1. InputError for a missing or invalid box."""
    checks.integer("bits", bits, 1, 30)
    if not box:
        advice = (
            "give one from what is known of the region; the box is public and never read from the data, because that "
            "would leak it"
        )
        raise InputError("box", "--box X0 Y0 X1 Y1, corners of a rectangle", "none", advice)
    if len(box) != 4:
        raise InputError("box", "four numbers X0 Y0 X1 Y1", " ".join(map(str, box)), "give its two corners")
    x0, y0, x1, y1 = (checks.number("box", float(value)) for value in box)
    if not (x0 < x1 and y0 < y1):
        raise InputError("box", "X0 Y0 X1 Y1 with X0 < X1 and Y0 < Y1", repr(tuple(box)), "give its lower corner first")
    return Placing(tuple(features), (Grid(x0, x1, bits), Grid(y0, y1, bits)), shape=True)
