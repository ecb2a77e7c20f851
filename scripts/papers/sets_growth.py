"""Rows and global stability of lists for sets of d elements against d, measured."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpjax.concepts import Domain, PointSets, distributions
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.statistics.sequential_search import geometric_grid, search
from dpjax.experiments.sweep.task import Task
from dpjax.learners import SparseAggregate
from dpjax.lists import Irreducibility, Lists, MinimalSets
from dpjax.papers.measured_stability import Stability, stability
from dpjax.papers.simulated_counts import errors

DOMAIN, _UNIT, _LEAST, _ERROR, _RATIO = Domain(2**64), 2**40, 4, 0.05, 2**0.25
EACH = {
    (MinimalSets, "alpha / (d + 1)"): lambda d, alpha: alpha / (d + 1),
    (MinimalSets, "1.01 alpha"): lambda d, alpha: 1.01 * alpha,
    (Irreducibility, "1.01 alpha"): lambda d, alpha: 1.01 * alpha,
}
"""Mass of each element of the target. With the first the errors of the target's subsets are next to the cuts between
the levels; with 1.01 alpha each element must be found."""


@dataclass(frozen=True)
class Growth:
    """Of one d and workload. rows: of a batch, by the theorem. low, high: the bracket of the rows with which the
    theorem's number of batches succeeds. stable: lists of batches of ``high`` rows."""

    workload: tuple[type[Lists], str]
    d: int
    batches: int
    rows: int
    low: int
    high: int
    stable: Stability


def task_of(workload: tuple[type[Lists], str], d: int, alpha: float) -> Task:
    """The d elements of the target and one more."""
    concepts, elements = PointSets(DOMAIN, d), DOMAIN.spread(d + 1)
    each = round(_UNIT * EACH[workload](d, alpha))
    law = distributions.from_weights(DOMAIN, elements, [each] * d + [_UNIT - d * each])
    return Task(concepts, law, concepts.encoded([elements[:d]]))


def growth(workload: tuple[Any, str], d: int, budget: Privacy, accuracy: Accuracy, trials: int, seed: int) -> Growth:
    """A sequential search over the rows of a batch, downwards from the theorem's; the bracket is right with probability
    0.95."""
    task = task_of(workload, d, float(accuracy.alpha))
    lists = workload[0](PointSets(DOMAIN, d))
    learner = SparseAggregate(lists)
    plan, rows = learner.plan(budget, accuracy), lists.rows(accuracy)
    streams: dict[int, tuple[Iterator[float], list[bool]]] = {}

    def evaluate(n: int, asked: int) -> tuple[int, int]:
        if n not in streams:
            streams[n] = errors(learner, task, plan, n, _seed(seed, d, n), 2**31 - 1), []
        drawn, good = streams[n]
        good += [next(drawn) <= float(accuracy.alpha) for _ in range(asked - len(good))]
        return int(np.sum(good[:asked])), asked

    grid = geometric_grid(_LEAST, rows, _RATIO)
    found = search(evaluate, grid, float(accuracy.beta), _ERROR, trials=trials, start=rows / 16)
    low, high = found.n_low or _LEAST, found.n_high or rows
    return Growth(workload, d, int(plan.batches), rows, low, high, stability(lists, task, accuracy, high, trials, seed))


def _seed(*parts: int) -> int:
    """Of independent trials for each number of rows."""
    return int(np.random.SeedSequence(parts).generate_state(1)[0])
