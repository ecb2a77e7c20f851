"""Writes union-shapes.md: errors and seconds of `UnionLearner` by each family on shapes, and on two counties.

Run: python scripts/union_shapes.py [--out FOLDER] [--seed SEED] [--trials TRIALS]

The counties are from the files that `scripts/boundary.py` takes its states from: pip install "dpjax[maps]".
"""

from collections.abc import Callable, Iterator
from functools import cache
from math import cos, sin, sqrt
from time import process_time
from typing import NamedTuple

import jax
import numpy as np
from boundary import boundaries, in_box
from pages import options, table, write_page
from scipy.stats import t as student
from slab_wedges import Law, encoded, ring, star

from dpjax.concepts import Unions
from dpjax.concepts.areas import Box, shapely_module
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.learners import UnionLearner
from dpjax.mechanisms.cover import Pieces, SlabWedges
from dpjax.mechanisms.cover.lines.halfplanes import Planar

D, SIZES, BUDGETS, ACCURACY, TEST = 1023, (2000, 6000), (1.0, 4.0), Accuracy(0.1, 0.1), 20_000
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


class Run(NamedTuple):
    """The error on other rows of the law, and CPU seconds of `learn`."""

    error: float
    seconds: float


def runs(family: str, n: int, epsilon: float, seed: int, trials: int) -> Iterator[list[Run]]:
    """Of each law, all trials: with the same rows and keys for every family."""
    by = UnionLearner(Unions(D), family=FAMILIES[family])
    plan = by.plan(Privacy(epsilon, 1e-6), ACCURACY, n)
    rows = Sample(np.zeros((n, 2), np.uint32), np.zeros((n, 1), bool), np.ones(n, bool))
    learn, predict = jax.jit(by.learn).lower(jax.random.key(0), rows, plan).compile(), jax.jit(by.predict)
    for name, law in laws().items():
        made = []
        for trial in range(trials):
            rows, test = (law(many, np.random.default_rng([seed, trial, many])) for many in (n, TEST))
            points, x = (encoded(part[:2], D).astype(np.uint32) for part in (rows, test))
            begin = process_time()
            sample = Sample(points, rows[2][:, None], np.ones(n, bool))
            hypothesis = jax.block_until_ready(learn(jax.random.key(trial), sample, plan))
            seconds = process_time() - begin
            made.append(Run(float(np.mean(np.asarray(predict(hypothesis, x)).reshape(-1) != test[2])), seconds))
        print(family, n, epsilon, name, *(f"{run.error:.3f} ({run.seconds:.1f} s)" for run in made), flush=True)
        yield made


def lines_of(n: int, epsilon: float, seed: int, trials: int) -> Iterator[tuple]:
    """A line of each law for n and epsilon."""
    made = {family: list(runs(family, n, epsilon, seed, trials)) for family in FAMILIES}
    for place, name in enumerate(laws()):
        errors = {family: np.array([run.error for run in made[family][place]]) for family in FAMILIES}
        paired = (interval(errors[family] - errors["pieces"]) for family in ("wedges", "both"))
        seconds = (f"{np.median([run.seconds for run in made[family][place]]):.2g}" for family in FAMILIES)
        yield name, n, epsilon, *(f"{one.mean():.3f}" for one in errors.values()), *paired, ", ".join(seconds)


def interval(values: np.ndarray) -> str:
    """The mean with its 95 percent interval by Student's law, which takes the values for normal."""
    count = len(values)
    half = student.ppf(0.975, count - 1) * values.std(ddof=1) / sqrt(count) if count > 1 else np.inf
    return f"{values.mean():+.3f} +- {half:.3f}"


def main(arguments: list[str] | None = None) -> None:
    """Writes the page."""
    args = options(__doc__, 7, 4, arguments)
    cells = [(n, epsilon) for n in SIZES for epsilon in BUDGETS]
    rows = [line for cell in cells for line in lines_of(*cell, args.seed, args.trials)]
    write_page(args.out / "union-shapes.md", PAGE.format(table(HEADER, rows), args.trials, args.seed, TEST, D))


HEADER = [
    "shape",
    "n",
    "epsilon",
    *(f"error, {family}" for family in FAMILIES),
    "wedges less pieces",
    "both less pieces",
    "CPU seconds of a run: pieces, wedges, both",
]
PAGE = """# Unions by each family, on shapes and counties

TODO

Written by `scripts/union_shapes.py`: ... {1} {2} {3} {4}

{0}
"""

if __name__ == "__main__":
    main()
