"""Section 4 of Bun, Nissim, Stemmer 2016 in numbers: who is traced from how many rows, and the codes' exponents.

Reference: Bun, Nissim, Stemmer 2016, Corollaries 4.6 and 4.10.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from papers.crossing import Crossing, slow
from papers.traced import Leaky

from dpjax.attacks import BonehShaw, CoalitionAttack, Report, Tardos, demonstrate
from dpjax.attacks.codes.base import Code
from dpjax.attacks.rates import Rate
from dpjax.baselines import ERM
from dpjax.concepts import Domain, Points, Thresholds
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.statistics.bands import Exponent, fit_exponent
from dpjax.learners import KLN, GenericLearner, Independent, PointLearner
from dpjax.learners.columns import for_concepts
from dpjax.sanitizers import PointCounts

SECURITY, CONFIDENCE = 0.05, 0.999
PRIVACY, HUGE, ACCURACY = Privacy(1.0, 1e-6), Privacy(1024.0, 1e-6), Accuracy(0.3, 0.1)
THRESHOLDS, POINTS = Thresholds(Domain(64)), Points(Domain(16))
COUNTS = GenericLearner(POINTS, 1, PointCounts(POINTS.domain), composition="zcdp")
LONGEST = 1 << 14
"""Columns of the longest code of a sweep."""
Brackets = Sequence[tuple[int, int, int]]
"""(n, k below the crossing, k above)."""


def _short(n: int, k: int) -> BonehShaw:
    return BonehShaw(n, SECURITY, k=max(k, n + 1), complete=False)


def _tardos(n: int, k: int) -> Tardos:
    return Tardos(n, SECURITY, k=k, threshold="chernoff")


@dataclass(frozen=True)
class Case:
    """A learner against a code. part: of the trials. own: as many rows as its theorem asks for, else one for a user."""

    name: str
    learner: Any
    code: Code
    part: float = 1.0
    own: bool = False

    def run(self, trials: int, seed: int) -> Report:
        """At `PRIVACY` and `ACCURACY`; at least 20 trials."""
        rows = None
        if self.own:
            learner = for_concepts(self.learner, self.code.length)
            rows = max(self.code.users, learner.sample_size(PRIVACY, ACCURACY))
        attack = CoalitionAttack(self.learner, self.code, rows)
        return demonstrate(attack, PRIVACY, ACCURACY, max(20, round(self.part * trials)), seed, CONFIDENCE)


_FREE, _LEAK = "ERM, not private", "ERM with a claim: a planted leak"
CASES = (
    Case(_FREE, ERM(THRESHOLDS), BonehShaw(4, SECURITY)),
    Case(_FREE, ERM(THRESHOLDS), BonehShaw(8, SECURITY)),
    Case(_FREE, ERM(POINTS), Tardos(4, SECURITY, score="original", threshold="proof"), 0.1),
    Case(_FREE, ERM(POINTS), Tardos(8, SECURITY)),
    Case(_LEAK, Leaky(THRESHOLDS), BonehShaw(4, SECURITY)),
    Case(_LEAK, Leaky(POINTS), Tardos(8, SECURITY)),
    Case("Independent KLN", Independent(KLN(THRESHOLDS), 1, "zcdp"), BonehShaw(4, SECURITY), 0.05, own=True),
    Case("Independent KLN", Independent(KLN(POINTS), 1, "zcdp"), Tardos(2, SECURITY), 0.1, own=True),
    Case("GenericLearner", COUNTS, Tardos(2, SECURITY), 0.1, own=True),
    Case("PointLearner", PointLearner(POINTS), Tardos(2, SECURITY), 0.1, own=True),
)


@dataclass(frozen=True)
class Fractions:
    """Learners against codes of k columns for several n. learners: (name, learner, budget)."""

    title: str
    code: Callable[[int, int], Code]
    k: int
    users: tuple[int, ...]
    learners: tuple[tuple[str, Any, Privacy], ...]

    def rates(self, learner: Any, privacy: Privacy, trials: int, seed: int) -> list[Rate]:
        """For each n, how often the participant who is accused most often in other runs is accused."""
        attacks = (CoalitionAttack(learner, self.code(n, self.k)) for n in self.users)
        return [demonstrate(attack, privacy, ACCURACY, trials, seed, CONFIDENCE).present for attack in attacks]


def _usual(concepts: Any) -> tuple[tuple[str, Any, Privacy], ...]:
    kln = Independent(KLN(concepts), 1, "zcdp")
    return (
        ("ERM, not private", ERM(concepts), PRIVACY),
        (f"KLN, epsilon = {float(HUGE.epsilon):g}", kln, HUGE),
        ("KLN, epsilon = 1", kln, PRIVACY),
    )


FRACTIONS = (
    Fractions(
        "Tardos, $k = 1024$",
        _tardos,
        1024,
        (2, 4, 5, 6, 7, 8, 11, 16, 32),
        (
            *_usual(POINTS),
            ("GenericLearner, epsilon = 1", COUNTS, PRIVACY),
            ("PointLearner, epsilon = 1", PointLearner(POINTS), PRIVACY),
        ),
    ),
    Fractions("Boneh-Shaw, $k = 512$", _short, 512, (2, 4, 8, 16, 28, 32, 36, 40, 48), _usual(THRESHOLDS)),
)


@dataclass(frozen=True)
class Sweep:
    """A crossing at several n; claimed: the exponent of n in k."""

    name: str
    claimed: float
    crossing: Crossing
    users: tuple[int, ...]


def _of_tardos(n: int) -> float:
    return math.pi**2 / 2 * n * n * math.log(n / SECURITY)


SWEEPS = (
    Sweep("Tardos, ERM", 1 / 2, Crossing(_tardos, ERM(POINTS), lambda n: 0, _of_tardos), (3, 4, 6, 8, 11, 15, 20)),
    Sweep(
        "Boneh-Shaw, slow",
        1 / 3,
        Crossing(_short, slow, lambda n: n - 1, lambda n: (n + 1) * n * n * math.log(n / SECURITY)),
        (3, 4, 5, 6, 8, 10, 12),
    ),
    Sweep(
        "Boneh-Shaw, ERM",
        1,
        Crossing(_short, ERM(THRESHOLDS), lambda n: n // 2, lambda n: (n + 1) * 2 * math.log(n / SECURITY)),
        (4, 8, 16, 32, 48),
    ),
)


def crossings(codebooks: int, seed: int) -> Iterator[tuple[Sweep, Brackets]]:
    """Each sweep with the brackets that end by `LONGEST`."""
    for sweep in SWEEPS:
        brackets = [(n, *sweep.crossing.bracket(n, codebooks, seed, CONFIDENCE)) for n in sweep.users]
        jax.clear_caches()  # thousands of programs exhaust the memory maps of a process
        yield sweep, [bracket for bracket in brackets if bracket[2] <= LONGEST]


def every_word() -> Brackets:
    """(n, k, k): the Boneh-Shaw code with n users and k columns traces whatever satisfies the marking assumption."""
    lengths = ((n, BonehShaw(n, SECURITY).length) for n in range(3, 65))
    return [(n, k, k) for n, k in lengths if k <= LONGEST]


def exponent(brackets: Brackets, log: bool = True) -> Exponent:
    """Of k (over ln(n / xi) if ``log``) in n: the reciprocal of that of n in k."""
    users = np.array([n for n, _, _ in brackets], float)
    factor = np.log(users / SECURITY) if log else 1.0
    low, high = (np.array([bracket[end] for bracket in brackets], float) / factor for end in (1, 2))
    return fit_exponent(users, low, high)
