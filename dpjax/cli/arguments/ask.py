"""Flags of `dpjax ask`. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from dpjax.cli.arguments.base import Command
from dpjax.cli.arguments.numbers import Real, Whole


@dataclass
class AskCommand(Command):
    """Which learner? Compare all private learners of a class, by their theorems and by measured n*.

    Names the learner with the smallest provable n and the one with the smallest measured n*, for realizable data, with
    both numbers and the lower bound of all learners. n* is measured on tasks that are hard for the class, and is the
    largest over them; learners whose n* is more than --within times the best one are not measured any further. With
    --verbose and --json, learners that refuse the class, the budget (many need a positive delta) or the relation are
    listed with the reason. Trials are stored in --store: the same question goes on where it was interrupted.
    The exit status is 4 if the code of a learner raised; the others are compared all the same.

    Example: dpjax ask "Points(2**32)" --k 16 --epsilon 1 --delta 1e-6 --alpha 0.2
    Example: dpjax ask "Thresholds(2**64)" --delta 0 --theorems
    Example: dpjax ask "Thresholds(2**10)" --distribution uniform --store results/ask
    Example: dpjax ask "mine:Intervals(64)" --import mine --learners "mine:Learner"
    """

    compiles: ClassVar[bool] = True
    resumes: ClassVar[bool] = True
    concepts: tyro.conf.Positional[str]
    """The concept class: "Points(2**32)", "caterpillar(20)", module:Class(...) of your own, a function of
    dpjax.dimensions.families such as "intervals(12)", or a CSV or .npy file of labels with a line per concept."""
    k: Whole = 1
    """Number of concepts that are learned at once; all of them have to be good."""
    epsilon: Real = 1.0
    """Privacy parameter epsilon."""
    delta: Real = 1e-6
    """Privacy parameter delta; 0 for pure privacy."""
    alpha: Real = 0.1
    """Accuracy alpha, the largest error of a good hypothesis."""
    beta: Real = 0.1
    """Failure probability beta."""
    relation: str = "replace-one"
    """Neighboring relation: replace-one or add-or-remove-one."""
    learners: Annotated[tuple[str, ...], tyro.conf.arg(aliases=["--learner"])] = ()
    """Further learners that compete: module:Name(...) of your own, or "Confident(KLN)"."""
    only: tuple[str, ...] = ()
    """Names of the public learners that compete; by default all."""
    task: tuple[str, ...] = ()
    """Tasks on which n* is measured: a function of dpjax.experiments.sweep.hard_tasks, such as "hard_points", or
    your own."""
    distribution: str | None = None
    """Instead, the distribution of the examples: uniform, "heavy(4, 0.23)", ..., or module:function(...)."""
    theorems: bool = False
    """Only compare theorems, and measure nothing."""
    verbose: bool = False
    """Also print the learners that do not compete, with the reasons, and all compositions."""
    trials: Whole = 5000
    """Trials for each learner and task, unless the bracket is one grid step before."""
    confidence: Real = 0.95
    """Confidence of each bracket of n*."""
    n_max: Whole = 2**17
    """Largest sample size considered."""
    within: Real = 2.0
    """Learners are measured up to this multiple of the best n* so far."""
    seed: Whole = 0
    """Root of all random keys."""
    store: Path = Path("results/ask")
    """Folder where trials are stored, from which the same question goes on; --theorems stores nothing."""
