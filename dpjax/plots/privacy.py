"""The privacy curve of an audit's witness, delta against epsilon, beside the claim."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from dpjax.plots.files import save

_LEAST = 1e-16  # smaller deltas are not drawn


def plot_privacy(
    report: Mapping[str, Any], path_without_suffix: str | Path, formats: str | Sequence[str] = ("png", "svg")
) -> list[Path]:
    """Draws the ``curve`` of an audit's report (`dpjax.audit.Report.to_dict`); one file a format, their paths.

    The report without its curve is in the metadata. InputError for an unknown format or where a file cannot be written.
    """
    about = {name: part for name, part in report.items() if name != "curve"}
    return save(lambda: (_figure(report), f"Privacy audit of {report['target']}"), path_without_suffix, formats, about)


def _figure(report: Mapping[str, Any]) -> Figure:
    claim, exact = report["claim"], report["confidence"] == 1
    curve = [(epsilon, max(delta, _LEAST)) for epsilon, delta in report["curve"]]
    figure = Figure(figsize=(4.6, 3.4), layout="constrained")
    axes = figure.subplots()
    found = "exact, on the worst neighbours" if exact else f"certified at confidence {report['confidence']:g}"
    axes.plot(*zip(*curve, strict=True), color="#003b80", marker="" if exact else "o", markersize=4, label=found)
    axes.plot(
        claim["epsilon"], max(claim["delta"], _LEAST), "X", color="#d0382d", markersize=9, label="claimed", zorder=3
    )
    top = max(1.0, *(delta for _, delta in curve))
    least = min([delta for _, delta in curve if delta > _LEAST] + [claim["delta"] or 1e-3]) / 5
    axes.set(xlabel="ε", ylabel="δ", yscale="log", ylim=(max(least, _LEAST), 2 * top), xlim=(0, curve[-1][0]))
    axes.set_title(f"{report['target']} ({report['calibration']}): {report['verdict']}")
    axes.legend()
    return figure
