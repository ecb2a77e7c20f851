"""Writes one-tree.md: n* of k concepts of one class of VC dimension 1, over k, and what no private learner can do.

Run: python scripts/one_tree.py [--out FOLDER] [--seed SEED] [--store FOLDER]
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, exp
from pathlib import Path
from typing import Any

import numpy as np
from pages import about, figure_path, options, table, write_page

from dpjax.attacks import BonehShaw
from dpjax.baselines import ERM
from dpjax.concepts import Domain, Thresholds, Tree, distributions, tree_generators
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.experiments.run.cells import Cells
from dpjax.experiments.run.n_star import bracket, cells_in
from dpjax.experiments.statistics.bands import fit_exponent
from dpjax.experiments.statistics.sequential_search import TRIALS, Bracket, geometric_grid
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.task import Task
from dpjax.learners import KLN, GenericLearner, ImproperVC1, Independent, StableNodes
from dpjax.plots.lines import Line, Panel, plot_lines
from dpjax.sanitizers import RecursiveQuantiles
from dpjax.theory.points import stable_points

EPSILON, DELTA, ALPHA, BETA = 1.0, 1e-6, 0.2, 0.1
RATIO, FROM = 2 ** (1 / 4), 16  # of the brackets; the k from which exponents are fitted
KS, FEW = (1, 4, 16, 64, 256), (1, 16, 64, 256)
PRIVACY, ACCURACY = Privacy(EPSILON, DELTA), Accuracy(ALPHA, BETA)
ONE, SUM, IMPROPER, FREE = "one sample, joint", "direct sum, KLN, zCDP", "direct sum, ImproperVC1", "ERM, not private"
STABLE = "StableNodes"


def stable(height: int) -> int:
    """Rows of a stability histogram of nodes and labels for all trees of this height, see docs/proofs/one-tree.md."""
    return stable_points(EPSILON, DELTA, ALPHA / height, BETA, Neighboring.REPLACE_ONE)


HEAD = f"""# Many concepts of one class of VC dimension 1

Many concepts of one class of VC dimension 1 are learned at once: is there a price that does not grow with their number?
On long chains there is none, since participants could be traced; on low trees with right labels there is. Otherwise it
pays to sanitize the unlabeled nodes once, compared with learning concept by concept, as soon as there are many
concepts.

Written by `python scripts/one_tree.py`: k concepts of one tree at once, labels right, epsilon = {EPSILON:g}, delta =
{DELTA:g}, alpha = {ALPHA:g}, beta = {BETA:g}. Two pairs of neighboring nodes have mass 1.01 alpha each, and each target
is drawn from two nodes, the upper ones of the pairs: it is the only good concept, so a learner has to find it among all
|C|.

**No price that does not grow with k.** k thresholds in a known order are concepts of every class with a long chain, and
the columns of the Boneh-Shaw code are such thresholds. So a private learner needs about k^(1/3) rows up to
logarithms, as long as the chain is longer than that ([proof](../proofs/one-tree.md); the attack runs:
`python scripts/fingerprinting.py` traces ERM of 64 thresholds by `attacks.BonehShaw`,
[measured](fingerprinting.md)).

**On a short chain there is one.** The bound stops at the height. Where labels are right, a stability histogram of
nodes and their labels pays for the height in place of k (same proof): {stable(1)} rows for points (`StablePoints`)
and {stable(23)} for all trees of height 23, for every k. On the distributions of this page its sample size is
{stable(1)} for every k, since the node of each target has a mass above alpha. `StableNodes` is this learner (improper
where the deepest node that is released is). What follows needs neither a low height nor labels that are right.

**What can be had.** `GenericLearner(tree, k, RecursiveQuantiles(bits, levels=5, ties=0), "joint")` sanitizes the
unlabeled nodes once; each concept is then chosen among few nodes, quantiles and their lowest common ancestors. The
domain is paid for once, the choices grow with the square root of k, and both are one zCDP composition. Proper (every
hypothesis is a concept of the class), realizable and agnostic.

Measured n*: brackets, each right with probability 0.95: success is below {1 - BETA:g} at the lower end and at least
{1 - BETA:g} at the upper one. In italics numbers planned by the theorem, where none is measured; a dash
is not run.

"""
MIDDLE = """
Exponents of k over k = {first} ... {last}, with the range that the brackets allow. Composition alone has 1/2; the
logarithm of k in the union bound is the rest. The lower bound has 1/3.

"""
PLANNED = """
Numbers planned by the theorems for the same k:

"""
LOWER = """
Rows that every private learner of k thresholds on a chain needs for empirical error alpha, by tracing: n / (2 alpha)
for the largest n whose code has k columns or fewer.

"""
TAIL = """
![n* against k](figures/one-tree.png)

`StableNodes` needs hardly more rows for 256 concepts than for one: each node of these targets is heavy. Its theorem
is for the worst distribution, in which all nodes of a path are just too light.

The direct sum of KLN pays ln |C| in each of its k choices, the one sample only ln of what it lists, at most 34 nodes of
a chain and 66 of a tree, and the quantiles once. So the gap grows with k and with |C|; for few concepts the direct sum
needs fewer rows. `ImproperVC1` spends delta on each concept, so its direct sum has no zCDP, and pays for ln(1/delta) k
times.

The theorem of KLN is nearly exact here; that of the one sample has a factor of 2 to 10. It counts the rows of the
largest interval, twice on a tree that branches and four times if the tree has improper nodes, which these
distributions do not reach. So by planned numbers the direct sum is the better choice up to larger k and |C| than by
measured ones. The budget is split between sample and choices by the theorem, too.
"""


@dataclass(frozen=True)
class Work:
    """A task, the k at which each learner is measured, and the bits of a node number."""

    name: str
    task: Task
    bits: int
    ks: Sequence[int]
    measured: dict[str, int]
    """The largest k at which a learner is measured."""


def of_line(size: int) -> Task:
    """Two thresholds, each with 1.01 alpha at its element and at the next one."""
    line = Thresholds(Domain(size))
    return _task(
        line, [0, *(place + i for place in (size // 3, 2 * size // 3) for i in (0, 1))], [size // 3, 2 * size // 3]
    )


def of_tree(tree: Tree) -> Task:
    """Two nodes with a single child, a leaf, far from each other; 1.01 alpha at each of the four."""
    children = np.bincount(tree.parent[1:], minlength=tree.size)
    tops = np.flatnonzero((children == 1) & (tree.tout - np.arange(tree.size) == 2))
    chosen = [int(tops[len(tops) // 3]), int(tops[2 * len(tops) // 3])]
    point = {int(node): i for i, node in enumerate(tree.place.tolist())}
    return _task(tree, [point[1], *(point[node + i] for node in chosen for i in (0, 1))], chosen)


def _task(concepts: Any, elements: Sequence[int], targets: Sequence[int]) -> Task:
    unit = 2**40
    each = -(-101 * round(unit * ALPHA) // 100)
    law = distributions.from_weights(concepts.domain, elements, [unit - 4 * each, *[each] * 4])
    return Task(concepts, law, targets)


def works() -> tuple[Work, ...]:
    """Thresholds of 16 and of 64 bits, and a random tree."""
    tree = tree_generators.recursive(2**16 - 1, seed=1)
    every = {ONE: 256, SUM: 256, IMPROPER: 16}
    return (
        Work("thresholds, 2^16", of_line(2**16), 16, KS, every | {FREE: 256}),
        Work(f"random tree, 2^16 nodes, height {tree.height}", of_tree(tree), 16, KS, every | {STABLE: 256}),
        Work("thresholds, 2^64", of_line(2**64), 64, FEW, {ONE: 256, SUM: 64}),
    )


def learners(concepts: Any, k: int, bits: int) -> dict[str, tuple[Callable[[], Any], int]]:
    """By name, what makes the learner of k concepts, and where to look for its n* at k = 1."""
    return {
        STABLE: (lambda: StableNodes(concepts), 200),
        ONE: (lambda: GenericLearner(concepts, k, RecursiveQuantiles(bits, levels=5, ties=0), "joint"), 600),
        SUM: (lambda: Independent(KLN(concepts), k, "zcdp"), 150 * bits // 16),
        IMPROPER: (lambda: Independent(ImproperVC1(concepts, "exponential"), k, "optimal"), 800),
        FREE: (lambda: ERM(concepts), 16),
    }


def main(
    out: Path, seed: int, chosen: Sequence[Work] | None = None, store: Path | None = None, trials: int = TRIALS
) -> None:
    """Brackets, page and figure."""
    with cells_in(store, seed) as cells:
        found = [row for work in (works() if chosen is None else chosen) for row in _measured(work, cells, trials)]
    ks = sorted({row.k for row in found})
    names = list(dict.fromkeys((row.work, row.learner) for row in found))
    at = {(row.work, row.learner, row.k): row for row in found}
    page = HEAD + table(
        ["class", "learner", *(f"k = {k}" for k in ks)],
        ([*name, *(_shown(at.get((*name, k))) for k in ks)] for name in names),
    )
    fits = [[*name, *_exponents([at[*name, k] for k in ks if (*name, k) in at and k >= FROM])] for name in names]
    page += MIDDLE.format(first=max(FROM, ks[0]), last=ks[-1])
    page += table(["class", "learner", "measured", "of the planned numbers"], fits) + PLANNED
    page += table(
        ["class", "learner", *(f"k = {k}" for k in ks)],
        ([*name, *(_planned(at.get((*name, k))) for k in ks)] for name in names),
    )
    columns = [*ks, 10**3, 10**4, 10**5, 10**6, 10**7]
    page += LOWER + table([f"k = {k:,}" for k in columns], [[traced(k) for k in columns]]) + TAIL
    write_page(out / "one-tree.md", page)
    panels = [
        Panel(work, "concepts $k$", "examples $n$", [*_lines(work, found)], ticks=ks)
        for work in dict.fromkeys(row.work for row in found)
    ]
    config = {"script": "one_tree", "epsilon": EPSILON, "delta": DELTA, "alpha": ALPHA, "beta": BETA, "trials": trials}
    plot_lines(panels, figure_path(out, "one-tree"), about(config, seed), r"$n^*$ over $k$")


@dataclass(frozen=True)
class Row:
    """A bracket or None, and the planned number."""

    work: str
    learner: str
    k: int
    star: Bracket | None
    planned: int


def _measured(work: Work, cells: Cells, trials: int) -> Iterator[Row]:
    starts: dict[str, float] = {}
    for k in work.ks:
        for name, (make, start) in learners(work.task.concepts, k, work.bits).items():
            if name not in work.measured:
                continue
            learner = make()
            planned, star = learner.sample_size_of(k, PRIVACY, ACCURACY), None
            if k <= work.measured[name]:
                setting = Setting(learner, work.task, k, 1, EPSILON, DELTA, ALPHA, BETA)
                grid = geometric_grid(4, max(64, 2 * planned), RATIO)
                begin = starts.get(name, start)
                star = bracket(setting, cells, grid, start=min(begin, grid[-1]), trials=trials)
                if star.n_high:
                    starts[name] = star.n_high * 1.9
                print(work.name, name, k, star.n_low, star.n_high, planned, flush=True)
            yield Row(work.name, name, k, star, planned)


def _shown(row: Row | None) -> str | None:
    if row is None:
        return None
    return f"*{row.planned}*" if row.star is None else f"({row.star.n_low}, {row.star.n_high}]"


def _planned(row: Row | None) -> int | None:
    return None if row is None else row.planned


def _ends(rows: Sequence[Row]) -> list[tuple[int, int, int]]:
    """k and both ends, of the brackets that have two."""
    return [(row.k, s.n_low, s.n_high) for row in rows if (s := row.star) and s.n_low and s.n_high]


def _exponents(rows: Sequence[Row]) -> Iterator[str | None]:
    whole = _ends(rows)
    for ends in (whole, [(row.k, row.planned, row.planned) for row in rows]):
        if len(ends) < 2:
            yield None
            continue
        fit = fit_exponent(*map(list, zip(*ends, strict=True)))
        yield f"{fit.slope:.2f} [{fit.low:.2f}, {fit.high:.2f}]" if ends is whole else f"{fit.slope:.2f}"


def traced(k: int) -> int | None:
    """Rows by docs/proofs/one-tree.md; None if no code for two users has k columns."""
    security, users = exp(-EPSILON) * (1 - BETA) / 2, 1
    while BonehShaw(users + 1, security).length <= k:
        users += 1
    return ceil(users / (2 * ALPHA)) if users > 1 and (1 - BETA) / (2 * users) > DELTA else None


def _lines(work: str, rows: Sequence[Row]) -> Iterator[Line]:
    for name in dict.fromkeys(row.learner for row in rows if row.work == work):
        own = [row for row in rows if (row.work, row.learner) == (work, name)]
        if seen := _ends(own):
            x, low, high = map(list, zip(*seen, strict=True))
            middle = [(a * b) ** 0.5 for a, b in zip(low, high, strict=True)]
            yield Line(f"{name}, n* measured", name, x, middle, low, high)
        yield Line(f"{name}, planned", name, [row.k for row in own], [row.planned for row in own], kind="theorem")


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=1)
    main(given.out, given.seed, store=given.store)
