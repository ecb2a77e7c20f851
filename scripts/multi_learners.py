"""Writes multi-learners.md: every learner of many concepts at its planner's n, on four kinds of data.

Run: python scripts/multi_learners.py [--out FOLDER] [--seed SEED] [--trials TRIALS]
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pages import options, table, write_page

from dpjax.concepts import Domain, Finite, Parities, Points, Thresholds, UniformCube, distributions
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.run.cells import Cells
from dpjax.experiments.run.n_star import cells_in
from dpjax.experiments.run.n_star import rate as success_rate
from dpjax.experiments.sweep.hard_tasks import hard_thresholds
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.task import Task
from dpjax.learners import KLN, EmpiricalLearner, GenericLearner, HashedPoints, Independent, ParityLearner, PointLearner
from dpjax.sanitizers import MWEM, Hierarchy, PointCounts

ALPHA, BETA = 0.2, 0.1
PURE, APPROXIMATE, ACCURACY = Privacy(8.0, 0.0), Privacy(4.0, 1e-6), Accuracy(ALPHA, BETA)
POINTS, THRESHOLDS, PARITIES = Points(Domain(2**32)), Thresholds(Domain(2**32)), Parities(48)
MATRIX = Finite.of(np.array([[i >> j & 1 for j in range(4)] for i in range(16)], bool))
KINDS, NOISE = ("uniform", "zipf", "adversarial"), (0.0, 0.1, 0.3)
HEAD = f"""# Success of learners of many concepts at their planned sizes

Learners of many concepts, each at the number of rows that its planner asks for, on easy and on adversarial
distributions. None falls short of its claim. Where success is close to the claim the plan is tight; where every trial
succeeds, the plan pays for distributions that are worse than these.

Written by `scripts/multi_learners.py`: alpha = {ALPHA:g}, beta = {BETA:g}; pure learners at epsilon = {PURE.epsilon:g},
the others at ({APPROXIMATE.epsilon:g}, {APPROXIMATE.delta:g}); replace-one. Points and thresholds of 32 bits, all
functions on four elements, parities of {PARITIES.dimension} bits (from uniform examples). n is the planner's;
success, all k hypotheses within alpha, in {{trials}} trials, with its exact interval at confidence
0.95; claimed {1 - BETA:g}.

Realizable labels:

"""
MIDDLE = """
Agnostic: labels are flipped with the given probability, and errors are in excess of the best concept's.

"""
TAIL = """
Planned numbers hold for every distribution, so success is far above the claim on most: the proofs add the errors of
sanitizer, choice and generalization. The closer success is to the claim, the tighter is the proof.
"""


@dataclass(frozen=True)
class Entry:
    """A learner in words, the learner itself, its concepts and its budget."""

    name: str
    learner: Any
    k: int
    privacy: Privacy


def entries() -> tuple[Entry, ...]:
    """The learners."""
    few, many = 16, 256
    mwem = GenericLearner(MATRIX, few, MWEM(MATRIX.xor()), "zcdp")
    rounds = mwem.plan(APPROXIMATE, ACCURACY).sanitizer.rounds
    counted = GenericLearner(POINTS, few, PointCounts(POINTS.domain), "zcdp")
    singles = Independent(KLN(POINTS), few, "zcdp")
    return (
        Entry("direct sum of KLN, points", Independent(KLN(POINTS), few), few, PURE),
        Entry("direct sum of KLN, points, zCDP", singles, few, APPROXIMATE),
        Entry("the same from a resample (Theorem 2.24)", EmpiricalLearner(singles), few, APPROXIMATE),
        Entry("direct sum of KLN, thresholds, zCDP", Independent(KLN(THRESHOLDS), few, "zcdp"), few, APPROXIMATE),
        Entry("direct sum of KLN, four elements, zCDP", Independent(KLN(MATRIX), few, "zcdp"), few, APPROXIMATE),
        Entry("hashed points (Corollary 3.3)", HashedPoints(POINTS, few), few, PURE),
        Entry("generic, counted points (Corollary 3.9)", counted, few, APPROXIMATE),
        Entry(
            "generic, thresholds (Corollary 3.10)",
            GenericLearner(THRESHOLDS, few, Hierarchy(bits=32), "zcdp"),
            few,
            APPROXIMATE,
        ),
        Entry(f"generic, four elements, MWEM of {rounds} rounds", mwem, few, APPROXIMATE),
        Entry("PointLearner (Theorem 3.13)", PointLearner(POINTS), many, APPROXIMATE),
        Entry("ParityLearner (Theorem 3.12)", ParityLearner(PARITIES), many, APPROXIMATE),
    )


def main(
    out: Path,
    seed: int,
    trials: int,
    chosen: Sequence[Entry] | None = None,
    kinds: Sequence[str] = KINDS,
    noise: Sequence[float] = NOISE,
    store: Path | None = None,
) -> None:
    """Runs everything, writes the page."""
    chosen = entries() if chosen is None else chosen
    with cells_in(store, seed) as cells:
        realizable = [row for entry in chosen for row in _rows(entry, kinds, (0.0,), trials, cells)]
        agnostic = [
            row
            for entry in chosen
            if isinstance(entry.learner, GenericLearner)
            for row in _rows(entry, kinds[-1:], noise, trials, cells, agnostic=True)
        ]
    head = ("learner", "k", "distribution", "n", "success", "interval")
    page = HEAD.format(trials=trials) + table(head, [row[:3] + row[4:] for row in realizable])
    page += MIDDLE + table(("learner", "k", "distribution", "flipped", "n", "success", "interval"), agnostic) + TAIL
    write_page(out / "multi-learners.md", page)


def _rows(
    entry: Entry, kinds: Sequence[str], noise: Sequence[float], trials: int, cells: Cells, agnostic: bool = False
) -> Iterator[tuple[Any, ...]]:
    size = entry.learner.agnostic_sample_size if agnostic else entry.learner.sample_size
    n = size(entry.privacy, ACCURACY)
    for kind in kinds if entry.learner.concepts is not PARITIES else ("uniform",):
        for rate in noise:
            epsilon, delta = float(entry.privacy.epsilon), float(entry.privacy.delta)
            task = _task(entry.learner.concepts, kind, rate)
            setting = Setting(entry.learner, task, entry.k, n, epsilon, delta, ALPHA, BETA, "multi-learners")
            found = success_rate(setting, cells, trials)
            share = found.successes / found.trials
            print(entry.name, kind, rate, n, share, flush=True)
            yield entry.name, entry.k, kind, rate, n, share, f"[{found.lower:.4f}, {found.upper:.4f}]"


def _task(concepts: Any, kind: str, noise: float) -> Task:
    if kind == "adversarial" and isinstance(concepts, Thresholds):
        return hard_thresholds(concepts, ALPHA, noise)
    hard = distributions.adversarial_finite if isinstance(concepts, Finite) else distributions.adversarial_points
    atoms = min(64, concepts.domain.size)
    laws: dict[str, Callable[[], Any]] = {
        "uniform": lambda: UniformCube(concepts.dimension) if concepts is PARITIES else distributions.uniform(domain),
        "zipf": lambda: distributions.zipf(domain, atoms, 1.0),
        "adversarial": lambda: hard(domain, ALPHA),
    }
    domain = concepts.domain
    return Task(concepts, laws[kind](), range(concepts.size) if isinstance(concepts, Finite) else None, noise)


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=2000)
    main(given.out, given.seed, given.trials, store=given.store)
