"""What the command line takes: a dataclass for each command, whose docstrings are the help. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dpjax.cli.drawing import Command, Drawn, PlotCommand
from dpjax.cli.extending import CheckCommand, NewCommand
from dpjax.cli.kinds import Real, Whole


@dataclass
class _Measured(Command):
    config: tyro.conf.Positional[Path | None] = None
    """A TOML file, or a figure or result.json of an earlier study; every flag below overrides it."""
    concepts: str | None = None
    """The concept class: "Points(2**32)", "Conjunctions(20)", or module:Class(...) of your own."""
    distribution: str | None = None
    """Of the examples: uniform, "heavy(4, 0.23)", "zipf(16)", ..., or module:function(...)."""
    noise: Real | None = None
    """Every label is flipped with this probability, below 1/2."""
    learners: tuple[str, ...] = ()
    """Names of the file's learners to keep, or others: KLN, "Independent(KLN, composition=zcdp)", name=Learner(...)."""
    k: tuple[Whole, ...] = ()
    """Numbers of concepts that are learned at once."""
    epsilon: tuple[Real, ...] = ()
    """Privacy budgets."""
    delta: Real | None = None
    """The other half of the budget; by default 1e-6."""
    alpha: Real | None = None
    """Error that a hypothesis may have; by default 0.1."""
    beta: Real | None = None
    """Probability with which a trial may fail; by default 0.1."""
    n: tuple[Whole, ...] = ()
    """Sample sizes of the curves; then n* is not searched. By default they are chosen around n*."""
    trials: Whole | None = None
    """Trials a point of a curve; by default 1000."""
    points: Whole | None = None
    """How many sample sizes are chosen around n*; by default 7."""
    fit_from: Whole | None = None
    """The exponent of k is fitted over k >= this."""
    n_min: Whole | None = None
    """Smallest sample size of the search; by default 16."""
    n_max: Whole | None = None
    """Largest sample size of the search; by default 2**17."""
    gamma: Real | None = None
    """Resolution of n*: it succeeds with more than 1 - beta - gamma; by default 0.05."""
    confidence: Real | None = None
    """Of each bracket of n*, and of each curve's simultaneous band; by default 0.95."""
    steps_per_doubling: Whole | None = None
    """Grid points of the search between n and 2 n; by default 8."""
    seed: Whole | None = None
    """Root of every random number, in [0, 2**32)."""
    title: str | None = None
    """Printed above the figure."""
    imports: Annotated[tuple[str, ...], tyro.conf.arg(name="import")] = ()
    """Modules of your own that the configuration or the flags use; no other is imported."""


@dataclass
class CurveCommand(Drawn, _Measured):
    """Measure how many samples learners need.

    Sweeps n for every learner, k and epsilon; finds n* with an error guarantee; draws success probability against n
    with simultaneous bands, n* against k, and the theorems' numbers. What is already in --out is not computed again:
    run the same command to go on after an interruption.

    Example: dpjax curve configs/demo.toml --out results/demo --epsilon 0.5 1
    Example: dpjax curve --concepts "Thresholds(2**20)" --learners KLN ThresholdMedian --k 1 8
    """

    out: Path = Path("results")
    """Directory of the store, the result and the figure."""
    devices: Whole | None = None
    """Split the CPU into so many devices; by default one a core. Never changes a result. Each device compiles its own
    programs, so a short run is quicker with 1."""
    in_flight: Whole | None = None
    """Tiles under way at once; by default two a device. Never changes a result."""
    formats: tuple[str, ...] = ("png", "svg")
    """Formats of the figure: png, svg, pdf; none for no figure."""
    compile_cache: Path | None = None
    """Keep compiled programs here for the next run (JAX's persistent cache)."""


@dataclass(kw_only=True)
class _Reading(Command):
    delimiter: str | None = None
    """One character between columns; by default that of comma, semicolon, tab and bar which the header fits."""
    encoding: str | None = None
    """Of the file: utf-8, latin-1, cp1252, ...; by default UTF-8, or UTF-16 if it begins with its byte-order mark."""
    missing: tuple[str, ...] = ()
    """Words for a missing value, such as "?", beside an empty field, NA, NaN, null and the like."""
    imports: Annotated[tuple[str, ...], tyro.conf.arg(name="import")] = ()
    """Modules of your own that the learner or the class comes from; no other is imported."""


@dataclass
class LearnCommand(_Reading):
    """Learn from your own table, privately, and see what privacy cost.

    One feature with k targets, or k features with one target, each a concept. Bounds and grid are public: you give
    them, they are never read from the data. Prints the hypothesis of one run on all rows, the guarantee, and held-out
    errors over keyed random splits beside those of the non-private learner and of the best constant, with a warning
    where the constant wins or the rows are fewer than the theorem needs (these errors are for study: they are not
    private). Compressed files (gzip) are read as they are.

    A shape in the plane (--learner PolygonLearner or UnionLearner) is learned from two features, the coordinates, and
    one target; without --features and --target the file has these three columns in this order. Places outside --box are
    moved to its nearest edge. Errors are compared with the same learner's at epsilon 10. Numbers of the learner that
    are not given are those of docs/boundary.md.

    Example: dpjax learn configs/breast-cancer.csv --features "mean radius" --target benign --bounds "mean radius=0:40"
    Example: dpjax learn configs/breast-cancer.csv configs/breast-cancer.toml --epsilon 0.5
    Example: dpjax learn patients.csv.gz --features age --target outcome --positive died --bounds age=0:120 --flip age
    Example: dpjax learn points.csv --learner UnionLearner --box -107.1 25.2 -93.1 37.2 --out results/shape
    """

    table: tyro.conf.Positional[Path]
    """A CSV file with a header. A TOML file beside it may hold any of the values below; flags override it."""
    features: tuple[str, ...] = ()
    """Columns of numbers to learn from."""
    target: tuple[str, ...] = ()
    """Columns of labels: 0 and 1, or words with --positive."""
    positive: str | None = None
    """The label that is 1, if labels are not 0 and 1; all others are 0."""
    drop_missing: bool = False
    """Leave out rows in which a value is missing or infinite, where otherwise they are refused. How many there are then
    depends on the data, so the guarantee is under add-or-remove-one, and the learner must have one."""
    bounds: tuple[str, ...] = ()
    """For every feature: name=low:high."""
    box: tuple[Real, ...] = ()
    """For a shape: X0 Y0 X1 Y1, instead of bounds."""
    bits: Whole = 16
    """The grid has 2**bits cells between the bounds; on a line the domain has one more element, below all values, for
    the empty concept."""
    flip: tuple[str, ...] = ()
    """Features whose large values mean 1."""
    clip: bool = False
    """Move values outside the bounds to the nearest bound instead of refusing them."""
    concepts: str | None = None
    """The class over the grid: Thresholds, Points, or for a shape "ConvexPolygons(edges=4)", "Unions(triangles=7)"; by
    default what the learner is for, else Thresholds."""
    learner: str = "KLN"
    """A learner from `dpjax list` with its arguments, for example "Independent(KLN, composition=zcdp)"."""
    epsilon: Real = 1.0
    """Privacy budget."""
    delta: Real = 1e-6
    """The other half of the budget."""
    alpha: Real = 0.1
    """Accuracy that the learner aims at."""
    beta: Real = 0.1
    """Failure probability that the learner aims at."""
    trials: Whole | None = None
    """Random splits; by default 1000, and 20 for a shape."""
    test_share: Real = 0.3
    """Share of the rows held out in each split."""
    seed: Whole = 0
    """Root of every random number."""
    out: Path | None = None
    """Folder for learned.json, which `dpjax predict` applies and which holds nothing beyond the guarantee; errors.json,
    the whole answer; and for a shape a picture with the rows and the region's corners (needs the extra dpjax[geo]).
    None by default."""


@dataclass
class PredictCommand(_Reading):
    """Apply what `dpjax learn --out` wrote to another table: a column of 0 and 1 for each concept.

    Reads the same features and places them on the same public grid. Values outside the bounds count as the nearest
    bound; it says how many there are.

    Example: dpjax predict results/learned.json new.csv --out predictions.csv
    """

    learned: tyro.conf.Positional[Path]
    """learned.json."""
    table: tyro.conf.Positional[Path]
    """A CSV file with a header that has the features' columns; others are not read."""
    drop_missing: bool = False
    """Leave the prediction empty in rows where a feature is missing or infinite, where otherwise they are refused."""
    out: Path | None = None
    """The CSV file of predictions, a row for each row; by default they are printed."""


@dataclass
class PlanCommand(_Measured):
    """Print the theorems' sample sizes and the guarantees of a configuration, and what measuring it will take.

    Trials, programs and memory are counted without running anything; a search of n* makes them an estimate, whose rule
    is printed.

    Example: dpjax plan configs/demo.toml --k 1 100
    Example: dpjax plan configs/demo.toml --time
    """

    time: bool = False
    """Compile and time one tile of each learner, and say how long the study will take."""


@dataclass
class TrialCommand(_Measured):
    """Run one trial of a study again, from its key, and print its data, hypotheses and errors.

    Example: dpjax trial results/demo --learners point --k 1 --epsilon 0.5 --n 609 --trial 7
    Example: dpjax trial docs/figures/demo.png --learners point --k 1 --epsilon 0.5 --n 609 --trial 7
    """

    trial: Whole = 0
    """Its number; trials 0 to --trials less 1 made the curve."""


@dataclass
class ListCommand(Command):
    """List what a study can name: learners with what they guarantee, classes, distributions, mechanisms."""


@dataclass
class StatusCommand(Command):
    """Say what a result directory holds, and which of its files are broken.

    Example: dpjax status results
    """

    out: tyro.conf.Positional[Path] = Path("results")
    """The directory given to `dpjax curve --out`."""


@dataclass
class ExportCommand(Command):
    """Write a result's tables as CSV or Parquet: curves, n*, quantiles of errors, exponents, failures.

    Works while a study runs and after an interruption: result.json holds every curve that is measured.

    Example: dpjax export results/demo --format parquet --tables curves n_star
    """

    result: tyro.conf.Positional[Path] = Path("results")
    """A directory given to `dpjax curve --out`, or its result.json."""
    format: str = "csv"
    """csv or parquet."""
    tables: tuple[str, ...] = ()
    """curves, n_star, errors, exponents, failures; all by default."""
    between: str | None = None
    """learner, epsilon or n: also differences.csv, of success rates between points that differ in this alone, in pairs
    of trials with the same keys."""
    alphas: tuple[Real, ...] = ()
    """Also n_star_at.csv: brackets of n* for these alphas, from the same trials."""
    out: Path | None = None
    """Directory of the files; by default that of the result."""


@dataclass
class BenchCommand(Command):
    """Measure dpjax against its peers, as ratios in one run. Needs the extra dpjax[bench]."""

    rows: tyro.conf.Positional[tuple[str, ...]] = ()
    """Names of rows; all by default."""
    quick: bool = False
    """Fewer repetitions."""


@dataclass
class AuditCommand(Command):
    """Check a privacy claim: exactly where the output law is finite, else by a test with a stated confidence.

    Says what is claimed, what was found, on which evidence, and shows the two databases that tell most. Ends with
    status 0 if the evidence is consistent with the claim, 1 if it refutes it, 2 if the target cannot be audited, or
    only in a world where it has one outcome, which tests nothing.

    A function of your own (module:function) is a mechanism: one parameter is the data, the other its randomness. Called
    key it is a JAX key, and the function is traced by JAX; called rng or generator it is a NumPy generator, called seed
    a whole number, and the function runs on the host. Its claim is --epsilon, --delta, --relation; the databases are
    those of --pairs or --histograms.

    Example: dpjax audit stability --calibration printed
    Example: dpjax audit my_module:my_learner --method statistical --trials 10000000
    Example: dpjax audit my_module:noisy_sum --epsilon 1 --delta 0 --pairs my_module:pairs
    Example: dpjax audit my_module:noisy_counts --epsilon 1 --relation add-or-remove-one --histograms 4,2
    Example: dpjax audit --all --out results/audit
    """

    target: tyro.conf.Positional[str | None] = None
    """A name from the report of --all, or module:object of your own: a dpjax.audit.Target, a Learner, a function of
    concepts and k that makes a Learner, or a function of key and data."""
    all: bool = False
    """Audit everything that dpjax exports."""
    calibration: str = "corrected"
    """corrected, or printed for a paper's own constants."""
    epsilon: Real | None = None
    """Budget at which the claim is made; by default 1. For a function of your own it must be given."""
    delta: Real = 1e-6
    """The other half of the budget."""
    pairs: str | None = None
    """Databases for a function of your own: module:function, which returns or yields pairs of neighbors."""
    histograms: str | None = None
    """Or ROWS,CELLS: all histograms of up to so many rows on so many cells."""
    data: str = "rows"
    """What the arrays of --pairs are: rows along the first axis, or counts, for which the relation of every pair is
    checked, or other, for which it is your promise."""
    kind: str | None = None
    """Randomness of a function whose parameters do not tell it, the first one unless a name says so: key, generator,
    seed; or own for a function of the data alone, which draws from a generator of its own."""
    method: str = "auto"
    """exact, statistical, sequential (a statistical test that stops as soon as it is certain), bitwise (one that looks
    at the low bits of floats), replay (what mechanisms are asked on two neighbors under one key, against their
    sensitivity), one-run (one run with many canaries, for targets with a score for each), or auto: exact where the law
    is finite."""
    trials: Whole | None = None
    """Runs on each database, for statistical audits; canaries, for one-run. By default 1000000, with --all 100000."""
    confidence: Real = 0.95
    """Of statistical audits: a correct claim is refuted with probability at most 1 - confidence; with --all, any of the
    correct claims together."""
    relation: str = "replace-one"
    """Neighboring relation: replace-one or add-or-remove-one."""
    distance: Whole = 1
    """Neighboring steps between the compared databases; the claim is amplified accordingly."""
    search: Whole = 0
    """Neighbors drawn at random that a statistical audit looks at beside the target's own pairs."""
    seed: Whole = 0
    """Root of every random number; with --all each row has a seed of its own, a digest of this one and the row."""
    out: Path | None = None
    """Directory for audit.json, audit.md and the figure of the privacy curve; none by default."""


@dataclass
class TableCommand(Command):
    """Measure a paper's table of sample complexities: n* along every axis, and the exponents beside the claimed ones.

    What is already in --out is not computed again: run the same command to go on after an interruption.

    Example: dpjax table bns-multi --out results/bns-multi --rows parities "points, PAC"
    """

    name: tyro.conf.Positional[str] = "bns-multi"
    """bns-multi: Section 1.3 of Bun, Nissim, Stemmer 2016."""
    rows: tuple[str, ...] = ()
    """Parts of the titles of the rows to measure; all by default."""
    out: Path = Path("results/table")
    """Directory of the store, table.json, table.md and the figure."""
    limit: Whole = 2**17
    """Largest sample size considered."""
    gamma: Real = 0.1
    """Resolution of n*: it succeeds with less than 1 - beta below, and with more than 1 - beta - gamma above."""
    confidence: Real = 0.95
    """Of each bracket."""
    seed: Whole = 0
    """Root of every random number."""
    devices: Whole | None = None
    """Split the CPU into so many devices; by default one a core. Never changes a result."""
    formats: tuple[str, ...] = ("png", "svg")
    """Formats of the figure: png, svg, pdf; none for no figure."""


COMMANDS = {
    "curve": CurveCommand, "plot": PlotCommand, "trial": TrialCommand, "table": TableCommand, "learn": LearnCommand,
    "predict": PredictCommand, "plan": PlanCommand, "export": ExportCommand, "audit": AuditCommand,
    "list": ListCommand, "status": StatusCommand, "bench": BenchCommand,
    "check": CheckCommand, "new": NewCommand,
}  # fmt: skip
