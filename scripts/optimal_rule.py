"""What the best private learners of small classes do, and a rule that does nearly the same.

The best private learner of a few concepts gives each wrong concept a probability that falls by a factor e^epsilon with
each row that has to be replaced before it has the fewest errors. A rule of this form is private whenever the concepts
are few enough, and beats the exponential mechanism on every class that was tried.

Run: python scripts/optimal_rule.py [--out FOLDER] [--short]
"""

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, count
from pathlib import Path
from typing import Any

import numpy as np
from atlas_data import ALPHA, ends, record, shown
from margin_rule import kln_laws, margin_laws
from pages import table, write_page

from dpjax.advice.collection import packaged
from dpjax.attacks.optimum import Databases, Goal, Optimum, goal_of, optimum
from dpjax.attacks.optimum.tiny import Matrix, name_of, tiny_classes
from dpjax.attacks.optimum.worst import Worst, worst_distribution
from dpjax.core.types import Privacy
from dpjax.dimensions import families

Laws = Callable[[np.ndarray, float], np.ndarray]
GOOD, SHOWN = 0.9, 13
ATLAS = (1.0, 2.0)
SOLVED = ((2, 1.0, (4, 8, 13)), (2, 2.0, (3, 5, 7)), (3, 2.0, (4, 6, 9)))  # points, epsilon, rows
LINES, EPSILON, ROWS = (4, 5, 6, 7, 8), 2.1, (8, 12, 16)
UNIT, SUPPORT = 23, 3  # tested distributions: multiples of 1/23, which 7 of exceed alpha by little, on 3 points
TEXT = """# What the best private learner does, and a rule like it

The best private learner of a few concepts gives each wrong concept a probability that falls by a factor e^epsilon with
each row that has to be replaced before it has the fewest errors. A rule of this form is private whenever the concepts
are few enough, and beats the exponential mechanism on every class that was tried.

Written by `python scripts/optimal_rule.py`. A learner succeeds if the error of its hypothesis is at most alpha =
{alpha:g}; its success is the least over all targets and distributions. Neighbors differ by one replaced row, and
delta = 0. Nothing is sampled: laws of learners are computed, and sums over all databases.

## What the best learner does

Thresholds on 2 points, epsilon = 1, {shown} rows, the least number with success {good:g}. The target is 0 at the first
point and 1 at the second, and k of the rows are at the first point: the threshold that is 1 on both points makes k
errors, the one that is 0 on both {shown} - k. The probabilities are those of a learner that `dpjax.attacks.optimum`
found, whose success is at most {gap:.4f} below that of any private learner, and of the rule below.

{structure}
With one row at the first point, the learner has to be within a factor e of what it does if this row says 1, and then
the other threshold is at least as likely. Each two further rows cost the wrong threshold another factor e, since one
replaced row takes an error from it and gives one to the target. At an even k the two are tied on the way: the learner
that was found gives most ties to the threshold in the middle, but not those of few rows, and the rule tosses a coin.
Where a wrong threshold is far, its probability hardly matters, and the best learner's is smaller still.

## The rule

The home of a database is the concept with the fewest errors; ties are broken by an order of the concepts, which is the
given one or its reverse, by a coin. For another concept h let m(h) be the largest of errors(h) - errors(g) over the
other concepts g, one more if g is before h, and f(h) = m(h) / 2, rounded up: with fewer replaced rows h does not become
the home. Then

- a concept that is not the home has the probability c exp(-epsilon f(h)) with c = 1 / (1 + exp(-epsilon)),
- and the home has the rest.

It is epsilon-private for every class of at most 1 + e^epsilon concepts
([proof](../proofs/best-learner.md#staircases-between-homes)): 3 at epsilon = 1, 8 at epsilon = 2, 2 at any epsilon. If
the target is the only concept without an error, a concept with an even number k of errors has the probability
exp(-epsilon k / 2) / 2, and one with an odd number less: half of the bound for the exponential mechanism (`KLN`).

For two concepts no private learner has a larger success than the rule, at any number of rows
([proof](../proofs/best-learner.md#staircases-between-homes)). That n* is 24, 13 and 7 at epsilon = 0.5, 1 and 2 for two
concepts that agree at some point needs no program.

`MarginRule` in `scripts/margin_rule.py` is a learner of dpjax; its plan has the probabilities as whole numbers, and its
guarantee verifies for them what the proof needs.

## Its success

Thresholds; "no learner above" and "found" are the bounds of the program on the best success. The rule and KLN: lower
bounds over all distributions, by subdivision in floating point.

{success}
## Its rows, for every class on at most 3 points

Rows for success {good:g}, wherever the rule is private for the class. n* is the number that the best learner needs,
from the [atlas](atlas.md). In {attained} of {entries} entries the rule needs as many as the lower end of n*, in the
others at most {more} more. It needs fewer than KLN in {fewer}; KLN needs up to {behind} more than the lower end.

{rows}
## On 4 to 8 points

Thresholds on d points, epsilon = {epsilon:g}, at which the rule is private for 9 concepts. Success over all targets and
all distributions on at most {support} of the points with probabilities that are multiples of 1/{unit}: exact sums over
all databases, for these distributions alone. "Rows" is the least number with success {good:g} over them.

{lines}
## What does not hold

- With more than 1 + e^epsilon concepts the rule has no proof, and in the end no law: if all m concepts are tied, the
  home would have the probability 1 - (m - 1) c / e^epsilon, which is negative for 5 concepts at epsilon = 1. So nothing
  here says that it helps for thresholds on 4 points or more at epsilon = 1, and what the best learner does between many
  concepts that are tied is open.
- For the 4 thresholds on 3 points at epsilon = 1 the formula is a law, but its privacy loss over all databases of {few}
  rows is {loss:.4f}, not 1.
- A smaller exponent does not mend this: KLN has the same one. What the rule saves is a factor of about 2 in the
  probability of failure, about {saved:.1f} rows at alpha = {alpha:g} and epsilon = 1, for any number of points.
- With three concepts or more the rule is not the best learner: it needs more rows for some classes of the table, and
  falls behind with few rows. Its form, a factor e^epsilon for each replaced row, is that of the learners that were
  found; where their homes are is not known.
"""


def counts_of(errors_of: Matrix, counts: np.ndarray) -> np.ndarray:
    """``int64[r, h]``: errors of each concept on databases, ``int64[r, cells]``."""
    matrix = np.array(errors_of)
    return counts[:, ::2] @ matrix.T + counts[:, 1::2] @ (1 - matrix).T


def success(matrix: Matrix, n: int, epsilon: float, laws: Laws) -> float:
    """A lower bound on the worst success of a proper learner, over all targets and distributions."""
    return min(one.least for one in _searches(matrix, n, epsilon, laws, 1e-4))


def _searches(matrix: Matrix, n: int, epsilon: float, laws: Laws, tolerance: float) -> Iterator[Worst]:
    """The search for the worst distribution of each target."""
    goal = goal_of(matrix, ALPHA)
    databases = Databases(n, goal.cells)
    probabilities = np.zeros((databases.size, goal.sizes[0]))
    probabilities[:, _numbers(goal)] = laws(counts_of(goal.table, databases.counts), epsilon)
    for target in goal.each_target:
        yield worst_distribution(probabilities, goal, databases, target, tolerance)


def _numbers(goal: Goal) -> list[int]:
    """The places of the concepts among all functions."""
    every = [tuple(row) for row in goal.functions.tolist()]
    return [every.index(row) for row in goal.table]


def rows(matrix: Matrix, epsilon: float, laws: Laws, start: int) -> int:
    """The least number of rows, from ``start``, with success 0.9."""
    return next(n for n in count(start) if all(one.least >= GOOD for one in _searches(matrix, n, epsilon, laws, 1e-4)))


@lru_cache(16)
def solved(points: int, epsilon: float, n: int) -> Optimum:
    """The best learner of thresholds."""
    goal = goal_of(families.thresholds(points), ALPHA)
    how: Any = {"method": "first-order", "rounds": 20, "tolerance": 1e-3}
    return optimum(goal, n, Privacy(epsilon), **how)


def structure() -> tuple[str, float]:
    """(The table of the best learner's and the rule's probabilities, the gap of the best learner's bounds.)"""
    best = solved(2, 1.0, SHOWN)
    thresholds = best.goal.table  # 11, 01, 00
    k = np.arange(SHOWN + 1)
    counts = np.stack([k, 0 * k, 0 * k, SHOWN - k], axis=1)  # label 0 at the first point, 1 at the second
    law = best.table[best.databases.index(counts)][:, _numbers(best.goal)] / 2.0**31
    rule = margin_laws(counts_of(thresholds, counts), 1.0)
    lines = [[i, *(f"{part[i, j]:.4f}" for j in (0, 2) for part in (law, rule))] for i in range(1, SHOWN)]
    head = ("k", "1 on both: best", "1 on both: rule", "0 on both: best", "0 on both: rule")
    return table(head, lines), float(best.value) - (best.everywhere or 0.0)


def successes(short: bool) -> str:
    """The table of the rule's success beside the best one's and KLN's."""
    lines = []
    for points, epsilon, sizes in SOLVED[: 1 if short else None]:
        matrix = tuple(map(tuple, families.thresholds(points).tolist()))
        for n in sizes[: 1 if short else None]:
            best = solved(points, epsilon, n)
            both = [success(matrix, n, epsilon, laws) for laws in (margin_laws, kln_laws)]
            bounds = math.ceil(best.value * 10**4) / 1e4, _down(best.everywhere or 0.0)
            lines.append(
                [points, f"{epsilon:g}", n, f"{bounds[0]:.4f}", *(f"{_down(v):.4f}" for v in (bounds[1], *both))]
            )
    return table(("points", "epsilon", "rows", "no learner above", "found", "rule", "KLN"), lines)


def _down(value: float) -> float:
    return math.floor(value * 1e4) / 1e4


def every_class(short: bool) -> dict[str, Any]:
    """The table of rows for the atlas' classes, and what it says."""
    programs, lines, found = packaged(), [], []
    for matrix in tiny_classes(2 if short else 3):
        one, cells = record(matrix, programs), [name_of(matrix)]
        for epsilon in ATLAS:
            if len(matrix) > 2 and len(matrix) > 1 + math.exp(epsilon):
                cells += [shown(one, epsilon), "-", "-"]
                continue
            least = ends(one, epsilon)[0]
            rule = rows(matrix, epsilon, margin_laws, least)
            kln = rows(matrix, epsilon, kln_laws, rule)
            cells += [shown(one, epsilon), str(rule), str(kln)]
            found.append((least, rule, kln))
            print(name_of(matrix), epsilon, *found[-1], flush=True)
        lines.append(cells)
    numbers = {
        "attained": sum(rule == least for least, rule, _ in found),
        "entries": len(found),
        "more": max(rule - least for least, rule, _ in found),
        "fewer": sum(rule < kln for _, rule, kln in found),
        "behind": max(kln - least for least, _, kln in found),
    }
    heads = [f"{name}, epsilon {epsilon:g}" for epsilon in ATLAS for name in ("n*", "rule", "KLN")]
    return numbers | {"rows": table(("class", *heads), lines)}


def tested(points: int, n: int, epsilon: float, laws: Laws) -> float:
    """The least success for thresholds over all targets and the tested distributions, but for rounding."""
    matrix = families.thresholds(points)
    least = 1.0
    for size in range(1, min(SUPPORT, points) + 1):
        drawn = Databases(n, size).counts
        masses = Databases(UNIT - size, size).counts + 1
        logs = np.array([math.lgamma(k + 1) for k in range(n + 1)])
        chances = np.exp(logs[n] - logs[drawn].sum(axis=1) + np.log(masses / UNIT) @ drawn.T)  # [masses, databases]
        for places in combinations(range(points), size):
            labels = matrix[:, places]
            wrong = labels[:, None] != labels  # [targets, concepts, size]
            for target in range(len(matrix)):
                good = masses @ wrong[target].T <= ALPHA * UNIT
                law = laws(drawn @ wrong[target].T, epsilon)
                least = min(least, float(((chances @ law) * good).sum(axis=1).min()))
    return least


def on_lines(short: bool) -> str:
    """The table for thresholds on 4 to 8 points."""
    lines = []
    for points in LINES[: 1 if short else None]:
        cells: list[Any] = [points]
        for n in ROWS[: 1 if short else None]:
            cells += [f"{_down(tested(points, n, EPSILON, laws)):.4f}" for laws in (margin_laws, kln_laws)]
        enough = (
            next(n for n in count(4) if tested(points, n, EPSILON, laws) >= GOOD) for laws in (margin_laws, kln_laws)
        )
        lines.append([*cells, *enough])
    names = [f"{name}, {n} rows" for n in ROWS[: 1 if short else None] for name in ("rule", "KLN")]
    return table(("d", *names, "rows: rule", "rows: KLN"), lines)


def loss(points: int, n: int, epsilon: float) -> float:
    """The privacy loss of the formula for thresholds over all databases of n rows."""
    matrix, databases = families.thresholds(points), Databases(n, 2 * points)
    laws = margin_laws(counts_of(tuple(map(tuple, matrix.tolist())), databases.counts), epsilon)
    members = np.log(laws[databases.members(databases.without_a_row.counts)])
    return float(np.max(members.max(axis=1) - members.min(axis=1)))


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("docs/gallery"), help="folder of the page")
    parser.add_argument("--short", action="store_true", help="few classes and sizes")
    given = parser.parse_args(arguments)
    lines, gap = structure()
    text = TEXT.format(
        alpha=ALPHA,
        good=GOOD,
        shown=SHOWN,
        structure=lines,
        gap=math.ceil(gap * 1e4) / 1e4,
        success=successes(given.short),
        **every_class(given.short),
        epsilon=EPSILON,
        support=SUPPORT,
        unit=UNIT,
        lines=on_lines(given.short),
        few=8,
        loss=loss(3, 8, 1.0),
        saved=2 * math.log(2) / ALPHA,
    )
    write_page(given.out / "optimal-rule.md", text)


if __name__ == "__main__":
    main()
