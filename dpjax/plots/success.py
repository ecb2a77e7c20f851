"""One panel of success probability against n, with the bracket of n* and the theorem's n above the curves."""

from collections.abc import Iterable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.markers import CARETLEFT, CARETRIGHT

from dpjax.plots.records import Bracket
from dpjax.plots.selection import Shown, exponent
from dpjax.plots.styles import style
from dpjax.plots.ticks import log_axis

_FIRST_LANE, _LANE = 1.1, 0.09
_FAR = 30  # a theorem's n this much to the right of all that was measured is an arrow at the edge
_CROWDED = 14


def limits(shown: Shown, panels: Iterable[tuple[int, float]]) -> tuple[float, float]:
    """The n axis that some panels can share."""
    panels = set(panels)
    brackets = [b for b in shown.brackets if (b.k, b.setting.epsilon) in panels]
    measured = [p.n for p in shown.points if (p.k, p.setting.epsilon) in panels]
    measured += [n for b in brackets for n in (b.n_low, b.n_high) if n is not None]
    low, high = min(measured), max(measured)
    theorems = [b.theorem for b in brackets if b.theorem is not None and low / _FAR <= b.theorem <= high * _FAR]
    low, high = min(low, *theorems, high), max(high, *theorems, low)
    margin = max((high / low) ** 0.06, 1.12)
    return low / margin, high * margin


def off_scale(shown: Shown, panel: tuple[int, float], span: tuple[float, float]) -> bool:
    """Whether a theorem's n is too far away to be in the panel, and an arrow at its edge."""
    theorems = [b.theorem for b in shown.brackets if (b.k, b.setting.epsilon) == panel and b.theorem is not None]
    return any(not span[0] <= theorem <= span[1] for theorem in theorems)


def lanes(shown: Shown) -> list[str]:
    """The learners that get a line of their own above the curves."""
    named = {b.learner for b in shown.brackets if (b.k, b.setting.epsilon) in shown.panels}
    return [name for name in shown.learners if name in named]


def draw(axes: Axes, shown: Shown, panel: tuple[int, float], span: tuple[float, float]) -> None:
    """Curves, bands, target and brackets of one (k, epsilon), over the n axis ``span``."""
    k, epsilon = panel
    target = 1 - shown.beta
    log_axis(axes, "x", *span)
    axes.axhline(target, color="#777777", linewidth=1, dashes=(4, 3), zorder=1.5)
    for name in reversed(shown.learners):
        _curve(axes, [p for p in shown.points if (p.learner, p.k, p.setting.epsilon) == (name, *panel)], name)
    names = lanes(shown)
    for i, name in enumerate(reversed(names)):
        for bracket in shown.brackets:
            if (bracket.learner, bracket.k, bracket.setting.epsilon) == (name, *panel):
                _bracket(axes, bracket, _FIRST_LANE + _LANE * i, target, span)
    axes.set_title(f"k = {k}, ε = {exponent(epsilon)}", pad=4)
    top = _FIRST_LANE + _LANE * (len(names) - 0.4) if names else 1.04
    axes.set(ylim=(-0.03, top), yticks=(0, 0.25, 0.5, 0.75, 1))
    if names:
        axes.axhspan((1 + _FIRST_LANE) / 2, top, color="#f5f5f5", linewidth=0, zorder=0.2)


def _curve(axes: Axes, points: list, name: str) -> None:
    look, n = style(name), [p.n for p in points]
    axes.fill_between(n, [p.lower for p in points], [p.upper for p in points], color=look.color, alpha=0.2, linewidth=0)
    every = None if len(n) <= _CROWDED else -(-len(n) // _CROWDED)
    axes.plot(n, [p.rate for p in points], color=look.color, linestyle=look.dashes, zorder=3)
    axes.plot(n[::every], [p.rate for p in points][::every], **{**look.line(4.2), "linestyle": "none"}, zorder=3.1)


def _bracket(axes: Axes, bracket: Bracket, height: float, target: float, span: tuple[float, float]) -> None:
    look, (left, right) = style(bracket.learner), span
    low, high = bracket.n_low, bracket.n_high
    faint: dict[str, Any] = {"color": look.color, "linewidth": 0.7, "alpha": 0.45, "zorder": 2}
    if low is not None or high is not None:
        axes.plot([low or left, high or right], [height] * 2, color=look.color, linewidth=2.2, solid_capstyle="butt")
        for end, edge, arrow in ((low, left, CARETLEFT), (high, right, CARETRIGHT)):
            if end is None:
                axes.plot(edge, height, marker=arrow, color=look.color, markersize=5)
            else:
                axes.plot(end, height, marker="|", color=look.color, markersize=6.5, markeredgewidth=1.2)
    if bracket.middle is not None:
        axes.plot([bracket.middle] * 2, [target, height], linestyle=(0, (1, 2)), **faint)
    if bracket.theorem is not None:
        known = bracket.middle or low or high or bracket.theorem
        axes.plot([known, min(max(bracket.theorem, left), right)], [height] * 2, linestyle="-", **faint)
        mark = look.hollow(4.5)
        if not left <= bracket.theorem <= right:
            mark["marker"] = CARETLEFT if bracket.theorem < left else CARETRIGHT
        axes.plot(min(max(bracket.theorem, left), right), height, **mark, zorder=2.5)
