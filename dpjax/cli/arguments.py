"""What the command line takes: a dataclass for each command, whose docstrings are the help. Imports no JAX."""

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import tyro
from tyro.constructors import PrimitiveConstructorSpec

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.experiments.numbers import from_words

_FROM_FLAG = PrimitiveConstructorSpec(
    nargs=1, metavar="WHOLE", instance_from_str=lambda words: from_words(words[0]),
    is_instance=lambda value: isinstance(value, int), str_from_instance=lambda value: [str(value)],
)  # fmt: skip
Whole = Annotated[int, _FROM_FLAG]


@dataclass(kw_only=True)
class _Command:
    json: bool = False
    """Print one JSON object on standard output and nothing else there."""


@dataclass
class _Measured(_Command):
    config: tyro.conf.Positional[Path | None] = None
    """A TOML file, or a figure or result.json of an earlier study; every flag below overrides it."""
    concepts: str | None = None
    """The concept class: "Points(2**32)", "Conjunctions(20)", or module:Class(...) of your own."""
    distribution: str | None = None
    """Of the examples: uniform, "heavy(4, 0.23)", "zipf(16)", ..., or module:function(...)."""
    noise: float | None = None
    """Every label is flipped with this probability, below 1/2."""
    learners: tuple[str, ...] = ()
    """Names of the file's learners to keep, or others: KLN, "Independent(KLN, composition=zcdp)", name=Learner(...)."""
    k: tuple[Whole, ...] = ()
    """Numbers of concepts that are learned at once."""
    epsilon: tuple[float, ...] = ()
    """Privacy budgets."""
    delta: float | None = None
    """The other half of the budget; by default 1e-6."""
    alpha: float | None = None
    """Error that a hypothesis may have; by default 0.1."""
    beta: float | None = None
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
    gamma: float | None = None
    """Resolution of n*: it succeeds with more than 1 - beta - gamma; by default 0.05."""
    confidence: float | None = None
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
class _Drawn(_Command):
    width: str = "screen"
    """Of the figure: column (3.3 inches), page (6.9), screen (10.5), or a number of inches."""
    font: str = "sans"
    """Of the figure's letters: sans, serif, or an installed family."""
    size: float | None = None
    """Of the figure's letters in points; by default 8, and 9 on a screen."""
    dark: bool = False
    """Light lines and letters on a dark background."""
    dpi: Whole | None = None
    """Pixels an inch of PNG files; by default 300, and 200 on a screen."""
    panels: tuple[str, ...] = ()
    """Parts of the figure: curves (success against n), k (n* against k), epsilon (n* against epsilon), slack (the
    theorem's n divided by n*); by default those that have data, and slack where there is one epsilon."""


@dataclass
class CurveCommand(_Drawn, _Measured):
    """Measure how many samples learners need.

    Sweeps n for every learner, k and epsilon; finds n* with an error guarantee; draws success probability against n
    with simultaneous bands, n* against k, and the theorems' numbers. What is already in --out is not computed again:
    run the same command to go on after an interruption.

    Example: dpjax curve configs/demo.toml --out results/demo --epsilon 0.5 1
    Example: dpjax curve --concepts "Thresholds(2**20)" --learners KLN ThresholdMedian --k 1 8
    """

    out: Path = Path("results")
    """Directory of the store, the result and the figure."""
    devices: int | None = None
    """Split the CPU into so many devices; by default one a core. Never changes a result. Each device compiles its own
    programs, so a short run is quicker with 1."""
    in_flight: int | None = None
    """Tiles under way at once; by default two a device. Never changes a result."""
    formats: tuple[str, ...] = ("png", "svg")
    """Formats of the figure: png, svg, pdf; none for no figure."""
    compile_cache: Path | None = None
    """Keep compiled programs here for the next run (JAX's persistent cache)."""


@dataclass
class LearnCommand(_Command):
    """Learn from your own table, privately, and see what privacy cost.

    One feature with k targets, or k features with one target, each a concept. Bounds and grid are public: you give
    them, they are never read from the data. Prints the hypothesis of one run on all rows, the guarantee, and held-out
    errors over keyed random splits beside the non-private learner's (these errors are for study: they are not private).

    A shape in the plane (--learner PolygonLearner or UnionLearner) is learned from two features, the coordinates, and
    one target; without --features and --target the file has these three columns in this order. Places outside --box are
    moved to its nearest edge. Errors are compared with the same learner's at epsilon 10.

    Example: dpjax learn patients.csv --features "mean radius" --target benign --bounds "mean radius=0:40"
    Example: dpjax learn patients.csv configs/breast-cancer.toml --epsilon 0.5
    Example: dpjax learn points.csv --learner UnionLearner --box -107.1 25.2 -93.1 37.2 --out results/shape
    """

    table: tyro.conf.Positional[Path]
    """A CSV file with a header. A TOML file beside it may hold any of the values below; flags override it."""
    features: tuple[str, ...] = ()
    """Columns of numbers to learn from."""
    target: tuple[str, ...] = ()
    """Columns of labels 0/1."""
    bounds: tuple[str, ...] = ()
    """For every feature: name=low:high."""
    box: tuple[float, float, float, float] | None = None
    """For a shape: X0 Y0 X1 Y1, instead of bounds."""
    bits: int = 16
    """The grid has 2**bits cells between the bounds."""
    flip: tuple[str, ...] = ()
    """Features whose large values mean 1."""
    clip: bool = False
    """Move values outside the bounds to the nearest bound instead of refusing them."""
    concepts: str | None = None
    """The class over the grid: Thresholds, Points, or for a shape "ConvexPolygons(edges=4)", "Unions(triangles=7)"; by
    default what the learner is for, else Thresholds."""
    learner: str = "KLN"
    """A learner from `dpjax list` with its arguments, for example "Independent(KLN, composition=zcdp)"."""
    imports: Annotated[tuple[str, ...], tyro.conf.arg(name="import")] = ()
    """Modules of your own that --learner or --concepts names."""
    epsilon: float = 1.0
    """Privacy budget."""
    delta: float = 1e-6
    """The other half of the budget."""
    alpha: float = 0.1
    """Accuracy that the learner aims at."""
    beta: float = 0.1
    """Failure probability that the learner aims at."""
    trials: int | None = None
    """Random splits; by default 1000, and 20 for a shape."""
    test_share: float = 0.3
    """Share of the rows held out in each split."""
    seed: int = 0
    """Root of every random number."""
    out: Path | None = None
    """Folder for learned.json, the answer, and for a shape a picture with the rows and the region's corners (needs the
    extra dpjax[geo]); none by default."""


@dataclass
class PlanCommand(_Measured):
    """Print the theorems' sample sizes and the guarantees of a configuration, without running anything.

    Example: dpjax plan configs/demo.toml --k 1 100
    """


@dataclass
class TrialCommand(_Measured):
    """Run one trial of a study again, from its key, and print its data, hypotheses and errors.

    Example: dpjax trial results/demo --learners point --k 1 --epsilon 0.5 --n 609 --trial 7
    Example: dpjax trial docs/figures/demo.png --learners point --k 1 --epsilon 0.5 --n 609 --trial 7
    """

    trial: Whole = 0
    """Its number; trials 0 to --trials less 1 made the curve."""


@dataclass
class ListCommand(_Command):
    """List what a study can name: learners with what they guarantee, classes, distributions, mechanisms."""


@dataclass
class StatusCommand(_Command):
    """Say what a result directory holds, and which of its files are broken.

    Example: dpjax status results
    """

    out: tyro.conf.Positional[Path] = Path("results")
    """The directory given to `dpjax curve --out`."""


@dataclass
class ExportCommand(_Command):
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
    out: Path | None = None
    """Directory of the files; by default that of the result."""


@dataclass
class BenchCommand(_Command):
    """Measure dpjax against its peers, as ratios in one run. Needs the extra dpjax[bench]."""

    rows: tyro.conf.Positional[tuple[str, ...]] = ()
    """Names of rows; all by default."""
    quick: bool = False
    """Fewer repetitions."""


@dataclass
class AuditCommand(_Command):
    """Check a privacy claim: exactly where the output law is finite, else by a test with a stated confidence.

    Says what is claimed, what was found, on which evidence, and shows the two databases that tell most. Ends with
    status 0 if the evidence is consistent with the claim, 1 if it refutes it, 2 if the target cannot be audited, or
    only in a world where it has one outcome, which tests nothing.

    Example: dpjax audit stability --calibration printed
    Example: dpjax audit my_module:MyLearner --method statistical --trials 10000000
    Example: dpjax audit --all --out results/audit
    """

    target: tyro.conf.Positional[str | None] = None
    """A name from the report of --all, or module:object of your own (a dpjax.audit.Target or a Learner)."""
    all: bool = False
    """Audit everything that dpjax exports."""
    calibration: str = "corrected"
    """corrected, or printed for a paper's own constants."""
    epsilon: float = 1.0
    """Budget at which the claim is made."""
    delta: float = 1e-6
    """The other half of the budget."""
    method: str = "auto"
    """exact, statistical, sequential (a statistical test that stops as soon as it is certain), bitwise (one that looks
    at the low bits of floats), replay (what mechanisms are asked on two neighbours under one key, against their
    sensitivity), one-run (one run with many canaries, for targets with a score for each), or auto: exact where the law
    is finite."""
    trials: int | None = None
    """Runs on each database, for statistical audits; canaries, for one-run. By default 1000000, with --all 100000."""
    confidence: float = 0.95
    """Of statistical audits: a correct claim is refuted with probability at most 1 - confidence; with --all, any of the
    correct claims together."""
    relation: str = "replace-one"
    """Neighbouring relation: replace-one or add-or-remove-one."""
    distance: int = 1
    """Neighbouring steps between the compared databases; the claim is amplified accordingly."""
    search: int = 0
    """Neighbours drawn at random that a statistical audit looks at beside the target's own pairs."""
    seed: int = 0
    """Root of every random number; with --all each row has a seed of its own, a digest of this one and the row."""
    out: Path | None = None
    """Directory for audit.json, audit.md and the figure of the privacy curve; none by default."""


@dataclass
class TableCommand(_Command):
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
    gamma: float = 0.1
    """Resolution of n*: it succeeds with less than 1 - beta below, and with more than 1 - beta - gamma above."""
    confidence: float = 0.95
    """Of each bracket."""
    seed: int = 0
    """Root of every random number."""
    devices: int | None = None
    """Split the CPU into so many devices; by default one a core. Never changes a result."""
    formats: tuple[str, ...] = ("png", "svg")
    """Formats of the figure: png, svg, pdf; none for no figure."""


@dataclass
class PlotCommand(_Drawn):
    """Draw the figure of a result, for a paper or a talk; nothing is measured.

    Lines get colour, marker and dashes by their order, and the learners' names as labels. SVG files have text as text,
    PDF files have their fonts embedded; each carries the configuration that made it. Equal results give equal bytes.

    Example: dpjax plot results/demo --out figure.pdf --width column --font serif --panels k
    Example: dpjax plot results/demo --out talk.png --dark --lines "ERM (not private)" point --styles point.color=red
    Example: dpjax plot results/demo --k 8 --epsilon 1 --panels curves --scale n=linear --limits n=0:4000
    """

    result: tyro.conf.Positional[Path] = Path("results")
    """A directory given to `dpjax curve --out`, or its result.json; also of a run that is not finished."""
    out: tuple[Path, ...] = ()
    """Files to write, in the formats that their names end in: .pdf, .svg, .png; by default curve.pdf beside the
    result."""
    lines: tuple[str, ...] = ()
    """Names of the learners to draw, in this order; by default all, in the study's order."""
    styles: tuple[str, ...] = ()
    """NAME.color=, NAME.marker=, NAME.dashes= or NAME.label= and a value: a colour or a marker that matplotlib knows;
    solid, dashed, dotted, dashdot or lengths such as 4,2; what the legend says, with mathematics between dollar
    signs."""
    k: tuple[Whole, ...] = ()
    """Numbers of concepts to draw."""
    epsilon: tuple[float, ...] = ()
    """Budgets to draw."""
    scale: tuple[str, ...] = ()
    """AXIS=linear or AXIS=log, for the axes n, k, epsilon, n_star, slack."""
    limits: tuple[str, ...] = ()
    """AXIS=LOW:HIGH, for the same axes and success."""
    title: str | None = None
    """Above the figure; by default the study's on a screen and none elsewhere."""
    caption: bool = True
    """Say under the figure what its marks promise and what of the data is not shown."""


COMMANDS = {
    "curve": CurveCommand, "plot": PlotCommand, "trial": TrialCommand, "table": TableCommand, "learn": LearnCommand,
    "plan": PlanCommand,
    "export": ExportCommand, "audit": AuditCommand, "list": ListCommand, "status": StatusCommand, "bench": BenchCommand,
}  # fmt: skip


def parse(arguments: Sequence[str]) -> Any:
    """The command, with a TOML file's values as the defaults of its flags."""
    given = list(arguments)
    name, files = (given or [""])[0], [word for word in given[1:] if word.endswith(".toml")]
    default = None
    if name == "learn" and files:
        from dpjax.experiments.config import read_toml

        given = [word for word in given if word not in files]
        default = LearnCommand(table=tyro.MISSING, **_learn_values(read_toml(files[0])))
    kinds: list[Any] = []
    for known, kind in COMMANDS.items():
        own: dict[str, Any] = {"default": default} if default is not None and known == name else {}
        kinds.append(Annotated[kind, tyro.conf.subcommand(known, **own)])
    try:
        return tyro.cli(functools.reduce(operator.or_, kinds), prog="dpjax", description=_DESCRIPTION, args=given)
    except ValueError as error:  # a flag that the model refuses
        raise InputError("flags", "values of the right kind", str(error), "see --help") from error


def _learn_values(data: dict[str, Any]) -> dict[str, Any]:
    """A TOML file's values as fields of LearnCommand; bounds may be a table of name = [low, high]."""
    values = {}
    for name, value in data.items():
        checks.choice("key", name, [entry.name for entry in fields(LearnCommand) if entry.name != "table"])
        if name == "bounds" and isinstance(value, dict):
            value = [f"{column}={':'.join(map(str, pair))}" for column, pair in value.items()]
        values[name] = tuple(value) if isinstance(value, list) else value
    return values


_DESCRIPTION = (
    "The wind tunnel of private learning theory: run private PAC learners thousands of times, with explicit keys, "
    "and measure the constants that O(.) notation leaves out. A simulator: not for the release of sensitive data."
)
