"""The page of a figure: width, fonts, background and resolution, as arguments and as rcParams."""

import difflib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from matplotlib import font_manager

from dpjax.core import checks
from dpjax.core.checks import InputError

WIDTHS = {"column": 3.3, "page": 6.9, "screen": 10.5}
"""Inches: one column of a two-column paper, a whole page of it, and a web page or slide."""
FONTS = {"sans": ("DejaVu Sans", "dejavusans"), "serif": ("STIXGeneral", "stix")}
"""Font families that matplotlib includes, so that every machine draws the same, with matching mathematics."""
_LIGHT = {"paper": "#ffffff", "ink": "#000000", "grey": "#555555", "grid": "#e4e4e4", "shade": "#f5f5f5"}
_DARK = {"paper": "#14171b", "ink": "#f2f2f2", "grey": "#b0b4ba", "grid": "#32373d", "shade": "#1d2126"}
_LEAST_EMS = 22
_LEAST_WIDTH, _MOST_WIDTH = 2.5, 30.0


@dataclass(frozen=True)
class Page:
    """Fonts, line widths and background of a figure.

    width: inches. font: of `FONTS`, or an installed family. size: font size in points. dark: light text on a dark
    background. dpi: of PNG files. fixed: whether a figure has exactly ``width`` even if it needs less.
    """

    width: float = WIDTHS["screen"]
    font: str = "sans"
    size: float = 9.0
    dark: bool = False
    dpi: int = 200
    fixed: bool = True

    @staticmethod
    def of(
        width: str | float = "screen",
        font: str = "sans",
        size: float | None = None,
        dark: bool = False,
        dpi: int | None = None,
    ) -> "Page":
        """A page from user arguments, validated.

        Args:
          width: "column" (3.3 inches), "page" (6.9), "screen" (10.5), or inches in [2.5, 30].
          font: "sans", "serif", or the name of an installed family.
          size: points, in [4, 40], by default 9 on a screen and 8 elsewhere; a line has to hold 22 em.
          dark: for a dark background.
          dpi: pixels per inch of a PNG, in [50, 1200], by default 200 on a screen and 300 elsewhere.
        """
        inches = _inches(width)
        screen = width == "screen"
        _font(font)
        points = (9.0 if screen else 8.0) if size is None else checks.number("size", size)
        most = inches * 72 / _LEAST_EMS
        if not 4 <= points <= min(40, most):
            expected = f"points in [4, {min(40, most):.3g}] for a width of {inches:g} inches"
            raise InputError("size", expected, f"{size!r}", "choose a smaller font or a wider figure")
        checks.instance("dark", dark, bool, "give True or False")
        pixels = (200 if screen else 300) if dpi is None else checks.integer("dpi", dpi, 50, 1200)
        return Page(inches, font, points, dark, pixels, not screen)

    @property
    def em(self) -> float:
        """Font size in inches."""
        return self.size / 72

    @property
    def small(self) -> float:
        """Font size of ticks, legends and captions in points: somewhat smaller, but at least min(size, 8)."""
        return max(min(self.size, 8.0), 0.9 * self.size)

    @property
    def line(self) -> float:
        """Line spacing of small text in inches."""
        return 1.45 * self.small / 72

    @property
    def marker(self) -> float:
        """Marker size in points."""
        return 0.52 * self.size

    @cached_property
    def colors(self) -> dict[str, str]:
        """Colors of the background (paper), text (ink), secondary elements (grey), the grid, and shaded parts."""
        return _DARK if self.dark else _LIGHT

    def rc(self) -> dict[str, Any]:
        """The style of a figure on this page as rcParams; others have matplotlib's defaults."""
        ink, grey, paper, thin = (self.colors["ink"], self.colors["grey"], self.colors["paper"], self.size / 9)
        both = lambda name: (f"xtick.{name}", f"ytick.{name}")  # noqa: E731
        by_value: list[tuple[Any, tuple[str, ...]]] = [
            (self.size, ("font.size", "axes.titlesize", "axes.labelsize")),
            (self.small, (*both("labelsize"), "legend.fontsize", "legend.title_fontsize")),
            (False, ("legend.frameon", "axes.spines.top", "axes.spines.right")),
            (True, ("axes.grid", "axes.axisbelow", "lines.scale_dashes")),
            (grey, ("axes.edgecolor", *both("color"))),
            (ink, (*both("labelcolor"), "text.color", "axes.labelcolor", "axes.titlecolor")),
            (paper, ("axes.facecolor", "figure.facecolor", "savefig.facecolor")),
            (0.7 * thin, ("axes.linewidth", *both("major.width"))),
            (0.35 * self.size, ("axes.labelpad", *both("major.size"))),
        ]
        style = {name: value for value, names in by_value for name in names} | self._letters()
        style |= {"grid.color": self.colors["grid"], "grid.linewidth": 0.6 * thin, "lines.linewidth": 1.4 * thin}
        style |= {"axes.titlepad": 0.45 * self.size, "text.hinting": "no_hinting", "svg.hashsalt": "dpjax"}
        return style | {"svg.fonttype": "none", "pdf.fonttype": 42}

    def _letters(self) -> dict[str, Any]:
        if self.font in FONTS:
            family, mathematics = FONTS[self.font]
            generic = "serif" if self.font == "serif" else "sans-serif"
            return {"font.family": [generic], f"font.{generic}": [family], "mathtext.fontset": mathematics}
        faces = {"mathtext.rm": self.font, "mathtext.it": f"{self.font}:italic", "mathtext.bf": f"{self.font}:bold"}
        return {"font.family": [self.font], "mathtext.fontset": "custom", "mathtext.fallback": "stix", **faces}


SCREEN = Page()


def _inches(width: Any) -> float:
    if isinstance(width, str):
        return WIDTHS[checks.choice("width", width, WIDTHS)]
    inches = checks.number("width", width)
    if not _LEAST_WIDTH <= inches <= _MOST_WIDTH:
        expected = f"one of {', '.join(WIDTHS)}, or inches in [{_LEAST_WIDTH:g}, {_MOST_WIDTH:g}]"
        raise InputError("width", expected, repr(width), "choose for example column")
    return inches


def _font(font: Any) -> None:
    """Raises InputError for a family that is not installed, which matplotlib would silently replace."""
    known = [*FONTS, *font_manager.get_font_names()]
    if font not in known:
        near = difflib.get_close_matches(str(font), known, n=3, cutoff=0.4)
        advice = f"did you mean {' or '.join(near)}?" if near else "choose for example serif"
        raise InputError("font", "sans, serif, or an installed family", repr(font), advice)
