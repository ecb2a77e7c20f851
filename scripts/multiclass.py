"""Writes docs/multiclass.md: rows that many labels need, learned directly and bit by bit, against the number of bits.

Run: python scripts/multiclass.py [--out FOLDER] [--seed SEED] [--trials TRIALS]
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.bands import fit_exponent
from dpjax.experiments.cells import Cells, Setting
from dpjax.experiments.hard import hard_bits
from dpjax.experiments.n_star import bracket, cells_in, end_of, guess
from dpjax.experiments.reports import about, figure_path, options, table, write_page
from dpjax.experiments.search import geometric_grid
from dpjax.learners import KLN, BitReduction
from dpjax.plots.lines import Line, Panel, plot_lines

EPSILON, ALPHA, BETA = 1.0, 0.1, 0.1
BITS = (1, 2, 3, 4, 6, 8)
GAMMA, RATIO, GUESSES = 0.1, 2 ** (1 / 8), 64
LEARNERS = {"direct": KLN, "bit by bit": BitReduction}
CLAIMED = {"direct": "1", "bit by bit": "2, times a logarithm"}
HEAD = f"""# Many labels: directly, and bit by bit

Written by `scripts/multiclass.py`: epsilon = {EPSILON:g}, alpha = {ALPHA:g}, beta = {BETA:g}, replace-one. Labels
0..2^L - 1; bit i of the label is free at element i and 0 elsewhere, 2^L concepts. Each of these elements has mass
1.01 alpha / ceil(L/2), and a hypothesis is good if fewer than ceil(L/2) of the free bits are wrong: bits are learned to
error about 2 alpha / L, as the reduction of Bun, Gaboardi and Sivakumar (Theorem 3.1) learns those of every class. Its
binary learner is the exponential mechanism, and so is the direct learner.

Brackets of n*, each right with probability 0.95: success is below {1 - BETA:g} at the lower end and above
{1 - BETA - GAMMA:g} at the upper one. "Planner" is the theorem's sample size with its constants.

"""
TAIL = """
![n against the number of bits](figures/multiclass.png)

The reduction splits the rows over the bits, and asks of each bit an error L times as small: a factor of L^2, where the
exponential mechanism over the whole class pays ln |H|, which is at most proportional to L. For every finite class that
can be listed the direct learner needs fewer rows. The reduction is for binary learners whose sample size does not
depend on |H|.
"""


def main(
    out: Path, seed: int, trials: int, bits: Sequence[int] = BITS, store: Path | None = None
) -> list[dict[str, Any]]:
    """Searches, page and figure; returns the brackets."""
    with cells_in(store, seed) as cells:
        rows = [_measured(name, count, trials, cells) for name in LEARNERS for count in bits]
    shown = [
        (row["learner"], row["bits"], 2 ** row["bits"], f"({row['low'] or 0}, {row['high'] or 'more'}]", row["planner"])
        for row in rows
    ]
    page = HEAD + table(("learner", "L", "labels", "n*", "planner"), shown)
    fits = [_exponent(name, rows) for name in LEARNERS]
    head = ("learner", "claimed", "measured", "range")
    page += "\nExponents of L from L = 2 on:\n\n" + table(head, filter(None, fits))
    closed = [row for row in rows if row["low"] is not None and row["high"] is not None]
    points = {f"{row['learner']}, L = {row['bits']}": row["point"] for row in closed}
    config = {"script": "multiclass", "epsilon": EPSILON, "alpha": ALPHA, "beta": BETA, "bits": list(bits),
              "gamma": GAMMA}  # fmt: skip
    lines = [_line(name, [row for row in closed if row["learner"] == name]) for name in LEARNERS]
    panel = Panel("", "bits of a label $L$", "rows $n$", [line for line in lines if line.x], ticks=list(bits))
    if panel.lines:
        plot_lines([panel], figure_path(out, "multiclass"), about(config, seed, points), "Many labels: rows over bits")
    write_page(out / "multiclass.md", page + TAIL)
    return rows


def _measured(name: str, bits: int, trials: int, cells: Cells) -> dict[str, Any]:
    task = hard_bits(bits, ALPHA, (bits + 1) // 2)
    learner = LEARNERS[name](task.concepts)
    setting = Setting(learner, task, 1, 1, EPSILON, 0.0, ALPHA, BETA)
    grid = geometric_grid(8, 20_000, RATIO)
    start = guess(setting, cells, grid, min(GUESSES, trials), 1 - BETA)
    star = bracket(setting, cells, grid, start=start or grid[-1], gamma=GAMMA, cap=8 * trials)
    print(name, bits, star.n_low, star.n_high, star.trials_total, flush=True)
    planner = learner.sample_size(Privacy(EPSILON), Accuracy(ALPHA, BETA))
    return {"learner": name, "bits": bits, "low": star.n_low, "high": star.n_high, "planner": planner,
            "point": end_of(setting, star.n_high or grid[-1])}  # fmt: skip


def _line(name: str, rows: Sequence[dict[str, Any]]) -> Line:
    bits, low, high = ([row[field] for row in rows] for field in ("bits", "low", "high"))
    return Line(name, name, bits, [(a * b) ** 0.5 for a, b in zip(low, high, strict=True)], low, high)


def _exponent(name: str, rows: Sequence[dict[str, Any]]) -> tuple[str, ...] | None:
    own = [row for row in rows if row["learner"] == name and row["bits"] >= 2 and row["low"] and row["high"]]
    if len(own) < 3:
        return None
    fit = fit_exponent(*([row[field] for row in own] for field in ("bits", "low", "high")))
    return name, CLAIMED[name], f"{fit.slope:.2f}", f"[{fit.low:.2f}, {fit.high:.2f}]"


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=400)
    main(given.out, given.seed, given.trials, store=given.store)
