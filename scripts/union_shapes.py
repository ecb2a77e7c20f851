"""Writes union-shapes.md: errors of `UnionLearner` by each family, and of DP-SGD, on shapes and on two counties.

Run: python scripts/union_shapes.py [--out FOLDER] [--seed SEED] [--trials TRIALS]

The counties are from the files that `scripts/boundary.py` takes its states from: pip install "dpjax[maps]".
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from math import cos, sin, sqrt

import jax
import numpy as np
from boundary import boundaries, in_box
from pages import options, table, write_page
from scipy.stats import t as student
from shape_networks import CHOICES, STAGES, Data, errors, tuned
from slab_wedges import Law, Run, one_run, programs, ring, star

from dpjax.concepts import Unions
from dpjax.concepts.areas import Box, shapely_module
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.learners import UnionLearner
from dpjax.mechanisms.cover import Pieces, SlabWedges
from dpjax.mechanisms.cover.lines.halfplanes import Planar

D, ACCURACY, TEST = 1023, Accuracy(0.1, 0.1), 20_000
WEIGHTS = {(2000, 1.0): 32, (2000, 4.0): 16, (6000, 1.0): 8, (6000, 4.0): 4}
"""n and epsilon, and how many times as many trials as the option says."""
LONG = {("wedges", 6000, 1.0), ("wedges", 6000, 4.0)}
"""Not run: a run takes up to half a minute."""
RUNS = 16
"""Of DP-SGD on each shape."""
FAMILIES: dict[str, Planar] = {"pieces": Pieces(D), "wedges": SlabWedges(D), "both": SlabWedges(D, Pieces(D))}
Labels = Callable[[np.ndarray, np.ndarray], np.ndarray]


def uniform(inside: Labels) -> Law:
    """Uniform rows of the unit square with these labels."""

    def law(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x, y = rng.random((2, n))
        return x, y, inside(x, y)

    return law


def ell(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Two bars of .7 by .3."""
    within = (np.minimum(x, y) >= 0.15) & (np.maximum(x, y) <= 0.85)
    return within & ((x <= 0.45) | (y <= 0.45))


def turned(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The same, turned by half a radian about the middle."""
    x, y = x - 0.5, y - 0.5
    return ell(cos(0.5) * x + sin(0.5) * y + 0.5, cos(0.5) * y - sin(0.5) * x + 0.5)


def county(state: str, name: str, box: Box) -> Law:
    """Uniform rows of a box in degrees."""
    found = in_box(next(one["geometry"] for one in boundaries("us_counties") if one["name"] == name), box, 1.0)
    return uniform(lambda x, y: shapely_module().contains_xy(found, x, y))


@cache
def laws() -> dict[str, Law]:
    """All of them by name."""
    return {
        "L": uniform(ell),
        "L turned by .5": uniform(turned),
        "star": star,
        "ring": ring,
        "Roanoke, a hole": county("VA", "Roanoke", (-80.27, 37.10, -79.83, 37.44)),
        "Maui, three islands": county("HI", "Maui", (-157.35, 20.45, -155.93, 21.3)),
    }


def runs(family: str, n: int, epsilon: float, seed: int, trials: Sequence[int]) -> Iterator[list[Run]]:
    """Of each law, all trials: with the same rows and keys for every family."""
    by = UnionLearner(Unions(D), family=FAMILIES[family])
    plan = by.plan(Privacy(epsilon, 1e-6), ACCURACY, n)
    compiled = programs(by, n, plan)
    for name, law in laws().items():
        made = [one_run(compiled, law, D, (n, TEST), seed, trial) for trial in trials]
        print(family, n, epsilon, name, *(f"{one.error:.3f} ({one.seconds:.1f} s)" for one in made), flush=True)
        yield made


def lines_of(cell: tuple[int, float], seed: int, trials: int) -> Iterator[tuple]:
    """A line of each law for n and epsilon."""
    made = {}
    for family in FAMILIES:
        if (family, *cell) not in LONG:
            made[family] = list(runs(family, *cell, seed, range(trials * WEIGHTS[cell])))
    for place, name in enumerate(laws()):
        errors = {family: np.array([one.error for one in found[place]]) for family, found in made.items()}
        seconds = {family: np.median([one.seconds for one in found[place]]) for family, found in made.items()}
        paired = [interval(errors[one] - errors["pieces"]) if one in errors else None for one in ("wedges", "both")]
        means = [f"{errors[family].mean():.3f}" if family in errors else None for family in FAMILIES]
        yield name, *cell, trials * WEIGHTS[cell], *means, *paired, ", ".join(f"{one:.2g}" for one in seconds.values())


def networks(seed: int) -> Iterator[tuple]:
    """A line of each shape for n and epsilon: by DP-SGD and by `Pieces`, both under ADD_OR_REMOVE_ONE."""
    room = max(n for n, _ in WEIGHTS)
    for n, epsilon in WEIGHTS:
        by = UnionLearner(Unions(D), neighboring=Neighboring.ADD_OR_REMOVE_ONE, family=FAMILIES["pieces"], estimate=n)
        plan, learn, predict = by.plan(Privacy(epsilon, 1e-6), ACCURACY), jax.jit(by.learn), jax.jit(by.predict)
        for name, law in laws().items():
            tuning, data = (
                Data.of(law, n, D, (room, TEST, runs), [seed + more]) for more, runs in ((1, STAGES[-1]), (0, RUNS))
            )
            choice, ours = tuned(tuning, n, D, epsilon, CHOICES), []
            for trial in range(RUNS):
                sample, x, truth = jax.tree.map(lambda part: part[trial], data)  # noqa: B023
                ours.append(float(np.mean(np.asarray(predict(learn(jax.random.key(trial), sample, plan), x)) != truth)))
            theirs = errors(data, n, D, epsilon, [choice], RUNS)[0]
            means = f"{np.mean(ours):.3f}", f"{theirs.mean():.3f}"
            print(name, n, epsilon, *means, choice, flush=True)
            yield name, n, epsilon, RUNS, *means, interval(np.array(ours) - theirs)


def interval(values: np.ndarray) -> str:
    """The mean with its 95 percent interval by Student's law, which takes the values for normal."""
    count = len(values)
    half = student.ppf(0.975, count - 1) * values.std(ddof=1) / sqrt(count) if count > 1 else np.inf
    return f"{values.mean():+.3f} +- {half:.3f}"


def main(arguments: list[str] | None = None) -> None:
    """Writes the page."""
    args = options(__doc__, 7, 2, arguments)
    rows = [line for cell in WEIGHTS for line in lines_of(cell, args.seed, args.trials)]
    beside = table(BESIDE, list(networks(args.seed)))
    write_page(args.out / "union-shapes.md", PAGE.format(table(HEADER, rows), args.seed, TEST, D, beside))


HEADER = [
    "shape",
    "n",
    "epsilon",
    "runs",
    *(f"error, {family}" for family in FAMILIES),
    "wedges less pieces",
    "both less pieces",
    "CPU seconds of a run",
]
BESIDE = ["shape", "n", "epsilon", "runs", "error, pieces", "error, DP-SGD", "pieces less DP-SGD"]
PAGE = """# Unions by each family, on shapes and counties

Errors and times of `UnionLearner` by `Pieces`, by `SlabWedges`, and by both together, the default, on an L, a turned
one, a star, a ring and two counties, and errors of DP-SGD: on uniform rows both err as `Pieces` alone, or a little less
where there is much data, and take far longer.

Written by `scripts/union_shapes.py`: errors on {2} other rows of the same law, means over runs with the same rows and
keys for each family, seed {1}; delta = 1e-6, replace-one, d = {3} (`dpjax learn` with `--bits 10`), measured plans of
`Unions({3})`. Rows are uniform on the square. The L is two bars of .7 by .3 with a common end, and then the same turned
by half a radian about the middle of the square; the star has five points, at .48 from the middle, and the corners
between them are at .2; the ring is between circles of radius .21 and .43. Differences are paired, with 95 percent
intervals by Student's law. CPU seconds are medians for each family in this order, without the time to compile; wedges
alone were not run at n = 6000.

{0}

Wedges with `Pieces` beside them err less than `Pieces` alone on every shape at n = 6000 and at epsilon = 4, or differ
by .001 or less; by more than the interval on the ring, where more pieces are needed than a plan has, and on the turned
L. At n = 2000 and epsilon = 1, where a wedge costs more than it can gain, they err more on five of six: by .002 on
average over the shapes, with an interval of .002 for 128 runs, of which the table has half. A run takes 5 to 100 times
as long, and the program several times as long to compile. Both together are the default, since they have a sample size
for every distribution, and err little where `Pieces` err by half: [beside an edge](union-edges.md) or
[beside a border](boundary.md). `Pieces` alone are for thousands of trials. Wedges alone err more on the turned L, where
a piece is a turned rectangle, which takes three wedges, and on the counties: each wedge costs up to 79 nats, a piece of
`Pieces` about 15.

## Beside DP-SGD

A small network by DP-SGD, tuned for each line on other rows **without a privacy cost**, as on
[convex polygons](dp-sgd.md): 162 configurations in 3 runs each, then the best 6 in 24 runs; and `UnionLearner` by
`Pieces`, not tuned. Both are under add-or-remove-one here, with the number of rows known to both, and the same rows.

{4}

The network errs less on the star and the ring at each n and epsilon: such a border needs more pieces than a plan has.
Elsewhere unions err less by more than the interval on both L and Roanoke at n = 2000 and epsilon = 1, and on both
counties at n = 6000 and epsilon = 4; the network on the L at epsilon = 4, and on the turned one at n = 6000 and
epsilon = 4. Add-or-remove-one asks for less than replace-one in the other table, so `Pieces` err less here.

The counties are Roanoke County, Virginia, around its cities, and Maui County, Hawaii, three islands in this box.
Outlines: U.S. Census Bureau, TIGER/Line Shapefiles, as the package bokeh_sampledata brings them
([Outlines of states](boundary.md)).
"""

if __name__ == "__main__":
    main()
