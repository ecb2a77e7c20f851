"""Writes docs/slack.md: the rows that theorems ask for, beside those that suffice when measured.

Run: python scripts/slack.py [--out FOLDER] [--seed SEED] [--trials TRIALS] [--store FOLDER]
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dpjax.concepts import Domain, Parities, Points, Thresholds, UniformCube, distributions, tree_generators
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.cells import Cells, Setting
from dpjax.experiments.hard import gapped_thresholds, hard_points, hard_thresholds, hard_tree, wrong_children
from dpjax.experiments.lower_bounds import lower_bound
from dpjax.experiments.n_star import bracket, cells_in, guess
from dpjax.experiments.n_star import rate as success_rate
from dpjax.experiments.reports import options, table, write_page
from dpjax.experiments.search import geometric_grid
from dpjax.experiments.task import Task
from dpjax.learners import (
    KLN,
    HashedPoints,
    ImproperVC1,
    ParityLearner,
    PointLearner,
    ProperVC1,
    StablePoints,
    ThresholdMedian,
)

BETA, GAMMA, ERROR, RATIO, LEAST, GUESSES = 0.1, 0.05, 0.05, 2 ** (1 / 8), 4, 128
POINTS = Points(Domain(2**32))
HEAD = f"""# Theorems beside measurements

Written by `scripts/slack.py`, beta = {BETA:g}, delta = 1e-6 where it is not 0, replace-one. "theorem" is the n that the
learner's `sample_size` proves to suffice for every distribution; (low, high] is the bracket of n*, the least n at which
{1 - BETA:g} of the trials succeed on this workload, with confidence {1 - ERROR:g}; "slack" is theorem / high. On a
workload that is not the hardest a large slack says little about the proof; of each learner the first workload is the
hardest that we know. Success at the theorem's n is that of
{{trials}} trials. No private learner of the class has fewer rows than "below" (`dpjax plan` says by which argument).

"""


@dataclass(frozen=True)
class Entry:
    """A learner and a workload in words, both as made, the number of concepts, epsilon, delta and alpha.

    most: the largest slack that is allowed, a test of the page; None for no promise.
    """

    learner: str
    workload: str
    make: Callable[[], tuple[Any, Task]]
    k: int
    epsilon: float
    delta: float
    alpha: float
    most: float | None = None


def _atoms(alpha: float) -> Task:
    """As many points of mass just above alpha as there can be, which are the targets."""
    atoms = round(1 / alpha) - 1
    law = distributions.heavy(POINTS.domain, atoms, 1.01 * alpha)
    return Task(POINTS, law, distributions.spread(POINTS.domain, atoms))


def _points(
    learner: str, make: Callable[[int], Any], k: int, epsilon: float, delta: float, alpha: float,
    most: float | None = None,
) -> list[Entry]:  # fmt: skip
    """On the points that are hardest to release, on those of which one is rare, and on Zipf's law."""
    works: dict[str, Callable[[], Task]] = {
        "as many points above alpha as fit": lambda: _atoms(alpha),
        "one point above alpha": lambda: hard_points(POINTS, alpha),
        "Zipf, 64 points": lambda: Task(POINTS, distributions.zipf(POINTS.domain, 64, 1.0)),
    }
    return [
        Entry(learner, name, lambda work=work: (make(k), work()), k, epsilon, delta, alpha, None if i else most)
        for i, (name, work) in enumerate(works.items())
    ]  # fmt: skip


def _thresholds(
    learner: str, make: Callable[[Any], Any], bits: int, epsilon: float, delta: float, most: float | None = None
) -> list[Entry]:
    """On adjacent good thresholds with a gap on both sides, on a single good threshold, and on uniform elements."""
    concepts = Thresholds(Domain(2**bits))
    works: dict[str, Callable[[], Task]] = {
        f"steps in a gap, 2^{bits}": lambda: gapped_thresholds(concepts, 0.1, min(1024, 2**bits // 4)),
        f"one good threshold of 2^{bits}": lambda: hard_thresholds(concepts, 0.1),
        f"uniform, 2^{bits}": lambda: Task(concepts, distributions.uniform(concepts.domain)),
    }
    return [
        Entry(learner, name, lambda work=work: (make(concepts), work()), 1, epsilon, delta, 0.1, None if i else most)
        for i, (name, work) in enumerate(works.items())
    ]  # fmt: skip


def entries() -> list[Entry]:
    """All rows of the page."""
    return [
        *_points("StablePoints", lambda k: StablePoints(POINTS), 16, 1.0, 1e-6, 0.2, 2.0),
        *_points("StablePoints", lambda k: StablePoints(POINTS), 16, 4.0, 1e-6, 0.2, 2.0),
        *_points("StablePoints", lambda k: StablePoints(POINTS), 16, 1.0, 1e-6, 0.1, 2.0),
        *_points("PointLearner", lambda k: PointLearner(POINTS), 16, 1.0, 1e-6, 0.2),
        *_points("HashedPoints", lambda k: HashedPoints(POINTS, k), 1, 1.0, 0.0, 0.2),
        *_points("KLN", lambda k: KLN(POINTS), 1, 1.0, 0.0, 0.2),
        *_thresholds("KLN", KLN, 48, 1.0, 0.0),
        *_thresholds("ThresholdMedian", ThresholdMedian, 48, 1.0, 0.0),
        *(one for bits in (4, 16, 48, 64) for one in _thresholds("ImproperVC1", ImproperVC1, bits, 1.0, 1e-6, 2.0)),
        *_thresholds("ImproperVC1, Algorithm 2", partial(ImproperVC1, subsamples="fewest"), 16, 1.0, 1e-6),
        *_thresholds("ImproperVC1, RecPrefix", partial(ImproperVC1, method="recprefix"), 64, 1.0, 1e-6),
        *_trees("ProperVC1", 0.1, 5.0),
        *_trees("ProperVC1", 0.3, 5.0),
        Entry("ParityLearner", "uniform, d = 24", _parities, 16, 1.0, 1e-6, 0.2),
    ]


def _trees(learner: str, alpha: float, most: float) -> list[Entry]:
    """On an improper node with one good child, and on chains of improper nodes with leaves beside them."""
    wide, long = tree_generators.prefixes(2, wrong_children(alpha) + 1), tree_generators.caterpillar(6, 2, 1.0)
    works: dict[str, Callable[[], tuple[Any, Task]]] = {
        f"one good child of {wrong_children(alpha) + 1}": lambda: (ProperVC1(wide), hard_tree(wide, alpha)),
        "uniform, a chain of 6 improper nodes": lambda: (
            ProperVC1(long), Task(long, distributions.uniform(long.domain))
        ),
    }  # fmt: skip
    return [
        Entry(learner, name, make, 1, 4.0, 1e-6, alpha, None if i else most)
        for i, (name, make) in enumerate(works.items())
    ]


def _parities() -> tuple[Any, Task]:
    concepts = Parities(24)
    return ParityLearner(concepts), Task(concepts, UniformCube(24), concepts.targets(64))


def measured(entry: Entry, trials: int, cells: Cells) -> dict[str, Any]:
    """The theorem's n with its success, the bracket of n*, and the lower bound."""
    learner, task = entry.make()
    privacy, accuracy = Privacy(entry.epsilon, entry.delta), Accuracy(entry.alpha, BETA)
    theorem = learner.sample_size(privacy, accuracy)
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
