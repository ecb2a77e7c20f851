"""The page a figure is made for: its width, letters, background and resolution, as arguments and as rcParams."""

import difflib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from matplotlib import font_manager

from dpjax.core import checks
from dpjax.core.checks import InputError

WIDTHS = {"column": 3.3, "page": 6.9, "screen": 10.5}
"""Inches: one column of a paper in two columns, a whole page of it, and what a web page or a talk has room for."""
FONTS = {"sans": ("DejaVu Sans", "dejavusans"), "serif": ("STIXGeneral", "stix")}
"""Families that come with matplotlib, so that every machine draws the same, and the mathematics that fits to them."""
_LIGHT = {"paper": "#ffffff", "ink": "#000000", "grey": "#555555", "grid": "#e4e4e4", "shade": "#f5f5f5"}
_DARK = {"paper": "#14171b", "ink": "#f2f2f2", "grey": "#b0b4ba", "grid": "#32373d", "shade": "#1d2126"}
_LEAST_EMS = 22
_LEAST_WIDTH, _MOST_WIDTH = 2.5, 30.0


@dataclass(frozen=True)
class Page:
    """What letters, lines and the sheet of a figure look like.

    width: inches. font: of `FONTS`, or an installed family. size: of the letters in points. dark: light letters on a
    dark ground. dpi: of PNG files. fixed: whether a figure is as wide as ``width`` even where it needs less.
    """

    width: float = WIDTHS["screen"]
    font: str = "sans"
    size: float = 9.0
    dark: bool = False
    dpi: int = 200
    fixed: bool = True

    @staticmethod
    def of(
        width: str | float = "screen", font: str = "sans", size: float | None = None, dark: bool = False,
        dpi: int | None = None,
    ) -> "Page":  # fmt: skip
        """A page from a person's words, checked.

        Args:
          width: "column" (3.3 inches), "page" (6.9), "screen" (10.5), or inches in [2.5, 30].
          font: "sans", "serif", or the name of an installed family.
          size: points, in [4, 40], by default 9 on a screen and 8 elsewhere; a line has to hold 22 letters m.
          dark: for a dark background.
          dpi: pixels an inch of a PNG, in [50, 1200], by default 200 on a screen and 300 elsewhere.
        """
        inches = _inches(width)
        screen = width == "screen"
        _font(font)
        points = (9.0 if screen else 8.0) if size is None else checks.number("size", size)
        most = inches * 72 / _LEAST_EMS
        if not 4 <= points <= min(40, most):
            raise InputError(
                "size", f"points in [4, {min(40, most):.3g}] for a width of {inches:g} inches", f"{size!r}",
                "choose smaller letters or a wider figure",
            )  # fmt: skip
        checks.instance("dark", dark, bool, "give True or False")
        pixels = (200 if screen else 300) if dpi is None else checks.integer("dpi", dpi, 50, 1200)
        return Page(inches, font, points, dark, pixels, not screen)

    @property
    def em(self) -> float:
        """The size of the letters in inches."""
        return self.size / 72

    @property
    def small(self) -> float:
        """Points of ticks, legends and captions: somewhat smaller, if that leaves 8 points."""
        return max(min(self.size, 8.0), 0.9 * self.size)

    @property
    def line(self) -> float:
        """Inches from one line of small letters to the next."""
        return 1.45 * self.small / 72

    @property
    def marker(self) -> float:
        """Points of a marker."""
        return 0.52 * self.size

    @cached_property
    def colors(self) -> dict[str, str]:
        """Of the background (paper), letters (ink), what stands back (gray), the grid, and shaded parts."""
        return _DARK if self.dark else _LIGHT

    def rc(self) -> dict[str, Any]:
        """The style of a figure on this page, as rcParams; what is not named has matplotlib's default."""
        ink, grey, paper, thin = (self.colors["ink"], self.colors["grey"], self.colors["paper"], self.size / 9)
        return {
            **self._letters(), "font.size": self.size, "axes.titlesize": self.size, "axes.labelsize": self.size,
            "xtick.labelsize": self.small, "ytick.labelsize": self.small, "legend.fontsize": self.small,
            "legend.title_fontsize": self.small, "legend.frameon": False, "axes.spines.top": False,
            "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True, "grid.color": self.colors["grid"],
            "grid.linewidth": 0.6 * thin, "axes.edgecolor": grey, "axes.linewidth": 0.7 * thin, "xtick.color": grey,
            "ytick.color": grey, "xtick.labelcolor": ink, "ytick.labelcolor": ink, "text.color": ink,
            "axes.labelcolor": ink, "axes.titlecolor": ink, "axes.facecolor": paper, "figure.facecolor": paper,
            "savefig.facecolor": paper, "lines.linewidth": 1.4 * thin, "lines.scale_dashes": True,
            "xtick.major.size": 0.35 * self.size, "ytick.major.size": 0.35 * self.size,
            "xtick.major.width": 0.7 * thin, "ytick.major.width": 0.7 * thin, "axes.titlepad": 0.45 * self.size,
            "axes.labelpad": 0.35 * self.size, "text.hinting": "no_hinting",
            "svg.hashsalt": "dpjax", "svg.fonttype": "none", "pdf.fonttype": 42,
        }  # fmt: skip

    def _letters(self) -> dict[str, Any]:
        if self.font in FONTS:
            family, mathematics = FONTS[self.font]
            generic = "serif" if self.font == "serif" else "sans-serif"
            return {"font.family": [generic], f"font.{generic}": [family], "mathtext.fontset": mathematics}
        own = {"mathtext.rm": self.font, "mathtext.it": f"{self.font}:italic", "mathtext.bf": f"{self.font}:bold"}
        return {"font.family": [self.font], "mathtext.fontset": "custom", "mathtext.fallback": "stix", **own}


SCREEN = Page()


def _inches(width: Any) -> float:
    if isinstance(width, str):
        return WIDTHS[checks.choice("width", width, WIDTHS)]
    inches = checks.number("width", width)
    if not _LEAST_WIDTH <= inches <= _MOST_WIDTH:
        raise InputError(
            "width", f"one of {', '.join(WIDTHS)}, or inches in [{_LEAST_WIDTH:g}, {_MOST_WIDTH:g}]", repr(width),
            "choose for example column",
        )  # fmt: skip
    return inches


def _font(font: Any) -> None:
    """Refuses a family that is not installed; matplotlib would take another one."""
    known = [*FONTS, *font_manager.get_font_names()]
    if font not in known:
        near = difflib.get_close_matches(str(font), known, n=3, cutoff=0.4)
        raise InputError(
            "font", "sans, serif, or an installed family", repr(font),
            f"did you mean {' or '.join(near)}?" if near else "choose for example serif",
        )  # fmt: skip
