"""The laws of an audit's output on two neighboring databases, with the event shaded."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from dpjax.plots import sheet
from dpjax.plots.files import check_formats, save
from dpjax.plots.page import Page
from dpjax.plots.sheet import Block
from dpjax.plots.styles import styles

_WIDTH, _LONG = 4.6, 24  # inches, and characters of an outcome's name


def plot_laws(
    report: Mapping[str, Any],
    path_without_suffix: str | Path,
    formats: str | Sequence[str] = ("png", "svg"),
    **look: Any,
) -> list[Path]:
    """Draws the ``laws`` of an audit's report (`dpjax.audit.Report.to_dict`); returns the paths, one per format.

    The event that distinguishes the two databases is shaded. The metadata contain the report without its curve. look:
    as of `plot_privacy`.
    """
    check_formats(formats)
    page = Page.of(**look)
    page = page if page.fixed else replace(page, width=_WIDTH)
    about = {name: part for name, part in report.items() if name != "curve"}
    return save(
        lambda: (_figure(report, page), f"Outputs of {report['target']}"), path_without_suffix, formats, about, page
    )


def _figure(report: Mapping[str, Any], page: Page) -> Figure:
    looks = styles(["first", "second"], {}, dark=page.dark, size=page.marker, paper=page.colors["paper"]).values()
    colors = [look.line()["color"] for look in looks]
    handles = [Patch(facecolor=color, alpha=0.7) for color in colors]
    handles.append(Patch(facecolor="gray", alpha=0.25))
    exact = report["confidence"] == 1
    runs = "probability" if exact else "fraction of training runs"
    legend = sheet.legend(page, page.width - 2 * sheet.MARGIN, handles, ["database", "neighbor", "event"])
    what = f"{report['target']}: {report['verdict']}".replace("$", r"\$")
    return sheet.compose(
        page,
        [
            sheet.text(page, what, size=page.size, space=0.4 * page.em),
            sheet.legends(page, [legend], 1, 0.4 * page.em),
            Block(max(2.0, 0.7 * page.width), lambda part: _draw(part.subplots(), report["laws"], colors, runs)),
        ],
    )


def _draw(axes: Axes, laws: Mapping[str, Any], colors: Sequence[Any], runs: str) -> None:
    sides, inside = (laws["first"], laws["second"]), np.array(laws["inside"], bool)
    edges = laws["outcomes"]
    binned = len(edges) == len(inside) + 1
    left = np.array(edges[:-1], float) if binned else np.arange(len(inside)) - 0.5
    width = float(edges[1]) - float(edges[0]) if binned else 1.0
    for at in left[inside]:
        axes.axvspan(at, at + width, color="gray", alpha=0.25, linewidth=0)
    for place, (masses, color) in enumerate(zip(sides, colors, strict=True)):
        offset = (0.1 + 0.4 * place) * width
        axes.bar(left + offset, masses, 0.4 * width, align="edge", color=color, alpha=0.7)
    if not binned:
        names = [name if len(name) <= _LONG else f"{name[:_LONG]}..." for name in edges]
        axes.set_xticks(range(len(names)), [name.replace("$", r"\$") for name in names], rotation=60, ha="right")
    axes.set(xlabel=str(laws["axis"]).replace("$", r"\$"), ylabel=runs)
