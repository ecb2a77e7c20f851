"""Flags of `dpjax new`. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from dpjax.cli.arguments.base import Command


@dataclass
class NewCommand(Command):
    """Create a learner, class or mechanism of your own from a working template: NAME.py and test_NAME.py.

    Prints the commands that check, measure and audit it.

    Example: dpjax new class intervals
    Example: dpjax new learner mine --out research
    """

    kind: tyro.conf.Positional[str]
    """learner, class or mechanism."""
    name: tyro.conf.Positional[str]
    """Name of the module: NAME.py."""
    out: Path = Path(".")
    """Output folder."""
