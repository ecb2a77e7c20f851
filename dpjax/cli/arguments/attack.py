"""Flags of `dpjax attack`. Imports no JAX."""

from dataclasses import dataclass
from typing import ClassVar

import tyro

from dpjax.cli.arguments.base import Command
from dpjax.cli.arguments.numbers import Real, Whole


@dataclass
class AttackCommand(Command):
    """Attack a learner of k concepts with a fingerprinting code: does it betray a participant?

    A random codebook gives each of n users a code word of k bits. The code words become the labels of a database, the
    learner's hypotheses on it spell a word, and the code traces this word to users. Over many codebooks, prints how
    often a user is accused while in the database and while not, with exact intervals, and the least epsilon for which a
    private learner could do this: an accurate learner of many concepts from few rows cannot be private. The exit status
    is 1 if the learner's guarantee is refuted.

    The code BonehShaw labels as thresholds do, for any learner of a class with n + 1 labelings of n elements; the code
    Tardos is for agnostic learners of any class.

    With --packing there is no code: the databases of all 2^k targets of --k concepts, whose answers exclude each
    other, and the least epsilon with which a learner can be right on all of them as often as this one; exactly for
    learners with a finite law.

    Example: dpjax attack ERM
    Example: dpjax attack KLN --packing --k 3 --n 8
    Example: dpjax attack KLN --epsilon 1 --code Tardos --users 8
    Example: dpjax attack ERM --code "BonehShaw(calibration=printed)" --users 6
    Example: dpjax attack "Independent(KLN, composition=zcdp)" --k 425 --sample-size --json
    """

    compiles: ClassVar[bool] = True
    learner: tyro.conf.Positional[str] = "ERM"
    """A learner of `dpjax list` with its arguments, or module:Learner of your own."""
    concepts: str = "Thresholds(64)"
    """The concept class."""
    code: str = "BonehShaw"
    """BonehShaw or Tardos with arguments, such as "Tardos(score=original)", or module:Code of your own."""
    users: Whole | None = None
    """Users of the code, at least 2; by default 4, or as many as need at most --k columns."""
    k: Whole | None = None
    """Columns of the code, the number of concepts; by default what the code needs."""
    packing: bool = False
    """Pack all 2^k targets instead of a code; --k is at most 10, by default 3, and --n by default 8."""
    security: Real | None = None
    """Probability xi that the code accuses an innocent user; by default 0.05."""
    n: Whole | None = None
    """Rows of the database, at least --users: the others are junk; by default --users."""
    sample_size: bool = False
    """Take the learner's own sample size as --n, by its theorem at this epsilon, delta, alpha and beta."""
    epsilon: Real = 1.0
    """Privacy parameter epsilon of the learner's plan."""
    delta: Real = 1e-6
    """Privacy parameter delta of the learner's plan, and of the implied epsilon of a learner without privacy."""
    alpha: Real = 0.1
    """Accuracy alpha of the learner's plan."""
    beta: Real = 0.1
    """Failure probability beta of the learner's plan."""
    trials: Whole = 1000
    """Codebooks with everybody present, and as many with one user absent; a quarter more choose this user."""
    confidence: Real = 0.95
    """Confidence of each interval and of the implied epsilon."""
    seed: Whole = 0
    """Root of all random keys."""
