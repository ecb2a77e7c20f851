"""Flags of `dpjax export`. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from dpjax.cli.arguments.base import Command
from dpjax.cli.arguments.numbers import Real


@dataclass
class ExportCommand(Command):
    """Write a result's tables as CSV or Parquet: curves, n*, quantiles of errors, exponents, failures.

    netcdf writes one file result.nc instead, arrays over learner, k, epsilon and n; it needs the extra dpjax[export].
    Also works during a run and after an interruption: result.json holds every measured curve.

    Example: dpjax export results/demo --format parquet --tables curves n_star
    Example: dpjax export results/demo --format netcdf
    """

    result: tyro.conf.Positional[Path] = Path("results")
    """A directory given to `dpjax curve --out`, or its result.json."""
    format: str = "csv"
    """csv, parquet or netcdf."""
    tables: tuple[str, ...] = ()
    """curves, n_star, errors, exponents, failures; all by default."""
    between: str | None = None
    """learner, epsilon or n: also write differences.csv, paired differences of success rates between points that differ
    only in this, from trials with the same keys."""
    alphas: tuple[Real, ...] = ()
    """Also write n_star_at.csv: brackets of n* for these alphas, from the same trials."""
    out: Path | None = None
    """Output directory; by default that of the result."""
