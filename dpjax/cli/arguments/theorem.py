"""Flags of `dpjax theorem`. Imports no JAX."""

from dataclasses import dataclass

import tyro

from dpjax.cli.arguments.base import Command


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
