"""Panels of n* against the number of concepts and against epsilon, and of the theorems' n divided by n*."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dpjax.core.checks import InputError
from dpjax.plots.records import Bracket, Slope
from dpjax.plots.selection import PANELS, Shown, spread
from dpjax.plots.styles import Style
from dpjax.plots.ticks import axis
from dpjax.plots.words import N_STAR, number

_STEP, _ASIDE = 0.022, 0.1  # fractions of the axis: from one learner to the next at one x, and from first to last
MARKS = ("bracket", "theorem", "below")
LEGEND = "fitted exponent of $k$ [least, greatest] (claimed)"


class Panel(NamedTuple):
    """draw: takes axes and the approximate number of ticks that fit along x. legend: handles and texts below them.
    learners: those that are drawn. marks: what is drawn of them, some of `MARKS`."""

    draw: Callable[[Axes, int], None]
    legend: tuple[list[Line2D], list[str]]
    learners: frozenset[str]
    marks: frozenset[str]


def panels(shown: Shown, narrow: bool = False) -> tuple[list[Panel], list[str]]:
    """The panels from left to right, and a sentence for each omission.

    By default those whose axis has two values or more, the first of them if narrow, and one in place of missing curves.

    InputError if a requested panel has no data.
    """
    drawn: list[Panel] = []
    notes: list[str] = []
    epsilons, ks = ({f(b) for b in shown.brackets} for f in (lambda b: b.setting.epsilon, lambda b: b.k))
    names = list(shown.options.panels or ())
    if not names and shown.brackets:
        by_k = len(ks) > 1 or (len(epsilons) == 1 and not shown.panels)
        slack = len(ks) > 1 and len(epsilons) == 1 and any(map(_ratio, shown.brackets))
        names = [name for name, there in (("k", by_k), ("epsilon", len(epsilons) > 1), ("slack", slack)) if there]
        if narrow and len(names) > 1:
            skipped = {"epsilon": rf"{N_STAR} against $\varepsilon$", "slack": "the slack of the theorems"}
            notes.append(f"Not shown: {' and '.join(skipped[name] for name in names[1:])}.")
            names = names[:1]
    for name in names:
        if name == "epsilon":
            k = max(
                ks,
                key=lambda k: (len({(b.learner, b.setting.epsilon) for b in shown.brackets if b.k == k}), k),
                default=0,
            )
            if len(ks) > 1:
                notes.append(rf"{N_STAR} against $\varepsilon$: $k = {k}$, one of {len(ks)} values.")
            group = [_against_epsilon(shown, k)] if ks else []
        elif name in _BY_K:
            what, of = _BY_K[name]
            there = {b.setting.epsilon for b in shown.brackets if name != "slack" or _ratio(b)}
            chosen = spread(there, PANELS if shown.options.epsilon else 1 if narrow else 2)
            if len(there) > len(chosen):
                notes.append(rf"{what}: {len(chosen)} of {len(there)} values of $\varepsilon$.")
            group = [of(shown, epsilon) for epsilon in chosen]
        else:
            group = []
        if not group and (name != "curves" or not shown.panels):
            data = {"curves": "success curves", "slack": "n* and a theorem's number"}.get(name, "n*")
            raise InputError(
                "panels", "panels with data", f"{name}, without {data}", "leave it out, or measure that first"
            )
        drawn += group
    return drawn, notes


def _against_k(shown: Shown, epsilon: float) -> Panel:
    brackets = [b for b in shown.brackets if b.setting.epsilon == epsilon]
    order = list(shown.learners)
    slopes = sorted((s for s in shown.slopes if s.epsilon == epsilon), key=lambda s: order.index(s.learner))

    def draw(axes: Axes, ticks: int) -> None:
        _lines(axes, shown, brackets, "k", [b.k for b in brackets], ticks)
        axes.set(title=rf"{N_STAR} against $k$, $\varepsilon = {number(epsilon)}$", xlabel="number of concepts $k$")

    handles = [Line2D([], [], **shown.learners[s.learner].line()) for s in slopes]
    return Panel(draw, (handles, [_exponent_text(s) for s in slopes]), *_seen(shown, brackets, "k", "n_star"))


def _against_epsilon(shown: Shown, k: int) -> Panel:
    brackets = [b for b in shown.brackets if b.k == k]

    def draw(axes: Axes, ticks: int) -> None:
        _lines(axes, shown, brackets, "epsilon", [b.setting.epsilon for b in brackets], ticks)
        axes.set(title=rf"{N_STAR} against $\varepsilon$, $k = {k}$", xlabel=r"privacy parameter $\varepsilon$")

    return Panel(draw, ([], []), *_seen(shown, brackets, "epsilon", "n_star"))


def _slack(shown: Shown, epsilon: float) -> Panel:
    ratios = [ratio for b in shown.brackets if b.setting.epsilon == epsilon and (ratio := _ratio(b))]

    def draw(axes: Axes, ticks: int) -> None:
        axes.axhline(1, color=shown.options.page.colors["grey"], linewidth=0.09 * shown.options.page.size)
        _lines(axes, shown, ratios, "k", [b.k for b in ratios], ticks, "slack")
        title = rf"slack of the theorems, $\varepsilon = {number(epsilon)}$"
        axes.set(title=title, xlabel="number of concepts $k$", ylabel=f"theorem's $n$ / {N_STAR}")

    return Panel(draw, ([], []), *_seen(shown, ratios, "k", "slack"))


_BY_K = {"k": (f"{N_STAR} against $k$", _against_k), "slack": ("Slack", _slack)}


def _lines(
    axes: Axes,
    shown: Shown,
    brackets: Sequence[Any],
    along: str,
    where: Sequence[float],
    ticks: int,
    up: str = "n_star",
) -> None:
    """Each learner as bars with markers, theorems as hollow markers and lower bounds as dots, at the x positions
    ``where``."""
    options = shown.options
    log = options.scale[along] == "log"
    to, back = (math.log, math.exp) if log else (float, float)
    low, high = options.limits.get(along, (min(where), max(where)))
    length = max(to(high) - to(low), math.log(4) if log else 0.5 * high)
    spare = 0 if along in options.limits else 0.12 * length
    step = length * min(_STEP, _ASIDE / len(shown.learners))
    for i, (name, look) in enumerate(shown.learners.items()):
        aside = step * (i - (len(shown.learners) - 1) / 2)
        points = [(back(to(x) + aside), b) for x, b in zip(where, brackets, strict=True) if b.learner == name]
        points.sort(key=lambda placed: placed[0])
        axes.plot([x for x, _ in points], [b.middle or math.nan for _, b in points], **look.line(0.9), zorder=3)
        for x, b in points:
            _interval(axes, x, b.n_low, b.n_high, look)
        theorems = [b.theorem or math.nan for _, b in points]
        axes.plot([x for x, _ in points], theorems, **look.hollow(), zorder=2.5)
        axes.plot([x for x, _ in points], [b.below or math.nan for _, b in points], **look.bound(), zorder=2.4)
    axis(axes, "x", options.scale[along], back(to(low) - spare), back(to(high) + spare), ticks, where)
    everything = brackets if up == "slack" else shown.brackets
    sizes = [n for b in everything for n in (b.n_low, b.n_high, b.theorem, b.middle, b.below) if n is not None]
    if up == "slack":
        sizes.append(1.0)
    arrows = any((b.n_low is None) != (b.n_high is None) for b in everything)
    if options.scale[up] == "log":
        wide = max(1.6 if up == "n_star" else 1.25, (max(sizes) / min(sizes)) ** (0.19 if arrows else 0.04))
        span = min(sizes) / wide, max(sizes) * wide
    else:
        span = 0.0, max(sizes) * (1.15 if arrows else 1.06)
    bottom, top = options.limits.get(up, span)
    axis(axes, "y", options.scale[up], bottom, top, 6)
    axes.set_ylabel(f"{N_STAR} (examples)")


def _interval(axes: Axes, x: float, low: float | None, high: float | None, look: Style) -> None:
    """A vertical bar from low to high; an arrow from the known end if the other is unknown."""
    line: dict[str, Any] = {"color": look.color, "linewidth": 0.3 * look.size, "zorder": 2.9}
    if low is not None and high is not None:
        axes.plot([x, x], [low, high], solid_capstyle="butt", **line)
    for end in (low, high):
        if end is not None:
            axes.plot(x, end, marker="_", markersize=1.2 * look.size, markeredgewidth=0.24 * look.size, **line)
    if (low is None) != (high is None):
        axes.annotate(
            "",
            xy=(x, low or high),
            xytext=(0, (3 if high is None else -3) * look.size),
            textcoords="offset points",
            arrowprops={
                "arrowstyle": "<|-",
                "color": look.color,
                "linewidth": 0.24 * look.size,
                "shrinkA": 0,
                "shrinkB": 0,
            },
            annotation_clip=True,
        )


def _seen(shown: Shown, brackets: Sequence[Any], along: str, up: str) -> tuple[frozenset[str], frozenset[str]]:
    """The learners and the `MARKS` of these brackets that are inside the limits of the axes."""
    limits = shown.options.limits
    left, right = limits.get(along, (-math.inf, math.inf))
    low, high = limits.get(up, (-math.inf, math.inf))
    pairs = set()
    for b in brackets:
        x = b.k if along == "k" else b.setting.epsilon
        values = {"bracket": (b.n_low, b.n_high), "theorem": (b.theorem,), "below": (b.below,)}
        for mark, ends in values.items():
            known = [n for n in ends if n is not None]
            if known and left <= x <= right and min(known) <= high and max(known) >= low:
                pairs.add((b.learner, mark))
    return frozenset(name for name, _ in pairs), frozenset(mark for _, mark in pairs)


class _Ratio(NamedTuple):
    """A theorem's n divided by n*: in [n_low, n_high], an unknown end is None; drawn like n*."""

    learner: str
    k: int
    n_low: float | None
    n_high: float | None
    middle: float
    theorem: None = None
    below: None = None


def _ratio(b: Bracket) -> _Ratio | None:
    if b.theorem is None or not (known := b.middle or b.n_high or b.n_low):
        return None
    low, high = (None if n is None else b.theorem / n for n in (b.n_high, b.n_low))
    return _Ratio(b.learner, b.k, low, high, b.theorem / known)


def _exponent_text(slope: Slope) -> str:
    text = f"$k^{{{slope.slope:z.2f}}}$"
    if slope.low is not None and slope.high is not None:
        text += f" [{slope.low:z.2f}, {slope.high:z.2f}]"
    return text if slope.claimed is None else f"{text} ({slope.claimed:g})"
