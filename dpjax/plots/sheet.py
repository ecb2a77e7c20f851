"""The parts of a figure from top to bottom: text and legends of measured size, rows of axes with sufficient height."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, SubFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.legend_handler import HandlerLine2D
from matplotlib.lines import Line2D

from dpjax.plots.files import settle
from dpjax.plots.page import Page
from dpjax.plots.words import wrapped

MARGIN = 0.06
"""Inches between text and the edge of the figure."""
_DPI = 200  # resolution for measuring and layout
_FULL = 1.0 - 1e-6


class Block(NamedTuple):
    """One part of a figure. height: inches. draw: draws into a subfigure of that height. group: of aligned rows."""

    height: float
    draw: Callable[[SubFigure], None]
    group: str = ""


@dataclass(frozen=True)
class Legend:
    """Handles and their texts, in columns that fit. handle: width in em. width, height: inches.

    Markers of lines are at both ends of a handle, so that its dashes can be seen between them.
    """

    handles: Sequence[Artist]
    names: Sequence[str]
    columns: int
    title: str
    handle: float
    width: float = 0.0
    height: float = 0.0

    def draw(self, part: Figure | SubFigure, **where: Any) -> Any:
        """Draws at ``loc`` and ``bbox_to_anchor``."""
        how: dict[str, Any] = {"title": self.title, "alignment": "left"} if self.title else {}
        alone = HandlerLine2D(numpoints=1)
        how["handler_map"] = {
            artist: alone
            for artist in self.handles
            if isinstance(artist, Line2D) and artist.get_linestyle() == "None"  # markers without a line
        }
        how |= {"borderpad": 0, "borderaxespad": 0, "handletextpad": 0.7, "columnspacing": 1.6, "labelspacing": 0.35}
        how |= {"ncols": self.columns, "handlelength": self.handle, "numpoints": 2}
        return part.legend(self.handles, self.names, **how, **where)


def legend(
    page: Page,
    inches: float,
    handles: Sequence[Artist],
    names: Sequence[str],
    title: str = "",
    most: int = 4,
    handle: float = 4.2,
) -> Legend:
    """A legend in as many columns, up to ``most``, as fit into a width; longer texts are wrapped."""
    room = inches - (handle + 1) * page.small / 72
    lines = ["\n".join(wrapped(name, room, page, page.small)) for name in names]
    heading = "\n".join(wrapped(title, inches, page, page.small)) if title else ""
    for columns in range(min(most, len(names)), 0, -1):
        draft = Legend(handles, lines, columns, heading, handle)
        box = draft.draw(scratch := _scratch(inches)).get_window_extent(_renderer(scratch))
        if box.width / _DPI <= inches or columns == 1:
            break
    return Legend(handles, lines, columns, heading, handle, box.width / _DPI, box.height / _DPI)


def text(page: Page, words: str, *, size: float, space: float = 0.0, **how: Any) -> Block:
    """Text across the page, wrapped. space: inches below it."""
    weight = how.get("weight", "normal")
    lines = "\n".join(wrapped(words, page.width - 2 * MARGIN, page, size, weight))
    scratch = _scratch(page.width)
    height = scratch.text(0, 0, lines, fontsize=size, **how).get_window_extent(_renderer(scratch)).height / _DPI

    def draw(part: SubFigure) -> None:
        part.text(MARGIN / page.width, _FULL, lines, fontsize=size, va="top", **how)

    return Block(height + space, draw)


def legends(page: Page, row: Sequence[Legend | None], columns: int, space: float = 0.0) -> Block:
    """Legends side by side, each at the left of its column. space: inches below them."""
    height = max((entry.height for entry in row if entry), default=0.0) + space

    def draw(part: SubFigure) -> None:
        for i, entry in enumerate(row):
            if entry:
                left = i / columns + (MARGIN if i == 0 else 3 * MARGIN) / page.width
                entry.draw(part, loc="upper left", bbox_to_anchor=(left, _FULL))

    return Block(height, draw)


def compose(page: Page, blocks: Iterable[Block]) -> Figure:
    """The figure with the blocks from top to bottom, with one layout for all formats."""
    parts = [Block(MARGIN, lambda part: None), *(block for block in blocks if block.height > 0)]
    parts.append(Block(MARGIN, lambda part: None))
    heights = [part.height for part in parts]
    layout = ConstrainedLayoutEngine(w_pad=0.35 * page.em, h_pad=0.35 * page.em)
    figure = Figure(figsize=(page.width, sum(heights)), dpi=_DPI, layout=layout)
    places = figure.subfigures(len(parts), 1, height_ratios=heights, squeeze=False).flat
    for place, part in zip(places, parts, strict=True):
        part.draw(place)
        place.set_label(part.group)
    settle(figure)
    _align(figure)
    return figure


def ticks(page: Page, inches: float) -> int:
    """The number of tick labels that fit on the x axis of a panel."""
    return max(2, int((inches - 5 * page.em) / (4.6 * page.em)))


def most_columns(page: Page, ems: float) -> int:
    """The number of panels of width ``ems`` em that fit in a row."""
    return max(1, int(page.width / (ems * page.em)))


def _align(figure: Figure) -> None:
    """Aligns the left and right ends of axes above each other, in rows of one column or of one group."""
    groups: dict[Any, list[Axes]] = defaultdict(list)
    for part in figure.subfigs:
        for axes in part.axes:
            if (place := axes.get_subplotspec()) is not None:
                columns = place.get_gridspec().ncols
                groups[columns, place.colspan.start, columns > 1 and part.get_label()].append(axes)
    for group in groups.values():
        boxes = [axes.get_position() for axes in group]
        left, right = max(box.x0 for box in boxes), min(box.x1 for box in boxes)
        for axes, box in zip(group, boxes, strict=True):
            axes.set_position((left, box.y0, right - left, box.height))


def _scratch(inches: float) -> Figure:
    return Figure(figsize=(inches, 0.1), dpi=_DPI)


def _renderer(figure: Figure) -> Any:
    return FigureCanvasAgg(figure).get_renderer()
