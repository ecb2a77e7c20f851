"""Writes polygons.md: rows that a private set cover needs for convex polygons, by base measure and accounting.

Run: python scripts/polygons.py [--out FOLDER] [--seed SEED] [--trials TRIALS]
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, log, log2
from pathlib import Path

from pages import about, figure_path, options, table, write_page

from dpjax.concepts import ConvexPolygons, UniformPlane
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.experiments.run.cells import Cells
from dpjax.experiments.run.n_star import bracket, cells_in, end_of, guess
from dpjax.experiments.run.reproduce import replayed
from dpjax.experiments.statistics.sequential_search import Bracket, geometric_grid
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.task import Task
from dpjax.learners import PolygonLearner
from dpjax.mechanisms.cover import CoverPlan, cover_plan
from dpjax.mechanisms.cover.lines.measures import Box, Kinematic, LineMeasure
from dpjax.plots.lines import Line, Panel, plot_lines
from dpjax.plots.polygons import plot_polygon
from dpjax.plots.words import number

EPSILON, DELTA, ALPHA, BETA = 1.0, 1e-6, 0.1, 0.1
RELATION = Neighboring.ADD_OR_REMOVE_ONE  # of the paper's proof
RATIO, GUESSES, TAIL = 2 ** (1 / 8), 32, 0.05
PAPER, OURS = 2 * log(2 / ALPHA), 3.0  # rounds for each edge
EDGES = (3, 4, 6, 8, 12)
SIDES = {Kinematic(): (5, 10, 20, 30), Box(): (5, 10, 15)}
"""log2 d for each measure."""
HEAD = f"""# Convex polygons by private set cover

How many rows does a convex polygon need, by its number of edges, by the grid, and by measure and accounting? Measure
and accounting each change it several times over. Under the kinematic measure the grid makes no difference that the
brackets show; in the paper's box the number of rows grows with it. By the number of edges the brackets show no growth.

Written by `scripts/polygons.py`: random polygons of k edges on {{0, ..., d}}^2, uniform examples,
epsilon = {EPSILON:g}, delta = {DELTA:g}, add-or-remove-one, alpha = {ALPHA:g}, beta = {BETA:g}. Brackets of n*, each
right with probability 0.95: success is below {1 - BETA:g} at the lower end and at least {1 - BETA:g} at the upper
one. Errors are fractions of 2^14 probes.

"No private learner below": with fewer rows no private learner of the class succeeds on every distribution.

Four edges:

"""
MIDDLE = """
The kinematic measure and the stopping game, d = 2^10, by the number of edges, with 3 rounds an edge:

"""
BY_SIDE = """
Four edges, the stopping game, exact counts and 12 rounds, by the grid:

"""
TAIL_TEXT = """
![n against k and d](figures/polygons.png)

![One run](figures/polygon.png)

The base measure matters as much as the accounting: nearly all of the paper's box consists of steep lines far away,
whose measure every round pays for. The kinematic measure is invariant under rotations and translations; the cost of
an ordinary edge is the same on every grid.
"""


@dataclass(frozen=True)
class Case:
    """What is measured: a measure, a rule of accounting, a grid, edges and rounds."""

    measure: LineMeasure
    variant: str
    d: int
    edges: int
    rounds: int
    most: int = 4096


@dataclass(frozen=True)
class ByRule(PolygonLearner):
    """With the numbers of one rule of accounting."""

    variant: str = "noise_free"

    @staticmethod
    def of(case: Case) -> "ByRule":
        """The learner of a case."""
        concepts = ConvexPolygons(case.d, case.edges)
        return ByRule(concepts, case.rounds, case.edges, RELATION, measure=case.measure, variant=case.variant)

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> CoverPlan:
        """What is taken off noisy counts is what they hardly exceed for the paper's constants, else half a scale."""
        rounds = self.likely_rounds
        offset = log(rounds / TAIL) if self.variant.startswith("paper") else 0.5
        return cover_plan(privacy, rounds, self.members, self.neighboring, self.variant, offset)


def four_edges() -> tuple[Case, ...]:
    """The cases of the first table."""
    ours, paper = ceil(OURS * 4), ceil(PAPER * 4)
    return (
        Case(Kinematic(), "noise_free", 2**10, 4, ours),
        Case(Kinematic(), "noise_free", 2**20, 4, ours),
        Case(Kinematic(), "noise_free", 2**30, 4, ours),
        Case(Kinematic(), "noisy", 2**10, 4, ours),
        Case(Kinematic(), "zcdp", 2**10, 4, ours),
        Case(Kinematic(), "paper_corrected", 2**10, 4, paper, 16_384),
        Case(Box(), "noise_free", 2**10, 4, ours, 32_768),
        Case(Box(), "paper_corrected", 2**10, 4, paper, 40_000),
    )


def by_side() -> dict[LineMeasure, list[Case]]:
    """The cases of the last table."""
    most = {Kinematic(): 4096, Box(): 32_768}
    return {
        measure: [Case(measure, "noise_free", 2**bits, 4, ceil(OURS * 4), most[measure]) for bits in sides]
        for measure, sides in SIDES.items()
    }


def main(
    out: Path,
    seed: int,
    trials: int,
    cases: Sequence[Case] | None = None,
    edges: Sequence[int] = EDGES,
    sides: dict[LineMeasure, list[Case]] | None = None,
    store: Path | None = None,
) -> None:
    """Searches, page and figures."""
    cases, sides = four_edges() if cases is None else cases, by_side() if sides is None else sides
    by_edges = [Case(Kinematic(), "noise_free", 2**10, k, ceil(OURS * k), 16_384) for k in edges]
    on_grids = [case for group in sides.values() for case in group]
    with cells_in(store, seed) as cells:
        stars = {case: _measured(case, trials, cells) for case in dict.fromkeys([*cases, *by_edges, *on_grids])}
    rows = [_row(case, stars[case]) for case in cases]
    page = HEAD + table(("measure", "accounting", "d", "rounds", "n*", "no private learner below"), rows) + MIDDLE
    page += table(
        ("k", "rounds", "n*", "no private learner below"),
        [(case.edges, case.rounds, _bracket(stars[case], case), _below(case)) for case in by_edges],
    )
    page += BY_SIDE + table(
        ("measure", "d", "n*", "no private learner below"),
        [(_name(case), f"2^{log2(case.d):g}", _bracket(stars[case], case), _below(case)) for case in on_grids],
    )
    write_page(out / "polygons.md", page + TAIL_TEXT)
    config = {"script": "polygons", "epsilon": EPSILON, "delta": DELTA, "alpha": ALPHA, "beta": BETA}
    lines = [_line("kinematic", [(case.edges, stars[case]) for case in by_edges])]
    panels = [Panel("", "edges $k$", "rows $n$", lines, ticks=list(edges))] if lines[0].x else []
    lines = [_line(_name(group[0]), [(log2(case.d), stars[case]) for case in group]) for group in sides.values()]
    lines = [line for line in lines if line.x]
    ticks = sorted({bits for line in lines for bits in line.x})
    panels += [Panel("", r"$\log_2 d$", "rows $n$", lines, log="y", ticks=ticks)] if lines else []
    points = {
        f"{_name(case)}, {case.variant}, k = {case.edges}, d = 2^{log2(case.d):g}": end_of(_setting(case), star.n_high)
        for case, star in stars.items()
        if star.n_high
    }
    if panels:
        plot_lines(
            panels, figure_path(out, "polygons"), about(config, seed, points), "Convex polygons: rows by edges and grid"
        )
    _picture(out, seed, config)


def _line(name: str, stars: Sequence[tuple[float, Bracket]]) -> Line:
    """The brackets that are closed, each with its middle on a logarithmic scale."""
    ends = [(x, star.n_low, star.n_high) for x, star in stars if star.n_low and star.n_high]
    x, low, high = ([end[i] for end in ends] for i in range(3))
    return Line(f"{name}, stopping game", name, x, [(a * b) ** 0.5 for a, b in zip(low, high, strict=True)], low, high)


def _name(case: Case) -> str:
    return case.measure.name


def _setting(case: Case) -> Setting:
    concepts = ConvexPolygons(case.d, case.edges)
    return Setting(ByRule.of(case), Task(concepts, UniformPlane(case.d)), 1, 1, EPSILON, DELTA, ALPHA, BETA)


def _measured(case: Case, trials: int, cells: Cells) -> Bracket:
    setting = _setting(case)
    grid = geometric_grid(256, case.most, RATIO)
    start = guess(setting, cells, grid, min(GUESSES, trials), 1 - BETA)
    star = bracket(setting, cells, grid, start=start or grid[-1], trials=8 * trials)
    print(case, star.n_low, star.n_high, star.trials_total, flush=True)
    return star


def _row(case: Case, star: Bracket) -> tuple:
    return _name(case), case.variant, f"2^{log2(case.d):g}", case.rounds, _bracket(star, case), _below(case)


def _below(case: Case) -> int | None:
    """Of all private learners, on every distribution."""
    setting = _setting(case)
    found = setting.below(setting.learner.guarantee(setting.plan()))
    return None if found is None else found.n


def _bracket(star: Bracket, case: Case) -> str:
    return f"> {case.most}" if star.n_high is None else f"({star.n_low or 0}, {star.n_high}]"


def _picture(out: Path, seed: int, config: dict) -> None:
    """One run from 1600 rows."""
    case, n = Case(Kinematic(), "noise_free", 2**10, 5, ceil(OURS * 5)), 1600
    setting = replace(_setting(case), n=n)
    (padded, target, found, *_), _, (error,) = replayed(setting, seed, 0)
    truth, sample = setting.task.concepts, Sample(padded.x[:n], padded.y[:n], padded.mask[:n])
    caption = rf"$n = {n}$, $\varepsilon = {EPSILON:g}$, $\delta = {number(DELTA)}$: error {error:.3f}"
    shown = (replace(truth, edges=case.rounds), found)
    title, carried = "A polygon of five edges, learned", about(config, seed, {"trial 0": setting})
    plot_polygon(shown, sample, figure_path(out, "polygon"), carried, title, caption, truth=(truth, target))


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=100)
    main(given.out, given.seed, given.trials, store=given.store)
