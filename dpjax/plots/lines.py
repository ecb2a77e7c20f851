"""Panels of lines with error bars, for the figures of the scripts, as files with their metadata."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.plots import sheet
from dpjax.plots.files import check_formats, save
from dpjax.plots.page import Page
from dpjax.plots.sheet import Block, Legend
from dpjax.plots.styles import Style, styles
from dpjax.plots.ticks import axis
from dpjax.plots.words import typeset, wrapped

_PANEL, _MOST = 27.0, 3  # width of a panel in em, and maximum number of panels per row
_LABELS = 7.0  # em, of a panel's width, for ticks and labels beside its axes


@dataclass(frozen=True)
class Line:
    """Points (x, y), x ascending, with bars from ``low`` to ``high`` if given.

    name: lines of the same name, in all panels of a figure, have the same color, marker and dashes. kind: "measured"
    (filled markers), "theorem" (hollow) or "formula" (no markers: a line through many points). In a label, text between
    dollar signs is mathematics.
    """

    label: str
    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    kind: str = "measured"


@dataclass(frozen=True)
class Panel:
    """One pair of axes, logarithmic in the directions ``log``. ticks: positions of the ticks of the x axis."""

    title: str
    xlabel: str
    ylabel: str
    lines: Sequence[Line]
    log: str = "xy"
    ticks: Sequence[float] = ()


def plot_lines(
    panels: Sequence[Panel],
    base: str | Path,
    about: Mapping[str, Any],
    title: str,
    caption: str = "",
    formats: str | Sequence[str] = ("png", "svg"),
    **look: Any,
) -> list[Path]:
    """Draws panels in rows and writes one file per format, ``base`` with its suffix; returns their paths.

    about: JSON-ready origin of the numbers, for the files' metadata, see `files.read_metadata`. title: drawn on a
    screen. look: width, font, size, dark, dpi of `Page.of`; a figure of one panel takes half of a screen. Equal
    arguments give equal bytes. InputError for an unknown format, a malformed line or option, or if a file cannot be
    written.
    """
    check_formats(formats)
    page = Page.of(**look)
    for panel in panels:
        for line in panel.lines:
            _check(line, panel.log)
    columns = min(_MOST, sheet.most_columns(page, _PANEL), len(panels))
    columns = -(-len(panels) // -(-len(panels) // columns))
    if not page.fixed:
        page = replace(page, width=min(page.width, 0.5 * page.width * columns))
    return save(lambda: (_figure(panels, columns, title, caption, page), title), base, formats, about, page)


def _check(line: Line, log: str) -> None:
    columns = [line.x, line.y, *(part for part in (line.low, line.high) if len(part))]
    numbers = [float(value) for column in columns for value in column]
    right = len(line.x) > 0 and len({len(column) for column in columns}) == 1 and all(map(math.isfinite, numbers))
    positive = [*(line.x if "x" in log else ()), *(line.y if "y" in log else ())]
    if not right or min(positive, default=1) <= 0:
        expected = "finite columns of one length, positive on a logarithmic axis"
        advice = "leave out the points without a number"
        raise InputError(f"line {line.label!r}", expected, f"x {list(line.x)[:6]}, y {list(line.y)[:6]}", advice)
    checks.choice("kind", line.kind, ("measured", "theorem", "formula"))


def _figure(panels: Sequence[Panel], columns: int, title: str, caption: str, page: Page) -> Figure:
    looks = styles(
        dict.fromkeys(line.name for panel in panels for line in panel.lines),
        dark=page.dark,
        size=page.marker,
        paper=page.colors["paper"],
    )
    blocks: list[Block] = []
    if title and not page.fixed:
        blocks.append(sheet.text(page, typeset(title), size=1.2 * page.size, weight="bold", space=0.5 * page.em))
    blocks += _rows(panels, columns, looks, page)
    if caption:
        blocks.append(sheet.text(page, typeset(caption), size=page.small, color=page.colors["grey"]))
    return sheet.compose(page, blocks)


def _rows(panels: Sequence[Panel], columns: int, looks: Mapping[str, Style], page: Page) -> Iterator[Block]:
    """Rows of panels with their legends below; one legend if all are equal."""
    inches = page.width / columns
    height = min(3.6, max(1.9, 0.2 + 4 * page.em + 0.6 * inches))
    legends = [_legend(panel, looks, page, inches - 4 * sheet.MARGIN) for panel in panels]
    shared = (
        len(panels) > 1 and len({tuple((line.name, line.label, line.kind) for line in p.lines) for p in panels}) == 1
    )
    for first in range(0, len(panels), columns):
        yield _row(panels[first : first + columns], columns, height, looks, page)
        if not shared:
            yield sheet.legends(page, legends[first : first + columns], columns, space=1.3 * page.em)
    if shared:
        whole = _legend(panels[0], looks, page, page.width - 2 * sheet.MARGIN)
        yield sheet.legends(page, [whole], 1, space=1.3 * page.em)


def _row(panels: Sequence[Panel], columns: int, height: float, looks: Mapping[str, Style], page: Page) -> Block:
    def draw(part: SubFigure) -> None:
        places = list(part.subplots(1, columns, squeeze=False).flat)
        for axes, panel in zip(places, panels, strict=False):
            _draw(axes, panel, looks, sheet.ticks(page, page.width / columns))
            room = page.width / columns - _LABELS * page.em
            axes.set_title("\n".join(wrapped(typeset(panel.title), room, page, page.size)))
        for axes in places[len(panels) :]:
            axes.remove()

    return Block(height, draw)


def _legend(panel: Panel, looks: Mapping[str, Style], page: Page, inches: float) -> Legend:
    handles = [Line2D([], [], **_given(line, looks[line.name])) for line in panel.lines]
    return sheet.legend(page, inches, handles, [typeset(line.label) for line in panel.lines], most=3)


def _given(line: Line, look: Style) -> dict[str, Any]:
    return {"measured": look.line, "theorem": look.hollow, "formula": lambda: look.hollow() | {"marker": ""}}[
        line.kind
    ]()


def _draw(axes: Axes, panel: Panel, looks: Mapping[str, Style], ticks: int) -> None:
    for line in panel.lines:
        look = looks[line.name]
        axes.plot(line.x, line.y, zorder=3 if line.kind == "measured" else 2.5, **_given(line, look))
        for x, low, high in zip(line.x if line.low else (), line.low, line.high, strict=False):
            bar: dict[str, Any] = {"color": look.color, "zorder": 2.9}
            axes.plot([x, x], [low, high], linewidth=0.3 * look.size, solid_capstyle="butt", **bar)
            axes.plot([x, x], [low, high], linestyle="", marker="_", markersize=look.size, **bar)
    directions: tuple[Literal["x", "y"], ...] = ("x", "y")
    for which in directions:
        ends = [v for line in panel.lines for v in ((line.x,) if which == "x" else (line.y, line.low, line.high))]
        values = [float(value) for part in ends for value in part]
        low, high = min(values), max(values)
        log = which in panel.log
        spare = max(math.log(1.15), 0.05 * math.log(high / low)) if log else 0.05 * (high - low) or 1.0
        span = (low / math.exp(spare), high * math.exp(spare)) if log else (low - spare, high + spare)
        places = panel.ticks if which == "x" else ()
        axis(axes, which, "log" if log else "linear", *span, ticks if which == "x" else 7, places)
    axes.set(xlabel=typeset(panel.xlabel), ylabel=typeset(panel.ylabel))
