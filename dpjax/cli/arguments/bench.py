"""Flags of `dpjax bench`. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from dpjax.cli.arguments.base import Command


@dataclass
class BenchCommand(Command):
    """Compare the speed of dpjax with other libraries, as ratios in one run. Needs the extra dpjax[bench].

    With --roofline: first measure what this device can do (random words, exp, log, sort, copy), then every kernel as a
    fraction of the ceiling that bounds it. Runs on a CPU and on an accelerator, and needs no extra.

    Example: dpjax bench --roofline --json > cpu.json
    Example: dpjax bench --roofline --beside cpu.json
    """

    rows: tyro.conf.Positional[tuple[str, ...]] = ()
    """Names of rows; all by default."""
    quick: bool = False
    """Fewer repetitions."""
    roofline: bool = False
    """Measure kernels as fractions of the device's ceilings instead."""
    beside: Path | None = None
    """What --roofline --json printed on another machine: one more column."""
