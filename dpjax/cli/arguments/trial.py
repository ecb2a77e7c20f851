"""Flags of `dpjax trial`. Imports no JAX."""

from dataclasses import dataclass
from typing import ClassVar

from dpjax.cli.arguments.base import StudyFlags
from dpjax.cli.arguments.numbers import Whole


@dataclass
class TrialCommand(StudyFlags):
    """Rerun one trial of a study from its key, and print its data, hypotheses and errors.

    A study or a figure alone prints a table of what can be chosen, and runs a trial of the first; a searched one at
    n_high of its bracket, if a result has one.

    Example: dpjax trial docs/gallery/figures/composition.png
    Example: dpjax trial results/demo --learners point --k 1 --epsilon 0.5 --n 512 --trial 7
    Example: dpjax trial docs/gallery/figures/four-learners.png --learners point --k 1 --epsilon 0.5 --n 512 --trial 7
    """

    compiles: ClassVar[bool] = True
    trial: Whole = 0
    """Index of the trial; the curve uses trials 0 to --trials minus 1."""
