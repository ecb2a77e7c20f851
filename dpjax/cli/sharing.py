"""Arguments of commands that hand results on: a dataclass for each, whose docstrings are the help. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from dpjax.cli.drawing import Command
from dpjax.cli.kinds import Real


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


@dataclass
class CompactCommand(Command):
    """Write all trials of a store into one Parquet file, with a row for each trial, and leave the store as it is.

    Columns: cell (its digest), config and versions (JSON), trial, and the numbers of the trial. pandas, polars and
    DuckDB read it.

    Example: dpjax compact results/demo --out demo.parquet
    """

    store: tyro.conf.Positional[Path] = Path("results")
    """A directory given to `dpjax curve --out`."""
    out: Path | None = None
    """The file to write; by default trials.parquet in that directory."""
