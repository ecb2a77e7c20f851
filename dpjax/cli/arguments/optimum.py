"""Flags of `dpjax optimum`. Imports no JAX."""

from dataclasses import dataclass
from typing import ClassVar

import tyro

from dpjax.cli.arguments.base import Command
from dpjax.cli.arguments.numbers import Real, Whole


@dataclass
class OptimumCommand(Command):
    """Compute the best worst-case success of any private learner of a tiny class, with a proof.

    Solves a linear program whose variables are the probabilities of all hypotheses on all databases of n rows. For each
    n prints the success that no private learner exceeds (certified in exact arithmetic), the success of the learner
    found, on the distributions of the program and a lower bound over all distributions, and beside them the exact
    success of other learners on the same distributions.

    Example: dpjax optimum "thresholds(2)" --n 2 4 6 8 --epsilon 1 --alpha 0.3
    Example: dpjax optimum "thresholds(2)" --n 2 4 6 8 --alpha 0.3 --grid 4 --rounds 0
    Example: dpjax optimum "points(3)" --n 4 --alpha 0.3 --delta 0.01 --proper --learners KLN
    """

    compiles: ClassVar[bool] = True
    matrix: tyro.conf.Positional[str]
    """The class, as for `dpjax dimension`: "thresholds(2)" has the empty concept, "Thresholds(2)" has not."""
    n: tuple[Whole, ...] = (2, 4, 6, 8)
    """Numbers of rows."""
    epsilon: Real = 1.0
    """Privacy parameter epsilon, at most 16."""
    delta: Real = 0.0
    """Privacy parameter delta; 0 for pure privacy."""
    alpha: Real = 0.3
    """Accuracy alpha, the largest error of a good hypothesis (agnostic: beyond the best concept's)."""
    relation: str = "replace-one"
    """Neighboring relation: replace-one, or add-or-remove-one over databases of at most n rows."""
    k: Whole = 1
    """Number of concepts that are learned at once; all of them have to be good."""
    proper: bool = False
    """Hypotheses are concepts of the class; otherwise all functions on the domain."""
    agnostic: bool = False
    """Rows come from any distribution of labeled elements."""
    noise: Real = 0.0
    """Every label is flipped with this probability, below 1/2."""
    grid: Whole = 4
    """The program begins with all distributions whose probabilities are multiples of 1/grid."""
    rounds: Whole = 20
    """How often the found learner's worst distributions are added; 0 for those of the grid alone."""
    gap: Real = 0.001
    """Rounds end when the two bounds over all distributions differ by at most this."""
    learners: tuple[str, ...] = ("KLN",)
    """Learners to compare, with their arguments as for `dpjax curve`."""
