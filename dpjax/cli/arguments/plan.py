"""Flags of `dpjax plan`. Imports no JAX."""

from dataclasses import dataclass
from typing import ClassVar

from dpjax.cli.arguments.base import MeasuredFlags


@dataclass
class PlanCommand(MeasuredFlags):
    """Print the theorems' sample sizes, the guarantees and the cost of a configuration.

    Trials, programs and memory are computed without running anything; with a search for n* they are estimates, whose
    assumption is printed.

    Example: dpjax plan configs/demo.toml --k 1 100
    Example: dpjax plan configs/demo.toml --time
    """

    compiles: ClassVar[bool] = True
    time: bool = False
    """Compile and time one tile of each learner, and estimate the time of the study."""
