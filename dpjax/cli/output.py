"""Output of commands: tables that truncate no number, however narrow the terminal is."""

import os
from collections.abc import Callable
from typing import Any

from dpjax.core.screen import WIDE, Screen


def console() -> Screen:
    """A console for standard output. Files have no width: it is wide unless COLUMNS is set."""
    out = Screen()
    return out if out.is_terminal or "COLUMNS" in os.environ else Screen(width=WIDE)


Answer = tuple[dict[str, Any], Callable[[], None]]
"""The result of a command: an object for --json, and a function that prints it in readable form."""
