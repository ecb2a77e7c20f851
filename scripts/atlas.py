"""Writes atlas.md: how many rows the best private learner of every tiny class needs, beside its dimensions.

Run: python scripts/atlas.py compute --store FOLDER [--points 3] [--epsilons 2 1 0.5] [--seconds 1800]
     python scripts/atlas.py collect --store FOLDER, then python scripts/atlas.py page [--out FOLDER]

`compute` continues where an earlier run with the same folder ended. `collect` verifies all proofs that end a bracket,
and writes the programs that they are of into the package; the page is made of these.
"""

import argparse
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from atlas_speed import EVERYWHERE, SIZES, measured
from pages import table, write_page

import dpjax.advice as package
from dpjax.advice.atlas import GAP, ROUNDS, Bracket, rows_of_class
from dpjax.advice.collection import GRID, Collection, Program, bracket, packaged
from dpjax.attacks.optimum import goal_of, optimum
from dpjax.attacks.optimum.rows import Needed, Tried, rows_needed
from dpjax.attacks.optimum.tiny import Matrix, code_of, name_of, tiny_classes
from dpjax.attacks.optimum.without_privacy import best_without_privacy
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.dimensions.summary import summary

ALPHA, GOOD, POINTS = 0.3, 0.9, 3
EPSILONS = (2.0, 1.0, 0.5)
PACKAGED = Path(package.__file__).parent / "atlas.jsonl"
HEAD = """# How many rows the best private learner of every tiny class needs

For every class of at least two concepts on a few points: its dimensions, and the least number of rows with which some
private learner succeeds, between a certificate for all learners and a learner that was found.

Written by `python scripts/atlas.py page` from the collection that comes with dpjax; `dpjax atlas CLASS` prints a row
of it with witnesses and digests of proofs. A learner succeeds if the error of its hypothesis, any function on the
points, is at most alpha = {alpha:g} with probability {good:g}, for every target of the class and every distribution.
Privacy is pure (delta = 0), neighbors differ by one replaced row. n* is the least number of rows of such a learner.

## The table

All {count} classes on at most {points} points, up to a renaming of the points and an exchange of the labels 0 and 1
at any of them. A class is written by its concepts, each by its labels. "9" is exact: no learner with 8 rows, by a
certificate in whole numbers, and a learner with 9, exactly private by comparison in whole numbers, whose success over
all distributions is bounded by subdivision in floating point; "9 to 10" is a bracket by the same proofs; "-" was not
computed. Without privacy there is a certificate, too, which `dpjax` computes again in seconds and does not store. LD
is the Littlestone dimension, VC* the dual VC dimension, TD the teaching and RTD the recursive teaching dimension.

"""
FOUND = """
Of {entries} entries with privacy {exact} are exact, {near} more are known to within 2 rows, and {left} are not
computed or have a wider bracket. All {proofs} proofs that end these brackets were read back and verified when the
collection was made. {above} of {compared} lower bounds of `dpjax plan` are above the rows of a learner found. Exact
entries of the [page on success](optimum.md) with delta = 0 that differ: {differ} of {same}.

## What can be read off

{remarks}

## The solver beside HiGHS

Thresholds on 3 points, epsilon = 1, delta = 0, distributions on multiples of 1/4 and bounds over these, each program
in a process of its own, on two cores that other programs used, too. "Memory" is the largest of the process, less that
of one that only imports. HiGHS was not run for more constraints than `optimum` accepts for it. The last row adds worst
distributions until the bounds over all distributions are closed.

{speed}
The first-order method keeps no matrix: it needs two tables of places and a number for each family, kind of row and
hypothesis ([what it does and proves](../proofs/best-learner.md)).
"""


def needed(matrix: Matrix, epsilon: float, store: Collection, start: int, seconds: float, gap: float = GAP) -> Needed:
    """The bracket of a class, from stored programs and new ones; undecided ones are solved to a smaller gap."""
    code, goal = code_of(matrix), goal_of(matrix, ALPHA)
    known = {one.key: one for one in store.programs()}

    def solve(n: int) -> Tried | None:
        key = code, n, epsilon, ALPHA, GOOD
        old = known.get(key)
        if old is None or (old.lower < GOOD <= old.upper and old.upper - old.lower > gap):
            near = sorted(
                (one for one in known.values() if one.concepts == code and one.distributions),
                key=lambda one: (abs(one.n - n), one.epsilon != epsilon),
            )
            how: dict[str, Any] = {"distributions": near[0].distributions if near else ()}
            how |= {"level": GOOD if near else None, "grid": GRID, "rounds": ROUNDS, "tolerance": gap}
            try:
                found = optimum(goal, n, Privacy(epsilon), method="first-order", seconds=seconds, **how)
            except InputError as error:
                print(error, flush=True)
                return None
            known[key] = one = store.add(code, GOOD, found)
            bounds = f"[{one.lower:.4f}, {one.upper:.4f}] in {one.seconds:.0f} s"
            print(f"{code}, epsilon {epsilon:g}: n = {one.n}: {bounds}", flush=True)
        return known[key].tried()

    return rows_needed(solve, GOOD, start=start)


def without_privacy(matrix: Matrix, store: Collection) -> None:
    """Stores the programs of a class without privacy."""
    code, goal = code_of(matrix), goal_of(matrix, ALPHA)
    known = {one.key: one for one in store.programs()}

    def solve(n: int) -> Tried:
        key = code, n, None, ALPHA, GOOD
        if key not in known:
            begin, found = time.perf_counter(), best_without_privacy(goal, n)
            bounds = math.ceil(found.upper * 1e6) / 1e6, math.floor(found.lower * 1e6) / 1e6
            known[key] = Program(*key, *bounds, seconds=round(time.perf_counter() - begin, 1))
            store.append(known[key])
        return known[key].tried()

    print(f"{code} without privacy: n* is {rows_needed(solve, GOOD, start=4)}", flush=True)


def compute(store: Collection, points: int, epsilons: Sequence[float], seconds: float, gap: float = GAP) -> None:
    """All classes, the larger epsilons first; an epsilon of 0 stands for no privacy."""
    start = dict[Matrix, int]()
    for epsilon in epsilons:
        for matrix in tiny_classes(points):
            if epsilon == 0:
                without_privacy(matrix, store)
                continue
            found = needed(matrix, epsilon, store, start.get(matrix, 4), seconds, gap)
            start[matrix] = max(1, round(1.9 * (found.high or found.low)) - 1)
            print(f"{code_of(matrix)}, epsilon {epsilon:g}: n* is {found}", flush=True)


def collect(store: Collection, path: Path) -> None:
    """Verifies the proofs of all brackets and writes their programs, without distributions, to a file."""
    groups: dict[Any, list[Program]] = {}
    for one in store.programs():
        groups.setdefault((one.concepts, one.epsilon), []).append(one)
    lines = []
    for key in sorted(groups, key=lambda key: (len(key[0]), key[0], key[1] or 0.0)):
        for one in bracket(groups[key]):
            if one is not None:
                if not store.verify(one):
                    raise InputError(
                        "store", "proofs of what is stored", str(one.key), "remove its line and compute again"
                    )
                lines.append(
                    Program(*one.key, one.upper, one.lower, one.certificate, one.table, [], one.seconds).line()
                )
                print("verified", *one.key, flush=True)
    path.write_text("".join(lines))


def page(path: Path, speed: Sequence[Sequence[Any]]) -> None:
    """The page from the packaged collection, beside the entries of optimum.md if that is in the folder."""
    programs, rows, brackets = packaged(), [], dict[Matrix, list[Bracket | None]]()
    stored = {(one.concepts, one.epsilon) for one in programs}
    for matrix in tiny_classes(POINTS):
        some = [epsilon if (code_of(matrix), epsilon) in stored else 0.0 for epsilon in (None, *sorted(EPSILONS))]
        known = [epsilon for epsilon in some if epsilon != 0.0]
        found = {one.epsilon: one for one in rows_of_class(matrix, known, Accuracy(ALPHA, 0.1), 1e-9, programs)}
        brackets[matrix] = [found.get(epsilon) for epsilon in some]
        values = {one.name: str(one.lower) for one in summary(np.array(matrix), 60.0)}
        names = ("VC dimension", "dual VC dimension", "Littlestone dimension", "threshold dimension", "star number")
        numbers = [values[name] for name in (*names, "teaching dimension", "recursive teaching dimension")]
        cells = ["-" if one is None else str(one) for one in brackets[matrix]]
        rows.append([len(matrix[0]), name_of(matrix), f"{math.log2(len(matrix)):.2f}", *numbers, *cells])
    head = ("points", "class", "log2 size", "VC", "VC*", "LD", "threshold", "star", "TD", "RTD", "no privacy")
    text = HEAD.format(alpha=ALPHA, good=GOOD, count=len(rows), points=POINTS)
    text += table((*head, *(f"epsilon {epsilon:g}" for epsilon in sorted(EPSILONS))), rows)
    write_page(
        path / "atlas.md",
        text
        + FOUND.format(
            **_counts(brackets, programs),
            **_compared(rows, path / "optimum.md"),
            remarks=remarks(rows),
            speed=_speed(speed),
        ),
    )


def _counts(brackets: dict[Matrix, list[Bracket | None]], programs: Sequence[Program]) -> dict[str, int]:
    every = [one for some in brackets.values() for one in some[1:]]
    widths = [one.needed.high - one.low for one in every if one is not None and one.needed.high is not None]
    compared = [(bound.n, one.needed.high) for one in every if one for bound in one.bounds if one.needed.high]
    near = sum(0 < width <= 2 for width in widths)
    counts = {"entries": len(every), "exact": widths.count(0), "near": near, "compared": len(compared)}
    counts |= {"left": len(every) - widths.count(0) - near, "above": sum(n > high for n, high in compared)}
    return counts | {"proofs": sum(bool(one.certificate) + bool(one.table) for one in programs)}


def _compared(rows: Sequence[Sequence[Any]], other: Path) -> dict[str, int]:
    """How many exact entries of optimum.md are in the table, and how many of them differ."""
    lines = other.read_text().partition("## Rows for")[2].partition("<details>")[0] if other.exists() else ""
    old = {
        cells[2]: cells[3:6]
        for line in lines.splitlines()
        if len(cells := [part.strip() for part in line.split("|")]) > 6
    }
    pairs = [pair for row in rows for pair in zip(old.get(row[1], ()), row[-3:], strict=False) if "-" not in pair]
    exact = [(a, b) for a, b in pairs if a.isdigit() and b.isdigit()]
    return {"same": len(exact), "differ": sum(a != b for a, b in exact)}


def remarks(rows: Sequence[Sequence[Any]]) -> str:
    """Pairs of classes that refute laws, in words: the farthest apart of each kind, by exact entries only.

    Classes that one row tells all of are left out: they are two concepts that differ on every point.
    """
    lines = []
    laws = {
        "the VC dimension": (3,),
        "VC and Littlestone dimension": (3, 5),
        "the number of concepts": (2,),
        "the rows without privacy": (10,),
        "all dimensions in the table together": tuple(range(2, 10)),
    }
    for law, columns in laws.items():
        found = []
        for place, epsilon in ((-2, 1), (-1, 2)):
            exact = [row for row in rows if str(row[place]).isdigit() and row[10] != "1"]
            found += [
                (int(b[place]) - int(a[place]), -epsilon, a[1], a[place], b[1], b[place])
                for a in exact
                for b in exact
                if all(a[i] == b[i] for i in columns) and int(a[place]) < int(b[place])
            ]
        if found:
            _, epsilon, *pair = max(found)
            lines.append(
                f"- Not a function of {law}: at epsilon {-epsilon} {pair[0]} needs {pair[1]} rows, {pair[2]} {pair[3]}."
            )
        else:
            lines.append(f"- No two classes with exact entries refute that n* is a function of {law}.")
    return (
        "Classes with n* = 1 without privacy, two concepts that differ on every point, are left out.\n\n"
        + "\n".join(lines)
    )


def speed(store: Path | None, short: bool) -> list[list[Any]]:
    """The measurements of both solvers, kept in the folder of a store."""
    path = store and store / "speed.json"
    if path and path.exists():
        return json.loads(path.read_text())
    sizes = [(method, n) for method, some in SIZES.items() for n in (some[:2] if short else some)]
    rows = [measured(*one) for one in [*sizes, *[(EVERYWHERE, 14)] * (not short)]]
    if path:
        path.write_text(json.dumps(rows))
    return rows


def _speed(rows: Sequence[Sequence[Any]]) -> str:
    return table(("n", "databases", "method", "no learner above", "learner found", "seconds", "memory, MiB"), rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("compute", "collect", "page"))
    parser.add_argument("--store", type=Path, help="folder of solved programs and their proofs")
    parser.add_argument("--points", type=int, default=POINTS)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.0, *EPSILONS], help="0 stands for no privacy")
    parser.add_argument("--seconds", type=float, default=1800.0, help="of one program")
    parser.add_argument("--gap", type=float, default=GAP, help="of the bounds of a program that decides nothing")
    parser.add_argument("--short", action="store_true", help="few measurements of speed")
    parser.add_argument("--out", type=Path, default=Path("docs/gallery"), help="folder of the page")
    given = parser.parse_args(arguments)
    if given.what == "page":
        page(given.out, speed(given.store, given.short))
    elif given.store is None:
        parser.error("give --store FOLDER")
    elif given.what == "compute":
        compute(Collection(given.store), given.points, given.epsilons, given.seconds, given.gap)
    else:
        collect(Collection(given.store), PACKAGED)


if __name__ == "__main__":
    main()
