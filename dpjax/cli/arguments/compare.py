"""Flags of `dpjax compare`. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from dpjax.cli.arguments.base import Command


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
