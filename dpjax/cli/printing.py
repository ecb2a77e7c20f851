"""Output of commands: tables that truncate no number, however narrow the terminal is."""

import os

from rich.console import Console

from dpjax.experiments.printed import WIDE
from dpjax.experiments.printed import Table as Table


def console() -> Console:
    """A console for standard output. Files have no width: it is wide unless COLUMNS is set."""
    found = _Screen(soft_wrap=True)
    return found if found.is_terminal or "COLUMNS" in os.environ else _Screen(width=WIDE, soft_wrap=True)


class _Screen(Console):
    def on_broken_pipe(self) -> None:
        """Raises, as Python does; rich would exit with status 1, which means a refuted claim."""
        raise BrokenPipeError
