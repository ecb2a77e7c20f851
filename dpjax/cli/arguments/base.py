"""Flags that several commands share. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from dpjax.cli.arguments.numbers import Real, Whole


@dataclass(kw_only=True)
class Command:
    """Arguments of every command.

    compiles: whether it keeps compiled programs for later processes. resumes: whether an interrupted run continues.
    """

    compiles: ClassVar[bool] = False
    resumes: ClassVar[bool] = False
    json: bool = False
    """Print one JSON object, and nothing else, on standard output."""
    imports: Annotated[tuple[str, ...], tyro.conf.arg(name="import")] = ()
    """Your modules that are used, also those that a stored study names; no other module is imported. Commands that
    build nothing accept it and import nothing."""


@dataclass(kw_only=True)
class GoalFlags(Command):
    """Budget and accuracy."""

    epsilon: Real = 1.0
    """Privacy parameter epsilon."""
    delta: Real = 1e-6
    """Privacy parameter delta; 0 for pure privacy."""
    alpha: Real = 0.1
    """Accuracy alpha, the largest error of a good hypothesis."""
    beta: Real = 0.1
    """Failure probability beta."""


@dataclass
class FigureFlags(Command):
    """Appearance of the figure."""

    width: str = "screen"
    """Width of the figure: column (3.3 inches), page (6.9), screen (10.5), or a number of inches."""
    font: str = "sans"
    """Font of the figure: sans, serif, or an installed family."""
    size: Real | None = None
    """Font size in points; by default 8, and 9 on a screen."""
    dark: bool = False
    """Light lines and text on a dark background."""
    dpi: Whole | None = None
    """Resolution of PNG files in pixels per inch; by default 300, and 200 on a screen."""
    panels: tuple[str, ...] = ()
    """Panels of the figure: curves (success against n), k (n* against k), epsilon (n* against epsilon), slack (the
    theorem's n divided by n*); by default those that have data, and slack if there is one epsilon."""


@dataclass
class StudyFlags(Command):
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
class MeasuredFlags(StudyFlags):
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


@dataclass(kw_only=True)
class TableFlags(Command):
    """How the table is read."""

    delimiter: str | None = None
    """Delimiter, one character; by default the one of comma, semicolon, tab, bar and blank that fits the header."""
    encoding: str | None = None
    """Encoding of the file: utf-8, latin-1, cp1252, ...; by default UTF-8, or UTF-16 if it has a byte-order mark."""
    missing: tuple[str, ...] = ()
    """Words for a missing value, such as "?", in addition to an empty field, NA, NaN, null and the like."""
    comment: str | None = None
    """Lines that begin with this text, such as "#", are ignored."""
