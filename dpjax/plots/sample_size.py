"""Panels of n* against the number of concepts and against epsilon, and of theorems divided by n*."""

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes

from dpjax.plots.records import Bracket, Slope
from dpjax.plots.selection import Shown, exponent, spread
from dpjax.plots.styles import style
from dpjax.plots.ticks import at_values, log_axis

_HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "oooo", "++++", "----", "**", "||||")
_STEP = 0.035  # of the axis, between learners at one k
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
    elif any(b.theorem and (b.n_low or b.n_high) for b in brackets):
        shown_ks = spread({b.k for b in brackets if b.theorem and (b.n_low or b.n_high)}, _MOST)
        if len(shown_ks) < len(ks):
            notes.append(f"Ratios: {len(shown_ks)} of {len(ks)} values of k.")
        drawn.append(_ratios(shown, shown_ks))
    return drawn, notes


def _against_k(shown: Shown, epsilon: float) -> Panel:
    brackets = [b for b in shown.brackets if b.setting.epsilon == epsilon]
    slopes = [s for s in shown.slopes if s.epsilon == epsilon]

    def draw(axes: Axes) -> None:
        _lines(axes, shown, brackets, [b.k for b in brackets])
        axes.set(title=f"ε = {exponent(epsilon)}", xlabel="number of concepts k")
        handles = sorted(slopes, key=lambda s: shown.learners.index(s.learner))
        if handles:
            axes.legend(
                [_handle(s) for s in handles], [_exponent_text(s) for s in handles], loc="upper center",
                bbox_to_anchor=(0.5, -0.2), title="fitted exponent of k [least, greatest]", title_fontsize=8,
                handlelength=3.2, labelspacing=0.3,
            )  # fmt: skip

    return draw


def _against_epsilon(shown: Shown, k: int) -> Panel:
    brackets = [b for b in shown.brackets if b.k == k]

    def draw(axes: Axes) -> None:
        _lines(axes, shown, brackets, [b.setting.epsilon for b in brackets])
        axes.set(title=f"k = {k}", xlabel="privacy parameter ε")

    return draw


def _lines(axes: Axes, shown: Shown, brackets: Sequence[Bracket], where: Sequence[float]) -> None:
    """n* of each learner as bars around markers, and theorems as hollow markers, at the places ``where``."""
    least, greatest = min(where), max(where)
    ratio = max(greatest / least, 4.0)
    at_values(axes.xaxis, spread(where, _MOST))
    axes.set_xlim(least / ratio**0.12, greatest * ratio**0.12)
    for i, name in enumerate(shown.learners):
        look = style(name)
        aside = ratio ** (_STEP * (i - (len(shown.learners) - 1) / 2))
        own = sorted((x * aside, b.n_low or 0, b) for x, b in zip(where, brackets, strict=True) if b.learner == name)
        known = [(x, b.middle) for x, _, b in own if b.middle is not None]
        axes.plot(
            [x for x, _ in known], [y for _, y in known], color=look.color, linestyle=look.dashes, marker=look.marker,
            markersize=5, markeredgecolor="white", markeredgewidth=0.4, zorder=3,
        )  # fmt: skip
        for x, _, b in own:
            _interval(axes, x, b.n_low, b.n_high, look.color)
        theorem = [(x, b.theorem) for x, _, b in own if b.theorem is not None]
        axes.plot(
            [x for x, _ in theorem], [y for _, y in theorem], color=look.color, linewidth=0.6, linestyle="-", alpha=0.8,
            marker=look.marker, markersize=5, markerfacecolor="white", markeredgewidth=0.9, zorder=2.5,
        )  # fmt: skip
    sizes = [n for b in brackets for n in (b.n_low, b.n_high, b.theorem) if n is not None]
    log_axis(axes.yaxis, min(sizes) / 1.6, max(sizes) * 1.6, most=6)


def _interval(axes: Axes, x: float, low: float | None, high: float | None, color: str) -> None:
    """A vertical bar from low to high; an arrow from the end that is known where the other is not."""
    line = {"color": color, "linewidth": 1.5, "zorder": 3.2}
    if low is not None and high is not None:
        axes.plot([x, x], [low, high], solid_capstyle="butt", **line)
    for end, length in ((low, 16), (high, -16)):
        if end is not None:
            axes.plot(x, end, marker="_", markersize=6, markeredgewidth=1.2, **line)
    if (low is None) != (high is None):
        axes.annotate(
            "", xy=(x, low or high), xytext=(0, 16 if high is None else -16), textcoords="offset points",
            arrowprops={"arrowstyle": "<|-", "color": color, "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0},
            annotation_clip=False,
        )  # fmt: skip
