"""Styles of the lines of a figure: color, marker and dashes by their order in that figure.

The ten colors of a palette have evenly spaced lightness, so that they differ in gray, and hues chosen to be as far
apart as possible for normal and for color-blind eyes (protanopia, deuteranopia, tritanopia). The first four
differ most. Later lines repeat a color with another marker and other dashes.

Reference: Tol, "Color schemes" (SRON/EPS/TN/09-002), on what a palette for papers needs; Machado, Oliveira and
Fernandes, "A physiologically-based model for simulation of color vision deficiency", 2009.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.colors import is_color_like, to_hex
from matplotlib.markers import MarkerStyle

from dpjax.core import checks
from dpjax.core.checks import InputError

LIGHT = ("#393897", "#d99c72", "#5a8108", "#4a1230", "#f6659a", "#2f86ed", "#93534d", "#c0b3f5", "#6b1507", "#6e457a")
DARK = ("#a6b0fd", "#dff7a6", "#c44465", "#90e2b9", "#e5936e", "#a58a25", "#e1c05b", "#0df7fd", "#6279d6", "#a691ba")
MARKERS = ("o", "s", "^", "D", "v", "p", ">", "*", "P", "<", "X", "d", "h")
DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.2, 1.2)),
    (0, (5, 1.5, 1.2, 1.5)),
    (0, (9, 2)),
    (0, (2.5, 1.5)),
    (0, (5, 1.5, 1.2, 1.5, 1.2, 1.5)),
    (0, (1.2, 2.6)),
    (0, (9, 1.5, 2.5, 1.5)),
    (0, (2.5, 1.5, 1.2, 1.5)),
    (0, (4, 3)),
)
FIELDS = ("color", "marker", "dashes", "label")
_NAMED = {"solid": "-", "dashed": "--", "dotted": ":", "dashdot": "-."}
_SIZES = {"*": 1.4, "P": 1.1, "X": 1.1, "d": 1.15, "D": 0.9, "s": 0.95}


@dataclass(frozen=True)
class Style:
    """The style of one line.

    color: "#rrggbb". marker: one that can be hollow. dashes: a matplotlib line style. label: text in the legend. size:
    average marker size in points. paper: the color of the background.
    """

    color: str
    marker: Any
    dashes: Any
    label: str
    size: float = 5.0
    paper: str = "#ffffff"

    @property
    def _points(self) -> float:
        return self.size * _SIZES.get(self.marker, 1.0)

    def line(self, scale: float = 1.0) -> dict[str, Any]:
        """Keyword arguments of a line with filled markers, for measurements."""
        return {
            "color": self.color,
            "linestyle": self.dashes,
            "marker": self.marker,
            "markersize": self._points * scale,
            "markeredgecolor": self.paper,
            "markeredgewidth": 0.06 * self.size,
        }

    def hollow(self, scale: float = 1.0) -> dict[str, Any]:
        """Keyword arguments of a thin line with hollow markers, for theorems."""
        return {
            "color": self.color,
            "linestyle": "-",
            "linewidth": 0.12 * self.size,
            "marker": self.marker,
            "markersize": self._points * scale,
            "markerfacecolor": self.paper,
            "markeredgewidth": 0.18 * self.size,
        }

    def bound(self) -> dict[str, Any]:
        """Keyword arguments of a dotted line with small bars, for lower bounds."""
        return {
            "color": self.color,
            "linestyle": ":",
            "linewidth": 0.24 * self.size,
            "marker": "_",
            "markersize": 1.4 * self.size,
        }


def styles(
    names: Iterable[str],
    given: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    dark: bool = False,
    size: float = 5.0,
    paper: str = "#ffffff",
) -> dict[str, Style]:
    """The style of each line of a figure, by its position in ``names``.

    given: for some names, any of `FIELDS`: color, a matplotlib color; marker, one of matplotlib's filled markers;
    dashes, "solid", "dashed", "dotted", "dashdot" or lengths on, off, ... in line widths; label. The other lines do not
    use a given value. InputError for an unknown name, or an invalid value.
    """
    order = list(dict.fromkeys(names))
    checked = check_styles(given or {}, order)
    places = {
        field: iter(_left(values, [style[field] for style in checked.values() if field in style], len(order)))
        for field, values in (("color", DARK if dark else LIGHT), ("marker", MARKERS), ("dashes", DASHES))
    }
    result = {}
    for name in order:
        looks = {field: checked.get(name, {}).get(field) or next(place) for field, place in places.items()}
        label = checked.get(name, {}).get("label", name)
        result[name] = Style(**looks, label=label, size=size, paper=paper)
    return result


def check_styles(given: Any, names: Sequence[str] | None = None) -> dict[str, dict[str, Any]]:
    """The user's styles in matplotlib's terms; InputError if one is malformed. names: of the lines."""
    checks.instance("styles", given, Mapping, 'give for example {"KLN": {"color": "black"}}', "names and their styles")
    checked: dict[str, dict[str, Any]] = {}
    for name, style in given.items():
        if names is not None:
            checks.choice("styles", name, names)
        where = f"styles[{name!r}]"
        checks.instance(where, style, Mapping, 'give for example {"color": "black"}', "fields and their values")
        for field in style:
            checks.choice(where, field, FIELDS)
        checked[name] = {field: _CHECKS[field](f"{where}.{field}", value) for field, value in style.items()}
    return checked


def _left(values: Sequence[Any], taken: Sequence[Any], count: int) -> list[Any]:
    """The values in order, cyclically, without those that are taken, unless all are taken."""
    free = [value for value in values if value not in taken] or list(values)
    return [free[i % len(free)] for i in range(count)]


def _color(where: str, value: Any) -> str:
    if not isinstance(value, str) or not is_color_like(value) or value.lower() == "none":
        raise InputError(where, "a color", repr(value), 'give for example "black", "tab:blue" or "#d0382d"')
    return to_hex(value)


def _marker(where: str, value: Any) -> Any:
    known = [str(marker) for marker in MarkerStyle.filled_markers]
    if not isinstance(value, str) or value not in known:
        raise InputError(where, f"one of matplotlib's filled markers {' '.join(known)}", repr(value), "choose one")
    return value


def _dashes(where: str, value: Any) -> Any:
    if isinstance(value, str) and value in (*_NAMED, *_NAMED.values()):
        return _NAMED.get(value, value)
    lengths = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else []
    real = all(
        isinstance(length, int | float) and not isinstance(length, bool) and 0 < length < 1000 for length in lengths
    )
    if not lengths or len(lengths) % 2 or not real:
        known = ", ".join(_NAMED)
        raise InputError(where, f"{known}, or lengths on, off, ... above 0", repr(value), "give for example [4, 2]")
    return (0, tuple(float(length) for length in lengths))


def _label(where: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(where, "words", repr(value), "give the text of the legend")
    return value


_CHECKS = {"color": _color, "marker": _marker, "dashes": _dashes, "label": _label}
