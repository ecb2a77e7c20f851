"""The figure of one result: success curves above, n* against k and epsilon below."""

# ruff: noqa: RUF001 (Greek letters and minus signs are meant)

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.artist import Artist
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dpjax.core.checks import InputError
from dpjax.plots import sample_size, success
from dpjax.plots.files import save
from dpjax.plots.selection import Shown, exponent, select, with_notes
from dpjax.plots.styles import label, style

_WIDTH, _LINE = 10.5, 0.165  # inches
_GREY = "#555555"


def plot_curve(
    result: Mapping[str, Any], path_without_suffix: str | Path, formats: str | Sequence[str] = ("png", "svg", "pdf")
) -> list[Path]:
    """Draws a result and writes it as one file a format; returns their paths.

    Above: success probability against n with simultaneous bands, one panel a (k, epsilon), at most 8. Below: n*
    against k with fitted exponents, and n* against epsilon or, for one epsilon, the theorems divided by n*. Parts
    without data are left out, and what is not shown of the data is said under the figure. Equal results give equal
    bytes; `read_metadata` reads back the configuration, seed and versions.

    InputError if the result has no measurement or is malformed, if a format is unknown, or if a file cannot be
    written; a file that was there before is then unchanged.
    """
    return save(lambda: _figure(result), path_without_suffix, formats, _about(result))


def _about(result: Mapping[str, Any]) -> dict[str, Any]:
    """What made the result, for the files' metadata."""
    for name in ("config", "seed", "versions"):
        if not isinstance(result, Mapping) or name not in result:
            raise InputError(f"result.{name}", "a value", "none", "give a result as it was saved")
    if not isinstance(result["versions"], Mapping):
        raise InputError("result.versions", "names and versions", repr(result["versions"])[:80], "give both")
    return {name: result.get(name) for name in ("config", "device", "seed", "title", "versions")}


def _figure(result: Mapping[str, Any]) -> tuple[Figure, str]:
    """The figure, laid out once and for all formats alike, and its title."""
    shown = select(result)
    below, notes = sample_size.panels(shown)
    shown = with_notes(shown, notes)
    title = textwrap.wrap(str(result.get("title") or "Success probability and sample complexity"), 85)
    handles, names = _legend(shown)
    columns = next(c for c in (4, 3, 2, 1) if c == 1 or _legend_width(names, c) < _WIDTH - 0.3)
    spans = _spans(shown)
    sentences = [*shown.notes, *_caption(shown, spans)]
    caption = textwrap.wrap(" ".join(sentences).replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"), 165)
    rows, tall = _rows(shown), shown.columns <= 2
    fits = max(Counter(slope.epsilon for slope in shown.slopes).values(), default=0)
    heights = [
        0.45 + 0.24 * len(title) + _LINE * -(-len(handles) // columns),
        0.3 + rows * (2.0 + 0.5 * tall + 0.1 * len(success.lanes(shown))) if rows else 0,
        3.1 + _LINE * (fits + 1 if fits else 0) if below else 0,
        0.12 + _LINE * len(caption),
    ]
    used = [height for height in heights if height]
    figure = Figure(figsize=(_WIDTH, sum(used)), layout="constrained", facecolor="white")
    parts = figure.subfigures(len(used), 1, height_ratios=used, squeeze=False).flat
    _header(next(parts), heights[0], title, _subtitle(result, shown), handles, names, columns)
    if rows:
        _above(next(parts), shown, spans)
    if below:
        for axes, draw in zip(next(parts).subplots(1, len(below), squeeze=False).flat, below, strict=True):
            draw(axes)
    next(parts).text(0.012, 1, "\n".join(caption), fontsize=8, color=_GREY, va="top", parse_math=False)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure, " ".join(title)


def _header(
    part: SubFigure, height: float, title: list[str], subtitle: str, handles: list[Artist], names: list[str],
    columns: int,
) -> None:  # fmt: skip
    part.text(0.012, 1 - 0.1 / height, "\n".join(title), fontsize=12, weight="bold", va="top", parse_math=False)
    below = 1 - (0.13 + 0.24 * len(title)) / height
    part.text(0.012, below, subtitle, fontsize=9, color=_GREY, va="top", parse_math=False)
    part.legend(
        handles, [name.replace("$", r"\$") for name in names], loc="upper left", ncols=columns, borderpad=0,
        bbox_to_anchor=(0.012, below - 0.2 / height), borderaxespad=0, handlelength=3.4, columnspacing=1.8,
        labelspacing=0.35,
    )  # fmt: skip


def _above(part: SubFigure, shown: Shown, spans: Sequence[tuple[float, float]]) -> None:
    rows, columns = _rows(shown), shown.columns
    for i, axes in enumerate(part.subplots(rows, columns, squeeze=False, sharey=True).flat):
        if i >= len(spans):
            axes.remove()
            continue
        success.draw(axes, shown, shown.panels[i], spans[i])
        if i % columns == 0:
            axes.set_ylabel("success probability")
        if i + columns >= len(spans):
            axes.set_xlabel("examples n")


def _rows(shown: Shown) -> int:
    return -(-len(shown.panels) // shown.columns)


def _spans(shown: Shown) -> list[tuple[float, float]]:
    """The n axis of each panel; one for a whole column where that has one k."""
    panels, columns = shown.panels, shown.columns
    same = all(k == panels[i % columns][0] for i, (k, _) in enumerate(panels))
    return [success.limits(shown, panels[i % columns :: columns] if same else [panels[i]]) for i in range(len(panels))]


def _legend(shown: Shown) -> tuple[list[Artist], list[str]]:
    """The learners, then what the other marks mean."""
    handles: list[Artist] = []
    names = []
    differ = len(set(shown.deltas.values())) > 1
    for name in shown.learners:
        handles.append(Line2D([], [], **style(name).line()))
        names.append(label(name) + (f", δ = {exponent(shown.deltas[name])}" if differ else ""))
    if shown.points:
        handles += [Patch(color="#777777", alpha=0.25, linewidth=0), Line2D([], [], color="#777777", dashes=(4, 3))]
        names += ["simultaneous confidence band", f"target 1 − β = {1 - shown.beta:g}"]
    if any(b.n_low or b.n_high for b in shown.brackets):
        handles.append(Line2D([], [], color=_GREY, linewidth=2.2, marker="|", markersize=6.5))
        names.append("measured n*, from n_low to n_high")
    if any(b.theorem for b in shown.brackets):
        handles.append(Line2D([], [], color=_GREY, linewidth=0.7, marker="o", markersize=5, markerfacecolor="white"))
        names.append("the theorem's n (hollow)")
    return handles, names


def _legend_width(names: Sequence[str], columns: int) -> float:
    """About how many inches a legend takes, which fills column by column."""
    rows = -(-len(names) // columns)
    return sum(0.75 + 0.059 * max(map(len, names[i : i + rows])) for i in range(0, len(names), rows))


def _subtitle(result: Mapping[str, Any], shown: Shown) -> str:
    parts = [f"α = {shown.alpha:g}", f"β = {shown.beta:g}"]
    if len(set(shown.deltas.values())) == 1:
        parts.append(f"δ = {exponent(next(iter(shown.deltas.values())))}")
    if trials := {p.trials for p in shown.points}:
        span = f"{min(trials)}" if len(trials) == 1 else f"{min(trials)} to {max(trials)}"
        parts.append(f"{span} trials a point")
    return "    ".join([*parts, f"seed {result['seed']}"])


def _caption(shown: Shown, spans: Sequence[tuple[float, float]]) -> list[str]:
    """What the marks promise, where all brackets promise the same, and what arrows mean if there are any."""
    measured = [b for b in shown.brackets if b.n_low or b.n_high]
    promises = {(b.confidence, b.gamma) for b in measured}
    lines = []
    if len(promises) == 1 and None not in (promise := promises.pop()):
        lines.append(
            f"Each bracket of n*, with probability at least {promise[0]:g}: success is below 1 − β at n_low and above "
            f"1 − β − γ at n_high, γ = {promise[1]:g}."
        )
    if any(b.n_low is None or b.n_high is None for b in measured):
        lines.append("An arrow: that end of the bracket was not found.")
    if any(success.off_scale(shown, panel, span) for panel, span in zip(shown.panels, spans, strict=True)):
        lines.append("A hollow arrow: the theorem's n is beyond the axis.")
    return lines
