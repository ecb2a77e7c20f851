"""The privacy curve of an audit's witness, delta against epsilon, beside the claim."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dpjax.plots import sheet
from dpjax.plots.files import check_formats, save
from dpjax.plots.page import Page
from dpjax.plots.sheet import Block
from dpjax.plots.styles import styles

_LEAST = 1e-16  # smaller deltas are not drawn
_WIDTH = 4.6


def plot_privacy(
    report: Mapping[str, Any],
    path_without_suffix: str | Path,
    formats: str | Sequence[str] = ("png", "svg"),
    **look: Any,
) -> list[Path]:
    """Draws the ``curve`` of an audit's report (`dpjax.audit.Report.to_dict`); returns the paths, one per format.

    The metadata contain the report without its curve. look: width, font, size, dark, dpi of `Page.of`; on a screen the
    figure is 4.6 inches wide. InputError for an unknown format or option, or if a file cannot be written.
    """
    check_formats(formats)
    page = Page.of(**look)
    page = page if page.fixed else replace(page, width=_WIDTH)
    about = {name: part for name, part in report.items() if name != "curve"}
    title = f"Privacy audit of {report['target']}"
    return save(lambda: (_figure(report, page), title), path_without_suffix, formats, about, page)


def _figure(report: Mapping[str, Any], page: Page) -> Figure:
    exact = report["confidence"] == 1
    measured, claimed = styles(
        ["found", "claimed"], {"claimed": {"marker": "X"}}, dark=page.dark, size=page.marker, paper=page.colors["paper"]
    ).values()
    curve, point = measured.line() | ({"marker": ""} if exact else {}), claimed.line(1.8) | {"linestyle": ""}
    handles = [Line2D([], [], **curve), Line2D([], [], **point)]
    names = [
        "exact, on the worst neighbors" if exact else f"certified at confidence {report['confidence']:g}",
        "claimed",
    ]
    legend = sheet.legend(page, page.width - 2 * sheet.MARGIN, handles, names)
    what = f"{report['target']} ({report['calibration']}): {report['verdict']}".replace("$", r"\$")
    return sheet.compose(
        page,
        [
            sheet.text(page, what, size=page.size, space=0.4 * page.em),
            sheet.legends(page, [legend], 1, 0.4 * page.em),
            Block(max(1.8, 0.6 * page.width), lambda part: _draw(part.subplots(), report, curve, point)),
        ],
    )


def _draw(axes: Axes, report: Mapping[str, Any], line: Mapping[str, Any], point: Mapping[str, Any]) -> None:
    claim = report["claim"]
    curve = [(epsilon, max(delta, _LEAST)) for epsilon, delta in report["curve"]]
    axes.plot(*zip(*curve, strict=True), **line)
    top = max(1.0, *(delta for _, delta in curve))
    least = min([delta for _, delta in curve if delta > _LEAST] + [claim["delta"] or 1e-3]) / 5
    lowest = max(least, _LEAST)
    axes.set(xlabel=r"$\varepsilon$", ylabel=r"$\delta$", yscale="log", ylim=(lowest, 2 * top))
    axes.set_xlim(0, max(curve[-1][0], claim["epsilon"]))
    axes.plot(claim["epsilon"], max(claim["delta"], lowest), **point, zorder=3, clip_on=False)
    if claim["delta"] < lowest:
        axes.annotate(
            f"{claim['delta']:g}",
            (claim["epsilon"], lowest),
            (0, 4),
            textcoords="offset points",
            ha="center",
            va="bottom",
            annotation_clip=False,
        )
