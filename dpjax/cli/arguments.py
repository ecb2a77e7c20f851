"""Arguments of the commands: a dataclass for each, whose docstrings are the help texts. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from dpjax.cli.asking import AskCommand
from dpjax.cli.attacking import AttackCommand
from dpjax.cli.classes import DimensionCommand, OptimumCommand
from dpjax.cli.distributing import MergeCommand, WorkCommand
from dpjax.cli.drawing import Command, Drawn, PlotCommand
from dpjax.cli.extending import CheckCommand, NewCommand
from dpjax.cli.kinds import Real, Whole
from dpjax.cli.measuring import BenchCommand, CompareCommand
from dpjax.cli.published import TableCommand, TheoremCommand
from dpjax.cli.scheduling import ClusterScriptCommand
from dpjax.cli.sharing import CompactCommand, ExportCommand, ReportCommand


@dataclass
class _Asked(Command):
    """The study."""

    config: tyro.conf.Positional[Path | None] = None
    """A TOML file, or a figure or result.json of an earlier study; every flag below overrides it."""
    concepts: str | None = None
    """The concept class: "Points(2**32)", "Conjunctions(20)", module:Class(...) of your own, or a CSV or .npy file of
    labels with a line per concept."""
    distribution: str | None = None
    """Distribution of the examples: uniform, "heavy(4, 0.23)", "zipf(16)", ..., or module:function(...)."""
    noise: Real | None = None
    """Every label is flipped with this probability, below 1/2."""
    learners: Annotated[tuple[str, ...], tyro.conf.arg(aliases=["--learner"])] = ()
    """Names of the file's learners to keep, or others: KLN, "Independent(KLN, composition=zcdp)", name=Learner(...)."""
    k: tuple[Whole, ...] = ()
    """Numbers of concepts that are learned at once."""
    epsilon: tuple[Real, ...] = ()
    """Privacy parameters epsilon."""
    delta: Real | None = None
    """Privacy parameter delta; by default 1e-6."""
    alpha: Real | None = None
    """Accuracy alpha, the largest error of a good hypothesis; by default 0.1."""
    beta: Real | None = None
    """Failure probability beta of a trial; by default 0.1."""
    n: tuple[Whole, ...] = ()
    """Sample sizes of the curves, without a search for n*. By default they are chosen around n*."""
    seed: Whole | None = None
    """Root of all random keys, in [0, 2**32)."""


@dataclass
class _Measured(_Asked):
    """Trials and the search for n*."""

    trials: Whole | None = None
    """Trials per point of a curve; by default 1000."""
    points: Whole | None = None
    """Number of sample sizes chosen around n*; by default 7."""
    fit_from: Whole | None = None
    """The exponent of k is fitted over k >= this."""
    n_min: Whole | None = None
    """Smallest sample size of the search; by default 16."""
    n_max: Whole | None = None
    """Largest sample size of the search; by default 2**17."""
    gamma: Real | None = None
    """Quick look: instead of n*, an n with success above 1 - beta - gamma; by default 0."""
    confidence: Real | None = None
    """Confidence of each bracket of n*, and of each curve's simultaneous band; by default 0.95."""
    steps_per_doubling: Whole | None = None
    """Grid points of the search between n and 2 n; by default 8."""
    most_trials: Whole | None = None
    """Trials of the search of a curve, unless its bracket is one grid step before; by default 10000."""
    title: str | None = None
    """Title of the figure."""


@dataclass
class CurveCommand(Drawn, _Measured):
    """Measure the sample complexity of learners.

    Sweeps n for every learner, k and epsilon; finds n* with an error guarantee; draws success probability against n
    with simultaneous bands, n* against k, and the theorems' sample sizes. Results that are already in --out are not
    computed again: run the same command to continue after an interruption.

    Example: dpjax curve configs/demo.toml --out results/demo --epsilon 0.5 1
    Example: dpjax curve --concepts "Thresholds(2**20)" --learners KLN ThresholdMedian --k 1 8
    """

    compiles: ClassVar[bool] = True
    resumes: ClassVar[bool] = True
    out: Path = Path("results")
    """Directory of the store, the result and the figure."""
    devices: Whole | None = None
    """Split the CPU into this many devices; by default one per core. Does not affect results."""
    in_flight: Whole | None = None
    """Concurrent tiles; by default two per device. Does not affect results."""
    formats: tuple[str, ...] = ("png", "svg")
    """Formats of the figure: png, svg, pdf; none for no figure."""
    compile_cache: str | None = None
    """Folder for compiled programs, or off; by default in the user's cache folder, by versions and processor."""
    prepare: bool = False
    """Only write the study into --out, for processes that run `dpjax work`."""
    cluster: str | None = None
    """Compute on a Dask cluster: local, slurm or kubernetes (pip install 'dpjax[cluster]')."""
    scheduler: str | None = None
    """Compute on the Dask cluster with this address, such as tcp://host:8786."""
    workers: Whole | None = None
    """Workers of --cluster; by default one per core of this host."""
    cluster_options: Annotated[tuple[str, ...], tyro.conf.arg(name="cluster-option")] = ()
    """Further arguments of the cluster's constructor in dask.distributed, dask_jobqueue or dask_kubernetes, as
    name=value: queue=gpu, walltime=01:00:00, image=ghcr.io/me/dpjax."""
    time_limit: Real | None = None
    """Seconds that one cell may take; one that takes longer is recorded as failed."""
    retry_failed: bool = False
    """Try cells again that failed before, also if the code has not changed."""
    repair: bool = False
    """Move broken files of the store into its folder "broken", so that their cells are computed again."""


@dataclass(kw_only=True)
class _Reading(Command):
    """How the table is read."""

    delimiter: str | None = None
    """Delimiter, one character; by default the one of comma, semicolon, tab, bar and blank that fits the header."""
    encoding: str | None = None
    """Encoding of the file: utf-8, latin-1, cp1252, ...; by default UTF-8, or UTF-16 if it has a byte-order mark."""
    missing: tuple[str, ...] = ()
    """Words for a missing value, such as "?", in addition to an empty field, NA, NaN, null and the like."""
    comment: str | None = None
    """Lines that begin with this text, such as "#", are ignored."""


@dataclass
class LearnCommand(_Reading):
    """Learn privately from your own table, and compare with non-private learning.

    One feature with k targets, or k features with one target, each a concept; a class over a cube (--concepts Stumps,
    Conjunctions) is learned from all features at once, and its coordinates are the 2**bits - 1 edges of each feature's
    grid. Bounds and grid are public: they are arguments and are never read from the data. Prints the hypothesis of one
    run on all rows, the guarantee, and held-out errors over keyed random splits beside those of the non-private learner
    and of the best constant, with a warning if the constant is better or there are fewer rows than the theorem needs.
    These errors are for study and are not private. The file may be packed by gzip, bzip2, xz or zip.

    A column of texts becomes a column of 0 and 1 for each of its --categories, which are public like bounds.

    A shape in the plane (--learner PolygonLearner or UnionLearner) is learned from two features, the coordinates, and
    one target; without --features and --target the file has these three columns in this order. Locations outside --box
    are moved to its nearest edge. Errors are compared with those of the same learner at epsilon 10. The default learner
    is that of docs/gallery/boundary.md.

    Example: dpjax learn configs/breast-cancer.csv --features "mean radius" --target benign --bounds "mean radius=0:40"
    Example: dpjax learn configs/breast-cancer.csv configs/breast-cancer.toml --epsilon 0.5
    Example: dpjax learn patients.csv.gz --features age --target outcome --positive died --bounds age=0:120 --flip age
    Example: dpjax learn configs/breast-cancer.csv configs/breast-cancer-stumps.toml --epsilon 3
    Example: dpjax learn points.csv --learner UnionLearner --box -107.1 25.2 -93.1 37.2 --out results/shape
    """

    compiles: ClassVar[bool] = True
    table: tyro.conf.Positional[Path]
    """A CSV file with a header. A TOML file as second argument may hold any of the values below; flags override it."""
    features: tuple[str, ...] = ()
    """Columns to learn from."""
    target: tuple[str, ...] = ()
    """Columns of labels: 0 and 1, or words with --positive."""
    positive: str | None = None
    """The label that is 1, if labels are not 0 and 1; all others are 0."""
    drop_missing: bool = False
    """Leave out rows with missing or infinite values, which are otherwise refused. The number of remaining rows then
    depends on the data, so the guarantee is under add-or-remove-one, which the learner must support."""
    bounds: tuple[str, ...] = ()
    """Bounds for every feature of numbers: name=low:high."""
    categories: tuple[str, ...] = ()
    """Categories of every feature of texts: name=text,text. A name alone reads them from the table: then there is no
    privacy guarantee."""
    box: tuple[Real, ...] = ()
    """Box of a shape: X0 Y0 X1 Y1, instead of bounds."""
    bits: Whole | None = None
    """The grid has 2**bits cells between the bounds; on a line the domain has one more element, below all values, for
    the empty concept. By default 16, for categories alone 1, over a cube at most 8, so that all features fit."""
    flip: tuple[str, ...] = ()
    """Features whose large values indicate label 1, or whose categories indicate label 0."""
    clip: bool = False
    """Move values outside the bounds to the nearest bound, and count other texts as none of the categories, instead of
    refusing them."""
    concepts: str | None = None
    """The class over the grid: Thresholds, Points, over a cube Stumps, Conjunctions, Disjunctions, or for a shape
    "ConvexPolygons(edges=4)", "Unions(triangles=7)"; by default what the learner is for, else Thresholds."""
    learner: str = "KLN"
    """A learner of `dpjax list` with its arguments, for example "Independent(KLN, composition=zcdp)"."""
    epsilon: Real = 1.0
    """Privacy parameter epsilon."""
    delta: Real = 1e-6
    """Privacy parameter delta."""
    alpha: Real = 0.1
    """Accuracy alpha of the plan."""
    beta: Real = 0.1
    """Failure probability beta of the plan."""
    trials: Whole | None = None
    """Random splits; by default 1000, and 20 for a shape."""
    test_share: Real = 0.3
    """Fraction of the rows held out in each split."""
    seed: Whole = 0
    """Root of all random keys."""
    out: Path | None = None
    """Folder for learned.json, which `dpjax predict` applies and which the guarantee covers; errors.json, the whole
    answer, not private; and for a shape a picture with the rows and the region's corners (needs the extra dpjax[geo]).
    Nothing is written without it."""


@dataclass
class PredictCommand(_Reading):
    """Apply the result of `dpjax learn --out` to another table: a column of 0 and 1 for each concept.

    Reads the same features and places them on the same public grid. Values outside the bounds count as the nearest
    bound; their number is printed.

    Example: dpjax predict results/learned.json new.csv --out predictions.csv
    """

    compiles: ClassVar[bool] = True
    learned: tyro.conf.Positional[Path]
    """The file learned.json."""
    table: tyro.conf.Positional[Path]
    """A CSV file with a header that has the features' columns; other columns are ignored."""
    drop_missing: bool = False
    """Leave the prediction empty for rows with missing or infinite features, which are otherwise refused."""
    out: Path | None = None
    """The CSV file of predictions, with one line per row of the table, never one that is read; by default they are
    printed."""


@dataclass
class PlanCommand(_Measured):
    """Print the theorems' sample sizes, the guarantees and the cost of a configuration.

    Trials, programs and memory are computed without running anything; with a search for n* they are estimates, whose
    assumption is printed.

    Example: dpjax plan configs/demo.toml --k 1 100
    Example: dpjax plan configs/demo.toml --time
    """

    compiles: ClassVar[bool] = True
    time: bool = False
    """Compile and time one tile of each learner, and estimate the time of the study."""


@dataclass
class WarmCommand(_Measured):
    """Compile the programs of a study ahead of time, and run none: processes that start later read them.

    For many processes that would otherwise compile the same programs at the same time. They find them if they use the
    same cache folder, versions, XLA_FLAGS, and kind of processor and device. With a search for n* these are the
    programs for all n from the lower bound to the theorem's; one that needs others compiles them itself.

    Example: dpjax warm results/demo
    Example: dpjax warm configs/demo.toml --compile-cache /shared/programs
    """

    compiles: ClassVar[bool] = True
    threads: Whole | None = None
    """Programs that are compiled at the same time; by default 2, each of which uses several cores."""
    compile_cache: str | None = None
    """Folder for compiled programs; by default in the user's cache folder, by versions and processor."""


@dataclass
class TrialCommand(_Asked):
    """Rerun one trial of a study from its key, and print its data, hypotheses and errors.

    A study or a figure alone prints a table of what can be chosen, and runs a trial of the first; a searched one at
    n_high of its bracket, if a result has one.

    Example: dpjax trial docs/gallery/figures/composition.png
    Example: dpjax trial results/demo --learners point --k 1 --epsilon 0.5 --n 512 --trial 7
    Example: dpjax trial docs/gallery/figures/four-learners.png --learners point --k 1 --epsilon 0.5 --n 512 --trial 7
    """

    compiles: ClassVar[bool] = True
    trial: Whole = 0
    """Index of the trial; the curve uses trials 0 to --trials minus 1."""


@dataclass
class ListCommand(Command):
    """List the names that a study can use: learners with their guarantees, classes, distributions, mechanisms."""


@dataclass
class StatusCommand(Command):
    """Print what of a study is done, what runs where, how fast, and when it ends; and broken files of the store.

    Also works while processes write to the directory, and after they were interrupted.

    Example: dpjax status results
    """

    out: tyro.conf.Positional[Path] = Path("results")
    """The directory given to `dpjax curve --out`."""
    check: bool = False
    """Open every cell; by default only as many as can be opened in one second."""


@dataclass
class AuditCommand(Command):
    """Audit a privacy claim: exactly if the output law is finite, else by a test with a stated confidence.

    Prints the claim, the result, the evidence, and the two databases that differ most. The exit status is 0 if the
    evidence is consistent with the claim, 1 if it refutes it, and 2 if the target cannot be audited or has only one
    outcome, so that nothing is tested.

    A function of your own (module:function) is a mechanism: one parameter is the data, the other its randomness. A
    parameter named key is a JAX key, and the function is traced by JAX; one named rng or generator is a NumPy
    generator, one named seed an integer, and the function runs on the host. Its claim is --epsilon, --delta,
    --relation; the databases are those of --pairs or --histograms.

    Example: dpjax audit stability --calibration printed
    Example: dpjax audit my_module:my_learner --method statistical --trials 10000000
    Example: dpjax audit my_module:noisy_sum --epsilon 1 --delta 0 --pairs my_module:pairs
    Example: dpjax audit my_module:noisy_counts --epsilon 1 --relation add-or-remove-one --histograms 4,2
    Example: dpjax audit "Independent(KLN(Points(3)), composition=zcdp)" --method tracing --k 1000 --epsilon 9
    Example: dpjax audit --all --out results/audit
    """

    compiles: ClassVar[bool] = True
    target: tyro.conf.Positional[str | None] = None
    """A name in the report of --all; a learner over a domain of two to four elements, "KLN(Thresholds(3))"; or your
    own module:object: a dpjax.audit.Target, a Learner, a function of concepts and k that returns a Learner, or a
    function of key and data."""
    all: bool = False
    """Audit everything that dpjax exports."""
    calibration: str = "corrected"
    """corrected, or printed for a paper's constants."""
    epsilon: Real | None = None
    """Privacy parameter epsilon of the claim; by default 1. Required for a function of your own."""
    delta: Real = 1e-6
    """Privacy parameter delta of the claim."""
    pairs: str | None = None
    """Databases for a function of your own: module:function, which returns or yields pairs of neighbors."""
    histograms: str | None = None
    """Alternatively ROWS,CELLS: all histograms of at most this many rows on this many cells."""
    data: str = "rows"
    """Type of the arrays of --pairs: rows along the first axis, or counts, for which the relation of every pair is
    checked; or other, for which it is your responsibility."""
    kind: str | None = None
    """Type of a function's randomness if its parameter names do not tell, by default of the first parameter: key,
    generator, seed; or own for a function of the data alone with its own generator."""
    method: str = "auto"
    """exact, statistical, sequential (a statistical test that stops at the first refutation), bitwise (a test of the
    low bits of floats, too), replay (compares queries to mechanisms on two neighbors under one key with their
    sensitivities), one-run (one run with many canaries, for targets with a score for each), tracing (of a learner of
    --k concepts on --rows rows: guesses one row from all answers together), or auto: exact if the law is finite."""
    k: Whole | None = None
    """Concepts, for tracing; by default those of the learner, or 100."""
    rows: Whole | None = None
    """Rows of the databases, for tracing; by default 16."""
    trials: Whole | None = None
    """Runs on each database, for statistical audits and, on average, for tracing; canaries, for one-run. By default
    1000000, with --all 100000, for tracing 10000."""
    confidence: Real = 0.95
    """Confidence of statistical audits: a correct claim is refuted with probability at most 1 - confidence; with --all,
    this holds for all correct claims together."""
    relation: str = "replace-one"
    """Neighboring relation: replace-one or add-or-remove-one."""
    distance: Whole = 1
    """Number of neighboring steps between the compared databases; the claim is amplified accordingly."""
    search: Whole = 0
    """Number of random neighbors that a statistical audit considers in addition to the target's pairs."""
    seed: Whole = 0
    """Root of all random keys; with --all each row has a separate seed, a digest of this seed and the row."""
    out: Path | None = None
    """Directory for audit.json, audit.md and the figure of the privacy curve; none by default."""


COMMANDS = {
    "curve": CurveCommand, "plot": PlotCommand, "trial": TrialCommand, "table": TableCommand, "learn": LearnCommand,
    "predict": PredictCommand, "plan": PlanCommand, "ask": AskCommand, "export": ExportCommand, "audit": AuditCommand,
    "list": ListCommand, "status": StatusCommand, "compare": CompareCommand, "bench": BenchCommand,
    "check": CheckCommand, "new": NewCommand, "dimension": DimensionCommand, "optimum": OptimumCommand,
    "attack": AttackCommand, "work": WorkCommand, "merge": MergeCommand, "cluster-script": ClusterScriptCommand,
    "report": ReportCommand, "compact": CompactCommand, "warm": WarmCommand,
    "theorem": TheoremCommand,
}  # fmt: skip
