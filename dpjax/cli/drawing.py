"""Arguments of commands that draw: a dataclass for each, whose docstrings are the help texts. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from dpjax.cli.kinds import Real, Whole


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


@dataclass
class Drawn(Command):
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
class PlotCommand(Drawn):
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
