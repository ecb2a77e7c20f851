"""Figures of results as matplotlib has them, and what can be read in them."""

import matplotlib.text
from matplotlib.figure import Figure

from dpjax.plots import curves
from dpjax.plots.files import house_style
from dpjax.plots.options import Options
from dpjax.plots.selection import select


def drawn(result, **how) -> Figure:
    options = Options.of(**how)
    with house_style(options.page):
        return curves._figure(result, select(result, options, curves._most(options.page)))[0]


def all_axes(figure):
    return [axes for part in figure.subfigs for axes in part.axes]


def axes_titles(figure):
    return [axes.get_title() for axes in all_axes(figure)]


def texts(figure):
    """All that can be read in a figure."""
    ticks = [
        tick
        for part in figure.subfigs
        for axes in part.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in axis.get_major_ticks()
    ]
    unseen = {label for tick in ticks for label in (tick.label1, tick.label2) if not _is_seen(tick, label)}
    written = [t for t in figure.findobj(matplotlib.text.Text) if t.get_text().strip() and t.get_visible()]
    return [t for t in written if t not in unseen]


def _is_seen(tick, label):
    low, high = sorted(tick.get_view_interval())
    return label.get_visible() and low <= tick.get_loc() <= high
