"""Flags of `dpjax plot`. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from dpjax.cli.arguments.base import FigureFlags
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
