"""The figure of `dpjax table`: n* along each axis, with the lower bounds."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpjax.plots.lines import Line, Panel, plot_lines
from dpjax.plots.words import N_STAR


def plot_table(
    answer: Mapping[str, Any], base: str | Path, formats: str | Sequence[str] = ("png", "svg"), **look: Any
) -> list[Path]:
    """One panel for each kind of privacy and axis; writes one file per format and returns the paths.

    answer: of `dpjax table`. Only closed brackets are drawn; rows without one are left out. look: see
    `lines.plot_lines`.
    """
    groups: dict[tuple[str, str], list[Line]] = {}
    for row in answer["rows"]:
        lines = groups.setdefault((row["privacy"], row["axis"]), [])
        lines += _lines(row)
    panels = [
        Panel(f"{privacy} privacy", f"${axis}$".replace("log2", r"\log_2"), N_STAR, lines)
        for (privacy, axis), lines in groups.items()
        if lines
    ]
    if not panels:
        return []
    about = {key: answer[key] for key in ("config", "seed", "versions", "device")}
    return plot_lines(panels, base, about, f"{answer['table']}: samples needed", formats=formats, **look)


def _lines(row: Mapping[str, Any]) -> list[Line]:
    closed = [point for point in row["points"] if point["n_low"] is not None and point["n_high"] is not None]
    if not closed:
        return []
    name = row["title"].split(": ")[1].rpartition(", in ")[0]
    fit = (
        ""
        if row["fit"] is None
        else f", exponent {row['fit']['exponent']:z.2f} (claimed\N{NO-BREAK SPACE}{row['claimed']:g})"
    )
    x, low, high = ([point[key] for point in closed] for key in ("value", "n_low", "n_high"))
    lines = [Line(name + fit, name, x, [(a * b) ** 0.5 for a, b in zip(low, high, strict=True)], low, high)]
    bounded = [point for point in closed if point["bound"]]
    if bounded:
        x, bound = ([point[key] for point in bounded] for key in ("value", "bound"))
        lines.append(Line(f"{name}: no private learner below", name, x, bound, kind="formula"))
    return lines
