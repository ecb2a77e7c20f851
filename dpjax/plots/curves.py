"""The figure of one result: success curves above, n* against k and epsilon below."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from matplotlib.artist import Artist
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dpjax.core.checks import InputError
from dpjax.plots import sample_size, sheet, success
from dpjax.plots.files import check_formats, save
from dpjax.plots.options import Options
from dpjax.plots.page import Page
from dpjax.plots.records import NOT_PRIVATE, PURE
from dpjax.plots.selection import PANELS, Shown, select, with_notes
from dpjax.plots.sheet import Block
from dpjax.plots.words import N_STAR, number, typeset

_PANEL, _BELOW = 14.4, 20.0  # widths of panels in em
_MOST = 4


def plot_curve(
    result: Mapping[str, Any],
    path_without_suffix: str | Path,
    formats: str | Sequence[str] = ("png", "svg", "pdf"),
    **how: Any,
) -> list[Path]:
    """Draws a result and writes one file per format; returns their paths.

    Above: success probability against n with simultaneous bands, one panel per (k, epsilon), at most 8. Below: n*
    against k with fitted exponents, n* against epsilon, and the theorems' n divided by n*, where their axis has two
    values or more. In a column at most two panels above and one below, unless they are chosen. A caption lists data
    that are not shown. Equal results and options give equal bytes; `read_metadata` returns the configuration, seed and
    versions.

    Args:
      result: as in `Result.data`.
      path_without_suffix: of the files.
      formats: png, svg and pdf. SVG files contain text as text, and PDF files embed their fonts as Type 42.
      width: "column" (3.3 inches), "page" (6.9), "screen" (10.5), or a number of inches; the default is "screen".
      font: "sans", "serif", or an installed family.
      size: font size in points; the default is 8, and 9 on a screen.
      dark: for a dark background.
      dpi: of PNG files; the default is 300, and 200 on a screen.
      lines: names of learners to draw, in this order; the default is all, in the study's order.
      styles: for some learners, any of color, marker, dashes and label, for example {"KLN": {"color": "black"}}. Other
        styles follow from the order of the lines.
      panels: some of "curves", "k" (n* against k), "epsilon" (n* against epsilon), "slack" (theorem's n / n*).
      k, epsilon: values to draw.
      scale: "linear" or "log" for some of the axes "n", "k", "epsilon", "n_star", "slack".
      limits: (low, high) for some of these axes and "success".
      title: above the figure; the default is the study's on a screen, and none elsewhere.
      caption: False leaves out the caption below the figure.

    InputError, and no file is changed, if the result has no measurement or is malformed, if a format or an option is
    invalid, if a requested item is not in the result, or if a file cannot be written.
    """
    check_formats(formats)
    options = Options.of(**how)
    about, shown = _about(result), select(result, options, _most(options.page))
    return save(lambda: _figure(result, shown), path_without_suffix, formats, about, options.page)


def _about(result: Mapping[str, Any]) -> dict[str, Any]:
    """The origin of the result, for the files' metadata."""
    for name in ("config", "seed", "versions"):
        if not isinstance(result, Mapping) or name not in result:
            raise InputError(f"result.{name}", "a value", "none", "give a result as it was saved")
    if not isinstance(result["versions"], Mapping):
        raise InputError("result.versions", "names and versions", repr(result["versions"])[:80], "give both")
    return {name: result.get(name) for name in ("config", "device", "seed", "title", "versions")}


def _figure(result: Mapping[str, Any], shown: Shown) -> tuple[Figure, str]:
    """The figure and its title."""
    page, options = shown.options.page, shown.options
    below, notes = sample_size.panels(shown, _narrow(page))
    shown = with_notes(shown, notes)
    of_study = str(result.get("title") or "Success probability and sample complexity")
    title = options.title if options.title is not None else "" if page.fixed else of_study
    settings, gap = _settings(result, shown), 0.6 * page.em
    columns, blocks = _columns(shown), []
    if title:
        blocks.append(sheet.text(page, typeset(title), size=1.3 * page.size, weight="bold", space=gap))
        grey = page.colors["grey"]
        blocks.append(sheet.text(page, ", ".join(settings), size=page.small, space=gap, color=grey))
    room, handle = page.width - 2 * sheet.MARGIN, _handle(page)
    learners = success.learners(shown).union(*(panel.learners for panel in below))
    marks = success.marks(shown).union(*(panel.marks for panel in below))
    for legend, space in ((_lines(shown, learners), 0.2 * page.em), (_marks(shown, marks), gap)):
        if legend[1]:
            blocks.append(sheet.legends(page, [sheet.legend(page, room, *legend, handle=handle)], 1, space=space))
    spans = _spans(shown, columns)
    if shown.panels:
        blocks.append(_above(shown, columns, spans))
    blocks += _below(shown, below)
    if options.caption:
        words = [*shown.notes, *_caption(shown, spans, marks)]
        if result.get("left"):
            words.append(f"{result['left']} curves are not measured yet.")
        if not title:
            words.insert(0, f"{', '.join(settings)}.")
        if words:
            grey = page.colors["grey"]
            blocks.append(sheet.text(page, " ".join(words), size=page.small, color=grey))
    return sheet.compose(page, blocks), title or of_study


def _most(page: Page) -> int:
    """The maximum number of success curves, unless their k and epsilon are chosen."""
    return 2 if _narrow(page) else PANELS


def _narrow(page: Page) -> bool:
    """Whether the page is narrow, so that less is shown by default."""
    return sheet.most_columns(page, _PANEL) < 3


def _handle(page: Page) -> float:
    """The width of the samples in legends, in em."""
    return 3.4 if _narrow(page) else 4.2


def _columns(shown: Shown) -> int:
    """The number of columns of success curves."""
    most = min(_MOST, sheet.most_columns(shown.options.page, _PANEL))
    if shown.columns <= most:
        return shown.columns
    if len(shown.panels) <= 3:
        return 1
    return next((columns for columns in range(most, 1, -1) if shown.columns % columns == 0), most)


def _above(shown: Shown, columns: int, spans: Sequence[tuple[float, float]]) -> Block:
    page = shown.options.page
    rows, inches = -(-len(shown.panels) // columns), page.width / columns
    ticks = min(5, sheet.ticks(page, inches))
    height = min(2.4, max(1.2, 0.2 + 4 * page.em + 0.4 * inches)) + 0.85 * page.em * len(success.lanes(shown))

    def draw(part: SubFigure) -> None:
        for i, axes in enumerate(part.subplots(rows, columns, squeeze=False, sharey=True).flat):
            if i >= len(spans):
                axes.remove()
                continue
            success.draw(axes, shown, shown.panels[i], spans[i], ticks)
            if i % columns == 0:
                axes.set_ylabel("success probability")
            if i + columns >= len(spans):
                axes.set_xlabel("examples $n$")

    return Block(rows * height, draw, "above")


def _below(shown: Shown, panels: Sequence[sample_size.Panel]) -> Iterator[Block]:
    """Rows of panels, each with the legends of its exponents below it."""
    if not panels:
        return
    page = shown.options.page
    columns = min(len(panels), _MOST, sheet.most_columns(page, _BELOW))
    columns = -(-len(panels) // -(-len(panels) // columns))
    while True:
        room = page.width / columns - 4 * sheet.MARGIN
        legends = [
            sheet.legend(page, room, *panel.legend, title=sample_size.LEGEND, most=2, handle=_handle(page))
            if panel.legend[1]
            else None
            for panel in panels
        ]
        if columns == 1 or all(legend.width <= room for legend in legends if legend):
            break
        columns -= 1
    inches = page.width / columns
    for first in range(0, len(panels), columns):
        yield _row(
            panels[first : first + columns],
            columns,
            min(3.1, max(1.8, 0.2 + 4 * page.em + 0.45 * inches)),
            sheet.ticks(page, inches),
        )
        if any(row := legends[first : first + columns]):
            yield sheet.legends(page, row, columns, space=0.8 * page.em)


def _row(panels: Sequence[sample_size.Panel], columns: int, height: float, ticks: int) -> Block:
    def draw(part: SubFigure) -> None:
        places = part.subplots(1, columns, squeeze=False).flat
        for axes, panel in zip(places, panels, strict=False):
            panel.draw(axes, ticks)
        for axes in list(places)[len(panels) :]:
            axes.remove()

    return Block(height, draw, "below")


def _spans(shown: Shown, columns: int) -> list[tuple[float, float]]:
    """The n axis of each panel, shared by a column if all its panels have one k."""
    panels = shown.panels
    same = all(k == panels[i % columns][0] for i, (k, _) in enumerate(panels))
    return [success.limits(shown, panels[i % columns :: columns] if same else [panels[i]]) for i in range(len(panels))]


def _lines(shown: Shown, drawn: AbstractSet[str]) -> tuple[list[Artist], list[str]]:
    """Legend entries of the learners that are drawn."""
    handles: list[Artist] = []
    names = []
    privacy, common = _privacy(shown), _common(shown)
    for name, look in shown.learners.items():
        if name not in drawn:
            continue
        handles.append(Line2D([], [], **look.line()))
        said = privacy[name] == common or privacy[name] in look.label
        names.append(typeset(look.label) + ("" if said else f", {privacy[name]}"))
    return handles, names


def _privacy(shown: Shown) -> dict[str, str]:
    """For each learner, the kind of its guarantee if it is pure or there is none, otherwise delta of the budget."""
    others = {PURE: r"pure ($\delta = 0$)", NOT_PRIVATE: NOT_PRIVATE}
    return {name: others.get(shown.kinds[name], rf"$\delta = {number(shown.deltas[name])}$") for name in shown.learners}


def _common(shown: Shown) -> str:
    """What `_privacy` says of all learners, or of all whose guarantee has a delta; empty if these differ."""
    privacy = _privacy(shown)
    of = [name for name in privacy if shown.kinds[name] not in (PURE, NOT_PRIVATE)] or list(privacy)
    texts = {privacy[name] for name in of}
    return texts.pop() if len(texts) == 1 else ""


def _marks(shown: Shown, drawn: AbstractSet[str]) -> tuple[list[Artist], list[str]]:
    """Legend entries of the other marks. drawn: those of brackets, some of `sample_size.MARKS`."""
    page = shown.options.page
    grey = page.colors["grey"]
    handles: list[Artist] = []
    names = []
    if shown.panels:
        handles.append(Patch(color=grey, alpha=0.3, linewidth=0))
        names.append("confidence band")
        low, high = shown.options.limits.get("success", (0, 1))
        if low <= 1 - shown.beta <= high:
            handles.append(Line2D([], [], color=grey, dashes=(4, 3)))
            names.append(rf"target $1 - \beta = {1 - shown.beta:g}$")
    if "bracket" in drawn:
        handles.append(Line2D([], [], color=grey, linewidth=0.2 * page.size, marker="|", markersize=0.7 * page.size))
        names.append(f"bracket of {N_STAR}")
    if "theorem" in drawn:
        hollow: dict[str, Any] = {"marker": "o", "markersize": page.marker, "markerfacecolor": page.colors["paper"]}
        handles.append(Line2D([], [], color=grey, linewidth=0.08 * page.size, **hollow))
        names.append("theorem's $n$ (hollow)")
    if "below" in drawn:
        bar: dict[str, Any] = {"marker": "_", "markersize": 1.2 * page.marker, "markeredgewidth": 0.3 * page.marker}
        handles.append(Line2D([], [], color=grey, linestyle=":", linewidth=0.26 * page.marker, **bar))
        names.append("no private learner below (dotted)")
    return handles, names


def _settings(result: Mapping[str, Any], shown: Shown) -> list[str]:
    parts = [rf"$\alpha = {shown.alpha:g}$", rf"$\beta = {shown.beta:g}$"]
    if common := _common(shown):
        parts.append(common)
    if trials := {p.trials for p in shown.points if (p.k, p.setting.epsilon) in shown.panels}:
        span = f"{min(trials)}" if len(trials) == 1 else f"{min(trials)} to {max(trials)}"
        parts.append(f"{span} trials a point")
    return [*parts, f"seed {result['seed']}"]


def _caption(shown: Shown, spans: Sequence[tuple[float, float]], drawn: AbstractSet[str]) -> list[str]:
    """The claims of bands and of brackets, if all have the same, and the meaning of arrows and dotted lines if there
    are any."""
    measured = [b for b in shown.brackets if b.n_low or b.n_high]
    promises = {b.confidence for b in measured}
    lines = ["Bands are simultaneous over all $n$ of a curve."] if shown.panels else []
    if len(promises) == 1 and (promise := promises.pop()) is not None:
        lines.append(
            rf"Each bracket of {N_STAR}, with probability at least {promise:g}: success is below $1 - \beta$ at its "
            rf"lower end and at least $1 - \beta$ at its upper end."
        )
    if "below" in drawn:
        lines.append(f"Dotted: a bound for learners that succeed on every distribution; {N_STAR} is of one.")
    if any(b.n_low is None or b.n_high is None for b in measured):
        lines.append("An arrow: that end of the bracket was not found.")
    if any(success.off_scale(shown, panel, span) for panel, span in zip(shown.panels, spans, strict=True)):
        lines.append("A hollow arrow: the theorem's $n$ is beyond the axis.")
    if shown.options.limits:
        lines.append("Limits of axes were chosen by hand.")
    return lines
