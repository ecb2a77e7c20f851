"""Panels of n* against the number of concepts and against epsilon, and of theorems divided by n*."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dpjax.plots.records import Bracket, Slope
from dpjax.plots.selection import Shown, exponent, spread
from dpjax.plots.styles import style
from dpjax.plots.ticks import at_values, log_axis

_HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "oooo", "++++", "----", "**", "||||")
_STEP, _ASIDE = 0.022, 0.1  # of the axis: between learners at one place, and between the first and the last
_MOST = 8

Panel = Callable[[Axes], None]


def panels(shown: Shown) -> tuple[list[Panel], list[str]]:
    """What draws each panel, from left to right, and a sentence for each thing that is left out."""
    brackets, drawn, notes = shown.brackets, [], []
    epsilons, ks = ({f(b) for b in brackets} for f in (lambda b: b.setting.epsilon, lambda b: b.k))
    if len(ks) > 1 or len(epsilons) == 1:
        chosen = spread(epsilons, 2)
        if len(epsilons) > len(chosen):
            notes.append(f"n* against k: {len(chosen)} of {len(epsilons)} values of ε.")
        drawn += [_against_k(shown, epsilon) for epsilon in chosen]
    if len(epsilons) > 1:
        k = max(ks, key=lambda k: (len({(b.learner, b.setting.epsilon) for b in brackets if b.k == k}), k))
        if len(ks) > 1:
            notes.append(f"n* against ε: k = {k}, one of {len(ks)} values.")
        drawn.append(_against_epsilon(shown, k))
    elif rated := {b.k for b in brackets if _ratio(b)}:
        shown_ks = spread(rated, _MOST)
        if len(shown_ks) < len(rated):
            notes.append(f"Ratios: {len(shown_ks)} of {len(rated)} values of k.")
        drawn.append(_ratios(shown, shown_ks))
    return drawn, notes


def _against_k(shown: Shown, epsilon: float) -> Panel:
    brackets = [b for b in shown.brackets if b.setting.epsilon == epsilon]
    slopes = [s for s in shown.slopes if s.epsilon == epsilon]

    def draw(axes: Axes) -> None:
        _lines(axes, shown, brackets, [b.k for b in brackets])
        axes.set(title=f"n* against k, ε = {exponent(epsilon)}", xlabel="number of concepts k")
        handles = sorted(slopes, key=lambda s: shown.learners.index(s.learner))
        if handles:
            axes.legend(
                [Line2D([], [], **style(s.learner).line()) for s in handles], [_exponent_text(s) for s in handles],
                loc="upper center", bbox_to_anchor=(0.5, -0.2), title="fitted exponent of k [least, greatest]",
                title_fontsize=8, handlelength=3.2, labelspacing=0.3,
            )  # fmt: skip

    return draw


def _against_epsilon(shown: Shown, k: int) -> Panel:
    brackets = [b for b in shown.brackets if b.k == k]

    def draw(axes: Axes) -> None:
        _lines(axes, shown, brackets, [b.setting.epsilon for b in brackets])
        axes.set(title=f"n* against ε, k = {k}", xlabel="privacy parameter ε")

    return draw


def _lines(axes: Axes, shown: Shown, brackets: Sequence[Bracket], where: Sequence[float]) -> None:
    """n* of each learner as bars around markers, and theorems as hollow markers, at the places ``where``."""
    least, greatest = min(where), max(where)
    ratio = max(greatest / least, 4.0)
    at_values(axes, "x", spread(where, _MOST))
    axes.set_xlim(least / ratio**0.12, greatest * ratio**0.12)
    step = min(_STEP, _ASIDE / len(shown.learners))
    for i, name in enumerate(shown.learners):
        look = style(name)
        aside = ratio ** (step * (i - (len(shown.learners) - 1) / 2))
        own = [(x * aside, b) for x, b in zip(where, brackets, strict=True) if b.learner == name]
        own.sort(key=lambda placed: placed[0])
        axes.plot([x for x, _ in own], [b.middle or math.nan for _, b in own], **look.line(), zorder=3)
        for x, b in own:
            _interval(axes, x, b.n_low, b.n_high, look.color)
        axes.plot([x for x, _ in own], [b.theorem or math.nan for _, b in own], **look.hollow(), zorder=2.5)
    sizes = [n for b in shown.brackets for n in (b.n_low, b.n_high, b.theorem) if n is not None]
    arrows = any((b.n_low is None) != (b.n_high is None) for b in shown.brackets)
    spare = max(1.6, (max(sizes) / min(sizes)) ** (0.13 if arrows else 0.04))
    log_axis(axes, "y", min(sizes) / spare, max(sizes) * spare, most=6)
    axes.set_ylabel("n* (examples)")


def _interval(axes: Axes, x: float, low: float | None, high: float | None, color: str) -> None:
    """A vertical bar from low to high; an arrow from the end that is known where the other is not."""
    line: dict[str, Any] = {"color": color, "linewidth": 1.5, "zorder": 3.2}
    if low is not None and high is not None:
        axes.plot([x, x], [low, high], solid_capstyle="butt", **line)
    for end in (low, high):
        if end is not None:
            axes.plot(x, end, marker="_", markersize=6, markeredgewidth=1.2, **line)
    if (low is None) != (high is None):
        axes.annotate(
            "", xy=(x, low or high), xytext=(0, 16 if high is None else -16), textcoords="offset points",
            arrowprops={"arrowstyle": "<|-", "color": color, "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0},
            annotation_clip=False,
        )  # fmt: skip


def _ratios(shown: Shown, ks: Sequence[int]) -> Panel:
    bars = [bar for b in shown.brackets if b.k in ks and (bar := _ratio(b))]
    names = [name for name in shown.learners if any(bar.learner == name for bar in bars)]
    width = 0.84 / len(names)

    def draw(axes: Axes) -> None:
        for bar in bars:
            look, i = style(bar.learner), names.index(bar.learner)
            x = ks.index(bar.k) + (i - (len(names) - 1) / 2) * width
            axes.bar(
                x, bar.middle - 1, width * 0.9, bottom=1, facecolor=look.color + "66", edgecolor=look.color,
                hatch=_HATCHES[i % len(_HATCHES)], linewidth=0.8, zorder=2,
            )  # fmt: skip
            _interval(axes, x, bar.low, bar.high, look.color)
            axes.plot(x, bar.middle, **look.line(4.5), zorder=3.3)
        ends = [1.0, *(end for bar in bars for end in (bar.low, bar.high) if end)]
        spare = max(1.5, (max(ends) / min(ends)) ** 0.13)
        log_axis(axes, "y", min(ends) / spare**0.5, max(ends) * spare, most=6)
        axes.axhline(1, color="#555555", linewidth=0.8)
        axes.set_xticks(range(len(ks)), [str(k) for k in ks])
        axes.grid(False, axis="x")
        axes.set(title="slack of the theorems", xlabel="number of concepts k", ylabel="theorem's n / measured n*")

    return draw


class _Ratio(NamedTuple):
    """A theorem's n divided by n*: in [low, high], with an end None that is not known."""

    learner: str
    k: int
    low: float | None
    high: float | None
    middle: float


def _ratio(b: Bracket) -> _Ratio | None:
    if b.theorem is None or not (known := b.middle or b.n_high or b.n_low):
        return None
    low, high = (None if n is None else b.theorem / n for n in (b.n_high, b.n_low))
    return _Ratio(b.learner, b.k, low, high, b.theorem / known)


def _exponent_text(slope: Slope) -> str:
    text = f"k^{slope.slope:.2f}"
    if slope.low is not None and slope.high is not None:
        text += f" [{slope.low:.2f}, {slope.high:.2f}]"
    return text if slope.claimed is None else f"{text} (claimed {slope.claimed:g})"
