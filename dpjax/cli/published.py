"""Arguments of commands about papers: a dataclass for each, whose docstrings are the help texts. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import tyro

from dpjax.cli.drawing import Command
from dpjax.cli.kinds import Real, Whole


@dataclass
class TableCommand(Command):
    """Measure a paper's table of sample complexities: n* along every axis, and the exponents beside the claimed ones.

    Results that are already in --out are not computed again: run the same command to continue after an interruption.

    Example: dpjax table bns-multi --out results/bns-multi --rows parities "points, PAC"
    """

    compiles: ClassVar[bool] = True
    resumes: ClassVar[bool] = True
    name: tyro.conf.Positional[str] = "bns-multi"
    """bns-multi: Section 1.3 of Bun, Nissim, Stemmer 2016."""
    rows: tuple[str, ...] = ()
    """Substrings of the titles of the rows to measure; by default all rows."""
    out: Path = Path("results/table")
    """Directory of the store, table.json, table.md and the figure."""
    limit: Whole = 2**17
    """Largest sample size considered."""
    trials: Whole = 10_000
    """Trials of each search, unless its bracket is one grid step before."""
    confidence: Real = 0.95
    """Confidence of all brackets of a row together."""
    seed: Whole = 0
    """Root of all random keys."""
    devices: Whole | None = None
    """Split the CPU into this many devices; by default one per core. Does not affect results."""
    formats: tuple[str, ...] = ("png", "svg")
    """Formats of the figure: png, svg, pdf; none for no figure."""


@dataclass
class TheoremCommand(Command):
    """Print what a numbered definition, algorithm or theorem of a paper states, and what dpjax has of it.

    The papers are bgs, bns, kmms and yan. Shows the statement in other words, printed and corrected constants, the code
    whose docstrings cite it, audits, simulations, figures, pages and proofs. A number that belongs to one item is its
    key, bns:3.12; where kinds are numbered apart the kind is part of it, bns:algorithm-2, yan:theorem-11. An
    algorithm without a number has its name, kmms:SetCoverLearner.

    Example: dpjax theorem bns:3.12
    Example: dpjax theorem yan:algorithm-2 --json
    Example: dpjax theorem bns
    """

    key: tyro.conf.Positional[str | None] = None
    """PAPER:NUMBER for an item, PAPER for a list of its items; by default the papers, with how many of their items
    dpjax has, has in a corrected form, and lacks."""
