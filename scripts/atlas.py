"""Writes atlas.md: how many rows the best private learner of every tiny class needs, beside its dimensions.

Run: python scripts/atlas.py compute --store FOLDER [--points 3] [--classes "00 01 10"] [--delta 0.01]
     python scripts/atlas.py collect --store FOLDER, then python scripts/atlas.py page [--out FOLDER]

`compute` continues where an earlier run with the same folder ended; it uses what the package knows if that is copied
to FOLDER/programs.jsonl before. `collect` verifies all proofs that end a bracket, and adds the programs that they are
of to the package; the page, its figure and its data are made of these.
"""

import argparse
import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from atlas_data import ALPHA, DELTA, DIMENSIONS, approximate_table, compared, ends, record, shown, write_parquet
from atlas_figure import write_figure
from atlas_fits import HEAD as FIT
from atlas_fits import fits
from atlas_four import all_functions, exponential_mechanism
from atlas_hand import by_hand
from atlas_larger import larger_records, larger_table, sizes
from atlas_laws import DRAWS, PARAMETERS, correlations, informative, refuted, survivors
from atlas_speed import speed, speed_table
from pages import figure_path, table, write_page

import dpjax.advice as package
from dpjax.advice.atlas import GAP, ROUNDS, formulas
from dpjax.advice.collection import GRID, Collection, Program, bracket, packaged, read_programs
from dpjax.advice.derived import derived
from dpjax.attacks.optimum import goal_of, optimum
from dpjax.attacks.optimum.rows import Needed, Tried, rows_needed
from dpjax.attacks.optimum.tiny import Matrix, code_of, matrix_of_code, tiny_classes
from dpjax.attacks.optimum.without_privacy import best_without_privacy
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy

GOOD, POINTS = 0.9, 3
SHORT = ("VC", "LD")
EPSILONS = (2.0, 1.0, 0.5)
FOUR = {2.0: (all_functions, 13), 1.0: (exponential_mechanism, 28)}  # a table that succeeds, and its rows
PACKAGED = Path(package.__file__).parent / "atlas.jsonl"
HEAD = """# How many rows the best private learner of every tiny class needs

For every class of at least two concepts on a few points: its dimensions, and the least number of rows with which some
private learner succeeds, between a certificate for all learners and a learner that was found.

Written by `python scripts/atlas.py page` from the collection that comes with dpjax; `dpjax atlas CLASS` prints a row
of it with witnesses and digests of proofs. A learner succeeds if the error of its hypothesis, any function on the
points, is at most alpha = {alpha:g} with probability {good:g}, for every target of the class and every distribution.
Privacy is pure (delta = 0) where no delta is named, neighbors differ by one replaced row. n* is the least number of
rows of such a learner.

## The table

All {count} classes on at most {points} points, up to a renaming of the points and an exchange of the labels 0 and 1
at any of them. A class is written by its concepts, each by its labels. "9" is exact: no learner with 8 rows, by a
certificate in whole numbers, and a learner with 9, exactly private by comparison in whole numbers, whose success over
all distributions is bounded by subdivision in floating point; "9 to 10" is a bracket by the same proofs. A proof may be
one about a subclass, a superclass, a restriction to some points, or another epsilon
([reductions](../proofs/best-learner.md#reductions-between-classes)): `dpjax atlas` names it. Without privacy there is a
certificate, too, which `dpjax` computes again in seconds and does not store. LD is the Littlestone dimension, VC* the
dual VC dimension, TD the teaching and RTD the recursive teaching dimension. The threshold and the dual VC dimension
depend on the labels' names, n* does not: theirs are the largest over exchanges of labels at points. A usual name in
brackets is that of a class which is the same up to renaming: thresholds are 000 001 011 111, and 000 001 010 101 with
the labels of the middle point exchanged. A point on which all concepts agree makes a class harder, 00 01 than 0 1,
since rows there say nothing.

"""
FOUND = """
Of {entries} entries with privacy {exact} are exact, {near} more are known to within 2 rows, and {left} have a wider
bracket. All {proofs} proofs of the collection were read back and verified when they were added to it. {above} of
{compared} lower bounds of `dpjax plan` are above the rows of a learner found, and {below} of {planned} numbers of rows
that dpjax's learners plan are below a certificate. Exact entries of the [page on success](optimum.md) with delta = 0
that differ: {differ} of {same}.

## With a delta

n* with delta = {delta:g}, a tenth of the failure probability, beside that with delta = 0. Certificates are
[of approximate privacy](../proofs/best-learner.md#approximate-privacy), and tables are compared exactly, as before. A
bracket is wider where few programs were solved: a learner with delta = 0 serves.

{approximate}
## All classes on 4 points

There are {four} classes of at least two concepts on 4 points, up to the same symmetries. Each has a bracket, by
reductions to the classes of the table and from learners of all functions on 4 points; none is left out. How wide they
are:

{widths}
At epsilon = 1, the classes by their bracket:

{brackets}
The bracket of one class, with what proves it, is printed by `dpjax atlas "0000 0001 0010 0100"`: any class on at most 4
points, given by its concepts, in any order and with any names of points and labels. All of them are in the
[data](#the-data).

## Classes on 5 to 8 points

Families, and random classes: functions drawn without replacement, of the first seed with the dimensions that are
named, by `scripts/atlas_larger.py`. Lower ends are certificates of classes on at most 4 points that reduce to the
class; upper ends are the rows that a learner of dpjax plans by its theorem, or a table of a class that it reduces to.
No program on 5 points was solved. Bounds from few databases do not use that databases which are several rows apart are
close, too.

{larger}
## What can be read off

![n* at epsilon = 1 against parameters of classes](figures/atlas.svg)

The figure is a [file of its own](figures/atlas.svg): opened in a browser, without a network, it names the classes of
each mark under the pointer. A dot is an n* that is known, and larger for more classes; a bar is a bracket.

Left out of what follows are the two concepts that differ on every point, for which one row is enough without privacy,
and classes whose concepts are the same, or opposite, at two points, which are classes on fewer points. {kept} of {all}
classes are left.

Laws that two classes refute, among all on at most 4 points; the pair that is the farthest apart by proved bounds:

{remarks}

Rank correlation (Spearman) of n* with each parameter. The classes are all that there are, not a sample; what is
uncertain is where in its bracket each n* is. A range is over {draws} choices of n* in the brackets: their ends, their
middles, and independent random ones. On 4 points brackets that have the same bounds hide differences between classes.

{correlations}
How well a sum of parameters says what n* is: least squares on the classes on at most 3 points, the best sum of none,
one and two parameters. The error is that on a class which the fit has not seen, the root of the mean square over all of
them; the parameters were selected by it, except in the last line, where they are selected again without that class. The
last columns are the fit, rounded, on the classes on 4 points, of which it has seen none: how often it is in the bracket
of n*, below what is proved, or above a learner that is known.

{fits}
Conjectures that no class refutes. They are what these classes have in common, and no more. One that a class refutes
would not be listed.

{survivors}

## One certificate, checked by hand

{hand}

## The data

[`atlas.parquet`](data/atlas.parquet) has a line for each class, epsilon and delta: dimensions, the ends of the bracket,
the step that leads to each end, and the digests of its certificate and its table; `pandas.read_parquet` or
`pyarrow.parquet.read_table` reads it, and `low == high` selects what is known. License: Apache-2.0, as dpjax.
`repeated` says whether the class is one on fewer points. Made by `python scripts/atlas.py page` from
`dpjax/advice/atlas.jsonl`, which `collect` makes of a folder of proofs. The proofs are too large for the package:
`compute` makes them again, and `dpjax atlas CLASS --store FOLDER` verifies them. Population: every class on at most 4
points up to symmetry, {all} in all, so that no class was selected, and the classes on more points that the table above
names. Goal: error at most {alpha:g} with probability 0.9, improper, one concept, delta = 0
and {delta:g}, replace-one. Not in it: other goals. Lower ends rest on whole numbers; the success of tables rests on
floating point, with a margin of 1e-12. A few proofs at epsilon = 0.5 are from smaller programs: learners that look at
[counts that cancel](../proofs/best-learner.md#counts-that-cancel) alone (`scripts/atlas_signed.py`), and certificates
from databases close to realizable ones (`scripts/atlas_relaxed.py`); all are verified as the others.

## The solver beside HiGHS

Thresholds on 3 points, epsilon = 1, delta = 0, distributions on multiples of 1/4 and bounds over these, each program
in a process of its own, on two cores. "Memory" is the largest of the process, less that
of one that only imports. HiGHS was not run for more constraints than `optimum` accepts for it. "Within r" is the bound
from the databases of which r rows have to be replaced before some target can draw them
([relaxation](../proofs/best-learner.md#databases-close-to-realizable-ones)), which are those that are counted. The last
row adds worst distributions until the bounds over all distributions are closed. Rows with a delta have seconds of the
processor, on one core.

{speed}
The first-order method keeps no matrix: it needs two tables of places and a number for each family, kind of row and
hypothesis ([what it does and proves](../proofs/best-learner.md)), with delta > 0 one for each pair of kinds.

What a GPU would add was not measured. A class on 4 points without symmetries has 6.4 million such numbers at 13 rows:
a few thousand steps, each of about six passes over 26 MB, are minutes on a core, and seconds at 4 TB/s. So an hour is
about what the open classes on 4 points need at epsilon = 2.
"""


def needed(matrix: Matrix, privacy: Privacy, store: Collection, start: int, seconds: float, gap: float = GAP) -> Needed:
    """The bracket of a class, from stored programs and new ones; undecided ones are solved to a smaller gap."""
    code, goal, programs = code_of(matrix), goal_of(matrix, ALPHA), list(store.programs())
    epsilon, delta = float(privacy.epsilon), float(privacy.delta)
    proved = [one for one in programs if one.epsilon is None or one.proved]
    below, enough = derived(matrix, epsilon, ALPHA, GOOD, proved, delta)
    low, high = below.n + 1 if below else 1, enough.n if enough else None
    known = {one.key: one for one in programs}

    def solve(n: int) -> Tried | None:
        key = code, n, epsilon, ALPHA, GOOD, delta
        old = known.get(key)
        if old is None or (old.lower < GOOD <= old.upper and old.upper - old.lower > gap):
            near = sorted(
                (one for one in known.values() if one.concepts == code and one.distributions),
                key=lambda one: (abs(one.n - n), (one.epsilon, one.delta) != (epsilon, delta)),
            )
            how: dict[str, Any] = {"distributions": near[0].distributions if near else ()}
            how |= {"level": GOOD if near else None, "grid": GRID, "rounds": ROUNDS, "tolerance": gap}
            try:
                found = optimum(goal, n, privacy, method="first-order", seconds=seconds, **how)
            except InputError as error:
                print(error, flush=True)
                return None
            known[key] = one = store.add(code, GOOD, found)
            bounds = f"[{one.lower:.4f}, {one.upper:.4f}] in {one.seconds:.0f} s"
            print(f"{code}, epsilon {epsilon:g}, delta {delta:g}: n = {one.n}: {bounds}", flush=True)
        return known[key].tried()

    start = max(low, start if high is None else min(start, high))
    return rows_needed(solve, GOOD, start=start, known=(low, high))


def without_privacy(matrix: Matrix, store: Collection) -> None:
    """Stores the programs of a class without privacy."""
    code, goal = code_of(matrix), goal_of(matrix, ALPHA)
    known = {one.key: one for one in store.programs()}

    def solve(n: int) -> Tried:
        key = code, n, None, ALPHA, GOOD, 0.0
        if key not in known:
            begin, found = time.perf_counter(), best_without_privacy(goal, n)
            bounds = math.ceil(found.upper * 1e6) / 1e6, math.floor(found.lower * 1e6) / 1e6
            known[key] = Program(*key[:-1], *bounds, seconds=round(time.perf_counter() - begin, 1))
            store.append(known[key])
        return known[key].tried()

    print(f"{code} without privacy: n* is {rows_needed(solve, GOOD, start=4)}", flush=True)


def compute(
    store: Collection,
    points: int,
    epsilons: Sequence[float],
    seconds: float,
    gap: float = GAP,
    delta: float = 0.0,
    classes: Sequence[str] = (),
) -> None:
    """All classes, or those given; the larger epsilons first; an epsilon of 0 stands for no privacy.

    On 4 points one table serves all classes, and reductions to fewer points have the lower bounds.
    """
    matrices = [matrix_of_code(code) for code in classes] or tiny_classes(min(points, POINTS))
    start = dict[Matrix, int]()
    for epsilon in epsilons:
        if points > POINTS and epsilon in FOUR:
            table_of, rows = FOUR[epsilon]
            print(f"all functions on 4 points: {table_of(store, rows, epsilon, ALPHA, GOOD)}")
        for matrix in matrices:
            if epsilon == 0:
                without_privacy(matrix, store)
                continue
            found = needed(matrix, Privacy(epsilon, delta), store, start.get(matrix, 4), seconds, gap)
            start[matrix] = max(1, round(1.9 * (found.high or found.low)) - 1)
            print(f"{code_of(matrix)}, epsilon {epsilon:g}, delta {delta:g}: n* is {found}", flush=True)


def collect(store: Collection, path: Path, again: bool = False) -> None:
    """Verifies the proofs of all brackets and adds their programs, without distributions, to those of a file.

    What the file has already was verified when it was written, and is kept where nothing is closer: with ``again`` it
    is ignored.
    """
    old = list(read_programs(path.read_text())) if path.exists() and not again else []
    groups: dict[Any, list[Program]] = {}
    for one in [*old, *store.programs()]:
        groups.setdefault((one.concepts, one.epsilon, one.delta), []).append(one)
    lines = []
    for key in sorted(groups, key=lambda key: (len(key[0]), key[0], key[1] or 0.0, key[2])):
        for one in bracket(groups[key]):
            if one is None:
                continue
            short = replace(one, distributions=[])
            if short not in old and not store.verify(one):
                raise InputError("store", "proofs of what is stored", str(one.key), "remove its line and compute again")
            lines.append(short.line())
            print("known" if short in old else "verified", *one.key, flush=True)
    path.write_text("".join(lines))


def page(path: Path, measurements: Sequence[Sequence[Any]]) -> None:
    """The page from the packaged collection, beside the entries of optimum.md if that is in the folder."""
    programs = packaged()
    records = [record(matrix, programs) for matrix in tiny_classes(POINTS + 1)]
    small, four = ([one for one in records if (one["points"] > POINTS) == large] for large in (False, True))
    larger = larger_records(programs, EPSILONS)
    rows = [
        [
            *(one["points"], one["class"], *(shown(one, epsilon) for epsilon in (None, *sorted(EPSILONS)))),
            *(f"{one['log2 size']:.2f}", *(one[name] for name in DIMENSIONS)),
        ]
        for one in small
    ]
    head = ("points", "class", "no privacy", *(f"epsilon {e:g}" for e in sorted(EPSILONS)), "log2 size", *DIMENSIONS)
    text = HEAD.format(alpha=ALPHA, good=GOOD, count=len(rows), points=POINTS) + table(head, rows)
    ranks = [(small, 1.0), (small, 2.0), (four, 1.0), (four, 2.0)]
    columns = [[value for _, value in correlations(*one)] for one in ranks]
    heads = ("parameter", *(f"{'4' if some is four else 'at most 3'} points, epsilon {e:g}" for some, e in ranks))
    text += FOUND.format(
        **_counts(small, programs),
        **compared(rows, path / "optimum.md"),
        four=len(four),
        all=len(records),
        alpha=ALPHA,
        widths=_widths(four),
        approximate=approximate_table(small, EPSILONS),
        delta=DELTA,
        larger=larger_table(larger, SHORT),
        brackets=_brackets(four),
        remarks=refuted(records, (1.0, 2.0)),
        draws=DRAWS + 3,
        fits="\n".join(f"At epsilon = {e:g}:\n\n{table(FIT, fits(small, four, e))}" for e in (1.0, 2.0)),
        correlations=table(heads, [list(row) for row in zip(PARAMETERS, *columns, strict=True)]),
        survivors=survivors(informative(records)),
        kept=len(informative(records)),
        hand=by_hand(programs),
        speed=speed_table(measurements),
    )
    write_page(path / "atlas.md", text)
    write_figure(records, 1.0, figure_path(path, "atlas").with_suffix(".svg"))
    write_parquet([*records, *larger], path / "data" / "atlas.parquet")


def _widths(records: Sequence[dict[str, Any]]) -> str:
    rows = []
    for epsilon in sorted(EPSILONS):
        widths = [high - low for low, high in (ends(one, epsilon) for one in records) if high is not None]
        some = [sum(width <= most for width in widths) for most in (0, 2, 5)]
        rows.append([f"{epsilon:g}", len(widths), *some, max(widths, default=0)])
    return table(("epsilon", "classes with a bracket", "exact", "within 2 rows", "within 5", "widest"), rows)


def _brackets(records: Sequence[dict[str, Any]], epsilon: float = 1.0) -> str:
    """The classes of each bracket: how many, their dimensions, and the first."""
    groups: dict[Any, list[dict[str, Any]]] = {}
    for one in records:
        groups.setdefault(ends(one, epsilon), []).append(one)
    rows = []
    for _, some in sorted(groups.items(), key=lambda item: (item[0][0], item[0][1] or 0)):
        ranges = [_range(2 ** one["log2 size"] for one in some), *(_range(one[name] for one in some) for name in SHORT)]
        rows.append([shown(some[0], epsilon), len(some), *ranges, some[0]["class"]])
    return table(("n*", "classes", "concepts", *SHORT, "the first of them"), rows)


def _range(values: Iterable[float]) -> str:
    """ "2", or "2 to 4"."""
    least, *_, most = sorted(2 * [round(value) for value in values])
    return str(least) if least == most else f"{least} to {most}"


def _counts(records: Sequence[dict[str, Any]], programs: Sequence[Program]) -> dict[str, int]:
    every = [ends(one, epsilon) for one in records for epsilon in EPSILONS]
    widths = [high - low for low, high in every if high is not None]
    compared = [
        (bound.n, high)
        for one in records
        for epsilon in EPSILONS
        if (high := ends(one, epsilon)[1]) is not None
        for bound in formulas(matrix_of_code(one["class"].partition(" (")[0]), Privacy(epsilon), Accuracy(ALPHA, 0.1))
    ]
    near = sum(0 < width <= 2 for width in widths)
    planned = [
        (n, ends(one, epsilon)[0])
        for one in records
        for epsilon in EPSILONS
        for n, _ in sizes(matrix_of_code(one["class"].partition(" (")[0]), Privacy(epsilon))
    ]
    counts = {"entries": len(every), "exact": widths.count(0), "near": near, "compared": len(compared)}
    counts |= {"left": len(every) - widths.count(0) - near, "above": sum(n > high for n, high in compared)}
    counts |= {"planned": len(planned), "below": sum(n < low for n, low in planned)}
    return counts | {"proofs": sum(bool(one.certificate) + bool(one.table) for one in programs)}


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("compute", "collect", "page"))
    parser.add_argument("--store", type=Path, help="folder of solved programs and their proofs")
    parser.add_argument("--points", type=int, default=POINTS)
    parser.add_argument("--classes", nargs="+", default=[], help='in place of all, such as "00 01 10"')
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.0, *EPSILONS], help="0 stands for no privacy")
    parser.add_argument("--delta", type=float, default=0.0)
    parser.add_argument("--seconds", type=float, default=1800.0, help="of one program")
    parser.add_argument("--gap", type=float, default=GAP, help="of the bounds of a program that decides nothing")
    parser.add_argument("--again", action="store_true", help="verify what is in the package, too")
    parser.add_argument("--short", action="store_true", help="few measurements of speed")
    parser.add_argument("--out", type=Path, default=Path("docs/gallery"), help="folder of the page")
    given = parser.parse_args(arguments)
    if given.what == "page":
        page(given.out, speed(given.store, given.short))
    elif given.store is None:
        parser.error("give --store FOLDER")
    elif given.what == "compute":
        compute(
            Collection(given.store), given.points, given.epsilons, given.seconds, given.gap, given.delta, given.classes
        )
    else:
        collect(Collection(given.store), PACKAGED, given.again)


if __name__ == "__main__":
    main()
