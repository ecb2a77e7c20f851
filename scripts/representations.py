"""Writes representations.md: learning from random families of functions, their sizes, and how many rows it takes.

Run: python scripts/representations.py [--out FOLDER] [--seed SEED] [--trials TRIALS] [--store FOLDER]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, log
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from pages import about, figure_path, options, table, write_page
from papers.bgs_representations import least_members, random_families, walk

from dpjax.concepts import Domain, Finite, Multiclass, Points, PointSets, Thresholds, distributions
from dpjax.core.types import Accuracy, Privacy
from dpjax.dimensions import families, littlestone_dimension
from dpjax.experiments.run.cells import Cells
from dpjax.experiments.run.n_star import bracket, cells_in, rate
from dpjax.experiments.statistics.sequential_search import Bracket, geometric_grid
from dpjax.experiments.sweep.hard_tasks import hard_points, hard_thresholds
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.task import Task
from dpjax.learners import KLN, RepresentationLearner
from dpjax.learners.representations import LearnerRuns, PointBuckets, PointSetBuckets, Whole
from dpjax.papers.represented import represents
from dpjax.plots.files import save
from dpjax.theory import representations as theory

ALPHA, BETA, EPSILON = 0.2, 0.1, 1.0
DOMAINS = (8, 16, 24, 32, 40)
GRID = geometric_grid(8, 2048, 2 ** (1 / 16))
ERROR, SEARCH = 0.05, 40_000
TWO = Finite.of([[0, 1], [1, 0]])
OF_RUNS = 0.05, 0.25  # epsilon and alpha of the learner whose runs are a representation
RUNS = LearnerRuns(
    KLN(TWO), OF_RUNS[0], KLN(TWO).sample_size(Privacy(OF_RUNS[0]), Accuracy(OF_RUNS[1], 0.5)), OF_RUNS[1]
)
LABELS = families.independent_bits(2, 1, 3)
HEAD = """# Pure private learning from random families of functions

Points can be learned with pure privacy by a choice among random functions that are drawn without looking at the data.
The number of rows then does not depend on the size of the domain, whereas the exponential mechanism over all points
pays for each of its bits. Every representation succeeds at its planned number of rows.

Written by `scripts/representations.py`. A family is drawn without looking at the data, and the exponential mechanism
chooses one of its N functions: `RepresentationLearner`. alpha = {alpha:g}, beta = {beta:g}, epsilon = {epsilon:g}.

## Points: rows independent of |X|

The indicators of the buckets of a few random hash functions represent the points of any domain (`PointBuckets`: {tries}
functions of {buckets} buckets here, N = {count}). KLN chooses among all |X| points. The distribution has atoms just
above alpha and the rest of its mass elsewhere. n\\* is bracketed with probability {confidence:g}: success is below
{target:g} at the lower end and at least {target:g} at the upper end.

"No private learner below": with fewer rows no private learner of the class succeeds on every distribution.

"""
FIGURE = """
![n* against |X|](figures/representations.png)

## Every representation at its planner's n

"printed" is the n of Lemma 8.3 with the constants of its proof, for an (alpha/6, beta/4)-representation. Success in
{trials} trials at the planner's n, with its exact interval at confidence 0.95.

"""
REPRESENTS = """
The planner's bound is one step: a function is chosen with probability at most e^(-t D), D the excess of its errors over
those of the family's good function, for every t up to epsilon/2; the expectation over the rows is a power of n. For
alpha = .3, beta = .1 the printed construction has N = {printed_count} and n = {printed_rows}; ours has n = {ours}.

## Are they representations?

The least probability that a family has a function within the error, over the concepts and distributions of
`papers.represented`, exactly or with an interval at confidence 0.999 for all of them at once. "Claimed" is one
minus the failure in the proof.

"""
RUNS_HEAD = """
## From a private learner to a representation (Lemmas 8.4 and 8.5)

Runs of KLN over two concepts, on databases whose rows are all (x0, label); KLN is (alpha, 1/2)-accurate on m rows. The
printed number of runs is 4 ln(8) exp(8 epsilon alpha m); ours counts the rows that are not at x0
exactly. The printed proof needs alpha at most 1/8.

"""
BOUND = """
## Theorem 8.8: the size is at least the Littlestone dimension, up to a constant

Every (1/4, 1/8)-representation of a class of multiclass Littlestone dimension d has ln N >= d/32 (printed), and ln N >=
ln((7/8) / P[Binomial(d, 1/2) <= d/4]) >= d/8 + ln(7/8) (ours, without experts: on a random path of a shattered tree
each function errs at every node with probability 1/2 or more, and N of them hardly fit). Families were drawn, and their
members ran along all 2^d paths of a shattered tree; the follower is randomized weighted majority, which the printed
proof uses: it makes d/2 mistakes or more, and at most "regret".

"""
COUNTING = """
The contradiction in numbers: the fraction of random labelings of d points that one of N random functions fits up to d/4
mistakes, and what it can be at most. A representation needs 7/8, so N at least the number in the last column.

"""
TAIL = """
Our bound is attained for d = 1 and d = 2: all labelings of d points are 2 and 4 functions.

## Corrections of the printed statements

- Lemma 8.3 has the representation dimension in its sample size, which is of a (1/4, 1/8)-representation; its proof
  needs the size of the (alpha, beta)-representation from which it chooses, and 6 alpha < 1.
- Lemma 8.5 says that the distribution of the family is that of one output on one database; it is that of the outputs on
  the databases of all labels. It needs alpha at most 1/8.
- Theorem 8.8 takes the event that a family is good for all distributions and concepts at once, which need not have
  probability 7/8; the event for the distribution and the concept of the sequence has, and the proof needs no more.
"""


@dataclass(frozen=True)
class Entry:
    """A representation in words, what it learns from, and the accuracy."""

    name: str
    representation: Any
    task: Task
    alpha: float = ALPHA
    beta: float = BETA

    @property
    def learner(self) -> RepresentationLearner:
        """With corrected constants."""
        return RepresentationLearner(self.representation)


def entries() -> tuple[Entry, ...]:
    """The representations."""
    big = Domain(2**40)

    def of_sets(ones: int, bits: int) -> Entry:
        concepts = PointSets(big, ones, bits)
        words = f"{ones}-points of 2^40" + f", {bits} bits of a label" * (bits > 1)
        return Entry(words, PointSetBuckets(concepts), Task(concepts, distributions.adversarial_points(big, ALPHA)))

    line, labels = Thresholds(Domain(2**20)), Multiclass.of(LABELS)
    small, large = Points(Domain(2**8)), Points(big)
    return (
        Entry("points of 2^8", PointBuckets(small), hard_points(small, ALPHA)),
        Entry("points of 2^40", PointBuckets(large), hard_points(large, ALPHA)),
        of_sets(1, 1),
        of_sets(2, 1),
        of_sets(3, 1),
        of_sets(1, 3),
        of_sets(2, 2),
        Entry("thresholds of 2^20, the class", Whole(line), hard_thresholds(line, ALPHA)),
        Entry(
            "labels of Theorem 7.2, the class",
            Whole(labels),
            Task(labels, distributions.adversarial_finite(labels.domain, ALPHA)),
        ),
        Entry("two concepts, runs of KLN", RUNS, Task(TWO, distributions.uniform(TWO.domain)), 0.5, 0.25),
    )


def main(
    out: Path,
    seed: int,
    trials: int,
    chosen: Sequence[Entry] | None = None,
    domains: Sequence[int] = DOMAINS,
    drawn: int = 1024,
    store: Path | None = None,
) -> dict[int, dict[str, Bracket]]:
    """Runs everything, writes the page. drawn: families, for the question whether they are representations."""
    chosen = entries() if chosen is None else chosen
    with cells_in(store, seed) as cells:
        stars = {bits: _brackets(bits, cells) for bits in domains}
        planned = [_planned(entry, cells, trials) for entry in chosen]
    hashed = RepresentationLearner(PointBuckets(Points(Domain(2 ** domains[0]))))
    sizes = hashed.plan(Privacy(EPSILON), Accuracy(ALPHA, BETA)).sizes
    rows = [
        (
            f"2^{bits}",
            _shown(found["hash"]),
            _size(PointBuckets, bits),
            _shown(found["KLN"]),
            _size(None, bits),
            _below(bits),
        )
        for bits, found in stars.items()
    ]
    confidence = next(iter(stars.values()))["hash"].confidence
    page = HEAD.format(
        alpha=ALPHA,
        beta=BETA,
        epsilon=EPSILON,
        tries=sizes[0],
        buckets=2 ** sizes[1],
        count=hashed.representation.sized(sizes).count,
        confidence=confidence,
        target=1 - BETA,
    )
    page += table(("abs(X)", "n* by hash", "planned", "n* of KLN", "planned", "no private learner below"), rows)
    page += FIGURE.format(trials=trials)
    page += table(("representation", "N", "alpha", "beta", "n", "printed n", "success", "interval"), planned)
    spec = theory.point_hashing_printed(0.05, 0.025)
    ours = RepresentationLearner(PointBuckets(Points(Domain(2**16)))).sample_size(Privacy(1.0), Accuracy(0.3, 0.1))
    page += REPRESENTS.format(printed_count=spec[2], printed_rows=theory.printed(spec[2], 1.0, 0.05, 0.025), ours=ours)
    page += table(
        ("family", "N", "error", "claimed", "least probability", "pairs", "families"), _represented(drawn, seed)
    )
    head = "epsilon", "alpha", "rows m", "runs printed", "runs", "ln N printed", "ln N", "ln N by Lemma 8.4"
    page += RUNS_HEAD + table(head, _runs())
    page += BOUND + table(("class", "d", "d/32", "our bound", "ln N", "follower", "regret", "family"), _walks(seed))
    page += COUNTING + table(("d", "N", "fraction", "at most", "needed N"), _counting(seed)) + TAIL
    carried = about({"script": "representations", "trials": trials}, seed)
    save(lambda: _figure(stars), figure_path(out, "representations"), ("png", "svg"), carried)
    write_page(out / "representations.md", page)
    return stars


def _brackets(bits: int, cells: Cells) -> dict[str, Bracket]:
    concepts, found = Points(Domain(2**bits)), {}
    for name, learner in (("hash", RepresentationLearner(PointBuckets(concepts))), ("KLN", KLN(concepts))):
        setting = _setting(learner, hard_points(concepts, ALPHA), 1, ALPHA, BETA)
        found[name] = bracket(setting, cells, GRID, start=setting.n, error=ERROR, trials=SEARCH)
        print(bits, name, found[name].n_low, found[name].n_high, flush=True)
    return found


def _setting(learner: Any, task: Task, k: int, alpha: float, beta: float) -> Setting:
    n = learner.sample_size(Privacy(EPSILON), Accuracy(alpha, beta))
    return Setting(learner, task, k, n, EPSILON, 0.0, alpha, beta, "representations")


def _size(kind: Any, bits: int) -> int:
    concepts = Points(Domain(2**bits))
    learner: Any = KLN(concepts) if kind is None else RepresentationLearner(kind(concepts))
    return learner.sample_size(Privacy(EPSILON), Accuracy(ALPHA, BETA))


def _below(bits: int) -> int | None:
    """Of all private learners, proper or not, on every distribution."""
    learner = KLN(Points(Domain(2**bits)))
    setting = _setting(learner, hard_points(learner.concepts, ALPHA), 1, ALPHA, BETA)
    found = setting.below(learner.guarantee(setting.plan()))
    return None if found is None else found.n


def _shown(star: Bracket) -> str:
    return f"({star.n_low}, {star.n_high}]"


def _planned(entry: Entry, cells: Cells, trials: int) -> tuple[Any, ...]:
    setting = _setting(entry.learner, entry.task, 1, entry.alpha, entry.beta)
    found = rate(setting, cells, trials)
    count = entry.representation.sized(setting.plan().sizes).count
    print(entry.name, count, setting.n, found, flush=True)
    printed = None
    if not isinstance(entry.representation, LearnerRuns):  # whose error is 1/4 and no less
        learner = RepresentationLearner(entry.representation, "printed")
        printed = learner.sample_size(Privacy(EPSILON), Accuracy(entry.alpha, entry.beta))
    share, interval = found.successes / found.trials, f"[{found.lower:.4f}, {found.upper:.4f}]"
    return (
        entry.name,
        f"{count:.4g}" if count > 10**6 else count,
        entry.alpha,
        entry.beta,
        setting.n,
        printed,
        share,
        interval,
    )


def _represented(drawn: int, seed: int) -> list[tuple[Any, ...]]:
    big = Domain(2**40)
    asked: list[tuple[str, Any, float, float]] = [
        ("thresholds of 16, the class", Whole(Thresholds(Domain(16))), 0.0, 0.125),
        ("points of 4, one function of 8 buckets", PointBuckets(Points(Domain(4)), 1, 3), 0.25, 0.5),
        ("2-points of 4, one function of 16 buckets", PointSetBuckets(PointSets(Domain(4), 2), 1, 4), 0.25, 0.5),
        ("points of 2^40", PointBuckets(Points(big)).for_accuracy(0.25, 0.125), 0.25, 0.125),
        ("2-points of 2^40", PointSetBuckets(PointSets(big, 2)).for_accuracy(0.25, 0.125), 0.25, 0.125),
        ("2 bits of points of 8", PointSetBuckets(PointSets(Domain(8), 1, 2)).for_accuracy(0.25, 0.125), 0.25, 0.125),
        ("two concepts, runs of KLN (8.5)", RUNS, 0.25, 0.125),
    ]
    rows = []
    for name, family, near, failure in asked:
        found = represents(family, near, failure, trials=drawn, seed=seed)
        shown = f"{found.lower:.4f}" if found.lower == found.upper else f"[{found.lower:.4f}, {found.upper:.4f}]"
        claimed = 1 - family.failure(near)
        print(name, found, flush=True)
        rows.append((name, family.count, near, f"{claimed:.4g}", shown, found.pairs, found.trials or "exact"))
    return rows


def _runs() -> list[tuple[Any, ...]]:
    rows = []
    for epsilon, alpha in ((0.05, 0.25), (0.05, 0.125), (0.2, 0.125), (1.0, 0.125), (0.05, 0.05)):
        accurate = KLN(TWO).sample_size(Privacy(epsilon), Accuracy(alpha, 0.5))
        m = max(accurate, ceil(3 * log(4) / (4 * alpha)))
        printed = theory.runs_on_one_element_printed(m, epsilon, alpha) if alpha <= 0.125 else None
        ours = theory.runs_on_one_element(m, epsilon, alpha)
        one = log(theory.runs_of_learner(m, epsilon))
        rows.append((epsilon, alpha, m, printed, ours, printed and log(2 * printed), log(2 * ours), one))
    return rows


def _walks(seed: int) -> list[tuple[Any, ...]]:
    every = families.points(6, 6, exactly=False)
    cases: list[tuple[str, np.ndarray, str, Any]] = [
        ("points of 16", families.points(16), "buckets", PointBuckets(Points(Domain(16)))),
        ("2-points of 16", families.points(16, 2), "buckets", PointSetBuckets(PointSets(Domain(16), 2))),
        ("4-points of 12", families.points(12, 4), "buckets", PointSetBuckets(PointSets(Domain(12), 4), 2, 4)),
        ("2 bits of points of 3", LABELS, "buckets", PointSetBuckets(PointSets(Domain(3), 1, 2))),
        ("2 bits of points of 3", LABELS, "class", Whole(Multiclass.of(LABELS))),
        ("thresholds on 255 points", families.thresholds(255), "class", Whole(Finite.of(families.thresholds(255)))),
        ("intervals on 12 points", families.intervals(12), "class", Whole(Finite.of(families.intervals(12)))),
        ("all functions on 6 points", every, "class", Whole(Finite.of(every))),
        ("two concepts", TWO.matrix().astype(int), "runs of KLN", RUNS),
    ]
    rows = []
    for name, matrix, kind, representation in cases:
        family = representation if kind != "buckets" else representation.for_accuracy(0.25, 0.125) or representation
        found = walk(matrix, family, 8, seed)
        assert found.depth == littlestone_dimension(matrix).value
        ours = theory.size_by_littlestone_dimension(found.depth)
        assert found.size >= ours >= theory.size_by_experts(found.depth)
        bounds = theory.size_by_experts(found.depth), ours
        rows.append((name, found.depth, *bounds, found.size, found.follower, found.regret, kind))
    return rows


def _counting(seed: int) -> list[tuple[Any, ...]]:
    rows = []
    for dimension in (8, 16, 32):
        needed, each = least_members(dimension), (7 / 8) / exp(theory.size_by_littlestone_dimension(dimension))
        for members in (1, max(2, round(needed / 8)), needed, 4 * needed):
            found = random_families(dimension, members, 4000, seed)
            rows.append((dimension, members, found, min(1.0, members * each), needed))
    return rows


def _figure(stars: dict[int, dict[str, Bracket]]) -> tuple[Figure, str]:
    title = "Rows for points: a random family and the whole class"
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    at = list(stars)
    for name, words, color, kind in (
        ("hash", "buckets of hash functions", "#003b80", PointBuckets),
        ("KLN", "all points (KLN)", "#d0382d", None),
    ):
        low, high = (np.array([getattr(stars[bits][name], end) for bits in at], float) for end in ("n_low", "n_high"))
        middle = np.sqrt(low * high)
        axes.errorbar(
            at,
            middle,
            np.stack([middle - low, high - middle]),
            color=color,
            capsize=4,
            marker="o",
            markersize=3,
            linewidth=1,
            label=f"n* with {words}",
        )
        axes.plot(at, [_size(kind, bits) for bits in at], color=color, linestyle="--", linewidth=1)
    axes.plot([], [], color="#777777", linestyle="--", linewidth=1, label="planned")
    axes.set(xlabel="log2 |X|", ylabel="rows", title=title, xticks=at, ylim=(0, None))
    axes.legend()
    return figure, title


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=2000)
    main(given.out, given.seed, given.trials, store=given.store)
