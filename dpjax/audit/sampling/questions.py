"""What is asked of fresh trials: how often one event occurs, or how often a rule guesses the database."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpjax.accounting.guarantee import Guarantee
from dpjax.audit.outputs.events import Event
from dpjax.audit.outputs.naming import Naming
from dpjax.audit.sampling import results
from dpjax.audit.sampling.results import Result

_BOTH = 3  # both events: the rule abstains
_SURE, _CLOSER = 4.0, 2.0  # standard errors


class Question(Protocol):
    """A test that is fixed before the trials that answer it; its merits were estimated when it was selected."""

    @property
    def events(self) -> tuple[Event, ...]:
        """At most two."""
        ...

    @property
    def swapped(self) -> bool:
        """Whether the first event is more likely on the second database."""
        ...

    @property
    def merits(self) -> tuple[float, float]:
        """The expected bound on epsilon, and the excess over the claim in standard errors of one trial."""
        ...

    @property
    def coins(self) -> bool:
        """Whether the number of trials on each database must be drawn by fair coins."""
        ...

    def tested(self, first: np.ndarray, second: np.ndarray, claim: Guarantee, level: float) -> Result:
        """first, second: the number of trials with marks 0, 1, 2, 3 on each database, ``int64[4]``."""
        ...

    def shares(self, first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
        """Probabilities of success on the likely and on the other database, or of right and of wrong guesses.

        Estimated from numbers of training trials with each mark; positive.
        """
        ...

    def words(self, naming: Naming) -> str:
        """Description; naming: of the outputs."""
        ...

    @property
    def direction(self) -> str:
        """On which database the event is more likely, in words."""
        ...


@dataclass(frozen=True)
class Ratio:
    """How often an event occurs on both databases; swapped: it is more likely on the second."""

    event: Event
    swapped: bool
    merits: tuple[float, float]
    coins = False

    @property
    def events(self) -> tuple[Event, ...]:
        """See `Question`."""
        return (self.event,)

    def tested(self, first: np.ndarray, second: np.ndarray, claim: Guarantee, level: float) -> Result:
        """See `Question`."""
        likely, other = self._ordered(first, second)
        return results.of_event(int(likely[1]), int(likely.sum()), int(other[1]), int(other.sum()), claim, level)

    def shares(self, first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
        """See `Question`."""
        p, q = ((part[1] + 0.5) / (part.sum() + 1) for part in self._ordered(first, second))
        return float(p), float(q)

    def _ordered(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (second, first) if self.swapped else (first, second)

    def words(self, naming: Naming) -> str:
        """See `Question`."""
        return naming.event(self.event)

    @property
    def direction(self) -> str:
        """See `Question`."""
        return "second over first" if self.swapped else "first over second"


@dataclass(frozen=True)
class Guess:
    """How often the database is guessed: the first one in event ``of_first``, the second one in event ``of_second``.

    In both events, or in none, the rule abstains. The number of trials on each database is drawn by fair coins, see
    `guesses`.
    """

    of_first: Event
    of_second: Event
    merits: tuple[float, float]
    coins, swapped = True, False

    @property
    def events(self) -> tuple[Event, ...]:
        """See `Question`."""
        return self.of_first, self.of_second

    def tested(self, first: np.ndarray, second: np.ndarray, claim: Guarantee, level: float) -> Result:
        """See `Question`."""
        right, wrong = int(first[1] + second[2]), int(first[2] + second[1])
        return results.of_guesses(right, wrong, int(first.sum() + second.sum()), claim, level)

    def shares(self, first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
        """See `Question`."""
        total = float(first.sum() + second.sum() + 1)
        return (float(first[1] + second[2]) + 0.5) / total, (float(first[2] + second[1]) + 0.5) / total

    def words(self, naming: Naming) -> str:
        """See `Question`."""
        return f"guess first: {naming.event(self.of_first)}; guess second: {naming.event(self.of_second)}"

    @property
    def direction(self) -> str:
        """See `Question`."""
        return "both: right and wrong guesses"


def tally(marks: np.ndarray) -> np.ndarray:
    """The number of trials with each mark, ``int64[4]``."""
    return np.bincount(marks, minlength=_BOTH + 1).astype(np.int64)


def asked(of_bound: Question, of_claim: Question, fresh: int) -> list[Question]:
    """The questions to put to ``fresh`` trials a side: one at the whole level, or both if they differ in what matters.

    A separate question for the claim costs level. It is put if training saw an excess over the claim, if it is expected
    to be two standard errors closer to a refutation than the question for the bound, and if that one is not expected to
    refute the claim anyway. All of this is estimated in training, so the tests are valid.
    """
    bound_excess, claim_excess = (float(question.merits[1]) * math.sqrt(fresh) for question in (of_bound, of_claim))
    if of_bound is of_claim or claim_excess <= 0 or bound_excess >= _SURE or claim_excess - bound_excess <= _CLOSER:
        return [of_bound]
    return [of_bound, of_claim]
