"""Writes optimum.md: the best private learner of every tiny class, beside dpjax's learners and the lower bounds.

Run: python scripts/optimum.py [--short] [--out FOLDER]
"""

import argparse
import math
import time
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from optimum_checks import Checked
from pages import about, figure_path, table, write_page

from dpjax.attacks import TableLearner
from dpjax.attacks.optimum import Optimum, exact_success, goal_of, optimum
from dpjax.attacks.optimum.best import constraints_of
from dpjax.attacks.optimum.tiny import Matrix, name_of, representative, rows_of, tiny_classes
from dpjax.audit import exact
from dpjax.concepts import Finite, distributions
from dpjax.concepts.listing import matrix_of
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.dimensions import families
from dpjax.evidence.learners import WORLDS, learner_target
from dpjax.experiments.sweep.lower_bounds import lower_bounds
from dpjax.experiments.sweep.task import Task
from dpjax.learners import KLN, Confident
from dpjax.plots.files import save

ALPHA, GOOD = 0.3, 0.9
PLANNED = Accuracy(ALPHA, 0.1)  # of compared learners
EPSILONS, DELTAS = (0.5, 1.0, 2.0), (0.0, 0.01)
BUDGETS = [Privacy(epsilon, delta) for delta in DELTAS for epsilon in EPSILONS]
ROUNDS, GAP = 20, 0.005
STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26)
MOST = {0.0: {1: 26, 2: 26, 3: 6, 4: 4}, 0.01: {1: 24, 2: 24, 3: 4, 4: 3}}  # rows, by delta and points
KNOWN = (2, 4, 6, 8)
PROGRAMS = ((3, 6, 1.0), (2, 20, 0.5), (4, 5, 1.0))  # of thresholds: points, rows, epsilon
HEAD = """# The best possible private learner of tiny classes

For classes on a few points the best private learner can be computed: a success that no private learner exceeds, with a
proof, and a learner that comes close to it. The learners of dpjax need more rows than the best one, and their formulas
ask for still more.

Written by `python scripts/optimum.py{option}`. A learner succeeds if the error of its hypothesis, any function on the
points, is at most alpha = {alpha:g}; its success is the least over all targets of the class and all distributions.
Neighbors differ by one replaced row. "No private learner above" bounds every private learner; "found" is a lower bound
on the success, over all distributions, of an exactly private learner that the program found. The first is proved by a
certificate in whole numbers, the second by subdivision in floating point. No success is sampled.

## Rows for success {good:g}

All classes with at least two concepts on at most {points} points, up to a renaming of the points and an exchange of the
labels 0 and 1 at any of them (the symmetries of the program), and thresholds on {more} points: {classes} classes. The
{points} classes with a single concept, one for each number of points, are left out: their success is 1 without a row.
A class is written by its concepts, each by its labels. "9" is the exact number of rows; "9 to 10" that no private
learner with fewer than 9 succeeds and one with 10 does; "> 6" that no private learner with 6 does, the most rows that
were computed; "6 ?" that 6 rows decide nothing. A learner with delta = 0 is private for every delta, so an entry with
delta = 0 bounds the one with the same epsilon and a larger delta from above.

"""
WHOLE = """
The largest distance between "no private learner above" and "found" is {gaps}. The program's search for worse
distributions stops below {gap:g} or after {rounds} rounds.

<details><summary>All {count} programs: no private learner above / found</summary>

"""
CHECKS = """
</details>

## What was checked

Every certificate was verified once more from its whole numbers, in rational arithmetic, and every learner found was
compared with e^epsilon and delta in whole numbers. Learners of dpjax are those of its audit suite's configurations with
an exact law, and KLN on each of the classes above; the success of each is exact but for rounding in floating point, on
the cases of its program, with rows in every order; where there are more than 2048 sequences of rows, sorted, after
some orders of each database were compared. A lower bound of `dpjax.experiments.sweep.lower_bounds` (packing among them)
is compared with the n of each program, for beta = 1 - found: a learner with n rows exists, so no bound may be above n.

"""
LEFT = """
Configurations without a comparison, as their law cannot be listed, they have more than two labels, or their class
cannot be listed as a matrix: {names}. Plans that a learner refuses (delta = 0 for learners with an approximate
guarantee) are not counted: {refused}.

## The learner found, audited

`TableLearner`, thresholds on 2 points, on all databases of at most {rows} rows in every order and all neighbors:

"""
KLNS = """
## The gap of KLN

Thresholds on 2 points, epsilon = 1, delta = 0, distributions with probabilities that are multiples of 1/4 for all
three columns. "KLN needs" is the least n at which its success reaches what the best learner has at this n.

"""
REACH = """
Success {good:g} takes {best} rows for the best learner and {kln} for KLN; KLN's own formula (alpha = {alpha:g}, beta =
{beta:.1g}) says {formula}.

## Speed

Thresholds, delta = 0, distributions on multiples of 1/4, one solution, on one machine. "Constraints" are one for each
hypothesis and pair of neighbors; symmetry and common rows leave those "solved".

"""
SEEN = """
## One picture

![Success against n](figures/optimum.png)

Thresholds on 2 points, epsilon = 1, delta = 0. Between "no private learner above" and "found" is less than the width
of a line. "By formula" is the largest success that the lower bounds of `dpjax plan` allow.
"""


class Solved:
    """The programs of one class and one budget, each solved once and checked."""

    def __init__(self, matrix: Matrix, privacy: Privacy, checked: Checked):
        self.matrix, self.privacy, self.checked = matrix, privacy, checked
        self.goal, self.found = goal_of(matrix, ALPHA), dict[int, Optimum]()

    def at(self, n: int) -> Optimum:
        """The program of n rows, with the distributions that were added for the next smaller n."""
        if n not in self.found:
            smaller = [rows for rows in self.found if rows < n]
            added = self.found[max(smaller)].cases[len(self.goal.on_grid(4)) :] if smaller else ()
            further = list(dict.fromkeys(case.elements for case in added))
            found = optimum(self.goal, n, self.privacy, distributions=further, rounds=ROUNDS, tolerance=GAP)
            self.found[n] = found
            self._check(n, found)
        return self.found[n]

    def first(self, most: int) -> str:
        """The rows for success `GOOD`, in words."""
        steps = [n for n in STEPS if n <= most]
        high = next((n for n in steps if sure(self.at(n)) >= GOOD), None)
        if high is None:
            return f"> {most}" if self.at(most).value < GOOD else f"{most} ?"
        low = max((n for n in steps if n < high), default=0)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if sure(self.at(middle)) >= GOOD else (middle, high)
        never = max((n for n, one in self.found.items() if one.value < GOOD), default=0)
        return f"{high}" if never == high - 1 else f"{never + 1} to {high}"

    def _check(self, n: int, found: Optimum) -> None:
        what, checked = f"{name_of(self.matrix)} {budget_of(self.privacy)} n = {n}", self.checked
        checked.optimum(found, what)
        concepts = Finite.of(self.matrix)
        learner = KLN(concepts)
        plan = learner.plan(self.privacy, PLANNED, n)
        checked.kln.add(exact_success(learner, plan, self.goal, found.databases, found.cases) <= found.value, what)
        task = Task(concepts, distributions.uniform(concepts.domain))
        beta = min(1 - sure(found) + 1e-12, 1 - 1e-9)
        if beta > 0:
            for bound in lower_bounds(task, 1, self.privacy, Accuracy(ALPHA, beta)):
                checked.bounds.add(bound.n <= n, f"{bound} {what}")
                checked.more += bound.n > 1


def others(checked: Checked, budgets: Sequence[Privacy], rows: int) -> tuple[list[str], int]:
    """Compares the configurations of the audit suite; the names left out, and the number of refused plans."""
    left, refused = [], 0
    for name, make in WORLDS.items():
        world = make()
        try:
            if world.unlisted or world.learner.concepts.columns > 1:
                raise InputError("learner", "an exact law and two labels", name, "leave it out")
            goal = goal_of(matrix_of(world.learner.concepts), ALPHA, k=world.k)
        except InputError:
            left.append(name)
            continue
        for privacy, n in product(budgets, range(1, min(rows, world.rows) + 1)):
            try:
                plan = world.learner.plan(privacy, PLANNED, n)
            except InputError:
                refused += 1
                continue
            found = optimum(goal, n, privacy, neighboring=world.learner.neighboring, everywhere=False)
            success, what = exact_success(world.learner, plan, goal, found.databases, found.cases), f"{name} n = {n}"
            checked.optimum(found, what)
            checked.others.add(success <= float(found.value) + 1e-9, what)
    return left, refused


def audits(rows: int, budgets: Sequence[Privacy]) -> Iterator[list[Any]]:
    """A row for each budget, and one under ADD_OR_REMOVE_ONE."""
    concepts = Finite.of(families.thresholds(2))
    relations = [(one, Neighboring.REPLACE_ONE) for one in budgets] + [(budgets[-1], Neighboring.ADD_OR_REMOVE_ONE)]
    for privacy, relation in relations:
        learner = TableLearner(concepts, rows=rows, neighboring=relation)
        report = exact(learner_target(learner, "table", rows=rows, accuracy=PLANNED), privacy)
        verdict = "refuted" if report.violated else "consistent"
        yield [
            relation.value,
            f"{report.claim.epsilon:g}",
            f"{report.claim.delta:g}",
            f"{report.epsilon_found:.7f}",
            f"{report.delta_found:.7f}",
            report.details["outcomes"],
            verdict,
        ]


def kln_gaps(known: Sequence[int], checked: Checked) -> tuple[list[list[Any]], int, int]:
    """Rows of the table of the gap, and the n of the best learner and of KLN for success `GOOD`."""
    goal, privacy = goal_of(families.thresholds(2), ALPHA), Privacy(1.0)
    learner, best, own = KLN(Finite.of(families.thresholds(2))), dict[int, Optimum](), dict[int, float]()

    def solved(n: int) -> Optimum:
        if n not in best:
            best[n] = optimum(goal, n, privacy, everywhere=False)
            checked.optimum(best[n], f"gap n = {n}")
        return best[n]

    def success(n: int) -> float:
        if n not in own:
            databases = type(solved(1).databases)(n, goal.cells)
            own[n] = exact_success(learner, learner.plan(privacy, PLANNED, n), goal, databases, solved(1).cases)
        return own[n]

    def least(wanted: float) -> int:
        return next(n for n in range(1, 100) if success(n) >= wanted)

    rows = []
    for n in known:
        value, needs = solved(n).value, least(float(solved(n).achieved))
        checked.kln.add(success(n) <= value, f"gap n = {n}")
        rows.append([n, up(value), f"{success(n):.4f}", f"{float(value) - success(n):.4f}", needs, needs - n])
    first = next(n for n in range(1, 100) if solved(n).achieved >= Fraction(9, 10))
    return rows, first, least(GOOD)


def speed(points: int, n: int, epsilon: float, checked: Checked) -> list[Any]:
    """A row of the table of speed."""
    goal = goal_of(families.thresholds(points), ALPHA)
    begin = time.perf_counter()
    found = optimum(goal, n, Privacy(epsilon), everywhere=False)
    seconds = time.perf_counter() - begin
    checked.optimum(found, f"speed {points} {n}")
    pairs = constraints_of(goal, found.databases, 1.0)
    return [points, n, f"{epsilon:g}", pairs, found.constraints, up(found.value), f"{seconds:.1f}"]


def allowed(matrix: Matrix, privacy: Privacy, n: int) -> float:
    """The largest success of n rows that the lower bounds do not exclude, by bisection."""
    concepts = Finite.of(matrix)
    task = Task(concepts, distributions.uniform(concepts.domain))
    low, high = 0.0, 1.0  # of beta: excluded at low
    for _ in range(12):
        beta = (low + high) / 2
        fits = max(one.n for one in lower_bounds(task, 1, privacy, Accuracy(ALPHA, beta))) <= n
        low, high = (low, beta) if fits else (beta, high)
    return 1 - low


def curves(solved: Solved, most: int, checked: Checked) -> dict[str, list[tuple[int, float]]]:
    """Points of the lines of the figure, by their names."""
    rows, concepts = [n for n in STEPS if n <= most], Finite.of(solved.matrix)
    found = {n: solved.at(n) for n in rows}

    def success(learner: Any, n: int) -> tuple[int, float]:
        one, plan = found[n], learner.plan(solved.privacy, PLANNED, n)
        return n, exact_success(learner, plan, one.goal, one.databases, one.cases)

    blocks: Any = Confident(KLN(concepts), blocks=2)
    own = [success(blocks, n) for n in rows if n <= 5]  # beyond, its law depends on too many orders of rows
    for n, value in own:
        checked.others.add(value <= found[n].value, f"Confident n = {n}")
    return {
        "by formula": [(n, allowed(solved.matrix, solved.privacy, n)) for n in rows],
        "no private learner above": [(n, float(found[n].value)) for n in rows],
        "found": [(n, sure(found[n])) for n in rows],
        "KLN": [success(KLN(concepts), n) for n in rows],
        "two blocks of KLN": own,
    }


def picture(lines: dict[str, list[tuple[int, float]]]) -> tuple[Figure, str]:
    """Success against n."""
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    for (name, line), style in zip(lines.items(), ("k:", "C3-", "C0--", "C1.-", "C2.-"), strict=True):
        axes.plot(*zip(*line, strict=True), style, label=name)
    title = "Success of the best private learner, and of dpjax's learners"
    axes.set(xlabel="rows n", ylabel="worst success", ylim=(0, 1.02))
    axes.set_title(title, fontsize=10)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(fontsize=8, loc="lower right")
    return figure, title


def main(arguments: Sequence[str] | None = None) -> Checked:
    """Writes the page and returns its counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--out", type=Path, default=Path("docs/gallery"), help="folder of the page; figures go into figures/"
    )
    parser.add_argument("--short", action="store_true", help="2 points, few rows, two budgets: about a minute")
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    points, cap, rows = (2, 4, 1) if given.short else (3, 26, 4)
    budgets = [Privacy(1.0), Privacy(1.0, 0.01)] if given.short else BUDGETS
    checked, classes = Checked(), [*tiny_classes(points), representative(rows_of(families.thresholds(points + 1)))]
    solved, first = dict[Matrix, list[Solved]](), []
    for matrix in classes:
        solved[matrix] = [Solved(matrix, privacy, checked) for privacy in budgets]
        cells = [one.first(min(cap, MOST[float(one.privacy.delta)][len(matrix[0])])) for one in solved[matrix]]
        first.append([len(matrix[0]), name_of(matrix), *cells])
        print(*first[-1], flush=True)
    every = [one for ones in solved.values() for one in ones]
    line = solved[representative(rows_of(families.thresholds(2)))][budgets.index(Privacy(1.0))]
    carried = about({"script": "optimum", "short": given.short}, 0)
    lines = curves(line, min(cap, 16), checked)
    save(lambda: picture(lines), figure_path(given.out, "optimum"), ("png", "svg"), carried)
    left, refused = others(checked, budgets, rows)
    gaps, best, kln = kln_gaps(KNOWN[:2] if given.short else KNOWN, checked)
    programs = [speed(*one, checked) for one in (PROGRAMS[:1] if given.short else PROGRAMS)]
    names = [budget_of(privacy) for privacy in budgets]
    sizes = {m: max(_gap(one) for one in every if len(one.matrix[0]) == m) for m in range(1, points + 2)}
    distances = ", ".join(f"{gap:.4f} on {m} point{'s' * (m > 1)}" for m, gap in sizes.items())
    page = HEAD.format(
        option=" --short" * given.short, alpha=ALPHA, good=GOOD, points=points, more=points + 1, classes=len(classes)
    )
    page += table(("points", "class", *names), first)
    count = sum(len(one.found) for one in every)
    page += WHOLE.format(gaps=distances, gap=GAP, rounds=ROUNDS, count=count)
    page += table(("class", "n", *names), _grid(solved))
    page += CHECKS + table(
        ("check", "failures"),
        [
            ("certificates verified in rational arithmetic", checked.certificates),
            ("learners found, private in whole numbers", checked.private),
            ("KLN above the certified optimum", checked.kln),
            ("other learners of dpjax above the certified optimum", checked.others),
            (f"lower bounds above the n of a learner found ({checked.more} ask for more than 1 row)", checked.bounds),
        ],
    )
    page += LEFT.format(names=", ".join(left), refused=refused, rows=3)
    head = ("neighbors", "claimed epsilon", "claimed delta", "epsilon found", "delta found", "outcomes", "verdict")
    page += table(head, audits(3, budgets))
    page += KLNS + table(("n", "no private learner above", "KLN", "gap", "KLN needs", "more rows"), gaps)
    formula = KLN(Finite.of(families.thresholds(2))).sample_size(Privacy(1.0), PLANNED)
    page += REACH.format(good=GOOD, best=best, kln=kln, alpha=ALPHA, beta=float(PLANNED.beta), formula=formula)
    page += table(("points", "n", "epsilon", "constraints", "solved", "no private learner above", "seconds"), programs)
    write_page(given.out / "optimum.md", page + SEEN)
    return checked


def budget_of(privacy: Privacy) -> str:
    """(epsilon, delta)."""
    return f"({float(privacy.epsilon):g}, {float(privacy.delta):g})"


def sure(found: Optimum) -> float:
    """A lower bound on the success of the learner found, over all distributions."""
    return found.everywhere or 0.0


def up(value: Fraction) -> str:
    """Four digits, rounded up: a bound stays a bound."""
    return f"{math.ceil(value * 10**4) / 1e4:.4f}"


def _gap(one: Solved) -> float:
    return max(float(found.value) - sure(found) for found in one.found.values())


def _grid(solved: dict[Matrix, list[Solved]]) -> Iterator[list[Any]]:
    for matrix, ones in solved.items():
        for n in sorted({n for one in ones for n in one.found}):
            yield [name_of(matrix), n, *(_cell(one.found.get(n)) for one in ones)]


def _cell(found: Optimum | None) -> str | None:
    down = 0.0 if found is None else math.floor(sure(found) * 1e4) / 1e4
    return None if found is None else f"{up(found.value)} / {down:.4f}"


if __name__ == "__main__":
    main()
