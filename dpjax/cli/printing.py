"""Output of commands: tables that truncate no number, however narrow the terminal is."""

import os
from collections.abc import Iterator
from typing import Any

from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

_WIDE = 160


def console() -> Console:
    """A console for standard output. Files have no width: it is wide unless COLUMNS is set."""
    found = _Screen(soft_wrap=True)
    return found if found.is_terminal or "COLUMNS" in os.environ else _Screen(width=_WIDE, soft_wrap=True)


class _Screen(Console):
    def on_broken_pipe(self) -> None:
        """Raises, as Python does; rich would exit with status 1, which means a refuted claim."""
        raise BrokenPipeError


class Table(RichTable):
    """A table if it fits, else each row as lines "heading: cell", without truncation."""

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
        if natural <= options.max_width:
            yield from super().__rich_console__(console, free)
            return
        if self.title:
            yield Text(str(self.title), "bold", no_wrap=False, overflow="fold")
        for record in self._records:
            yield Text()
            for column, cell in zip(self.columns, record, strict=False):
                yield Text(f"{column.header}: {cell}", no_wrap=False, overflow="fold")
