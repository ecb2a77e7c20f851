"""One panel of success probability against n, with the bracket of n* and the theorem's n above the curves."""

from collections.abc import Iterable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.markers import CARETLEFT, CARETRIGHT

from dpjax.plots.records import Bracket, Point
from dpjax.plots.selection import Shown
from dpjax.plots.styles import Style
from dpjax.plots.ticks import axis
from dpjax.plots.words import number

_FIRST_LANE, _LANE = 1.1, 0.09
_FAR = 30  # a theorem's n more than this factor above all measurements is drawn as an arrow at the edge
_CROWDED = 14


def limits(shown: Shown, panels: Iterable[tuple[int, float]]) -> tuple[float, float]:
    """The common n axis of some panels."""
    if "n" in shown.options.limits:
        return shown.options.limits["n"]
    panels = set(panels)
    brackets = [b for b in shown.brackets if (b.k, b.setting.epsilon) in panels]
    measured = [p.n for p in shown.points if (p.k, p.setting.epsilon) in panels]
    measured += [n for b in brackets for n in (b.n_low, b.n_high) if n is not None]
    low, high = min(measured), max(measured)
    if shown.options.scale["n"] == "linear":  # a theorem's n may be far away
        theorems = [b.theorem for b in brackets if b.theorem is not None and b.theorem <= 2 * high]
        high = max(high, *theorems, low)
        return max(0.0, low - 0.06 * (high - low)), high + max(0.06 * (high - low), 0.12 * low)
    theorems = [b.theorem for b in brackets if b.theorem is not None and low / _FAR <= b.theorem <= high * _FAR]
    low, high = min(low, *theorems, high), max(high, *theorems, low)
    margin = max((high / low) ** 0.06, 1.12)
    return low / margin, high * margin


def off_scale(shown: Shown, panel: tuple[int, float], span: tuple[float, float]) -> bool:
    """Whether a theorem's n is outside the panel, and drawn as an arrow at its edge."""
    theorems = [b.theorem for b in shown.brackets if (b.k, b.setting.epsilon) == panel and b.theorem is not None]
    return any(not span[0] <= theorem <= span[1] for theorem in theorems)


def lanes(shown: Shown) -> list[str]:
    """The learners that have a separate row above the curves."""
    named = {b.learner for b in shown.brackets if (b.k, b.setting.epsilon) in shown.panels}
    return [name for name in shown.learners if name in named]


def learners(shown: Shown) -> set[str]:
    """The learners of the curves and of the rows above them."""
    return {p.learner for p in shown.points if (p.k, p.setting.epsilon) in shown.panels} | {*lanes(shown)}


def marks(shown: Shown) -> set[str]:
    """What is drawn of the brackets, some of `sample_size.MARKS`."""
    drawn = [b for b in shown.brackets if (b.k, b.setting.epsilon) in shown.panels]
    there = {"bracket": any(b.n_low or b.n_high for b in drawn), "theorem": any(b.theorem for b in drawn)}
    return {mark for mark, is_there in there.items() if is_there}


def draw(axes: Axes, shown: Shown, panel: tuple[int, float], span: tuple[float, float], ticks: int = 5) -> None:
    """Curves, bands, target and brackets of one (k, epsilon), over the n axis ``span``."""
    k, epsilon = panel
    target, colors = 1 - shown.beta, shown.options.page.colors
    axis(axes, "x", shown.options.scale["n"], *span, most=ticks)
    axes.axhline(target, color=colors["grey"], linewidth=0.11 * shown.options.page.size, dashes=(4, 3), zorder=1.5)
    for name, look in reversed(list(shown.learners.items())):
        _curve(axes, [p for p in shown.points if (p.learner, p.k, p.setting.epsilon) == (name, *panel)], look)
    names = lanes(shown)
    for i, name in enumerate(reversed(names)):
        for bracket in shown.brackets:
            if (bracket.learner, bracket.k, bracket.setting.epsilon) == (name, *panel):
                _bracket(axes, bracket, _FIRST_LANE + _LANE * i, target, span, shown.learners[name])
    axes.set_title(rf"$k = {k}$, $\varepsilon = {number(epsilon)}$")
    top = _FIRST_LANE + _LANE * (len(names) - 0.4) if names else 1.04
    axes.set(ylim=shown.options.limits.get("success", (-0.03, top)), yticks=(0, 0.25, 0.5, 0.75, 1))
    axes.set_yticklabels(["0", "", "0.5", "", "1"])
    if names:
        axes.axhspan((1 + _FIRST_LANE) / 2, top, color=colors["shade"], linewidth=0, zorder=0.2)
    if "success" in shown.options.limits:
        axis(axes, "y", "linear", *shown.options.limits["success"])


def _curve(axes: Axes, points: list[Point], look: Style) -> None:
    n = [p.n for p in points]
    axes.fill_between(n, [p.lower for p in points], [p.upper for p in points], color=look.color, alpha=0.2, linewidth=0)
    every = None if len(n) <= _CROWDED else -(-len(n) // _CROWDED)
    axes.plot(n, [p.rate for p in points], color=look.color, linestyle=look.dashes, zorder=3)
    axes.plot(n[::every], [p.rate for p in points][::every], **{**look.line(0.85), "linestyle": "none"}, zorder=3.1)


def _bracket(
    axes: Axes, bracket: Bracket, height: float, target: float, span: tuple[float, float], look: Style
) -> None:
    left, right = span
    low, high = bracket.n_low, bracket.n_high
    faint: dict[str, Any] = {"color": look.color, "linewidth": 0.15 * look.size, "alpha": 0.5, "zorder": 2}
    if low is not None or high is not None:
        ends = [min(max(end, left), right) for end in (low or left, high or right)]
        axes.plot(ends, [height] * 2, color=look.color, linewidth=0.4 * look.size, solid_capstyle="butt")
        for end, edge, arrow in ((low, left, CARETLEFT), (high, right, CARETRIGHT)):
            if end is None:
                axes.plot(edge, height, marker=arrow, color=look.color, markersize=look.size)
            elif left <= end <= right:
                axes.plot(
                    end,
                    height,
                    marker="|",
                    color=look.color,
                    markersize=1.2 * look.size,
                    markeredgewidth=0.24 * look.size,
                )
    if bracket.middle is not None and left <= bracket.middle <= right:
        axes.plot([bracket.middle] * 2, [target, height], linestyle=(0, (6, 3)), **faint)
    if bracket.theorem is not None:
        known = min(max(bracket.middle or low or high or bracket.theorem, left), right)
        axes.plot([known, min(max(bracket.theorem, left), right)], [height] * 2, linestyle="-", **faint)
        mark = look.hollow(0.9)
        if not left <= bracket.theorem <= right:
            mark["marker"] = CARETLEFT if bracket.theorem < left else CARETRIGHT
        axes.plot(min(max(bracket.theorem, left), right), height, **mark, zorder=2.5)
