"""Notebooks: tables as HTML, and a bar of progress that needs no widgets."""

import sys
import time
from typing import Any

import pyarrow as pa

from dpjax.core import html

_ROWS = 1000  # of a table
_EVERY = 0.2  # seconds between updates
_FIRST = 1.0  # seconds before the bar is shown


def display() -> Any:
    """IPython's ``display`` in a process that runs a notebook; None elsewhere."""
    if (ipython := sys.modules.get("IPython")) is None:
        return None
    return ipython.display.display if hasattr(ipython.get_ipython(), "kernel") else None


def shown(table: pa.Table) -> pa.Table:
    """The same table; a notebook shows Arrow's tables as HTML from now on, unless it has another way."""
    if display() is not None:
        formatter = sys.modules["IPython"].get_ipython().display_formatter.formatters["text/html"]
        if pa.Table not in formatter:
            formatter.for_type(pa.Table, table_as_html)
    return table


def table_as_html(table: pa.Table) -> str:
    """An Arrow table, at most its first rows."""
    kinds = ["text" if pa.types.is_string(field.type) else "number" for field in table.schema]
    rows = zip(*table.slice(0, _ROWS).to_pydict().values(), strict=True)
    hidden = table.num_rows - _ROWS
    caption = f"The first {_ROWS} of {table.num_rows} rows" if hidden > 0 else f"{table.num_rows} rows"
    return html.table(list(map(html.Column, table.column_names, kinds)), rows, caption)


class Bar:
    """A bar that is updated in place and disappears at the end. display: IPython's."""

    def __init__(self, display: Any):
        self._display, self._handle = display, None
        self._shown = time.monotonic() + _FIRST - _EVERY

    def show(self, done: int, total: int, text: str) -> None:
        """Draws the bar, at most five times a second."""
        if (now := time.monotonic()) - self._shown < _EVERY:
            return
        self._shown = now
        whole = f' value="{done}" max="{total}"' * bool(total)  # without them a browser shows that something runs
        self._draw({"text/html": f"<progress{whole}></progress> {html.escaped(text)}", "text/plain": text})

    def end(self) -> None:
        """Removes the bar."""
        if self._handle is not None:
            self._draw({"text/html": "", "text/plain": ""})

    def _draw(self, data: dict[str, str]) -> None:
        if self._handle is None:
            self._handle = self._display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)
