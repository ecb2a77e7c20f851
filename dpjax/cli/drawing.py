"""What commands that draw take: a dataclass for each, whose docstrings are the help. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from dpjax.cli.kinds import Real, Whole


@dataclass(kw_only=True)
class Command:
    """What every command takes."""

    json: bool = False
    """Print one JSON object on standard output and nothing else there."""


@dataclass
class Drawn(Command):
    """The look of a figure."""

    width: str = "screen"
    """Of the figure: column (3.3 inches), page (6.9), screen (10.5), or a number of inches."""
    font: str = "sans"
    """Of the figure's letters: sans, serif, or an installed family."""
    size: Real | None = None
    """Of the figure's letters in points; by default 8, and 9 on a screen."""
    dark: bool = False
    """Light lines and letters on a dark background."""
    dpi: Whole | None = None
    """Pixels an inch of PNG files; by default 300, and 200 on a screen."""
    panels: tuple[str, ...] = ()
    """Parts of the figure: curves (success against n), k (n* against k), epsilon (n* against epsilon), slack (the
    theorem's n divided by n*); by default those that have data, and slack where there is one epsilon."""


@dataclass
class PlotCommand(Drawn):
    """Draw the figure of a result, for a paper or a talk; nothing is measured.

    Lines get color, marker and dashes by their order, and the learners' names as labels. SVG files have text as text,
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
    """NAME.color=, NAME.marker=, NAME.dashes= or NAME.label= and a value: a color or a marker that matplotlib knows;
    solid, dashed, dotted, dashdot or lengths such as 4,2; what the legend says, with mathematics between dollar
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
    """Above the figure; by default the study's on a screen and none elsewhere."""
    caption: bool = True
    """Say under the figure what its marks promise and what of the data is not shown."""
