"""Flags of commands for a person's own table, code and names. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import tyro

from dpjax.cli.arguments.base import Command, GoalFlags, TableFlags
from dpjax.cli.arguments.numbers import Real, Whole


@dataclass
class LearnCommand(GoalFlags, TableFlags):
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
class PredictCommand(TableFlags):
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


@dataclass
class CheckCommand(Command):
    """Check a learner, concept class, law or mechanism of your own against dpjax's conformance suite.

    Prints a table of checks: members, equality by value, plans, keys, padding and batches, databases of all sizes,
    privacy, success at its sample size, and reproducible identity of results. The exit status is 0 if all passed, 1 if
    one failed, 2 if the object cannot be checked or its code raises.

    Example: dpjax check my_module:MyLearner --concepts "Thresholds(64)"
    Example: dpjax check "my_module:MyClass(64)" --quick
    """

    compiles: ClassVar[bool] = True
    object: tyro.conf.Positional[str]
    """module:object, "module:Class(arguments)", a factory, or a name in dpjax such as "KLN(Points(64))"."""
    concepts: str | None = None
    """The class for a learner given as module:Learner: "Thresholds(64)" or "my_module:MyClass(64)"."""
    k: Whole | None = None
    """Number of concepts that the learner learns at once; by default its field k, else 1."""
    small: str | None = None
    """The same learner over two to four elements, for the exact audit; by default derived if possible."""
    distribution: str | None = None
    """Distribution of examples for errors and success, as in `dpjax curve`; by default a few elements of equal mass."""
    quick: bool = False
    """Fewer budgets and trials."""
    seconds: Real = 20.0
    """Approximate time in seconds of each measured check (success, privacy by trials)."""


@dataclass
class ListCommand(Command):
    """List the names that a study can use: learners with their guarantees, classes, distributions, mechanisms."""
