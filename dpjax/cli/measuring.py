"""Arguments of commands about devices: a dataclass for each, whose docstrings are the help texts. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from dpjax.cli.drawing import Command


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


@dataclass
class CompareCommand(Command):
    """Compare the trials of one study on two kinds of devices, or under two versions of JAX.

    Trials have the same keys everywhere, so their outcomes can be compared one by one; only floating-point functions
    differ in the last bit. Counts, for each point that both stores hold, the trials with identical outcomes, and of the
    others those whose errors lie in neighboring bins. The exit status is 0 if no trial differs, 1 if one does.

    Example: dpjax compare results/cpu results/gpu
    """

    first: tyro.conf.Positional[Path]
    """A directory given to `dpjax curve --out`."""
    second: tyro.conf.Positional[Path]
    """Another one, of the same study."""
