"""A bar of progress in a notebook, which needs no widgets."""

import html
import sys
import time
from typing import Any

_EVERY = 0.2  # seconds between updates
_FIRST = 1.0  # seconds before the bar is shown


def display() -> Any:
    """IPython's ``display`` in a process that runs a notebook; None elsewhere."""
    if (ipython := sys.modules.get("IPython")) is None:
        return None
    return ipython.display.display if hasattr(ipython.get_ipython(), "kernel") else None


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
        self._draw({"text/html": f"<progress{whole}></progress> {html.escape(text)}", "text/plain": text})

    def end(self) -> None:
        """Removes the bar."""
        if self._handle is not None:
            self._draw({"text/html": "", "text/plain": ""})

    def _draw(self, data: dict[str, str]) -> None:
        if self._handle is None:
            self._handle = self._display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)
