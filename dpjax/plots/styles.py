"""How a learner looks and is called: a function of its name alone, so equal in every figure.

In grey the colours still differ, by at least 6 in CIE lightness, and so do the markers and the dashes.
"""

# ruff: noqa: RUF001 (Greek letters and minus signs are meant)

import zlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Style:
    """color: "#rrggbb". marker: one that can be hollow. dashes: a matplotlib line style. size: of the marker."""

    color: str
    marker: Any
    dashes: Any
    size: float = 1.0

    def line(self, points: float = 5.0) -> dict[str, Any]:
        """Keyword arguments of a line with filled markers: what was measured."""
        return {
            "color": self.color, "linestyle": self.dashes, "marker": self.marker, "markersize": points * self.size,
            "markeredgecolor": "white", "markeredgewidth": 0.4,
        }  # fmt: skip

    def hollow(self, points: float = 5.0) -> dict[str, Any]:
        """Keyword arguments of a thin line with hollow markers: what a theorem says."""
        return {
            "color": self.color, "linestyle": "-", "linewidth": 0.6, "alpha": 0.8, "marker": self.marker,
            "markersize": points * self.size, "markerfacecolor": "white", "markeredgewidth": 0.9,
        }  # fmt: skip


_KNOWN = {
    "point": Style("#d0382d", "o", "-"),
    "kln-basic": Style("#e69f00", "s", (0, (1.2, 1.2))),
    "kln-advanced": Style("#3fae5a", "^", (0, (4, 1.5, 1, 1.5))),
    "kln-optimal": Style("#003b80", "D", (0, (6, 1.5))),
    "kln-zcdp": Style("#006a60", "<", (0, (8, 1.5, 1, 1.5, 1, 1.5))),
    "median-basic": Style("#8c2d04", "p", (0, (1, 2.5))),
    "median-advanced": Style("#8ccbee", ">", (0, (6, 1.5, 2.5, 1.5))),
    "median-optimal": Style("#4a0058", "*", (0, (10, 2)), 1.5),
    "median-zcdp": Style("#b46ac6", "P", (0, (3, 1.5, 1, 1.5, 1, 1.5)), 1.1),
    "erm": Style("#111111", "v", (0, (2.5, 2))),
}
_COLORS = tuple(style.color for style in _KNOWN.values())
_MARKERS = (("X", 1.1), ("d", 1.2), ("h", 1.0), ((6, 1, 0), 1.5), ((4, 1, 45), 1.7))
_DASHES = tuple(style.dashes for style in _KNOWN.values())

_FAMILIES = {"kln": "KLN", "median": "Median"}
_WHOLE = {"point": "PointLearner (stability)", "erm": "ERM (not private)", "kln": "KLN", "median": "ThresholdMedian"}
_COMPOSITIONS = {"basic": "basic", "advanced": "advanced", "optimal": "optimal", "zcdp": "zCDP"}


def style(name: str) -> Style:
    """Colour, marker and dashes of a learner. Two names without a style of their own may share one of the three."""
    if name in _KNOWN:
        return _KNOWN[name]
    digits = zlib.crc32(name.encode())
    digits, color = divmod(digits, len(_COLORS))
    digits, marker = divmod(digits, len(_MARKERS))
    return Style(_COLORS[color], _MARKERS[marker][0], _DASHES[digits % len(_DASHES)], _MARKERS[marker][1])


def label(name: str) -> str:
    """What a person calls a learner; the name itself where nothing better is known."""
    family, _, composition = name.partition("-")
    if family in _FAMILIES and composition in _COMPOSITIONS:
        return f"{_FAMILIES[family]} × k, {_COMPOSITIONS[composition]} composition"
    return _WHOLE.get(name, name)


def rank(name: str) -> tuple[int, str]:
    """The order of learners in a figure: the known ones first, then by name."""
    known = list(_KNOWN)
    return (known.index(name) if name in _KNOWN else len(known), name)
