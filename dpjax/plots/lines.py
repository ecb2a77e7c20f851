"""Panels of lines with error bars, as files that carry what made them: the figures of the scripts."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.plots.files import save
from dpjax.plots.styles import Style, style
from dpjax.plots.ticks import at_values, log_axis

_STYLES = {
    "exponential": Style("#d0382d", "o", "-"),
    "recprefix": Style("#003b80", "D", (0, (6, 1.5))),
    "treelog": Style("#3fae5a", "^", (0, (4, 1.5, 1, 1.5))),
    "rsc": Style("#4a0058", "*", (0, (10, 2)), 1.5),
    "improper": Style("#003b80", "o", "-"),
    "proper": Style("#d0382d", "s", (0, (4, 1.5))),
    "printed": Style("#8c2d04", "p", (0, (1, 2.5))),
    "noise_free": Style("#d0382d", "o", "-"),
    "noisy": Style("#e69f00", "s", (0, (6, 1.5))),
    "zcdp": Style("#006a60", "<", (0, (8, 1.5, 1, 1.5, 1, 1.5))),
    "closed_form": Style("#8ccbee", "D", (0, (4, 1.5))),
    "advanced": Style("#b46ac6", "^", (0, (3, 1.5, 1, 1.5, 1, 1.5))),
    "paper_corrected": Style("#8c2d04", "p", (0, (1, 2.5))),
    "instance": Style("#111111", "v", (0, (2.5, 2))),
}


@dataclass(frozen=True)
class Line:
    """Points (x, y), x ascending, with bars from ``low`` to ``high`` where these are given.

    name: what colour, marker and dashes go by. kind: "measured" (filled markers), "theorem" (hollow) or "formula" (no
    markers: a line through many points).
    """

    label: str
    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    kind: str = "measured"

    def look(self) -> Style:
        """The style of its name."""
        return _STYLES.get(self.name) or style(self.name)


@dataclass(frozen=True)
class Panel:
    """One pair of axes, logarithmic in the directions of ``log``. ticks: where the x axis has its."""

    title: str
    xlabel: str
    ylabel: str
    lines: Sequence[Line]
    log: str = "xy"
    ticks: Sequence[float] = ()


def plot_lines(
    panels: Sequence[Panel], base: str | Path, about: Mapping[str, Any], title: str, caption: str = "",
    formats: str | Sequence[str] = ("png", "svg"),
) -> list[Path]:  # fmt: skip
    """Draws panels side by side and writes a file a format, ``base`` with its suffix; returns their paths.

    about: JSON-ready, what made the numbers: in the files' metadata, see `files.read_metadata`. Equal arguments give
    equal bytes. InputError for an unknown format, a line that is malformed, or where a file cannot be written.
    """
    for panel in panels:
        for line in panel.lines:
            _check(line, panel.log)
    return save(lambda: (_figure(panels, title, caption), title), base, formats, about)


def _check(line: Line, log: str) -> None:
    columns = [line.x, line.y, *(part for part in (line.low, line.high) if len(part))]
    numbers = [float(value) for column in columns for value in column]
    right = len(line.x) > 0 and len({len(column) for column in columns}) == 1 and all(map(math.isfinite, numbers))
    positive = [*(line.x if "x" in log else ()), *(line.y if "y" in log else ())]
    if not right or min(positive, default=1) <= 0:
        raise InputError(
            f"line {line.label!r}", "finite columns of one length, positive on a logarithmic axis",
            f"x {list(line.x)[:6]}, y {list(line.y)[:6]}", "leave out the points without a number",
        )  # fmt: skip
    checks.choice("kind", line.kind, ("measured", "theorem", "formula"))


def _figure(panels: Sequence[Panel], title: str, caption: str) -> Figure:
    lines = textwrap.wrap(caption, 62 * len(panels))
    tall = 3.5 + 0.16 * max(len(panel.lines) for panel in panels)
    height = tall + 0.35 + 0.16 * len(lines)
    room = (0, 0.16 * len(lines) / height, 1, 1 - (0.35 + 0.16 * len(lines)) / height)
    layout = ConstrainedLayoutEngine(rect=room)
    figure = Figure(figsize=(4.9 * len(panels), height), layout=layout, facecolor="white")
    figure.text(0.012, 1 - 0.08 / height, title, fontsize=11, weight="bold", va="top", parse_math=False)
    figure.text(0.012, 0.04 / height, "\n".join(lines), fontsize=8, color="#555555", va="bottom", parse_math=False)
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False).flat, panels, strict=True):
        _draw(axes, panel)
    return figure


def _draw(axes: Axes, panel: Panel) -> None:
    for line in panel.lines:
        look = line.look()
        given = {"measured": look.line(), "theorem": look.hollow(), "formula": look.hollow() | {"marker": ""}}
        axes.plot(line.x, line.y, label=line.label, zorder=3 if line.kind == "measured" else 2.5, **given[line.kind])
        for x, low, high in zip(line.x if line.low else (), line.low, line.high, strict=False):
            axes.plot([x, x], [low, high], color=look.color, linewidth=1.5, solid_capstyle="butt", zorder=3.2)
            axes.plot([x, x], [low, high], color=look.color, linestyle="", marker="_", markersize=5, zorder=3.2)
    for which in ("x", "y"):
        ends = [v for line in panel.lines for v in ((line.x,) if which == "x" else (line.y, line.low, line.high))]
        values = [float(value) for part in ends for value in part]
        if which in panel.log:
            spare = max(1.15, (max(values) / min(values)) ** 0.05)
            log_axis(axes, which, min(values) / spare, max(values) * spare, most=7)
    if panel.ticks:
        limits = axes.get_xlim()
        if "x" in panel.log:
            at_values(axes, "x", panel.ticks)
        else:
            axes.set_xticks(list(panel.ticks))
        axes.set_xlim(limits)
    axes.set(title=panel.title, xlabel=panel.xlabel, ylabel=panel.ylabel)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), handlelength=3.4, labelspacing=0.3)
