"""Writes multiclass.md: rows that many labels need, learned directly and bit by bit, against the number of bits.

Run: python scripts/multiclass.py [--out FOLDER] [--seed SEED] [--trials TRIALS]
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, expm1, log, log1p, sqrt
from pathlib import Path
from typing import Any

from pages import about, figure_path, options, table, write_page

from dpjax.concepts import Domain, Points
from dpjax.core.matrices import LARGEST
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.run.cells import Cells
from dpjax.experiments.run.n_star import bracket, cells_in, guess
from dpjax.experiments.statistics.bands import Exponent, fit_exponent
from dpjax.experiments.statistics.sequential_search import geometric_grid
from dpjax.experiments.sweep.hard_tasks import hard_bits, hard_label, hard_threshold_bits
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.task import Task
from dpjax.learners import KLN, BitReduction, HashedPoints
from dpjax.learners.vc1_design import of_rows
from dpjax.plots.lines import Line, Panel, plot_lines

EPSILON, DELTA, ALPHA, BETA = 1.0, 1e-6, 0.1, 0.1
ERROR, RATIO, GUESSES, LEAST = 0.05, 2 ** (1 / 8), 64, 4
RATE = -log1p(ALPHA * expm1(-EPSILON / 2))  # of the exponential mechanism, see theory.kln.realizable
LEARNERS: dict[str, Callable[[Any], Any]] = {"direct": KLN, "bit by bit": BitReduction}
CLAIMED = {"direct": 1, "bit by bit": 2}


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

A class with many labels can be learned directly, or one bit of the label at a time. The direct learner needs no more
rows wherever both run, and its lead grows with the number of bits. Learning bit by bit is for classes that are too
large to be listed; the last table says from which size on it needs fewer rows.

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

For a class that can be listed the reduction therefore loses to the direct learner. It is for classes too large for
ln |H|, with binary learners whose sample size hardly depends on it. How large, by the theorems: L independent points,
or thresholds, on X are a class of |X|^L concepts, for which the direct learner needs ln(|X|^L / beta) / {rate:.4f}
rows. That is more than the reduction needs from this log2 |X| on (delta = {delta:g} for thresholds):

"""
LAST = f"""
A `Multiclass` holds the matrix of its concepts, at most 2^{LARGEST.bit_length() - 1} labels: for independent points
log2 |X| is at most {(LARGEST.bit_length() - 1) // 2} with one bit, and less with more. Only the first
crossing is in its reach.
"""


def main(
    out: Path, seed: int, trials: int, workloads: Sequence[Workload] = WORKLOADS, store: Path | None = None
) -> list[dict[str, Any]]:
    """Searches, page and figure; returns the brackets."""
    with cells_in(store, seed) as cells:
        rows = [
            _measured(work, name, bits, trials, cells) for work in workloads for name in LEARNERS for bits in work.bits
        ]
    shown = [
        (
            row["workload"],
            row["learner"],
            row["bits"],
            row["concepts"],
            f"({row['low'] or 0}, {row['high'] or 'more'}]",
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
    page += TAIL.format(verdict=_verdict(rows), delta=DELTA, rate=RATE)
    page += table(("binary learner", "L", "rows of the reduction", "log2 |X|"), _crossings())
    config = {"script": "multiclass", "epsilon": EPSILON, "alpha": ALPHA, "beta": BETA}
    panels = [_panel(work, rows) for work in workloads]
    plot_lines(panels, figure_path(out, "multiclass"), about(config, seed), "Many labels: rows over bits")
    write_page(out / "multiclass.md", page + LAST)
    return rows


def _measured(work: Workload, name: str, bits: int, trials: int, cells: Cells) -> dict[str, Any]:
    task = work.task(bits)
    learner = LEARNERS[name](task.concepts)
    theorem = learner.sample_size(Privacy(EPSILON), Accuracy(ALPHA, BETA))
    setting = Setting(learner, task, 1, 1, EPSILON, 0.0, ALPHA, BETA)
    grid = geometric_grid(LEAST, theorem, RATIO)
    start = guess(setting, cells, grid, min(GUESSES, trials), 1 - BETA) or theorem
    star = bracket(setting, cells, grid, start=start, error=ERROR, trials=8 * trials)
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


def _crossings() -> Iterator[tuple[str, int, int, int]]:
    """From which log2 |X| on the theorem of the direct learner asks for more rows than that of the reduction."""
    for name, rows in BINARY.items():
        for bits in (1, 2, 4):
            accuracy, depth, n = Accuracy(ALPHA / bits, BETA / bits), 0, 0
            while (needed := ceil((RATE * n + log(BETA)) / (bits * log(2)))) > depth or not n:
                depth = max(needed, 1)
                n = bits * rows(depth, accuracy)
            yield name, bits, n, depth


def _hashed(depth: int, accuracy: Accuracy) -> int:
    return HashedPoints(Points(Domain(2 ** min(depth, 64))), 1).sample_size(Privacy(EPSILON), accuracy)


def _improper(depth: int, accuracy: Accuracy) -> int:
    return of_rows("recprefix", depth, 2**depth, EPSILON, DELTA, float(accuracy.alpha), float(accuracy.beta)).rows


BINARY: dict[str, Callable[[int, Accuracy], int]] = {
    "HashedPoints, points": _hashed,
    "ImproperVC1 by recprefix, thresholds": _improper,
}
"""The sample size of a binary learner on a domain of 2^depth elements, which hardly depends on depth."""


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
