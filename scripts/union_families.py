"""Writes union-families.md: errors of `UnionLearner` by its default family, by slab wedges, and by both together.

Run: python scripts/union_families.py [--out FOLDER] [--seed SEED] [--trials TRIALS]
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import jax
import numpy as np
from pages import options, table, write_page
from slab_wedges import encoded, ring, star

from dpjax.concepts import Unions
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.learners import UnionLearner
from dpjax.mechanisms.cover import Pieces, SlabWedges

ROWS, EPSILONS, TEST = (2000, 6000), (1.0, 4.0), 20_000
USUAL, ACCURACY, TRIANGLES = 1023, Accuracy(0.1, 0.1), 8
SIZES, SCALES, EDGE_ROWS = (6, 10, 20), (0.0, 0.003, 0.03), 6000
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]
Law = Callable[[int, np.random.Generator], Rows]


def inside(corners: Sequence[tuple[float, float]], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Which points are in a polygon: a ray to the right meets its border an odd number of times."""
    odd = np.zeros(x.shape, bool)
    for (x0, y0), (x1, y1) in zip(corners, [*corners[1:], corners[0]], strict=True):
        at = x0 + (y - y0) * (x1 - x0) / (y1 - y0 if y1 != y0 else 1)
        odd ^= ((y0 <= y) != (y1 <= y)) & (x < at)
    return odd


def corner(n: int, rng: np.random.Generator) -> Rows:
    """An L."""
    x, y = rng.random((2, n))
    return x, y, inside(ELL, x, y)


def turned(n: int, rng: np.random.Generator) -> Rows:
    """The same L, turned by half a radian."""
    x, y = rng.random((2, n))
    across, up = x - 0.5, y - 0.5
    return (
        x,
        y,
        inside(ELL, 0.5 + np.cos(0.5) * across + np.sin(0.5) * up, 0.5 + np.cos(0.5) * up - np.sin(0.5) * across),
    )


def counties(n: int, rng: np.random.Generator) -> Rows:
    """Two polygons of eight and seven edges."""
    x, y = rng.random((2, n))
    return x, y, inside(FIRST, x, y) | inside(SECOND, x, y)


ELL = [(0.2, 0.2), (0.8, 0.2), (0.8, 0.45), (0.45, 0.45), (0.45, 0.85), (0.2, 0.85)]
FIRST = [(0.08, 0.12), (0.38, 0.06), (0.47, 0.22), (0.4, 0.41), (0.43, 0.6), (0.25, 0.66), (0.12, 0.52), (0.17, 0.3)]
SECOND = [(0.6, 0.48), (0.82, 0.38), (0.95, 0.55), (0.9, 0.83), (0.72, 0.93), (0.56, 0.8), (0.63, 0.66)]
SHAPES: list[tuple[str, Law]] = [
    ("an L", corner),
    ("the L turned by half a radian", turned),
    ("a star of five points", star),
    ("between two circles", ring),
    ("two polygons of eight and seven edges", counties),
]
FAMILIES: dict[str, Callable[[int], SlabWedges | None]] = {
    "pieces": lambda d: None,
    "wedges": SlabWedges,
    "both": lambda d: SlabWedges(d, Pieces(d)),
}


def beside(edge: int, scale: float, d: int) -> Law:
    """Rows within about ``scale``, or a few steps of the grid, of an edge of a triangle, positive inside of it."""
    corners = np.roll([(0.1, 0.1), (0.87, 0.2), (0.3, 0.83)], -edge, axis=0)
    along, third = corners[1] - corners[0], corners[2] - corners[0]
    normal = np.array([-along[1], along[0]]) / np.hypot(*along)
    normal = normal if normal @ third > 0 else -normal

    def law(n: int, rng: np.random.Generator) -> Rows:
        sign = rng.choice([-1.0, 1.0], n)
        away = sign * (3 / d + scale * rng.random(n))
        points = corners[0] + rng.uniform(0.05, 0.95, (n, 1)) * along + away[:, None] * normal
        return points[:, 0], points[:, 1], sign > 0

    return law


@cache
def learner(family: str, d: int, triangles: int) -> UnionLearner:
    """By a family."""
    return UnionLearner(Unions(d, triangles), family=FAMILIES[family](d))


PROGRAMS: dict[tuple, Any] = {}
predicted = jax.jit(lambda learner, hypothesis, x: learner.predict(hypothesis, x), static_argnums=0)


def runs(
    family: str, law: Law, n: int, d: int, epsilon: float, args: tuple[int, int], triangles: int = TRIANGLES
) -> Iterator[tuple[float, float]]:
    """Error on other rows of the law, and CPU seconds, of each trial."""
    seed, trials = args
    by = learner(family, d, triangles)
    plan = by.plan(Privacy(epsilon, 1e-6), ACCURACY, n)
    for trial in range(trials):
        rows, test = (law(many, np.random.default_rng([seed, trial, many])) for many in (n, TEST))
        points, x = (encoded(part[:2], d).astype(np.uint32) for part in (rows, test))
        sample = Sample(points, rows[2][:, None], np.ones(n, bool))
        given = jax.random.key(trial), sample, plan
        name = by, n, jax.tree.structure(plan)
        if name not in PROGRAMS:
            PROGRAMS[name] = jax.jit(by.learn).lower(*given).compile()
        begin = time.process_time()
        hypothesis = jax.block_until_ready(PROGRAMS[name](*given))
        seconds = time.process_time() - begin
        found = np.asarray(predicted(by, hypothesis, x)).reshape(-1)
        yield float(np.mean(found != test[2])), seconds


def shapes(args: tuple[int, int]) -> str:
    """A line for each shape, epsilon and n."""
    lines, used = [], ("pieces", "both")
    for name, law in SHAPES:
        for epsilon in EPSILONS:
            for n in ROWS:
                made = {family: np.array(list(runs(family, law, n, USUAL, epsilon, args))) for family in used}
                cells = [f"{one[:, 0].mean():.3f} ({one[:, 0].std():.3f})" for one in made.values()]
                lines.append((name, epsilon, n, *cells, *(float(one[:, 1].mean()) for one in made.values())))
                print(*lines[-1], flush=True)
    return table(["shape", "epsilon", "n", *used, *(f"CPU seconds, {family}" for family in used)], lines)


def edges(args: tuple[int, int]) -> str:
    """A line for each grid and scale, over all edges."""
    lines = []
    for bits in SIZES:
        d = 2**bits - 1
        for scale in SCALES:
            errors = {}
            for family in ("pieces", "wedges"):
                made = [runs(family, beside(edge, scale, d), EDGE_ROWS, d, 1.0, args, 1) for edge in range(3)]
                errors[family] = np.array([error for one in made for error, _ in one])
            lines.append((d, scale, *(f"{one.mean():.3f}, {one.max():.3f}" for one in errors.values())))
            print(*lines[-1], flush=True)
    return table(["d", "scale", "pieces: mean, largest", "wedges: mean, largest"], lines)


def main(arguments: list[str] | None = None) -> None:
    """Writes the page."""
    args = options(__doc__, 5, 3, arguments)
    root = args.seed, args.trials
    by_edge, by_shape = edges(root), shapes(root)
    write_page(args.out / "union-families.md", PAGE.format(by_edge, by_shape, USUAL, EDGE_ROWS, args.trials, args.seed))


PAGE = """# Families of unions of polygons

`UnionLearner` by its default family `Pieces`, by `SlabWedges`, whose theorem is for every distribution, and by wedges
with pieces beside them. Where all rows are beside an edge, pieces err at any n; on rows that are spread over the square
they are as good, and much faster.

Written by `scripts/union_families.py`, delta = 1e-6, seed {5}. Errors on 20,000 other rows of the same law.

A triangle, all rows beside one of its edges, within so much of the side of the square and at least three steps of the
grid; epsilon = 1, n = {3}, {4} trial(s) for each of the three edges:

{0}

Uniform rows of the square, d = {2}, means of {4} trial(s) with standard deviations, for the class of 8 triangles:

{1}
"""

if __name__ == "__main__":
    main()
