"""Writes boundary.md: the outlines of three states, learned privately from locations that are inside or outside.

Run: python scripts/boundary.py [--out FOLDER] [--seed SEED] [--trials TRIALS]

The outlines are from the U.S. Census Bureau's TIGER/Line Shapefiles, as the package bokeh_sampledata brings them:
pip install "dpjax[maps]".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from pages import about, figure_path, options, table, write_page

from dpjax.concepts import ConvexPolygons, Hypothesis, UniformPlane, Unions
from dpjax.concepts.areas import Box, Geometry, area_error, shapely_module
from dpjax.core import keys
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners import PolygonLearner, UnionLearner
from dpjax.mechanisms.cover import CoverPlan, Pieces, SlabWedges
from dpjax.mechanisms.cover.lines.halfplanes import Planar
from dpjax.plots.polygons import plot_polygon

D, PRIVACY, ACCURACY, LIMIT = 2**10, Privacy(1.0, 1e-6), Accuracy(0.1, 0.1), 0.12
RELATION = Neighboring.REPLACE_ONE
BUDGETS = PRIVACY, Privacy(10.0, 1e-6)
SIZES, FEW = (1500, 3000, 6000, 12_000), (3000,)
HEAD = f"""# Outlines of states, learned from labeled locations

The outline of a state is learned privately from labeled locations, as a union of convex pieces or as a convex polygon;
the figures show learned regions. The error falls with the number of rows and with the budget. A union follows shapes
that no convex polygon fits; a state that is nearly convex is learned better as a polygon.

Written by `scripts/boundary.py`: locations are uniform over a public box around a state, with label 1 inside the state.
Its outline is learned at epsilon = {PRIVACY.epsilon:g} and at {BUDGETS[1].epsilon:g}, delta = {PRIVACY.delta:g},
replace-one, on a grid of side {D}. Errors are exact: the area on which the learned region and the state differ, as a
fraction of the box (`concepts.areas.area_error`). The error of a constant is the state's fraction of the box.

{{states}}
All boxes are approximately square. Texas and Minnesota are the least convex (area over that of the hull) of
the states that fill two fifths of such a box; Florida is the least convex of the contiguous states; Nevada is nearly
convex, and not an axis-parallel rectangle. "A union" is `UnionLearner` and "a polygon" `PolygonLearner`, as they are
by default; "Pieces" is `UnionLearner` with `Pieces` alone, triangles and rectangles of few directions, which takes a
tenth of the time or less. Which is better depends on the shape: on Nevada, which has few edges and is none of the
pieces of a union, the polygon errs less.

Errors of {{trials}} runs each, with new locations in each run; seconds are medians, on two cores under other load:

"""
TAIL = """
A union has one piece per round. By `Pieces` it is a triangle or a rectangle, whose edges have 8 and 16 directions; by
default it may be a slab wedge as well, between two vertical lines and any two others. The number of rounds grows with
epsilon n: more pieces fit a state better, but each of them is chosen with more noise. Parts of a union that are too
small to be distinguished from noise are removed (`UnionLearner`). Such plans are measured; from the number of rows of
the theorem on, which is larger, the default has the plan of the theorem. The pictures show the first run from {most}
locations, of which 3000 are drawn, and for Texas by the default from 3000; dashed lines are the pieces and halfplanes
of the rounds.

![Texas](figures/boundary.png)

![Texas by the default family](figures/boundary-wedges.png)

![Nevada](figures/boundary-convex.png)

![Florida](figures/boundary-hard.png)

## Beside a border

Where all locations are beside a border, a union needs its line, which is none of the finitely many of `Pieces`. Here
they are at most {width:g} of the box from the border of Nevada and California, in each coordinate; errors are those on
{probes} other such locations, at epsilon = {epsilon:g}, in {runs} runs with the same rows and keys for all. Slab wedges
(`SlabWedges`) have all lines, alone or with `Pieces` beside them, which is the default ([other edges](union-edges.md),
[times](slab-wedges.md)).

{beside}
## Your own table

`dpjax learn points.csv --learner UnionLearner --box X0 Y0 X1 Y1 --out FOLDER` has the same learner, and
`--learner "UnionLearner(family=dpjax.mechanisms.cover:Pieces)"` the faster one. Their numbers of rounds and of pieces
were chosen on other shapes than these.

Outlines: U.S. Census Bureau, TIGER/Line Shapefiles, simplified, as the package bokeh_sampledata brings them (its
license is BSD-3-Clause). The Census Bureau's files are not copyrighted and free to use, with acknowledgement of the
source.
"""


@dataclass(frozen=True)
class Case:
    """A state, a public box around it in degrees, about as wide as it is high, what learns it, from how many rows.

    figure: its file's name, empty for none. label: the learner's, in the tables. budgets: of the runs.
    """

    code: str
    name: str
    box: Box
    learner: PolygonLearner | UnionLearner
    rows: tuple[int, ...]
    figure: str
    label: str
    budgets: tuple[Privacy, ...] = BUDGETS


UNION = UnionLearner(Unions(D, 7), neighboring=RELATION)
PIECES = replace(UNION, family=Pieces(D))
POLYGON = PolygonLearner(ConvexPolygons(D), neighboring=RELATION)
TEXAS, NEVADA, FLORIDA = (-107.1, 25.2, -93.1, 37.2), (-121.9, 34.7, -112.2, 42.3), (-87.9, 24.2, -79.75, 31.4)
CASES = (
    Case("TX", "Texas", TEXAS, PIECES, SIZES, "boundary", "Pieces"),
    Case("TX", "Texas", TEXAS, UNION, FEW, "boundary-wedges", "a union", BUDGETS[:1]),
    Case("NV", "Nevada", NEVADA, POLYGON, SIZES, "boundary-convex", "a polygon"),
    Case("NV", "Nevada", NEVADA, PIECES, SIZES, "", "Pieces"),
    Case("NV", "Nevada", NEVADA, UNION, FEW, "", "a union", BUDGETS[:1]),
    Case("FL", "Florida", FLORIDA, PIECES, SIZES, "boundary-hard", "Pieces"),
    Case("FL", "Florida", FLORIDA, UNION, FEW, "", "a union", BUDGETS[:1]),
)

BORDER, SLANTED = CASES[3], (-119.97, 35.14, -114.8, 38.97)
"""Nevada, and a box in degrees in which its outline is the border with California alone."""
FAMILIES: dict[str, Planar] = {"pieces": Pieces(D), "wedges": SlabWedges(D), "both": SlabWedges(D, Pieces(D))}
WIDTHS, BESIDE, PROBES, RUNS = (0.005, 0.02), (2000, 6000), 20_000, 4


def outline(case: Case) -> Geometry:
    """The state in the coordinates of the grid."""
    found = next(one["geometry"] for one in boundaries("us_states") if one["code"] == case.code)
    return in_box(found, case.box, D)


def boundaries(table: str) -> Iterator[dict[str, Any]]:
    """The records of a module of the package: us_states or us_counties."""
    shapely_module()  # which the package needs
    try:
        module = import_module(f"bokeh_sampledata.{table}")
    except ImportError as error:
        raise InputError("boundaries", "bokeh_sampledata >= 2026.1", str(error), "pip install 'dpjax[maps]'") from error
    return iter(module.records())


def in_box(shape: Geometry, box: Box, side: float) -> Geometry:
    """A shape in coordinates in which the box is {0, ..., side}^2."""
    x0, y0, x1, y1 = box
    scale = [side / (x1 - x0), side / (y1 - y0)]
    return shapely_module().transform(shape, lambda points: (points - [x0, y0]) * scale)


@dataclass(frozen=True)
class Run:
    """What one run learned, from which rows, how far it is off, and how long it took."""

    sample: Sample
    found: Hypothesis
    error: float
    seconds: float


def runs(case: Case, truth: Geometry, n: int, privacy: Privacy, seed: int, trials: int) -> list[Run]:
    """Independent ones: uniform locations of the box, labeled by the true outline."""
    contains, own = shapely_module().contains_xy, keys.root(seed)
    plan, found = case.learner.plan(privacy, ACCURACY, n), []
    for trial in range(trials):
        of_sample, of_learn = keys.streams(keys.of_trial(own, np.uint32(trial)), "sample", "learn")
        x = UniformPlane(D).draw(of_sample, n)
        inside = contains(truth, *np.asarray(x).astype(float).T)
        sample = Sample(x, jnp.asarray(inside)[:, None], jnp.ones(n, bool))
        begin = perf_counter()
        hypothesis = jax.block_until_ready(learned(case.learner, of_learn, sample, plan))
        seconds = perf_counter() - begin
        found.append(Run(sample, hypothesis, area_error(case.learner.concepts, hypothesis, truth), seconds))
        print(case.name, case.label, n, privacy.epsilon, f"error {found[-1].error:.4f}, {seconds:.1f} s", flush=True)
    return found


@partial(jax.jit, static_argnums=0)
def learned(learner: PolygonLearner | UnionLearner, key: jax.Array, sample: Sample, plan: CoverPlan) -> Hypothesis:
    """One run."""
    return learner.learn(key, sample, plan)


def main(out: Path, seed: int, trials: int, cases: Sequence[Case] = CASES) -> None:
    """Runs, page and figures."""
    rows, shapes = [], []
    for case in cases:
        truth = outline(case)
        shapes.append(_shape(case, truth))
        for n in case.rows:
            for privacy in case.budgets:
                found = runs(case, truth, n, privacy, seed, trials)
                rows.append(_row(case, n, privacy, found))
                if case.figure and privacy == PRIVACY and n == max(case.rows):
                    _picture(case, truth, found[0], out, seed)
    states = table(("state", "by", "share of the box", "share of its hull", "learner"), shapes)
    page = HEAD.format(states=states, trials=trials)
    page += table(
        ("state", "by", "n", "epsilon", "median", "lowest", "highest", f"<= {LIMIT:g}", "seconds a run"), rows
    )
    lines = table(("width", "n", *(f"{family}: mean, largest" for family in FAMILIES)), list(by_family(seed)))
    numbers = {"width": max(WIDTHS), "probes": PROBES, "epsilon": PRIVACY.epsilon, "runs": RUNS, "d": D}
    tail = TAIL.format(most=max(n for case in cases for n in case.rows), beside=lines, **numbers)
    write_page(out / "boundary.md", page + tail)


def beside(width: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Elements of the grid, ``uint32[n, 2]``, at most ``width`` D from the border in each coordinate; their labels."""
    shapely, truth = shapely_module(), outline(BORDER)
    part = in_box(shapely.box(*SLANTED), BORDER.box, D)
    border = shapely.line_merge(shapely.intersection(truth.boundary, part))
    on = shapely.get_coordinates(shapely.line_interpolate_point(border, rng.random(n), normalized=True))
    points = np.clip(np.rint(on + width * D * rng.uniform(-1, 1, (n, 2))), 0, D)
    return points.astype(np.uint32), shapely.contains_xy(truth, *points.T)


def by_family(seed: int) -> Iterator[tuple]:
    """A line for each width and n: the errors of runs by each family."""
    for width, n in product(WIDTHS, BESIDE):
        means = []
        for family in FAMILIES.values():
            learner = replace(UNION, family=family)
            plan, errors = learner.plan(PRIVACY, ACCURACY, n), []
            for trial in range(RUNS):
                (x, y), (probes, truth) = (
                    beside(width, m, np.random.default_rng([seed, trial, m])) for m in (n, PROBES)
                )
                sample = Sample(jnp.asarray(x), jnp.asarray(y)[:, None], jnp.ones(n, bool))
                found = learned(learner, jax.random.key(trial), sample, plan)
                labels = learner.concepts.predict(found, jnp.asarray(probes))
                errors.append(float(np.mean(np.asarray(labels)[:, 0] != truth)))
            means.append(f"{np.mean(errors):.3f}, {np.max(errors):.3f}")
            print(width, n, means, flush=True)
        yield width, n, *means


def _shape(case: Case, truth: Geometry) -> tuple:
    learner = case.learner
    what = "PolygonLearner" if isinstance(learner, PolygonLearner) else "UnionLearner"
    plans = [learner.plan(PRIVACY, ACCURACY, n) for n in case.rows]
    rounds = sorted({plan.rounds for plan in plans})
    numbers = f"{rounds[0]} rounds" if len(rounds) == 1 else f"{rounds[0]} to {rounds[-1]} rounds by n"
    own = f"{truth.area / D**2:.3f}", f"{truth.area / truth.convex_hull.area:.3f}"
    return case.name, case.label, *own, f"{what}, {numbers} at epsilon {PRIVACY.epsilon:g}"


def _row(case: Case, n: int, privacy: Privacy, found: Sequence[Run]) -> tuple:
    errors = np.array([run.error for run in found])
    good, seconds = int(np.sum(errors <= LIMIT)), float(np.median([run.seconds for run in found]))
    spread = (f"{one:.3f}" for one in (np.median(errors), errors.min(), errors.max()))
    return case.name, case.label, n, privacy.epsilon, *spread, f"{good} of {len(found)}", f"{seconds:.2f}"


def _picture(case: Case, truth: Geometry, run: Run, out: Path, seed: int) -> None:
    """The first run."""
    plan = case.learner.plan(PRIVACY, ACCURACY, len(run.sample.y))
    config = {
        "script": "boundary",
        "state": case.code,
        "box": list(case.box),
        "rows": len(run.sample.y),
        "d": D,
        "rounds": plan.rounds,
        "k": plan.k,
        "relation": RELATION.value,
        "epsilon": PRIVACY.epsilon,
        "delta": PRIVACY.delta,
        "trial": 0,
    }
    caption = rf"{len(run.sample.y)} locations, $\varepsilon = {PRIVACY.epsilon:g}$: error {run.error:.3f}"
    plot_polygon(
        (case.learner.concepts, case.learner.concepts.trimmed(run.found)),
        run.sample,
        figure_path(out, case.figure),
        about(config, seed),
        f"{case.name}, learned from labeled locations",
        caption,
        truth=truth,
        box=case.box,
    )


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=20)
    main(given.out, given.seed, given.trials)
