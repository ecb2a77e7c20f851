"""Text on a screen as it is, and tables that truncate no number."""

from collections.abc import Iterator
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table as RichTable
from rich.text import Text

from dpjax.core.logs import plain

WIDE = 160
"""Width of texts that are not for a terminal, in characters."""

_NAME = 16  # characters of a line of a name, at the least


class Screen(Console):
    """A console for text of people and files: without markup, emoji codes, highlighting and control characters."""

    def __init__(self, *, soft_wrap: bool = True, **how: Any):
        super().__init__(markup=False, emoji=False, highlight=False, soft_wrap=soft_wrap, **how)

    def render_str(self, text: str, **how: Any) -> Text:
        """Text of a known width."""
        return super().render_str(plain(text), **how)

    def render(self, renderable: Any, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """The parts of what is printed; rich calls it for everything."""
        for part in super().render(renderable, options):
            yield part if part.control else part._replace(text=plain(part.text))

    def on_broken_pipe(self) -> None:
        """Raises, as Python does; rich would exit with status 1, which means a refuted claim."""
        raise BrokenPipeError


class Table(RichTable):
    """A table if it fits with names over several lines, else each row as lines "heading: cell"; truncates nothing.

    The first column has the names.
    """

    def __init__(self, *headings: Any, **how: Any):
        super().__init__(*headings, **how)
        self._records: list[tuple[Any, ...]] = []

    def add_row(self, *cells: Any, **how: Any) -> None:
        """See rich's table."""
        self._records.append(cells)
        super().add_row(*cells, **how)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        free = options.update(no_wrap=False, overflow="fold")
        natural = Measurement.get(console, free.update(max_width=1 << 14), self).maximum
        excess = natural - options.max_width
        room = max((cell_len(str(record[0])) for record in self._records), default=0) - excess
        if excess > 0 and room >= _NAME:
            self.columns[0].width = room
        if excess <= 0 or room >= _NAME:
            yield from super().__rich_console__(console, free)
            return
        if self.title:
            yield Text(str(self.title), "bold", no_wrap=False, overflow="fold")
        for record in self._records:
            yield Text()
            for column, cell in zip(self.columns, record, strict=False):
                yield Text(f"{column.header}: {cell}", no_wrap=False, overflow="fold")
