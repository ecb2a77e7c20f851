"""Writes generic-learners.md: private learners from the Littlestone dimension, their sizes and their stability.

Run: python scripts/generic_learners.py [--trials TRIALS] [--seed SEED] [--out FOLDER]
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from pages import about, figure_path, options, table, write_page
from papers.every_class import WIDTH, dimension_row, label_rows, leg_rows, version_space_rows
from papers.sets_growth import EACH, Growth, growth
from papers.unstated import Unstated

from dpjax.concepts import Bitwise, Domain, Finite, PointSets, Thresholds, distributions
from dpjax.concepts.distributions import from_weights
from dpjax.core.checks import InputError
from dpjax.core.intervals import clopper_pearson
from dpjax.core.types import Accuracy, Privacy
from dpjax.dimensions import families
from dpjax.experiments.run.n_star import cells_in
from dpjax.experiments.statistics.bands import fit_exponent
from dpjax.experiments.sweep.task import Task
from dpjax.learners import KLN, BitReduction, SparseAggregate
from dpjax.lists import GloballyStable, Irreducibility, Lists, MinimalSets, VersionSpace
from dpjax.papers.measured_stability import Stability, stability
from dpjax.papers.simulated_counts import errors, errors_of_labels
from dpjax.plots.files import save
from dpjax.theory import global_stability, irreducibility, kln

BUDGET, ACCURACY = Privacy(1.0, 1e-6), Accuracy(0.1, 0.05)
DIMENSIONS = (1, 2, 3, 4)
CONCEPTS, ELEMENTS = 16, 15
BATCHES, PARTS = (50, 40, 30), (1, 16, 64, 256)
LARGEST = 3000
OF_LABELS = ((2, 1), (4, 1), (16, 1), (2, 2), (4, 2))
SIZES = {MinimalSets: (1, 2, 3, 4, 5, 6), Irreducibility: (1, 2, 3)}
"""d of the lists whose growth is measured; those made on the host are slower."""
HEIGHTS = (1, 2, 4, 8, 16, 32, 64)
DIMENSION_HEADS = ("d", "n for every class", "n of a tree, exponential median", "majority")
LEG_HEADS = ("tree", "d", "n", "trials", "failures", "interval")
LABEL_HEADS = ("k + 1", "n", "trials", "failures", "interval")
GROWTH_HEADS = (
    "lists",
    "mass of each",
    "d",
    "batches",
    "rows of a batch, theorem",
    "measured",
    "n, theorem",
    "n at the upper end",
    "stability",
    "99 % interval",
)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128)
CLASSES: dict[str, Any] = {
    "points of 12": families.points(12),
    "thresholds on 2 points": families.thresholds(2),
    "thresholds on 6 points": families.thresholds(6),
    "two points of 5": families.points(5, 2),
}
HEAD = """# Generic learners from the Littlestone dimension

Private learners from lists of functions, at the sizes that their theorems ask for in terms of the Littlestone
dimension. Those that rest on stability succeed with room to spare, since their lists are far more stable than is
proved. Where the structure of a class is known the sizes are several times smaller; for a class that is given as a
matrix the exponential mechanism needs fewer rows than any of them, and lists of version spaces need as many.

Written by `python scripts/generic_learners.py --trials {trials}`. epsilon = {epsilon:g}, delta = {delta:g}, alpha =
{alpha:g}, beta = {beta:g}, realizable. All make a list of functions from each of many batches of rows and
select one that is on many lists (`SparseAggregate`); they are private whatever the lists are.

## What the theorems ask for

`GloballyStable` (after Bun, Livni and Moran 2020) asks for a number of rows that is doubly exponential in the
Littlestone dimension d, `Irreducibility` (after Ghazi, Golowich, Kumar and Manurangsi 2021) for a polynomial one: times
ln of the number of concepts, here {concepts} over {elements} elements, or, for every class, infinite ones included, of
order d^5 / (epsilon alpha) up to logarithms. The exponential mechanism over the class (`KLN`) asks for the logarithm of
its size alone: fewer rows than any of these for every matrix that fits in a computer's memory.

"""
RUN = """
A plan whose counts exceed 1 GiB is refused with its n, and runs with fewer batches only, for which nothing is proved.

## At the theorem's sizes

Counts of the rows are drawn in place of the rows themselves: the same law, and all that these learners read. Targets
are drawn uniformly, elements by Zipf's law. "Failures" are errors above alpha, or no answer; the interval is exact
(95 %).

"""
FAR = """
## Classes whose structure is known

`MinimalSets` learns the indicators of d elements: its rows depend on d alone, and the domain has 2^64 elements, 64 of
which have mass. `Irreducibility` asks the class what its version spaces are reduced to: sets by their structure, the
same domain; matrices by a search. "Without a bound" are the same sets by an oracle that does not say how long a list
may be: that is the theorem for every class of this dimension, infinite ones included, and lists are as long as they
turn out. `VersionSpace` learns a class that is given as a matrix: thresholds, of Littlestone dimension 1 to 11, and
random functions; a batch is one row. KLN, where it is listed, is the exponential mechanism over the class.

"""
EVERY = """
## Fewer rows than are enough for every class

Of a class that is given as a matrix `VersionSpace` needs as many rows as the exponential mechanism: {few} for 2^64
functions, and {more} for every further factor of 2. That is fewer than are enough for every class of Littlestone
dimension d, for any matrix that fits in a computer. So for each matrix there is a private learner, proper unless it
gives no answer, whose number of rows is at most one that is polynomial in d. On large domains structure helps: sets of
d elements have
`MinimalSets`, above. A class of VC dimension 1 is a tree (Ben-David 2015), its height at most 2^(d + 1) - 2
([proof](../proofs/irreducibility.md#trees-of-dimension-d)), and `ImproperVC1` needs a number of rows that depends on
the height alone: with the exponential median it grows with d, with majority hardly. The last two columns are those of
the tallest tree.

"""
LEGS = """
Trees with more and more legs (`Spider`): from two legs on, d and the number of rows are those of a leg. On the law of
these trials two steps of one leg have a mass just above alpha each, the target ends between them, and the rest of the
mass is at the root, so only one node is good.

"""
MATRIX_LABELS = """
1000 random functions with labels 0..k on {width} elements, bit by bit, `VersionSpace` with eight rows in each batch for
each bit, at the theorem's number of rows; elements by Zipf's law, targets uniform.

"""
LABELS = """
Labels of L bits, each of which is the indicator of d of the 2^64 elements: `BitReduction` with the same learner for
each bit (Bun, Gaboardi and Sivakumar, Theorem 3.7), to error alpha / L with probability 1 - beta / L. KLN is the
exponential mechanism over all those functions, which does not run: its n is the theorem's.

"""
FEWER = """
How many trials of {trials} fail with fewer batches than the theorem's and fewer rows in each, for `MinimalSets`. A
failure is an abstention where a selection has too few votes.

"""
GROWTH = """
## How the rows of sets grow with d

How few rows in a batch are enough for d elements of 2^64, with the theorem's number of batches: success is below
{good:g} at the lower end of the bracket and at least so at the upper one, with probability 0.95. Each element of the
target has the mass in the table. With the smaller mass the subsets of the target err next to the cuts between levels,
which is the worst case of those that were tried for `MinimalSets`; at the cuts of `Irreducibility` the zero function is
good enough. The last columns are the measured probability of the most frequent function on a list at the upper end,
with the exact 99 % interval; the theorem's rows make it .9.

"""
EXPONENTS = """
Powers of d of all rows, batches times rows of a batch: least squares over these d, with the range that the brackets
allow, beside the same fit of the theorem's numbers. The theorems in terms of the Littlestone dimension have 6 (Ghazi,
Golowich, Kumar and Manurangsi) and 5 (Lyu 2025), for every class.

"""
STABLE = """
## Measured global stability

The probability of the function that is on a list most often: chosen on {half} batches, estimated on {half} others, with
the exact 99 % interval; one target each, the elements by Zipf's law. `eta` is what the theorem promises.

"""
SWEEP = """
![Stability against the rows of a batch](figures/generic-learners.png)

The same with fewer rows in a batch than the theorem's: dashed lines are eta.
"""


def sizes(dimension: int) -> Iterator[list[Any]]:
    """A row for each learner."""
    tries = global_stability.best_attempts(dimension)
    eta = global_stability.levels(dimension, tries)[1]
    numbers = float(BUDGET.epsilon), float(BUDGET.delta), float(ACCURACY.beta)
    blocks, block = global_stability.blocks(dimension, tries), global_stability.block(eta, float(ACCURACY.alpha))
    m = global_stability.batches(eta, *numbers)
    yield ["GloballyStable", dimension, f"{eta:.3g}", 1, m, blocks * block, float(m * blocks * block)]
    found = irreducibility.sizes(dimension, CONCEPTS, ELEMENTS, float(ACCURACY.alpha))
    rows, m = found.first + found.second, irreducibility.batches(found.length, *numbers)
    yield ["Irreducibility", dimension, f"{irreducibility.ETA:.3g}", found.length, m, rows, float(m * rows)]
    every = irreducibility.sizes(dimension, None, None, float(ACCURACY.alpha))
    rows, m = every.first + every.second, irreducibility.batches(every.length, *numbers)
    name = "Irreducibility, every class"
    yield [name, dimension, f"{irreducibility.ETA:.3g}", f"{float(every.length):.3g}", m, rows, float(m * rows)]


def zipf(matrix: Any, targets: Sequence[int] | None = None) -> Task:
    """Elements by Zipf's law, the first most often."""
    concepts = Finite.of(matrix)
    return Task(concepts, distributions.zipf(concepts.domain, concepts.width, 1.0), targets)


def at_the_theorem(name: str, kind: Any, trials: int, seed: int) -> list[Any]:
    """Failures of one learner."""
    task = zipf(CLASSES[name])
    learner = SparseAggregate(kind(task.concepts))
    n = learner.sample_size(BUDGET, ACCURACY)
    found = np.array(list(errors(learner, task, learner.plan(BUDGET, ACCURACY), _rows(learner), seed, trials)))
    failures = int(np.sum(found > float(ACCURACY.alpha)))
    low, high = (float(end) for end in clopper_pearson(failures, trials))
    interval = f"[{low:.3f}, {high:.3f}]"
    return [kind.__name__, name, learner.lists.dimension, n, failures, interval, float(found.mean())]


@cache
def sets(d: int) -> Task:
    """Sets of d elements of 2^64, 64 of which have mass by Zipf's law."""
    domain = Domain(2**64)
    atoms = np.sort(np.random.default_rng(0).integers(0, 2**64, 64, dtype=np.uint64)).tolist()
    return Task(PointSets(domain, d), from_weights(domain, atoms, [10**6 // rank for rank in range(1, 65)]))


def of_sets() -> Iterator[tuple[str, Lists, Task]]:
    """Two learners of these sets."""
    for d in (1, 2, 3):
        for kind in (MinimalSets, Irreducibility):
            yield f"{d} of 2^64 elements", kind(sets(d).concepts), sets(d)


def far() -> Iterator[tuple[str, Lists, Task]]:
    """The learners that read off the structure of a class, or of its matrix, with tasks."""
    yield from of_sets()
    matrices = {f"thresholds on {size} points": families.thresholds(size) for size in (2, 4, 8, 16, LARGEST)}
    for size, width in ((1000, 64), (LARGEST, LARGEST)):
        functions = np.unique(np.random.default_rng(0).integers(0, 2, (size, width)), axis=0)
        matrices[f"{len(functions)} random functions on {width} elements"] = functions
    for name, matrix in matrices.items():
        task = zipf(matrix)
        yield name, VersionSpace(task.concepts), task
        if len(matrix) < LARGEST:
            yield name, Irreducibility(task.concepts), task
    line = Thresholds(Domain(2**10))
    yield "thresholds on 2^10 points", Irreducibility(line), Task(line, distributions.zipf(line.domain, 64, 1.0))
    for d in (1, 2, 3):
        task = Task(Unstated(sets(d).concepts.domain, d), sets(d).distribution)
        yield f"{d} of 2^64 elements, without a bound", Irreducibility(task.concepts, longest=2**1000), task


def far_row(name: str, lists: Lists, task: Task, trials: int, seed: int) -> list[Any]:
    """Failures at the theorem's size, and the rows of the exponential mechanism."""
    learner = SparseAggregate(lists)
    sizes = lists.rows(ACCURACY), lists.batches(BUDGET, ACCURACY)
    failures, mean = _failures(learner, task, sizes[0], trials, seed)
    low, high = (float(end) for end in clopper_pearson(failures, trials))
    direct = KLN(task.concepts).sample_size(BUDGET, ACCURACY) if isinstance(lists, VersionSpace) else None
    head = type(lists).__name__, name, learner.sample_size(BUDGET, ACCURACY), *sizes[::-1]
    return [*head, failures, f"[{low:.3f}, {high:.3f}]", mean, direct]


def fewer(trials: int, seed: int) -> Iterator[list[Any]]:
    """Failures of `MinimalSets` with parts of the theorem's batches and rows."""
    for name, lists, task in of_sets():
        if not isinstance(lists, MinimalSets):
            continue
        for batches in BATCHES:
            learner = SparseAggregate(lists, batches)
            rows = [lists.rows(ACCURACY) // part for part in PARTS]
            head = name, f"{batches} of {lists.batches(BUDGET, ACCURACY)}"
            yield [*head, *(f"{_failures(learner, task, one, trials, seed)[0]} ({one})" for one in rows)]


def labels_row(bits: int, d: int, trials: int, seed: int) -> list[Any]:
    """Failures of the reduction at the theorem's size."""
    task = sets(d)
    concepts, atoms = Bitwise(task.concepts, bits), task.distribution.single().tolist()
    targets = [task.concepts.encoded([atoms[i * d : (i + 1) * d]]) for i in range(bits)]
    learner = BitReduction(concepts, sets_of_bit)
    each = Accuracy(float(ACCURACY.alpha) / bits, float(ACCURACY.beta) / bits)
    lists = learner.learners[0].lists
    n, rows = learner.sample_size(BUDGET, ACCURACY), lists.rows(each)
    joint = Task(concepts, task.distribution, np.concatenate(targets, axis=1))
    plan = learner.plan(BUDGET, ACCURACY)
    found = np.array(list(errors_of_labels(learner, joint, plan, [rows] * bits, seed, trials)))
    failures = int(np.sum(found > float(ACCURACY.alpha)))
    low, high = (float(end) for end in clopper_pearson(failures, trials))
    epsilon, alpha, beta = float(BUDGET.epsilon), float(ACCURACY.alpha), float(ACCURACY.beta)
    direct = kln.realizable(concepts.size, epsilon, alpha, beta)
    head = bits, d, n, lists.batches(BUDGET, each), rows
    return [*head, failures, f"[{low:.3f}, {high:.3f}]", float(found.mean()), direct]


def sets_of_bit(bit: PointSets) -> SparseAggregate:
    """The binary learner."""
    return SparseAggregate(MinimalSets(bit))


def words(one: Growth) -> tuple[str, str]:
    """The lists and the workload."""
    lists, workload = one.workload
    return lists.__name__, workload


def growth_row(one: Growth) -> list[Any]:
    """Of the table of growth."""
    interval = f"[{one.stable.low:.3f}, {one.stable.high:.3f}]"
    head = *words(one), one.d, one.batches, one.rows, f"({one.low}, {one.high}]"
    return [*head, one.batches * one.rows, one.batches * one.high, one.stable.frequency, interval]


def exponents(grown: Sequence[Growth]) -> Iterator[list[Any]]:
    """Of each workload."""
    for name in EACH:
        own = [one for one in grown if one.workload == name]
        d = [one.d for one in own]
        low, high, theorem = ([one.batches * getattr(one, end) for one in own] for end in ("low", "high", "rows"))
        fit, proved = fit_exponent(d, low, high, 0.05), fit_exponent(d, theorem, theorem)
        yield [*words(own[0]), f"{proved.slope:.2f}", f"{fit.slope:.2f}", f"[{fit.low:.2f}, {fit.high:.2f}]"]


def _failures(learner: SparseAggregate, task: Task, rows: int, trials: int, seed: int) -> tuple[int, float]:
    found = np.array(list(errors(learner, task, learner.plan(BUDGET, ACCURACY), rows, seed, trials)))
    return int(np.sum(found > float(ACCURACY.alpha))), float(found.mean())


def measured(name: str, kind: Any, trials: int, seed: int, rows: int | None = None) -> tuple[Lists, Stability]:
    """The stability of one kind of lists for the middle target."""
    concepts = Finite.of(CLASSES[name])
    lists = kind(concepts)
    return lists, stability(lists, zipf(CLASSES[name], [concepts.size // 2]), ACCURACY, rows, trials, seed)


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the number of failed trials."""
    given = options(__doc__, 0, 200, arguments)
    epsilon, delta, alpha, beta = (float(x) for x in (BUDGET.epsilon, BUDGET.delta, ACCURACY.alpha, ACCURACY.beta))
    page = HEAD.format(
        trials=given.trials, epsilon=epsilon, delta=delta, alpha=alpha, beta=beta, concepts=CONCEPTS, elements=ELEMENTS
    )
    finite = KLN(Finite.of(np.array([[i >> x & 1 for x in range(ELEMENTS)] for i in range(CONCEPTS)])))
    known = [row for d in DIMENSIONS for row in sizes(d)]
    known.append(["KLN", None, None, None, None, None, finite.sample_size(BUDGET, ACCURACY)])
    page += table(("lists", "d", "stability", "names on a list", "batches", "rows of a batch", "n"), known)
    full = [at_the_theorem(name, kind, given.trials, given.seed) for name, kind in _runnable()]
    page += RUN + table(("lists", "class", "d", "n", "failures", "interval", "mean error"), full)
    heads = ("lists", "class", "n", "batches", "rows of a batch", "failures", "interval", "mean error", "n of KLN")
    page += FAR + table(heads, [far_row(*one, given.trials, given.seed) for one in far()])
    with cells_in(None, given.seed) as cells:
        few, double = (version_space_rows(bits, BUDGET, ACCURACY) for bits in (64, 1064))
        page += EVERY.format(few=few, more=f"{(double - few) / 1000:.1f}")
        page += table(DIMENSION_HEADS, [dimension_row(d, BUDGET, ACCURACY) for d in HEIGHTS])
        page += LEGS + table(LEG_HEADS, leg_rows(BUDGET, ACCURACY, given.trials, cells))
        page += MATRIX_LABELS.format(width=WIDTH)
        page += table(LABEL_HEADS, label_rows(BUDGET, ACCURACY, given.trials, cells))
    heads = ("L", "d", "n", "batches", "rows of a batch", "failures", "interval", "mean error", "n of KLN")
    page += LABELS + table(heads, [labels_row(*one, given.trials, given.seed) for one in OF_LABELS])
    page += FEWER.format(trials=given.trials)
    parts = (f"rows / {part}" for part in PARTS)
    page += table(("class", "batches", *parts), list(fewer(given.trials, given.seed)))
    many = 10 * given.trials
    grown = [growth(one, d, BUDGET, ACCURACY, many, given.seed) for one in EACH for d in SIZES[one[0]]]
    page += GROWTH.format(good=1 - beta) + table(GROWTH_HEADS, map(growth_row, grown))
    page += EXPONENTS + table(("lists", "mass of each", "theorem's numbers", "measured", "range"), exponents(grown))
    page += STABLE.format(half=many // 2) + table(
        (
            "lists",
            "class",
            "d",
            "rows of a batch",
            "eta",
            "measured",
            "99 % interval",
            "its error",
            "functions seen",
            "mean list",
            "longest",
        ),
        [_stable_row(name, kind, many, given.seed) for name, kind in _runnable()],
    )
    sweep = {name: [measured(name, GloballyStable, many, given.seed, rows) for rows in ROWS] for name in CLASSES}
    carried = about({"script": "generic_learners", "trials": given.trials}, given.seed)
    save(lambda: _figure(sweep), figure_path(given.out, "generic-learners"), ("png", "svg"), carried)
    write_page(given.out / "generic-learners.md", page + SWEEP)
    return sum(row[4] for row in full)


def _runnable() -> Iterator[tuple[str, Any]]:
    for name, matrix in CLASSES.items():
        for kind in (GloballyStable, Irreducibility):
            try:
                SparseAggregate(kind(Finite.of(matrix))).plan(BUDGET, ACCURACY)
            except InputError:
                continue
            yield name, kind


def _rows(learner: SparseAggregate) -> int:
    return learner.lists.rows(ACCURACY)


def _stable_row(name: str, kind: Any, trials: int, seed: int) -> list[Any]:
    lists, found = measured(name, kind, trials, seed)
    eta = f"{lists.eta:.4f}"
    interval = f"[{found.low:.4f}, {found.high:.4f}]"
    return [
        kind.__name__,
        name,
        lists.dimension,
        found.rows,
        eta,
        found.frequency,
        interval,
        found.error,
        found.functions,
        found.mean_length,
        found.longest,
    ]


def _figure(sweep: dict[str, list[tuple[Any, Stability]]]) -> tuple[Figure, str]:
    title = "Measured stability of GloballyStable, and its bound eta (dashed)"
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    for number, (name, found) in enumerate(sweep.items()):
        middle = np.array([one.frequency for _, one in found])
        low, high = (np.array([getattr(one, end) for _, one in found]) for end in ("low", "high"))
        lists, color = found[0][0], f"C{number}"
        label = f"{name}, d = {lists.dimension}"
        axes.errorbar(ROWS, middle, yerr=[middle - low, high - middle], label=label, color=color, capsize=2)
        axes.axhline(lists.eta, color=color, linestyle="--", linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlabel="rows of a batch", ylabel="probability of the most frequent function")
    axes.set_title(title, fontsize=10)
    axes.set_ylim(bottom=0.02)
    axes.legend(fontsize=8, loc=(0.02, 0.13))
    return figure, title


if __name__ == "__main__":
    main()
