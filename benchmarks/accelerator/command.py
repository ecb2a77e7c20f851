"""A command of dpjax from start to end, in a process of its own: starting, compiling and transfers are part of it."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

_KEPT = 4000  # characters


@dataclass(frozen=True)
class Command:
    """The words after ``dpjax``."""

    words: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """The command as it is typed."""
        return {"command": " ".join(("dpjax", *self.words))}

    def measured(self, alone: Callable[[], AbstractContextManager]) -> dict[str, Any]:
        """Seconds, exit status, and the last of what it printed."""
        with tempfile.TemporaryDirectory() as folder:
            out = ("--out", folder) if self.words[0] == "curve" else ()
            with alone():
                begin = time.perf_counter()
                ended = subprocess.run(
                    [sys.executable, "-m", "dpjax", *self.words, *out],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    check=False,
                )
                took = time.perf_counter() - begin
        return {"seconds": took, "status": ended.returncode, "printed": ended.stdout[-_KEPT:]}
