"""Writes docs/slack.md: the rows that theorems ask for, beside those that suffice when measured.

Run: python scripts/slack.py [--out FOLDER] [--seed SEED] [--trials TRIALS] [--store FOLDER]
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpjax.concepts import Domain, Points, distributions
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.cells import Cells, Setting
from dpjax.experiments.hard import (
    hard_points,
)
from dpjax.experiments.lower_bounds import lower_bound
from dpjax.experiments.n_star import bracket, cells_in, guess
from dpjax.experiments.n_star import rate as success_rate
from dpjax.experiments.reports import options, table, write_page
from dpjax.experiments.search import geometric_grid
from dpjax.experiments.task import Task
from dpjax.learners import (
    GenericLearner,
    HashedPoints,
    PointLearner,
    StablePoints,
)
from dpjax.sanitizers import PointCounts

BETA, GAMMA, ERROR, RATIO, LEAST, GUESSES = 0.1, 0.05, 0.05, 2 ** (1 / 8), 4, 128
POINTS = Points(Domain(2**32))
_BLOCK = 100  # trials of a sanitizer in one call
HEAD = f"""# Theorems beside measurements

Written by `scripts/slack.py`, beta = {BETA:g}, delta = 1e-6 where it is not 0, replace-one. "theorem" is the n that the
learner's `sample_size` proves to suffice for every distribution; (low, high] is the bracket of n*, the least n at which
{1 - BETA:g} of the trials succeed on this workload, with confidence {1 - ERROR:g}; "slack" is theorem / high. On a
workload that is not the hardest a large slack says little about the proof; of each learner the first workload is the
hardest that we know. Success at the theorem's n is that of {{trials}} trials. No private learner of the class has fewer
rows than "below" (`dpjax plan` says by which argument). For `ImproperVC1`: [vc1-height.md](vc1-height.md).

"""


@dataclass(frozen=True)
class Entry:
    """A learner and a workload in words, both as made, the number of concepts, epsilon, delta and alpha.

    most: the largest slack that is promised, a test of the page; None for no promise. agnostic: whether the theorem is.
    """

    learner: str
    workload: str
    make: Callable[[], tuple[Any, Task]]
    k: int
    epsilon: float
    delta: float
    alpha: float
    most: float | None = None
    agnostic: bool = False


def _rows(
    learner: str, works: dict[str, Callable[[], tuple[Any, Task]]], k: int, epsilon: float, delta: float, alpha: float,
    most: float | None = None, agnostic: bool = False,
) -> list[Entry]:  # fmt: skip
    """One entry a workload; the promise is for the first."""
    return [
        Entry(learner, name, make, k, epsilon, delta, alpha, None if i else most, agnostic)
        for i, (name, make) in enumerate(works.items())
    ]


def _points(learner: str, make: Callable[[int], Any], k: int, epsilon: float, delta: float, alpha: float,
            most: float | None = None) -> list[Entry]:  # fmt: skip
    """On as many points of mass just above alpha as there can be, and on Zipf's law."""
    atoms = round(1 / alpha) - 1
    heavy = distributions.heavy(POINTS.domain, atoms, 1.01 * alpha)
    works = {
        "as many points above alpha as fit": lambda: (
            make(k), Task(POINTS, heavy, distributions.spread(POINTS.domain, atoms))
        ),
        "Zipf, 64 points": lambda: (make(k), Task(POINTS, distributions.zipf(POINTS.domain, 64, 1.0))),
    }  # fmt: skip
    return _rows(learner, works, k, epsilon, delta, alpha, most)


def _hashed() -> list[Entry]:
    """On one point just above alpha = .2, and on one among twenty others."""
    crowd = distributions.from_weights(POINTS.domain, range(1, 22), [2020] + [399] * 20)
    works = {
        "one point above alpha": lambda: (HashedPoints(POINTS, 1), hard_points(POINTS, 0.2)),
        "one point above alpha, 20 others": lambda: (HashedPoints(POINTS, 1), Task(POINTS, crowd, [1])),
    }
    return _rows("HashedPoints", works, 1, 1.0, 0.0, 0.2, 2.0)


def _noisy(learner: str, make: Callable[[int], Any], k: int, epsilon: float, delta: float,
           most: float | None = None) -> list[Entry]:  # fmt: skip
    """On noisy labels of one point, the loss of which is just above alpha = .2."""

    def task(mass: float, noise: float) -> Task:
        law = distributions.heavy(POINTS.domain, 1, mass)
        return Task(POINTS, law, distributions.spread(POINTS.domain, 1), noise=noise)

    works = {
        f"mass {mass}, noise {noise}": lambda mass=mass, noise=noise: (make(k), task(mass, noise))
        for mass, noise in ((0.9, 0.38), (0.52, 0.3))
    }
    return _rows(f"{learner}, agnostic", works, k, epsilon, delta, 0.2, most, True)


def _counted(k: int) -> GenericLearner:
    return GenericLearner(POINTS, k, PointCounts(POINTS.domain), "zcdp")


def entries() -> list[Entry]:
    """All rows of the page."""
    return [
        *_points("StablePoints", lambda k: StablePoints(POINTS), 16, 1.0, 1e-6, 0.2, 2.0),
        *_points("StablePoints", lambda k: StablePoints(POINTS), 16, 4.0, 1e-6, 0.2, 2.0),
        *_points("StablePoints", lambda k: StablePoints(POINTS), 16, 1.0, 1e-6, 0.1, 2.0),
        *_points("PointLearner", lambda k: PointLearner(POINTS), 16, 1.0, 1e-6, 0.2),
        *_hashed(),
        *_points("GenericLearner, counted points", _counted, 16, 4.0, 1e-6, 0.2, 2.0),
        *_noisy("GenericLearner, counted points", _counted, 16, 4.0, 1e-6, 5.0),
    ]


def measured(entry: Entry, trials: int, cells: Cells) -> dict[str, Any]:
    """The theorem's n with its success, the bracket of n*, and the lower bound."""
    learner, task = entry.make()
    privacy, accuracy = Privacy(entry.epsilon, entry.delta), Accuracy(entry.alpha, BETA)
    size = learner.agnostic_sample_size if entry.agnostic else learner.sample_size
    theorem = size(privacy, accuracy)
    setting = Setting(learner, task, entry.k, theorem, entry.epsilon, entry.delta, entry.alpha, BETA, "slack")
    at = success_rate(setting, cells, trials)
    grid = geometric_grid(LEAST, theorem, RATIO)
    start = guess(setting, cells, grid, min(GUESSES, trials), 1 - BETA) or theorem
    star = bracket(setting, cells, grid, start=start, gamma=GAMMA, error=ERROR, cap=8 * trials)
    below = lower_bound(task, entry.k, privacy, accuracy).n
    return {"theorem": theorem, "success": at.successes / at.trials, "low": star.n_low, "high": star.n_high,
            "below": below}  # fmt: skip


def row(entry: Entry, found: dict[str, Any]) -> list[Any]:
    """One row of the page."""
    slack = f"{found['theorem'] / found['high']:.2f}" if found["high"] else None
    star = f"({found['low'] or 0}, {found['high'] or 'more'}]"
    return [entry.learner, entry.workload, entry.k, entry.epsilon, entry.alpha, found["theorem"],
            f"{found['success']:.4f}", star, slack, found["below"]]  # fmt: skip


def main(out: Path, seed: int, trials: int, chosen: Sequence[Entry] | None = None, store: Path | None = None) -> None:
    """Measures everything, writes the page."""
    rows = []
    with cells_in(store, seed) as cells:
        for entry in entries() if chosen is None else chosen:
            rows.append(row(entry, measured(entry, trials, cells)))
            print(*rows[-1], flush=True)
    head = ("learner", "workload", "k", "epsilon", "alpha", "theorem", "success there", "n*", "slack", "below")
    write_page(out / "slack.md", HEAD.format(trials=trials) + table(head, rows))


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=2000)
    main(given.out, given.seed, given.trials, store=given.store)
