"""Flags of commands that read stored results. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from dpjax.cli.arguments.base import Command, FigureFlags
from dpjax.cli.arguments.numbers import Real, Whole


@dataclass
class PlotCommand(FigureFlags):
    """Draw the figure of a result, for a paper or a talk, without measuring anything.

    Lines get color, marker and dashes by their order, and the learners' names as labels. SVG files contain text as
    text, PDF files embed their fonts; each contains the configuration of the result. Equal results give equal bytes.

    Example: dpjax plot results/demo --out figure.pdf --width column --font serif --panels k
    Example: dpjax plot results/demo --out talk.png --dark --lines "ERM (not private)" point --styles point.color=red
    Example: dpjax plot results/demo --k 8 --epsilon 1 --panels curves --scale n=linear --limits n=0:4000
    """

    result: tyro.conf.Positional[Path] = Path("results")
    """A directory given to `dpjax curve --out`, or its result.json, also of an unfinished run."""
    out: tuple[Path, ...] = ()
    """Files to write, in the formats of their suffixes: .pdf, .svg, .png; by default curve.pdf beside the
    result."""
    lines: tuple[str, ...] = ()
    """Names of the learners to draw, in this order; by default all, in the study's order."""
    styles: tuple[str, ...] = ()
    """NAME.color=, NAME.marker=, NAME.dashes= or NAME.label= and a value: a matplotlib color or marker; solid,
    dashed, dotted, dashdot or lengths such as 4,2; the text in the legend, with mathematics between dollar
    signs."""
    k: tuple[Whole, ...] = ()
    """Numbers of concepts to draw."""
    epsilon: tuple[Real, ...] = ()
    """Budgets to draw."""
    scale: tuple[str, ...] = ()
    """AXIS=linear or AXIS=log, for the axes n, k, epsilon, n_star, slack."""
    limits: tuple[str, ...] = ()
    """AXIS=LOW:HIGH, for the same axes and success."""
    title: str | None = None
    """Title of the figure; by default the study's on a screen and none elsewhere."""
    caption: bool = True
    """Explain below the figure the meaning of its marks and which data are not shown."""


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
class StatusCommand(Command):
    """Print what of a study is done, how fast it goes on, and when it ends; and broken files of the store.

    Also works while processes write to the directory, and after they were interrupted.

    Example: dpjax status results
    """

    out: tyro.conf.Positional[Path] = Path("results")
    """The directory given to `dpjax curve --out`."""
    check: bool = False
    """Open every cell; by default only as many as can be opened in one second."""


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


@dataclass
class MergeCommand(Command):
    """Join stores: copy the cells of other stores into the first one.

    A cell that several stores hold is kept with its largest number of trials; the trials that two of them share must be
    equal. Run the study again in the first store to have its result.

    Example: dpjax merge results/all results/monday results/tuesday
    """

    into: tyro.conf.Positional[Path]
    """The store that receives the cells; made if there is none."""
    others: tyro.conf.Positional[tuple[Path, ...]]
    """Stores to read."""


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
