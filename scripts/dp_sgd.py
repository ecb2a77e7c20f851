"""Writes dp-sgd.md: convex polygons by DP-SGD with a small network and by a private set cover, at one budget.

Run: python scripts/dp_sgd.py [--out FOLDER] [--seed SEED] [--trials TRIALS] [--store FOLDER [--finished]]
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from dp_sgd_runs import (
    ACCURACY,
    ALPHA,
    BETA,
    BUDGET,
    DELTA,
    EPSILON,
    WORKLOADS,
    Case,
    Choice,
    Measured,
    Workload,
    free_choices,
    learner,
    private_choices,
)
from pages import about, figure_path, options, table, write_page
from scipy.stats import binom

from dpjax.core.intervals import clopper_pearson
from dpjax.plots.lines import Line, Panel, plot_lines
from dpjax.plots.words import number

ROWS = (400, 800, 1600, 3200, 6400, 12_800)
CONFIDENCE = 0.95
CHOICE = (
    "workload",
    "method",
    "n",
    "optimizer",
    "layers",
    "steps",
    "batch",
    "noise multiplier",
    "learning rate",
    "clip",
    "spread",
    "averaged",
)
NAMES = {"dp-sgd": "DP-SGD", "free": "DP-SGD without noise", "cover": "private set cover"}
HEAD = f"""# Convex polygons: DP-SGD and private set cover

Two private ways to learn a convex polygon: the set cover, which returns a polygon and has a theorem, and DP-SGD, which
trains a small network. The set cover has the smaller median error on every workload, and at every number of rows,
although it has one configuration for all of them and DP-SGD is tuned for each without a privacy cost.

Written by `scripts/dp_sgd.py`: random convex polygons, epsilon = {EPSILON:g}, delta = {DELTA:g}, add-or-remove-one, on
these workloads:

{{workloads}}

Errors are fractions of 2^14 probes, in {{trials}} runs a point; targets and examples are the same for all methods, so
runs are paired.

DP-SGD trains a small network (tanh, log-loss) with optax: gradients of the rows of a Poisson batch, clipped and noised;
the noise multiplier is dp-accounting's, by privacy-loss distributions. It is tuned for each workload and each n on
separate random polygons, **without a privacy cost**: all of {{private}} configurations in {{first}} runs each, then the
best {{kept}} in {{second}} more; the least mean error is selected. It gets n, which sets the sampling rate, although n
is not public under add-or-remove-one. Without noise: the same, of {{free}} configurations. The set cover is
`PolygonLearner` as it is by default ({{ours}}): it gets the number of edges, not n, and has one configuration for all
workloads and all n.
"""
ABOUT = """
Share ahead: of the runs in which one of the two errs less, those in which it is the set cover, with the exact interval
of the sign test. Difference: the median over runs of the set cover's error minus DP-SGD's, with the interval of order
statistics. Both intervals have {confidence:.0%} confidence each and assume nothing about the errors.
"""
SECONDS = """
Seconds of one run in a large batch, without drawing its data or compilation, and of tuning for that n, with
compilation; all networks train in a buffer for the largest n:

"""
CHOSEN = """
Selected configurations:

"""
TAIL = """
![Error against n](figures/dp-sgd.png)

{verdict}

Notes: DP-SGD is tuned separately for every n on polygons of the same kind as those of the test, which costs privacy if
only one private table is available; more steps and other networks were not tried. Its hypothesis is a network without
a bound on its error. The set cover returns a polygon; its numbers depend on the budget and the edges only.
"""

Results = dict[tuple[str, str, int], Measured]


def main(
    out: Path,
    seed: int,
    trials: int,
    store: Path | None = None,
    workloads: Sequence[Workload] = WORKLOADS,
    rows: Sequence[int] = ROWS,
    private: Callable[[Workload], tuple[Choice, ...]] = private_choices,
    free: Callable[[Workload], tuple[Choice, ...]] = free_choices,
    stages: tuple[int, int, int] = (3, 6, 24),
    finished: bool = False,
) -> None:
    """Tunes, measures, writes. stages: runs of all configurations, how many are kept, runs of these.

    store: a folder that keeps every finished point, so that a stopped run goes on. finished: measure nothing, and
      leave out what is not in the store.
    """
    of: Results = {}
    for workload in workloads:
        for n in rows:
            for method, choices in (("dp-sgd", private(workload)), ("free", free(workload)), ("cover", ())):
                case = Case(workload, method, n, max(rows), seed, trials, choices, stages)
                if finished and (store is None or not case.path(store).exists()):
                    continue
                found = of[workload.name, method, n] = case.result(store)
                print(workload.name, method, n, found.median, f"{found.good} of {trials}", found.choice, flush=True)
    counts = [sorted({len(make(workload)) for workload in workloads}) for make in (private, free)]
    write(out, seed, workloads, rows, of, counts, stages)


def write(
    out: Path,
    seed: int,
    workloads: Sequence[Workload],
    rows: Sequence[int],
    of: Results,
    configurations: Sequence[Sequence[int]],
    stages: tuple[int, int, int],
) -> None:
    """Page and figure, of the points of which all methods have a result."""
    has = {w.name: [n for n in rows if all((w.name, method, n) in of for method in NAMES)] for w in workloads}
    workloads = [workload for workload in workloads if has[workload.name]]
    trials = len(of[workloads[0].name, "cover", has[workloads[0].name][0]].errors)
    private, free = (" or ".join(map(str, counts)) for counts in configurations)
    page = HEAD.format(
        trials=trials,
        private=private,
        free=free,
        first=stages[0],
        kept=stages[1],
        second=stages[2],
        workloads="\n".join(map(_described, workloads)),
        ours=_ours(workloads),
    )
    page += ABOUT.format(confidence=CONFIDENCE)
    head = (
        "n",
        *(f"{name}: {what}" for name in NAMES.values() for what in ("median", "90%", f"<= {ALPHA:g}")),
        "share ahead",
        "difference",
    )
    for workload in workloads:
        cells = [
            (
                n,
                *(cell for method in NAMES for cell in _summary(of[workload.name, method, n])),
                *_paired(of, workload, n),
            )
            for n in has[workload.name]
        ]
        page += f"\n## {workload.name.capitalize()}\n\n" + table(head, cells)
        if missing := [str(n) for n in rows if n not in has[workload.name]]:
            page += f"\nNot measured: n = {', '.join(missing)}.\n"
    page += (
        "\n## Details\n"
        + SECONDS
        + table(
            ("workload", "n", *NAMES.values(), "tuning of DP-SGD"),
            [
                (w.name, n, *(of[w.name, method, n].seconds for method in NAMES), of[w.name, "dp-sgd", n].tuning)
                for w in workloads
                for n in has[w.name]
            ],
        )
    )
    tuned = [(w, method, n) for method in ("dp-sgd", "free") for w in workloads for n in has[w.name]]
    page += CHOSEN + table(CHOICE, [_shown(of[w.name, method, n], w, method, n) for w, method, n in tuned])
    verdict = "\n\n".join(_verdict(of, workload, has[workload.name]) for workload in workloads)
    write_page(out / "dp-sgd.md", page + TAIL.format(verdict=verdict))
    config = {
        "script": "dp_sgd",
        "epsilon": EPSILON,
        "delta": DELTA,
        "alpha": ALPHA,
        "rows": list(rows),
        "workloads": [workload.name for workload in workloads],
        "trials": trials,
        "stages": list(stages),
        "configurations": [list(counts) for counts in configurations],
    }
    panels = []
    for w in workloads:
        lines = [_line(of, w, method, has[w.name]) for method in NAMES]
        panels.append(Panel(w.name, "rows $n$", "error", lines, ticks=rows))
    title = rf"Convex polygons, $\varepsilon = {EPSILON:g}$, $\delta = {number(DELTA)}$: median, 10% to 90% of runs"
    plot_lines(panels, figure_path(out, "dp-sgd"), about(config, seed), title)


def paired(first: np.ndarray, second: np.ndarray) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The share of runs in which ``first`` is smaller, and the median of first - second, each with an interval.

    Equal errors do not count for the share; 1/2 in [0, 1] if all are. The interval of the median ends at the order
    statistics that leave at most (1 - CONFIDENCE) / 2 of a fair coin's law on each side; the whole line if none do.
    """
    difference = np.sort(first - second)
    ahead, unequal = int(np.sum(difference < 0)), int(np.sum(difference != 0))
    ends = clopper_pearson(ahead, unequal, CONFIDENCE)
    outside = int(binom.ppf((1 - CONFIDENCE) / 2, len(difference), 0.5))  # the rank below which the tail is small
    low, high = (difference[outside - 1], difference[-outside]) if outside else (-np.inf, np.inf)
    share = (ahead / unequal if unequal else 0.5, *map(float, ends))
    return share, (float(np.median(difference)), float(low), float(high))


def _summary(one: Measured) -> tuple[float, float, str]:
    median, high = np.quantile(one.errors, (0.5, 0.9))
    return float(median), float(high), f"{one.good} of {len(one.errors)}"


def _paired(of: Results, workload: Workload, n: int) -> tuple[str, str]:
    share, middle = paired(*(of[workload.name, method, n].errors for method in ("cover", "dp-sgd")))
    return (
        f"{share[0]:.2f} [{share[1]:.2f}, {share[2]:.2f}]",
        f"{middle[0]:+.4f} [{middle[1]:+.4f}, {middle[2]:+.4f}]",
    )


def _described(one: Workload) -> str:
    place = f"uniform examples of {{0, ..., {one.d}}}^2"
    if one.side < one.d:
        place = (
            f"in a square of side {one.side} at a random place of {{0, ..., {one.d}}}^2, which no method is told; "
            "uniform examples of that square"
        )
    return f"- {one.name}: {one.edges} edges, {place}."


def _ours(workloads: Sequence[Workload]) -> str:
    """What its plan is."""
    plans = {w.edges: learner(w).plan(BUDGET, ACCURACY) for w in workloads}
    return ", ".join(f"{plan.rounds} rounds at {edges} edges" for edges, plan in sorted(plans.items()))


def _shown(one: Measured, workload: Workload, method: str, n: int) -> tuple[Any, ...]:
    choice = one.choice
    assert choice is not None
    widths = " x ".join(str(width) for width in choice.widths)
    return (
        workload.name,
        NAMES[method],
        n,
        choice.optimizer,
        widths,
        choice.steps,
        choice.expected,
        choice.multiplier(n, method == "dp-sgd"),
        choice.learning_rate,
        choice.clip,
        choice.spread,
        choice.average,
    )


def _line(of: Results, workload: Workload, method: str, rows: Sequence[int]) -> Line:
    points = [np.quantile(of[workload.name, method, n].errors, (0.1, 0.5, 0.9)) for n in rows]
    low, middle, high = zip(*(map(float, one) for one in points), strict=True)
    return Line(NAMES[method], method, rows, middle, low, high)


def _verdict(of: Results, workload: Workload, rows: Sequence[int]) -> str:
    """Where the one's median is below the other's and the interval is on one side, and who needs how many rows."""
    words = []
    for method, text in NAMES.items():
        found = [of[workload.name, method, n] for n in rows]
        enough = [n for n, one in zip(rows, found, strict=True) if one.good >= (1 - BETA) * len(one.errors)]
        words.append(f"{text} from {enough[0]} rows on" if enough else f"{text} at none of these n")
    medians = {n: [of[workload.name, method, n].median for method in ("cover", "dp-sgd")] for n in rows}
    ahead = [n for n in rows if medians[n][0] < medians[n][1]]
    middles = {n: paired(*(of[workload.name, method, n].errors for method in ("cover", "dp-sgd")))[1] for n in rows}
    below, above = [n for n in rows if middles[n][2] < 0], [n for n in rows if middles[n][1] > 0]
    text = (
        f"{workload.name.capitalize()}: the set cover has the smaller median at {len(ahead)} of {len(rows)} n"
        f"{': ' + ', '.join(map(str, ahead)) if ahead else ''}. The interval of the difference is below 0"
        f" {_at(below)}, above 0 {_at(above)}. Error at most {ALPHA:g} in {1 - BETA:.0%} of the runs or more:"
        f" {'; '.join(words)}."
    )
    if of[workload.name, "free", rows[-1]].median > ALPHA:
        text += " The network errs without noise too: its coordinates are those of the whole grid."
    return text


def _at(rows: Sequence[int]) -> str:
    return f"at n = {', '.join(map(str, rows))}" if rows else "nowhere"


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=80, flags={"finished": "write the page from what --store holds"})
    main(given.out, given.seed, given.trials, given.store, finished=given.finished)
