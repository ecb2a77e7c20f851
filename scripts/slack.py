"""Writes slack.md: the rows that theorems ask for, beside those that suffice when measured.

Run: python scripts/slack.py [--out FOLDER] [--seed SEED] [--trials TRIALS] [--store FOLDER]
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from pages import options, table, write_page

from dpjax.concepts import (
    ConvexPolygons,
    Domain,
    Points,
    Thresholds,
    Tree,
    UniformPlane,
    distributions,
    tree_generators,
)
from dpjax.core import bit_strings as bits
from dpjax.core import keys
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.run.cells import Cells
from dpjax.experiments.run.n_star import bracket, cells_in, guess
from dpjax.experiments.run.n_star import rate as success_rate
from dpjax.experiments.statistics.sequential_search import Bracket, geometric_grid, search
from dpjax.experiments.sweep.hard_polygons import hard_polygon
from dpjax.experiments.sweep.hard_tasks import (
    gapped_thresholds,
    hard_chain,
    hard_points,
    hard_splits,
    hard_thresholds,
    hard_tree,
)
from dpjax.experiments.sweep.lower_bounds import lower_bound
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.task import Task
from dpjax.learners import (
    KLN,
    GenericLearner,
    HashedPoints,
    ImproperVC1,
    PointLearner,
    PolygonLearner,
    ProperVC1,
    StablePoints,
    ThresholdMedian,
)
from dpjax.sanitizers import Hierarchy, PointCounts, Sanitizer, worst_gap
from dpjax.theory.edges import EdgeMargin

BETA, ERROR, RATIO, LEAST, GUESSES = 0.1, 0.05, 2 ** (1 / 8), 4, 128
POINTS = Points(Domain(2**32))
HEIGHTS = (4, 16, 48, 64)  # bits of the height of a path
STABLE = ((1.0, 0.2), (4.0, 0.2), (1.0, 0.1))  # epsilon, alpha
_BLOCK = 100  # trials of a sanitizer in one call
HEAD = f"""# How loose are the theorems? Proved and measured sizes

The number of rows that a theorem asks for, divided by what suffices when measured, for learners whose theorem runs. On
the hardest workload several theorems leave hardly anything to gain; a large ratio means loose constants, or a workload
that is not the hardest.

Written by `scripts/slack.py`, beta = {BETA:g}, delta = 1e-6 where it is not 0, replace-one. "theorem" is the n that the
learner's `sample_size` proves to suffice for every distribution; "bracket" is (n_low, n_high] of n* on this workload:
with confidence {1 - ERROR:g} success is below {1 - BETA:g} at n_low and at least {1 - BETA:g} at n_high
([what a bracket says](../explain/bracket.md)); "slack" is theorem /
n_high. On a workload that is not the hardest a large slack says little about the proof; of each learner and class the
first workload is the hardest that we know (each tree is a class). Success at the theorem's n is that of {{trials}}
trials. With fewer rows than "below" no private learner of the class succeeds on every distribution (`dpjax plan` says
by which argument); on one workload fewer may do. A theorem without a page of proof is the paper's, or a textbook's. The
margin of the edges of polygons is 2^-12 of the square's side, see `EdgeMargin` there; without it `PolygonLearner` asks
for {{every}} rows. `ImproperVC1` at more heights: [vc1-height.md](vc1-height.md).

"""


@dataclass(frozen=True)
class Goal:
    """k concepts at error alpha within a budget."""

    k: int
    privacy: Privacy
    accuracy: Accuracy


class Subject(Protocol):
    """What has a theorem and is measured on one workload."""

    def theorem(self, goal: Goal) -> int:
        """The theorem's n."""
        ...

    def below(self, goal: Goal) -> int | None:
        """Rows that every private algorithm needs; None if no bound is known."""
        ...

    def measure(self, goal: Goal, n: int, trials: int, cells: Cells) -> tuple[float, Bracket]:
        """The share of ``trials`` that succeed at the theorem's n, and the bracket of n*."""
        ...


@dataclass(frozen=True)
class Learned:
    """A learner on a task. agnostic: whether the theorem is."""

    learner: Any
    task: Task
    agnostic: bool = False

    def theorem(self, goal: Goal) -> int:
        """The learner's sample size."""
        size = self.learner.agnostic_sample_size if self.agnostic else self.learner.sample_size
        return int(size(goal.privacy, goal.accuracy))

    def below(self, goal: Goal) -> int:
        """The best lower bound for the class."""
        return lower_bound(self.task, goal.k, goal.privacy, goal.accuracy).n

    def measure(self, goal: Goal, n: int, trials: int, cells: Cells) -> tuple[float, Bracket]:
        """Trials of a study; success means that all k concepts are good."""
        budget, (alpha, beta) = goal.privacy, (goal.accuracy.alpha, goal.accuracy.beta)
        setting = Setting(self.learner, self.task, goal.k, n, budget.epsilon, budget.delta, alpha, beta, "slack")
        at, grid = success_rate(setting, cells, trials), geometric_grid(LEAST, n, RATIO)
        start = guess(setting, cells, grid, min(GUESSES, trials), 1 - BETA) or n
        star = bracket(setting, cells, grid, start=start, error=ERROR, trials=8 * trials)
        return at.successes / at.trials, star


@dataclass(frozen=True)
class Database:
    """A threshold sanitizer on the databases ``rows(n, plan)``; success means that no threshold errs by over alpha."""

    sanitizer: Sanitizer
    rows: Callable[[int, Any], Array]

    def theorem(self, goal: Goal) -> int:
        """The sanitizer's sample size."""
        return self.sanitizer.sample_size(goal.privacy, goal.accuracy)

    def below(self, goal: Goal) -> None:
        """No bound."""

    def measure(self, goal: Goal, n: int, trials: int, cells: Cells) -> tuple[float, Bracket]:
        """Keyed runs, with separate keys for success at the theorem's n and for the search."""
        plan = self.sanitizer.plan(goal.privacy, goal.accuracy)
        least = max(LEAST, n // 8)  # above the rows that the database has at least

        def good(purpose: str, n: int, count: int) -> tuple[int, int]:
            of = keys.stream(keys.stream(keys.root(cells.seed), purpose), str(n))
            x = self.rows(n, plan)
            blocks = [keys.per_index(of, count)[at : at + _BLOCK] for at in range(0, count, _BLOCK)]
            gaps = [_gaps(self.sanitizer, block, x, plan) for block in blocks]
            over, under = (np.concatenate(part) for part in zip(*gaps, strict=True))
            return int(np.sum(over <= under * goal.accuracy.alpha)), count

        successes, done = good("success", n, trials)
        grid = geometric_grid(least, n, RATIO)
        star = search(partial(good, "search"), grid, BETA, ERROR, trials=8 * trials, start=n / 2, stride=2)
        return successes / done, star


@partial(jax.jit, static_argnums=0)
def _gaps(sanitizer: Any, own: Array, x: Array, plan: Any) -> tuple[Array, Array]:
    mask = jnp.ones(x.shape[0], bool)
    return jax.lax.map(lambda key: worst_gap(sanitizer.sanitize(key, x, mask, plan), x, mask), own)


@dataclass(frozen=True)
class Entry:
    """A subject and its workload in words, and as made; the goal.

    most: the largest slack that is promised, a test of the page; None for no promise. proof: a page of docs/proofs.
    """

    learner: str
    workload: str
    make: Callable[[], Subject]
    goal: Goal
    most: float | None = None
    proof: str | None = None


def _goal(k: int, epsilon: float, delta: float, alpha: float) -> Goal:
    return Goal(k, Privacy(epsilon, delta), Accuracy(alpha, BETA))


def _rows(
    learner: str,
    works: dict[str, Callable[[], Subject]],
    goal: Goal,
    most: float | None = None,
    proof: str | None = None,
) -> Iterator[Entry]:
    """One entry a workload; the promise is for the first."""
    for i, (name, make) in enumerate(works.items()):
        yield Entry(learner, name, make, goal, None if i else most, proof)


def _points(
    learner: str, make: Callable[[int], Any], goal: Goal, most: float | None = None, proof: str | None = None
) -> Iterator[Entry]:
    """On as many points of mass just above alpha as there can be, and on Zipf's law."""
    alpha = float(goal.accuracy.alpha)
    atoms = round(1 / alpha) - 1
    heavy = distributions.heavy(POINTS.domain, atoms, 1.01 * alpha)
    spread = distributions.spread(POINTS.domain, atoms)
    works = {
        "as many points above alpha as fit": lambda: Learned(make(goal.k), Task(POINTS, heavy, spread)),
        "Zipf, 64 points": lambda: Learned(make(goal.k), Task(POINTS, distributions.zipf(POINTS.domain, 64, 1.0))),
    }
    yield from _rows(learner, works, goal, most, proof)


def _stable(epsilon: float, alpha: float) -> Iterator[Entry]:
    goal = _goal(16, epsilon, 1e-6, alpha)
    return _points("StablePoints", lambda k: StablePoints(POINTS), goal, 2.0, "stable-points")


def _improper(log_size: int, goal: Goal) -> Iterator[Entry]:
    return _thresholds("ImproperVC1", ImproperVC1, log_size, goal, "gapped", 2.0, "deepest-rows")


def _hashed() -> Iterator[Entry]:
    """On one point just above alpha = .2, and on one among twenty others."""
    crowd = distributions.from_weights(POINTS.domain, range(1, 22), [2020] + [399] * 20)
    works = {
        "one point above alpha": lambda: Learned(HashedPoints(POINTS, 1), hard_points(POINTS, 0.2)),
        "one point above alpha, 20 others": lambda: Learned(HashedPoints(POINTS, 1), Task(POINTS, crowd, [1])),
    }
    yield from _rows("HashedPoints", works, _goal(1, 1.0, 0.0, 0.2), 2.0, "hashed-points")


def _noisy(
    learner: str, make: Callable[[int], Any], goal: Goal, most: float | None = None, proof: str | None = None
) -> Iterator[Entry]:
    """On noisy labels of one point, the loss of which is just above alpha = .2."""

    def task(mass: float, noise: float) -> Task:
        law = distributions.heavy(POINTS.domain, 1, mass)
        return Task(POINTS, law, distributions.spread(POINTS.domain, 1), noise=noise)

    works = {
        f"mass {mass}, noise {noise}": partial(lambda *of: Learned(make(goal.k), task(*of), True), mass, noise)
        for mass, noise in ((0.9, 0.38), (0.52, 0.3))
    }
    yield from _rows(f"{learner}, agnostic", works, goal, most, proof)


def _thresholds(
    learner: str,
    make: Callable[[Thresholds], Any],
    log_size: int,
    goal: Goal,
    hardest: str = "one good threshold",
    most: float | None = None,
    proof: str | None = None,
) -> Iterator[Entry]:
    """On adjacent good thresholds without rows beside them, and on a single good one."""
    concepts, alpha = Thresholds(Domain(2**log_size)), float(goal.accuracy.alpha)
    works = {
        "gapped": lambda: Learned(make(concepts), gapped_thresholds(concepts, alpha, min(1024, 2**log_size // 4))),
        "one good threshold": lambda: Learned(make(concepts), hard_thresholds(concepts, alpha)),
    }
    works = {hardest: works.pop(hardest)} | works
    yield from _rows(f"{learner}, thresholds of 2^{log_size}", works, goal, most, proof)


def _proper() -> Iterator[Entry]:
    """On a tree with one choice among nine children, and on one with eight choices between two."""

    def subject(tree: Tree, task: Callable[[Tree, float], Task]) -> Learned:
        return Learned(ProperVC1(tree), task(tree, 0.1))

    works = {
        "prefixes(2, 9), one choice": lambda: subject(tree_generators.prefixes(2, 9), hard_tree),
        "caterpillar(9, 1), eight choices": lambda: subject(tree_generators.caterpillar(9, 1, 1.0), hard_chain),
    }
    yield from _rows("ProperVC1", works, _goal(1, 4.0, 1e-6, 0.1), 5.0, "proper-descent")


def _hierarchy() -> Iterator[Entry]:
    """On a database that tempts the medians of the last levels, and on two wide clusters."""

    def tempting(n: int, plan: Any) -> Array:
        return bits.encode(hard_splits(n, 32, [float(one) for one in plan.medians]), 32)

    def clusters(n: int, plan: Any) -> Array:
        places = [2**28 * (1 + 14 * (2 * i // n)) + i for i in range(n)]
        return bits.encode(places, 32)

    works = {
        "tempting medians": lambda: Database(Hierarchy(32), tempting),
        "two clusters of adjacent values": lambda: Database(Hierarchy(32), clusters),
    }
    yield from _rows("Hierarchy, 32 bits", works, _goal(1, 1.0, 0.0, 0.1), 2.0, "hierarchy")


def _polygons() -> Iterator[Entry]:
    """Edges with a margin of 2^-12 of the side: where each round is tempted, and uniform examples."""
    concepts, goal = ConvexPolygons(2**16, 4), _goal(1, 4.0, 1e-6, 0.1)
    width, side = 2**4, 2**16

    def subject(task: Task, missed: float) -> Learned:
        return Learned(PolygonLearner(concepts, k=4, margin=EdgeMargin(width, side, missed)), task)

    works = {
        "each round is tempted": lambda: subject(hard_polygon(concepts, 0.1, width), 0.0),
        "random quadrilaterals": lambda: subject(Task(concepts, UniformPlane(concepts.d)), 1e-3),
    }
    yield from _rows("PolygonLearner, 4 edges with a margin", works, goal, 4.0, "set-cover-rows")


def _every() -> int:
    goal = _goal(1, 4.0, 1e-6, 0.1)
    return PolygonLearner(ConvexPolygons(2**16, 4), k=4).sample_size(goal.privacy, goal.accuracy)


def _counted(k: int) -> GenericLearner:
    return GenericLearner(POINTS, k, PointCounts(POINTS.domain), "zcdp")


def entries() -> list[Entry]:
    """All rows of the page."""
    paths = _goal(1, 1.0, 1e-6, 0.1)
    return [
        *(one for epsilon, alpha in STABLE for one in _stable(epsilon, alpha)),
        *_points("PointLearner", lambda k: PointLearner(POINTS), _goal(16, 1.0, 1e-6, 0.2)),
        *_hashed(),
        *(one for bits in HEIGHTS for one in _improper(bits, paths)),
        *_proper(),
        *_thresholds("KLN", KLN, 32, _goal(1, 1.0, 0.0, 0.1)),
        *_thresholds("ThresholdMedian", ThresholdMedian, 32, _goal(1, 1.0, 0.0, 0.1)),
        *_points("GenericLearner, counted points", _counted, _goal(16, 4.0, 1e-6, 0.2), 2.0, "generic"),
        *_noisy("GenericLearner, counted points", _counted, _goal(16, 4.0, 1e-6, 0.2), 5.0, "generic"),
        *_hierarchy(),
        *_polygons(),
    ]


def measured(entry: Entry, trials: int, cells: Cells) -> dict[str, Any]:
    """The theorem's n with its success, the bracket of n*, and the lower bound."""
    subject = entry.make()
    theorem = subject.theorem(entry.goal)
    success, star = subject.measure(entry.goal, theorem, trials, cells)
    return {
        "theorem": theorem,
        "success": success,
        "low": star.n_low,
        "high": star.n_high,
        "below": subject.below(entry.goal),
    }


def row(entry: Entry, found: dict[str, Any]) -> list[Any]:
    """One row of the page."""
    slack = f"{found['theorem'] / found['high']:.2f}" if found["high"] else None
    star, goal = f"({found['low'] or 0}, {found['high'] or 'more'}]", entry.goal
    return [
        entry.learner,
        entry.workload,
        goal.k,
        goal.privacy.epsilon,
        goal.accuracy.alpha,
        found["theorem"],
        f"{found['success']:.4f}",
        star,
        slack,
        found["below"],
        entry.proof and f"[{entry.proof}](../proofs/{entry.proof}.md)",
    ]


def main(out: Path, seed: int, trials: int, chosen: Sequence[Entry] | None = None, store: Path | None = None) -> None:
    """Measures everything, writes the page."""
    rows = []
    with cells_in(store, seed) as cells:
        for entry in entries() if chosen is None else chosen:
            rows.append(row(entry, measured(entry, trials, cells)))
            print(*rows[-1], flush=True)
    head = (
        "learner",
        "workload",
        "k",
        "epsilon",
        "alpha",
        "theorem",
        "success there",
        "bracket",
        "slack",
        "below",
        "proof",
    )
    write_page(out / "slack.md", HEAD.format(trials=trials, every=_every()) + table(head, rows))


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=2000)
    main(given.out, given.seed, given.trials, store=given.store)
