"""Flags of `dpjax dimension`. Imports no JAX."""

from dataclasses import dataclass

import tyro

from dpjax.cli.arguments.base import Command
from dpjax.cli.arguments.numbers import Real, Whole


@dataclass
class DimensionCommand(Command):
    """Compute the combinatorial dimensions of a finite class, exactly and with witnesses.

    Littlestone, VC, dual VC, threshold and teaching dimensions, star number; for more than two labels the multiclass
    ones and those of each bit. A search that --seconds stops has proved bounds. Also prints how many rows the private
    learners of any finite class need by their theorems, some of them from the Littlestone dimension.

    Example: dpjax dimension "intervals(12)"
    Example: dpjax dimension "copies(one_bit_gap(7), 2)" --labels 8
    Example: dpjax dimension "Thresholds(64)" --epsilon 0.5
    Example: dpjax dimension my_class.csv --seconds 60 --json
    """

    matrix: tyro.conf.Positional[str]
    """A file of labels (CSV or .npy) with a line per concept; a function of dpjax.dimensions.families such as
    "points(8, 2)"; a concept class such as "Parities(4)"; or module:object of your own, either of both."""
    labels: Whole | None = None
    """Number of labels: others than 0..labels-1 are an error. By default any."""
    bit: Whole | None = None
    """Only this bit of the labels, 0 the least significant one."""
    seconds: Real = 10.0
    """Time limit of each dimension."""
    epsilon: Real = 1.0
    """Privacy parameter epsilon of the sample size."""
    alpha: Real = 0.1
    """Accuracy alpha of the sample size."""
    beta: Real = 0.1
    """Failure probability beta of the sample size."""
    delta: Real = 1e-6
    """Privacy parameter delta of the sample size, for learners whose guarantee has one."""
