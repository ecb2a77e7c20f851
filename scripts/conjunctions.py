"""Writes conjunctions.md: rows that a private set cover needs for conjunctions, by the rule of its accounting.

Run: python scripts/conjunctions.py [--out FOLDER] [--seed SEED] [--trials TRIALS]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log
from pathlib import Path
from typing import Any

from pages import about, figure_path, options, table, write_page

from dpjax.concepts import Conjunctions, ProductCube
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.experiments.run.cells import Cells
from dpjax.experiments.run.n_star import bracket, cells_in, end_of, guess
from dpjax.experiments.statistics.bands import fit_exponent
from dpjax.experiments.statistics.sequential_search import geometric_grid
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.task import Task
from dpjax.learners import ConjunctionLearner
from dpjax.mechanisms.cover import CoverPlan, cover_plan
from dpjax.plots.lines import Line, Panel, plot_lines

EPSILON, DELTA, ALPHA, BETA, DIMENSION = 1.0, 1e-6, 0.1, 0.1, 64
LITERALS = (1, 2, 4, 8, 16)
RELATION = Neighboring.ADD_OR_REMOVE_ONE  # of the paper's proof
RATIO, GUESSES, TAIL = 2 ** (1 / 8), 64, 0.05
LONG, SHORT = 2 * log(2 / ALPHA), 2.5  # rounds for each literal: the paper's, and ours
PAPER = "the paper's constants, corrected"
RULES = {
    PAPER: ("paper_corrected", LONG),
    "naive: Theorem 2.10": ("advanced", LONG),
    "naive: zCDP": ("zcdp", LONG),
    "naive: zCDP, few rounds": ("zcdp", SHORT),
    "stopping game": ("noisy", LONG),
    "stopping game, exact counts": ("noise_free", LONG),
    "stopping game, exact counts, few rounds": ("noise_free", SHORT),
}
HEAD = f"""# Conjunctions by private set cover

How many rows does an AND of k literals need, depending on how the privacy of its rounds is accounted for? The
accounting decides by a large factor. The stopping game, which charges a row only until it is covered, needs fewer rows
than naive composition of the same rounds from four literals on; the paper's constants, corrected as its proof needs,
need the most rows for few literals.

Written by `scripts/conjunctions.py`: {DIMENSION} coordinates, each 1 with the probability for which the target, an AND
of k of them, is 1 with probability 1/2; epsilon = {EPSILON:g}, delta = {DELTA:g}, add-or-remove-one, alpha = {ALPHA:g},
beta = {BETA:g}. Brackets of n*, each right with probability 0.95: success is below {1 - BETA:g} at the lower end and
at least {1 - BETA:g} at the upper one. Rounds: 2 k ln(2/alpha), or 2.5 k ("few").

"""
MIDDLE = """
Exponent of k from k = 2 on, with the range that the brackets allow: {exponents}.

The coefficient, which the accounting determines: a round draws h with density exp(coefficient q(h)).

"""
TAIL_TEXT = """
![n against k](figures/conjunctions.png)

Naive composition pays sqrt(rounds) for epsilon in every round. In the stopping game a row costs privacy only until it
is covered, and fewer rows are needed than with both from k = 4 on; for k = 1 and 2 the brackets of zCDP overlap its
own. With exact counts no noise is added and only the literals are published. With the paper's accounting and
corrected constants fewer rows are needed than with naive composition {crossover}.
"""


def main(
    out: Path,
    seed: int,
    trials: int,
    literals: Sequence[int] = LITERALS,
    rules: Sequence[str] = tuple(RULES),
    store: Path | None = None,
) -> None:
    """Searches, page and figure."""
    with cells_in(store, seed) as cells:
        rows = [_measured(name, k, trials, cells) for name in rules for k in literals]
    shown = [[name, *(_bracket(_of(rows, name, k)) for k in literals)] for name in rules]
    coefficients = [[name, *(round(_of(rows, name, k)["coefficient"], 4) for k in literals)] for name in rules]
    head = ("accounting", *(f"k = {k}" for k in literals))
    exponents = "; ".join(filter(None, (_exponent(name, rows) for name in rules)))
    page = HEAD + table(head, shown) + MIDDLE.format(exponents=exponents) + table(head, coefficients) + TAIL_TEXT
    write_page(out / "conjunctions.md", page.replace("{crossover}", _crossover(rows, literals)))
    lines = [_line(name, [row for row in rows if row["rule"] == name and _closed(row)]) for name in rules]
    config = {
        "script": "conjunctions",
        "epsilon": EPSILON,
        "delta": DELTA,
        "alpha": ALPHA,
        "beta": BETA,
        "dimension": DIMENSION,
        "literals": list(literals),
    }
    panel = Panel("", "literals $k$", "rows $n$", [line for line in lines if line.x], ticks=list(literals))
    points = {f"{row['rule']}, k = {row['k']}": row["point"] for row in rows if _closed(row)}
    if panel.lines:
        plot_lines(
            [panel], figure_path(out, "conjunctions"), about(config, seed, points), "Conjunctions: rows over literals"
        )


def _measured(name: str, k: int, trials: int, cells: Cells) -> dict[str, Any]:
    variant, factor = RULES[name]
    concepts = Conjunctions(DIMENSION)
    learner = ByRule(concepts, k, ceil(factor * k), RELATION, variant=variant)
    task = Task(concepts, ProductCube.balanced(DIMENSION, k), concepts.targets(64, k, signs=False))
    setting = Setting(learner, task, 1, 1, EPSILON, DELTA, ALPHA, BETA)
    grid = geometric_grid(64, 40_000, RATIO)
    start = guess(setting, cells, grid, min(GUESSES, trials), 1 - BETA)
    star = bracket(setting, cells, grid, start=start or grid[-1], trials=8 * trials)
    print(name, k, star.n_low, star.n_high, star.trials_total, flush=True)
    coefficient = float(learner.plan(Privacy(EPSILON, DELTA), Accuracy(ALPHA, BETA)).coefficient)
    return {
        "rule": name,
        "k": k,
        "low": star.n_low,
        "high": star.n_high,
        "coefficient": coefficient,
        "point": end_of(setting, star.n_high or grid[-1]),
    }


@dataclass(frozen=True)
class ByRule(ConjunctionLearner):
    """With the numbers of one rule of accounting."""

    variant: str = "noise_free"

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> CoverPlan:
        """What is taken off noisy counts is what their noise hardly exceeds."""
        offset = log(self.likely_rounds / TAIL)
        return cover_plan(privacy, self.likely_rounds, self.literals, self.neighboring, self.variant, offset)


def _of(rows: Sequence[dict[str, Any]], name: str, k: int) -> dict[str, Any]:
    return next(row for row in rows if (row["rule"], row["k"]) == (name, k))


def _closed(row: dict[str, Any]) -> bool:
    return row["low"] is not None and row["high"] is not None


def _bracket(row: dict[str, Any]) -> str:
    return f"({row['low'] or 0}, {row['high'] or 'more'}]"


def _line(name: str, rows: Sequence[dict[str, Any]]) -> Line:
    k, low, high = ([row[field] for row in rows] for field in ("k", "low", "high"))
    return Line(name, name, k, [(a * b) ** 0.5 for a, b in zip(low, high, strict=True)], low, high)


def _crossover(rows: Sequence[dict[str, Any]], literals: Sequence[int]) -> str:
    """At which k the paper's bracket lies below that of naive composition, in words."""
    found = []
    for name, words in (("naive: Theorem 2.10", "Theorem 2.10"), ("naive: zCDP", "zCDP")):
        own = {(row["rule"], row["k"]): row for row in rows if _closed(row)}
        pairs = {k: (own.get((PAPER, k)), own.get((name, k))) for k in literals}
        won = [str(k) for k, (paper, naive) in pairs.items() if paper and naive and paper["high"] <= naive["low"]]
        found.append(f"by {words} at " + (f"k = {', '.join(won)}" if won else "no k"))
    return ", ".join(found)


def _exponent(name: str, rows: Sequence[dict[str, Any]]) -> str:
    own = [row for row in rows if row["rule"] == name and row["k"] >= 2 and _closed(row)]
    if len(own) < 3:
        return ""
    fit = fit_exponent(*([row[field] for row in own] for field in ("k", "low", "high")))
    return f"{name} {fit.slope:.2f} [{fit.low:.2f}, {fit.high:.2f}]"


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=200)
    main(given.out, given.seed, given.trials, store=given.store)
