"""Flags of `dpjax report`. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from dpjax.cli.arguments.base import Command


@dataclass
class ReportCommand(Command):
    """Write a study's result, or an audit, as one HTML file that needs no other file, no network and no script.

    It has the figures, all tables, failures with their tracebacks, the configuration, and the commands that rerun a
    trial. It can be printed. Also works during a run and after an interruption.

    Example: dpjax report results/demo --out demo.html
    Example: dpjax report results/audit
    """

    result: tyro.conf.Positional[Path] = Path("results")
    """A directory given to `dpjax curve --out` or `dpjax audit --out`, or its result.json or audit.json."""
    out: Path | None = None
    """The file to write; by default report.html in that directory."""
