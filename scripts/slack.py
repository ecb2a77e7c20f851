"""Writes docs/slack.md: the rows that theorems ask for, beside those that suffice when measured.

Run: python scripts/slack.py [--out FOLDER] [--seed SEED] [--trials TRIALS] [--store FOLDER]
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from dpjax.concepts import Domain, Parities, Points, Thresholds, UniformCube, distributions
from dpjax.core import keys
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.cells import Cells, Setting
from dpjax.experiments.hard import hard_points, hard_splits, hard_thresholds
from dpjax.experiments.lower_bounds import lower_bound
from dpjax.experiments.n_star import bracket, cells_in, guess
from dpjax.experiments.n_star import rate as success_rate
from dpjax.experiments.reports import options, table, write_page
from dpjax.experiments.search import geometric_grid, search
from dpjax.experiments.task import Task
from dpjax.learners import (
    KLN,
    GenericLearner,
    HashedPoints,
    ImproperVC1,
    Independent,
    ParityLearner,
    PointLearner,
    StablePoints,
    ThresholdMedian,
)
from dpjax.mechanisms.median.bits import encode
from dpjax.sanitizers import Hierarchy, PointCounts, worst_gap

BETA, GAMMA, ERROR, RATIO, LEAST, GUESSES = 0.1, 0.05, 0.05, 2 ** (1 / 8), 4, 128
POINTS, LINE = Points(Domain(2**32)), Thresholds(Domain(2**32))
_BLOCK = 100  # trials of a sanitizer in one call
HEAD = f"""# Theorems beside measurements

Written by `scripts/slack.py`, beta = {BETA:g}, delta = 1e-6 where it is not 0, replace-one. "theorem" is the n that the
learner's `sample_size` proves to suffice for every distribution; (low, high] is the bracket of n*, the least n at which
{1 - BETA:g} of the trials succeed on this workload, with confidence {1 - ERROR:g}; "slack" is theorem / high. On a
workload that is not the hardest a large slack says little about the proof. Success at the theorem's n is that of
{{trials}} trials. No private learner of the class has fewer rows than "below" (`dpjax plan` says by which argument).

"""


@dataclass(frozen=True)
class Entry:
    """A learner and a workload in words, both as made, the number of concepts, epsilon, delta and alpha."""

    learner: str
    workload: str
    make: Callable[[], tuple[Any, Task]]
    k: int
    epsilon: float
    delta: float
    alpha: float
    agnostic: bool = False


@dataclass(frozen=True)
class Rows:
    """A threshold sanitizer and rows that are hard for it: ``rows(plan, n)``, for epsilon = 1, delta = 0."""

    sanitizer: Any
    workload: str
    rows: Callable[[Any, int], list[int]]
    alpha: float


def _atoms(alpha: float) -> Task:
    """As many points of mass just above alpha as there can be, which are the targets."""
    atoms = round(1 / alpha) - 1
    law = distributions.heavy(POINTS.domain, atoms, 1.01 * alpha)
    return Task(POINTS, law, distributions.spread(POINTS.domain, atoms))


def _points(
    learner: str, make: Callable[[int], Any], k: int, epsilon: float, delta: float, alpha: float
) -> list[Entry]:
    """On the points that are hardest to release, on those of which one is rare, and on Zipf's law."""
    works: dict[str, Callable[[], Task]] = {
        "as many points above alpha as fit": lambda: _atoms(alpha),
        "one point above alpha": lambda: hard_points(POINTS, alpha),
        "Zipf, 64 points": lambda: Task(POINTS, distributions.zipf(POINTS.domain, 64, 1.0)),
    }
    return [
        Entry(learner, name, lambda work=work: (make(k), work()), k, epsilon, delta, alpha)
        for name, work in works.items()
    ]  # fmt: skip


def _thresholds(learner: str, make: Callable[[Any], Any], bits: int, epsilon: float, delta: float) -> list[Entry]:
    """On two elements around the only good threshold, and on uniform elements."""
    concepts = Thresholds(Domain(2**bits))
    works: dict[str, Callable[[], Task]] = {
        f"one good threshold of 2^{bits}": lambda: hard_thresholds(concepts, 0.1),
        f"uniform, 2^{bits}": lambda: Task(concepts, distributions.uniform(concepts.domain)),
    }
    return [
        Entry(learner, name, lambda work=work: (make(concepts), work()), 1, epsilon, delta, 0.1)
        for name, work in works.items()
    ]  # fmt: skip


def entries() -> list[Entry]:
    """All rows of the page."""
    return [
        *_points("StablePoints", lambda k: StablePoints(POINTS), 16, 1.0, 1e-6, 0.2),
        *_points("StablePoints", lambda k: StablePoints(POINTS), 16, 4.0, 1e-6, 0.2),
        *_points("StablePoints", lambda k: StablePoints(POINTS), 16, 1.0, 1e-6, 0.1),
        *_points("PointLearner", lambda k: PointLearner(POINTS), 16, 1.0, 1e-6, 0.2),
        *_points("HashedPoints", lambda k: HashedPoints(POINTS, k), 1, 1.0, 0.0, 0.2),
        Entry(
            "HashedPoints",
            "one point above alpha, 20 more",
            lambda: (HashedPoints(POINTS, 1), _crowded()),
            1,
            1.0,
            0.0,
            0.2,
        ),
        *_points("GenericLearner, counted points", _counted, 16, 4.0, 1e-6, 0.2),
        *_agnostic("GenericLearner, counted points", _counted, 16, 4.0, 1e-6),
        Entry(
            "GenericLearner, three-way splits",
            "one good threshold of 2^32",
            lambda: (_split(16), hard_thresholds(LINE, 0.2)),
            16,
            4.0,
            1e-6,
            0.2,
        ),
        Entry(
            "GenericLearner, three-way splits, agnostic",
            "one good threshold of 2^32, noise .1",
            lambda: (_split(16), hard_thresholds(LINE, 0.25, 0.1)),
            16,
            4.0,
            1e-6,
            0.2,
            True,
        ),
        *_points("KLN", lambda k: KLN(POINTS), 1, 1.0, 0.0, 0.2),
        *_agnostic("KLN", lambda k: KLN(POINTS), 1, 1.0, 0.0),
        *_agnostic("Independent KLN, zcdp", lambda k: Independent(KLN(POINTS), k, "zcdp"), 16, 4.0, 1e-6),
        *_thresholds("KLN", KLN, 48, 1.0, 0.0),
        *_thresholds("ThresholdMedian", ThresholdMedian, 48, 1.0, 0.0),
        *(one for bits in (4, 16, 48, 64) for one in _thresholds("ImproperVC1", ImproperVC1, bits, 1.0, 1e-6)),
        Entry("ParityLearner", "uniform, d = 24", _parities, 16, 1.0, 1e-6, 0.2),
    ]


def _crowded() -> Task:
    """One point just above alpha = .2, and twenty others."""
    law = distributions.from_weights(POINTS.domain, range(1, 22), [2020] + [399] * 20)
    return Task(POINTS, law, [1])


def _noisy(mass: float, noise: float) -> Task:
    """One point whose labels are flipped with probability ``noise``; missing it costs mass (1 - 2 noise)."""
    return Task(
        POINTS, distributions.heavy(POINTS.domain, 1, mass), distributions.spread(POINTS.domain, 1), noise=noise
    )


def _counted(k: int) -> GenericLearner:
    return GenericLearner(POINTS, k, PointCounts(POINTS.domain), "zcdp")


def _split(k: int) -> GenericLearner:
    return GenericLearner(LINE, k, Hierarchy(32), "zcdp")


def _agnostic(learner: str, make: Callable[[int], Any], k: int, epsilon: float, delta: float) -> list[Entry]:
    """On noisy labels: excess errors just above alpha = .2 of much mass and much noise, and of less of both."""
    works = {
        "mass .9, noise .38": lambda: _noisy(0.9, 0.38), "mass .52, noise .3": lambda: _noisy(0.52, 0.3),
        "points above alpha, noise .1": lambda: hard_points(POINTS, 0.25, 0.1),
    }  # fmt: skip
    return [
        Entry(f"{learner}, agnostic", name, lambda work=work: (make(k), work()), k, epsilon, delta, 0.2, True)
        for name, work in works.items()
    ]  # fmt: skip


def sanitizers() -> list[Rows]:
    """Hierarchies on the database that misleads their medians, and on nested values."""

    def splits(bits: int) -> Callable[[Any, int], list[int]]:
        return lambda plan, n: hard_splits(n, bits, [float(one) for one in plan.medians])

    def nested(bits: int) -> Callable[[Any, int], list[int]]:
        return lambda plan, n: [2 ** (bits - 1) ^ 1 << i % bits for i in range(n)]

    return [
        Rows(Hierarchy(bits), name, rows(bits), 0.1)
        for bits in (16, 32, 64) for name, rows in (("misleading splits", splits), ("nested values", nested))
    ]  # fmt: skip


def _parities() -> tuple[Any, Task]:
    concepts = Parities(24)
    return ParityLearner(concepts), Task(concepts, UniformCube(24), concepts.targets(64))


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


def measured_rows(one: Rows, trials: int, seed: int) -> list[Any]:
    """The row of a sanitizer: as `measured`, with its own trials."""
    privacy, accuracy = Privacy(1.0, 0.0), Accuracy(one.alpha, BETA)
    plan, theorem = one.sanitizer.plan(privacy, accuracy), one.sanitizer.sample_size(privacy, accuracy)
    capacity, limit = 1 << (theorem - 1).bit_length(), Fraction(one.alpha).limit_denominator(1000)

    @partial(jax.jit, static_argnums=3)
    def gaps(key: Any, x: Any, mask: Any, count: int) -> tuple[Any, Any]:
        run = lambda own: worst_gap(one.sanitizer.sanitize(own, x, mask, plan), x, mask)  # noqa: E731
        return jax.lax.map(run, keys.per_index(key, count))

    def evaluate(n: int, count: int) -> tuple[int, int]:
        whole = -(-count // _BLOCK)
        x = np.zeros((capacity, -(-one.sanitizer.bits // 32)), np.uint32)
        x[:n] = encode(one.rows(plan, n), one.sanitizer.bits)
        good = 0
        for block in range(whole):
            key = keys.stream(keys.stream(keys.root(seed), f"n {n}"), f"block {block}")
            over, under = (np.asarray(part).astype(object) for part in gaps(key, x, np.arange(capacity) < n, _BLOCK))
            good += int(np.sum(over * limit.denominator <= under * limit.numerator))
        return good, whole * _BLOCK

    good, done = evaluate(theorem, trials)
    grid = geometric_grid(theorem // 8, theorem, RATIO)
    star = search(evaluate, grid, BETA, GAMMA, ERROR, cap=2 * trials, start=theorem / 2)
    found = {"theorem": theorem, "success": good / done, "low": star.n_low, "high": star.n_high, "below": None}
    words = f"{type(one.sanitizer).__name__}, 2^{one.sanitizer.bits}"
    return row(Entry(words, one.workload, lambda: (None, None), 1, 1.0, 0.0, one.alpha), found)  # type: ignore[arg-type,return-value]


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
    for one in sanitizers() if chosen is None else []:
        rows.append(measured_rows(one, trials, seed))
        print(*rows[-1], flush=True)
    head = ("learner", "workload", "k", "epsilon", "alpha", "theorem", "success there", "n*", "slack", "below")
    write_page(out / "slack.md", HEAD.format(trials=trials) + table(head, rows))


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=2000)
    main(given.out, given.seed, given.trials, store=given.store)
