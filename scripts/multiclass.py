"""Writes multiclass.md: rows that many labels need, learned directly and bit by bit, against the number of bits.

Run: python scripts/multiclass.py [--out FOLDER] [--seed SEED] [--trials TRIALS]
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, expm1, lgamma, log, log1p, sqrt
from pathlib import Path
from typing import Any

import papers.bgs_crossing as law
from pages import about, figure_path, options, table, write_page

from dpjax.concepts import Domain, Points, PointSets
from dpjax.concepts.domain import MOST_BITS
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.run.cells import Cells
from dpjax.experiments.run.n_star import bracket, cells_in, guess
from dpjax.experiments.statistics.bands import Exponent, fit_exponent
from dpjax.experiments.statistics.sequential_search import Bracket, geometric_grid
from dpjax.experiments.sweep.hard_tasks import hard_bits, hard_label, hard_threshold_bits
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.task import Task
from dpjax.learners import KLN, BitReduction, RepresentationLearner, SparseAggregate
from dpjax.learners.representations import PointSetBuckets
from dpjax.learners.vc1_design import of_rows
from dpjax.lists import MinimalSets
from dpjax.plots.lines import Line, Panel, plot_lines

EPSILON, DELTA, ALPHA, BETA = 1.0, 1e-6, 0.1, 0.1
ERROR, RATIO, GUESSES, LEAST = 0.05, 2 ** (1 / 8), 64, 4
RATE = -log1p(ALPHA * expm1(-EPSILON / 2))  # of the exponential mechanism, see theory.kln.realizable
LEARNERS: dict[str, Callable[[Any], Any]] = {"direct": KLN, "bit by bit": BitReduction}
CLAIMED = {"direct": 1, "bit by bit": 2}
FAR, DEPTHS = {1: 0, 4: 0, 16: 50}, tuple(1 << i for i in range(3, 12))
"""Bits of a label over a large domain, with trials if fewer than others, and log2 |X|."""


@dataclass(frozen=True)
class Workload:
    """Tasks by the number of bits; name: in the table; words: in the title of a panel."""

    name: str
    words: str
    task: Callable[[int], Task]
    bits: Sequence[int]


WORKLOADS = (
    Workload("one label", "one free label", lambda bits: hard_label(bits, ALPHA), (1, 2, 4, 8, 16)),
    Workload(
        "thresholds",
        "independent thresholds",
        lambda bits: hard_threshold_bits(bits, ALPHA, (bits + 1) // 2),
        (1, 2, 3, 4),
    ),
    Workload(
        "separate bits",
        "bits on elements of their own",
        lambda bits: hard_bits(bits, ALPHA, (bits + 1) // 2),
        (1, 2, 4, 8, 12),
    ),
)
HEAD = f"""# Many labels: learned directly, or bit by bit

A class with many labels can be learned directly, or one bit of the label at a time. The direct learner needs fewer rows
for classes that can be listed, and its lead grows with the number of bits. Its rows grow with the logarithm of the size
of the class, those of learning bit by bit need not: for large classes that is ahead, by a factor that has no bound.

Written by `scripts/multiclass.py`: epsilon = {EPSILON:g}, alpha = {ALPHA:g}, beta = {BETA:g}, replace-one. Labels
0..2^L - 1. The reduction of Bun, Gaboardi and Sivakumar (Theorem 3.1, `BitReduction`) learns each of the L bits from
rows of its own, to error alpha / L with probability 1 - beta / L; its binary learner is here the exponential mechanism
over the class of the bit, and the direct learner is the exponential mechanism over the whole class (`KLN`).

- One label: an element of mass 1.01 alpha carries a free label, 2^L concepts; any wrong bit is an error of all of it.
- Thresholds: each bit is a threshold on 15 elements, 16^L concepts. The two elements at the threshold of a bit have
  mass 1.01 alpha / w each, w = ceil(L / 2): a hypothesis is bad from w wrong bits on, so bits have to be learned to
  error about 2 alpha / L.
- Separate bits: bit i is free at element i, of mass 1.01 alpha / w, and 0 elsewhere, 2^L concepts.

Brackets of n*, each right with probability {1 - ERROR:g}: success is below {1 - BETA:g} at the lower end and at
least {1 - BETA:g} at the upper one, "more" where the search found no n that is surely enough. "Theorem" is the
learner's sample size with its constants, for every distribution.

"""
EXPONENTS = """
Exponents of L: least squares through the brackets, with the range that the brackets allow, beside the same fit of the
theorem's numbers. For large L the theorems grow like L, and like L^2 times a logarithm:

"""
TAIL = """
![n against the number of bits](figures/multiclass.png)

{verdict} The theorem's second power of L has two sources: disjoint blocks of rows, and the error alpha / L. One label
shows only the first one, because all bits err on the same element. The other workloads show both, but bits fail
independently of each other, and the number of wrong bits is close to its mean if there are many: of more bits, each may
fail with a larger probability, which a union bound does not use. So the measured exponents are below 2. Those of the
direct learner are below 1, because ln(1 / beta) is added to ln |H|, and with thresholds and separate bits also because
few of the concepts are barely bad; with one label all are, and the theorem is close to what the learner needs.

## Where learning bit by bit needs fewer rows

For a class that can be listed the reduction loses to the direct learner. It is for classes too large for ln |H|, with
binary learners whose sample size hardly depends on it. Here each bit is a point function of X, independently: |X|^L
concepts (`Bitwise(Points(domain), L)`), no matrix, and the binary learner is `HashedPoints`, pure as the direct one,
with rows that do not depend on |X|. Bit i of the target is 1 on an element of its own, as in "separate bits". The
direct learner's success is the mean of its exact probability over {draws} draws of the rows: its law has a closed form
here, which is compared with all concepts of small classes (`scripts/papers/bgs_crossing.py`). The reduction runs as it
is, over |X| = 2^{far}, once for each L: neither its theorem nor its hash functions depend on |X|.

"""
CROSSED = """
![n against the size of the domain](figures/multiclass-crossing.png)

From which log2 |X| on the reduction needs fewer rows: by the two theorems, and measured, where the rows at the upper
end of the reduction's bracket are too few for the direct learner (with probability {sure:g}).

"""
BY_THEOREMS = """
By the theorems alone, for more classes of a bit and their learners, and the direct learner with ln(|H| / beta) /
{rate:.4f} rows: the least log2 |X| (delta = {delta:g} for all but HashedPoints). Points and thresholds may have domains
of 2^{most} elements, sets of 2^64, for which `MinimalSets` thus never catches up: bit by bit it is the learner of
Theorem 3.7 for sets of d elements a bit ([generic learners](generic-learners.md)), with larger constants. The reduction
is not the best that can be done for points a bit: where hash functions of whole labels can be listed, `PointSetBuckets`
([representations](representations.md)), direct and improper, needs fewer rows than both: {listed}, over up to 2^64
elements. With 16 bits its list is too large.

"""


def main(
    out: Path,
    seed: int,
    trials: int,
    workloads: Sequence[Workload] = WORKLOADS,
    store: Path | None = None,
    far: Mapping[int, int] = FAR,
) -> list[dict[str, Any]]:
    """Searches, page and figure; returns the brackets."""
    with cells_in(store, seed) as cells:
        rows = [
            _measured(work, name, bits, trials, cells) for work in workloads for name in LEARNERS for bits in work.bits
        ]
        distant = [one for bits, count in far.items() for one in _distant(bits, DEPTHS, count or trials, seed, cells)]
    shown = [
        (
            row["workload"],
            row["learner"],
            row["bits"],
            row["concepts"],
            _ends((row["low"], row["high"])),
            row["theorem"],
        )
        for row in rows
    ]
    page = HEAD + table(("workload", "learner", "L", "concepts", "n*", "theorem"), shown)
    fits = [(work, name, fit) for work in workloads for name in LEARNERS if (fit := _fits(work, name, rows))]
    page += EXPONENTS + table(
        ("workload", "learner", "theorem's exponent", "theorem's numbers", "measured", "range"),
        (
            (
                work.name,
                name,
                CLAIMED[name],
                f"{theorem.slope:.2f}",
                f"{own.slope:.2f}",
                f"[{own.low:.2f}, {own.high:.2f}]",
            )
            for work, name, (own, theorem) in fits
        ),
    )
    page += TAIL.format(verdict=_verdict(rows), draws=law.DRAWS, far=max(DEPTHS))
    config = {"script": "multiclass", "epsilon": EPSILON, "alpha": ALPHA, "beta": BETA}
    panels = [_panel(work, rows) for work in workloads]
    plot_lines(panels, figure_path(out, "multiclass"), about(config, seed), "Many labels: rows over bits")
    shown = [(one.bits, one.depth, *map(_ends, (one.direct, one.reduced)), one.theorem, one.of_bits) for one in distant]
    page += table(("L", "log2 |X|", "direct, n*", "bit by bit, n*", "direct, theorem", "bit by bit, theorem"), shown)
    page += CROSSED.format(sure=1 - ERROR) + table(("L", "theorems", "measured"), _crossed(distant, seed))
    title = "Independent points a bit: rows over the size of the domain"
    plot_lines(_far_panels(distant), figure_path(out, "multiclass-crossing"), about(config, seed), title)
    page += BY_THEOREMS.format(delta=DELTA, rate=RATE, most=MOST_BITS, listed=_listed())
    page += table(("binary learner", "L", "rows of the reduction", "log2 |X|"), _crossings())
    write_page(out / "multiclass.md", page)
    return rows


@dataclass(frozen=True)
class Distant:
    """L independent points of 2^depth elements: brackets of n* and the theorems' rows, directly and bit by bit."""

    bits: int
    depth: int
    direct: tuple[int | None, int | None]
    reduced: tuple[int | None, int | None]
    theorem: int
    of_bits: int


def _distant(bits: int, depths: Sequence[int], trials: int, seed: int, cells: Cells) -> Iterator[Distant]:
    """A row for each size of the domain; the reduction is measured on the largest."""
    task = law.far_points(bits, max(depths), ALPHA)
    learner = BitReduction(task.concepts, law.hashed)
    of_bits = learner.sample_size(Privacy(EPSILON), Accuracy(ALPHA, BETA))
    setting = Setting(learner, task, 1, 1, EPSILON, 0.0, ALPHA, BETA)
    reduced = _search(setting, cells, of_bits, trials)
    for depth in depths:
        theorem = ceil((bits * depth * log(2) - log(BETA)) / RATE)
        grid = geometric_grid(LEAST, theorem, RATIO)
        direct = law.direct_bracket(grid, bits, depth, EPSILON, ALPHA, BETA, ERROR, seed)
        yield Distant(bits, depth, direct, (reduced.n_low, reduced.n_high), theorem, of_bits)


def _search(setting: Setting, cells: Cells, theorem: int, trials: int) -> Bracket:
    grid = geometric_grid(LEAST, theorem, RATIO)
    start = guess(setting, cells, grid, min(GUESSES, trials), 1 - BETA) or theorem
    return bracket(setting, cells, grid, start=start, error=ERROR, trials=8 * trials)


def _ends(found: tuple[int | None, int | None]) -> str:
    return f"({found[0] or 0}, {found[1] or 'more'}]"


def _crossed(distant: Sequence[Distant], seed: int) -> Iterator[tuple[int, int, int | None]]:
    """(L, log2 |X| from which on the reduction is ahead by the theorems, and measured)."""
    theorem = {
        bits: depth for name, bits, _, depth in _crossings(sorted({one.bits for one in distant})) if name == FIRST
    }
    for bits, depth in theorem.items():
        high = next(one.reduced[1] for one in distant if one.bits == bits)
        yield bits, depth, law.crossing(high, bits, EPSILON, ALPHA, BETA, ERROR, seed) if high else None


def _far_panels(distant: Sequence[Distant]) -> list[Panel]:
    panels = []
    for bits in sorted({one.bits for one in distant}):
        own, lines = [one for one in distant if one.bits == bits], []
        for name, ends, rows in (("direct", "direct", "theorem"), ("bit by bit", "reduced", "of_bits")):
            closed = [(one.depth, *getattr(one, ends)) for one in own if None not in getattr(one, ends)]
            if closed:
                depth, low, high = zip(*closed, strict=True)
                middle = [sqrt(a * b) for a, b in zip(low, high, strict=True)]
                lines.append(Line(name, name, depth, middle, low, high))
            depth, theorem = [one.depth for one in own], [getattr(one, rows) for one in own]
            lines.append(Line(f"{name}, theorem", name, depth, theorem, kind="theorem"))
        panels.append(Panel(f"{bits} bit{'s' * (bits > 1)}", "$\\log_2 |X|$", "rows $n$", lines))
    return panels


def _measured(work: Workload, name: str, bits: int, trials: int, cells: Cells) -> dict[str, Any]:
    task = work.task(bits)
    learner = LEARNERS[name](task.concepts)
    theorem = learner.sample_size(Privacy(EPSILON), Accuracy(ALPHA, BETA))
    setting = Setting(learner, task, 1, 1, EPSILON, 0.0, ALPHA, BETA)
    star = _search(setting, cells, theorem, trials)
    print(work.name, name, bits, star.n_low, star.n_high, star.trials_total, flush=True)
    return {
        "workload": work.name,
        "learner": name,
        "bits": bits,
        "concepts": task.concepts.size,
        "low": star.n_low,
        "high": star.n_high,
        "theorem": theorem,
    }


def _closed(work: Workload, name: str, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The brackets with both ends."""
    return [
        row for row in rows if (row["workload"], row["learner"]) == (work.name, name) and row["low"] and row["high"]
    ]


def _fits(work: Workload, name: str, rows: Sequence[dict[str, Any]]) -> tuple[Exponent, Exponent] | None:
    """The exponents of L of the brackets and of the theorem's numbers; None with fewer than three brackets."""
    own = _closed(work, name, rows)
    bits, low, high, theorem = ([row[field] for row in own] for field in ("bits", "low", "high", "theorem"))
    return (fit_exponent(bits, low, high, ERROR), fit_exponent(bits, theorem, theorem)) if len(own) >= 3 else None


def _verdict(rows: Sequence[dict[str, Any]]) -> str:
    """How often the direct learner needs fewer rows, of searches with two bits or more."""
    at: dict[tuple[str, int], dict[str, dict[str, Any]]] = {}
    for row in rows:
        at.setdefault((row["workload"], row["bits"]), {})[row["learner"]] = row
    pairs = [(found["direct"]["high"], found["bit by bit"]["low"]) for (_, bits), found in at.items() if bits > 1]
    fewer = sum(high is not None and low is not None and high <= low for high, low in pairs)
    return f"With two bits or more the direct learner needs fewer rows in {fewer} of {len(pairs)} pairs of searches."


def _crossings(counts: Sequence[int] = (1, 2, 4)) -> Iterator[tuple[str, int, int, int]]:
    """From which log2 |X| on the theorem of the direct learner asks for more rows than that of the reduction."""
    for name, (ones, rows) in BINARY.items():
        for bits in counts:
            accuracy, depth, n = Accuracy(ALPHA / bits, BETA / bits), 0, 0
            known = log(BETA) + bits * lgamma(ones + 1)
            while (needed := ceil((RATE * n + known) / (bits * ones * log(2)))) > depth or not n:
                depth = max(needed, 1)
                n = bits * rows(depth, accuracy)
            yield name, bits, n, depth


def _listed() -> str:
    """The rows of the direct learner by hashing."""
    sets = {bits: PointSetBuckets(PointSets(Domain(2**64), 1, bits)) for bits in (4, 8)}
    goal = Privacy(EPSILON), Accuracy(ALPHA, BETA)
    return ", ".join(f"{RepresentationLearner(one).sample_size(*goal)} for L = {bits}" for bits, one in sets.items())


def _hashed(depth: int, accuracy: Accuracy) -> int:
    return law.hashed(Points(Domain(2 ** min(depth, MOST_BITS)))).sample_size(Privacy(EPSILON), accuracy)


def _improper(depth: int, accuracy: Accuracy) -> int:
    return of_rows("recprefix", depth, 2**depth, EPSILON, DELTA, float(accuracy.alpha), float(accuracy.beta)).rows


def _sets(ones: int) -> Callable[[int, Accuracy], int]:
    learner = SparseAggregate(MinimalSets(PointSets(Domain(2**64), ones)))
    return lambda depth, accuracy: learner.sample_size(Privacy(EPSILON, DELTA), accuracy)


FIRST = "HashedPoints, points"
BINARY: dict[str, tuple[int, Callable[[int, Accuracy], int]]] = {
    FIRST: (1, _hashed),
    "ImproperVC1 by recprefix, thresholds": (1, _improper),
    "MinimalSets, points": (1, _sets(1)),
    "MinimalSets, sets of 2": (2, _sets(2)),
}
"""d, for a class of about |X|^d / d! concepts, and the sample size of a binary learner on a domain of 2^depth elements,
which hardly depends on depth."""


def _panel(work: Workload, rows: Sequence[dict[str, Any]]) -> Panel:
    lines = []
    for name in LEARNERS:
        own = _closed(work, name, rows)
        bits, low, high, theorem = ([row[field] for row in own] for field in ("bits", "low", "high", "theorem"))
        middle = [sqrt(a * b) for a, b in zip(low, high, strict=True)]
        lines += [
            Line(name, name, bits, middle, low, high),
            Line(f"{name}, theorem", name, bits, theorem, kind="theorem"),
        ]
    return Panel(work.words, "bits of a label $L$", "rows $n$", [line for line in lines if line.x], ticks=work.bits)


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=400)
    main(given.out, given.seed, given.trials, store=given.store)
