"""Writes union-edges.md: errors of `UnionLearner` beside an edge, by `Pieces` and by slab wedges.

Run: python scripts/union_edges.py [--out FOLDER] [--seed SEED] [--trials TRIALS]
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from math import cos, sin

import jax
import numpy as np
from pages import options, table, write_page
from slab_wedges import Law, one_run

from dpjax.concepts import Unions
from dpjax.core.types import Accuracy, Privacy
from dpjax.learners import UnionLearner
from dpjax.mechanisms.cover import Pieces, SlabWedges
from dpjax.mechanisms.cover.lines.halfplanes import Planar

BITS, SCALES, ROWS, TEST = (6, 10, 20), (0.0, 0.003, 0.03), 6000, 20_000
BUDGET, ACCURACY = Privacy(1.0, 1e-6), Accuracy(0.1, 0.1)
PROVEN = {(6, 16.0): 200, (6, 4.0): 200, (6, 1.0): 58, (10, 16.0): 200, (20, 16.0): 3}
"""Trials at the theorem's number of rows, for numbers of bits and epsilon."""
CHOSEN = 5
"""The seed on which measured rounds were chosen, and that of trials at the theorem's rows, which have other rounds."""
FAMILIES: dict[str, Callable[[int], Planar]] = {
    "pieces": Pieces,
    "wedges": SlabWedges,
    "both": lambda d: SlabWedges(d, Pieces(d)),
}


def beside(edge: int, scale: float, d: int, angle: float = 0.0) -> Law:
    """Rows 3 steps of the grid and up to ``scale`` more from an edge of a triangle, positive inside of it.

    angle: by which the triangle is turned about its center, which is then the middle of the square.
    """
    corners = np.roll([(0.1, 0.1), (0.87, 0.2), (0.3, 0.83)], -edge, axis=0)
    if angle:
        turn = np.array([(cos(angle), sin(angle)), (-sin(angle), cos(angle))])
        corners = 0.5 + (corners - corners.mean(axis=0)) @ turn
    along, third = corners[1] - corners[0], corners[2] - corners[0]
    normal = np.array([-along[1], along[0]]) / np.hypot(*along)
    normal = normal if normal @ third > 0 else -normal

    def law(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        sign = rng.choice([-1.0, 1.0], n)
        away = sign * (3 / d + scale * rng.random(n))
        points = corners[0] + rng.uniform(0.05, 0.95, (n, 1)) * along + away[:, None] * normal
        return points[:, 0], points[:, 1], sign > 0

    return law


@cache
def learner(family: str, d: int) -> tuple[UnionLearner, Callable, Callable]:
    """Of one triangle by a family, and its programs."""
    by = UnionLearner(Unions(d, 1), family=FAMILIES[family](d))
    return by, jax.jit(by.learn), jax.jit(by.predict)


def errors(
    family: str, law: Law, n: int, d: int, seed: int, trials: Iterable[int], budget: Privacy = BUDGET
) -> Iterator[float]:
    """On other rows of the law, of each trial."""
    by, learn, predict = learner(family, d)
    compiled = learn, predict, by.plan(budget, ACCURACY, n)
    for trial in trials:
        yield one_run(compiled, law, d, (n, TEST), seed, trial).error


def edges(seed: int, trials: int) -> str:
    """A line for each grid and scale, over all edges; another seed has other keys, too."""
    lines = []
    for d, scale in ((2**bits - 1, scale) for bits in BITS for scale in SCALES):
        of = partial(errors, n=ROWS, d=d, seed=seed, trials=range(seed * trials, (seed + 1) * trials))
        laws = [beside(edge, scale, d) for edge in range(3)]
        found = [[error for law in laws for error in of(family, law)] for family in FAMILIES]
        lines.append((d, scale, *(f"{np.mean(one):.3f}, {np.max(one):.3f}" for one in found)))
        print(*lines[-1], flush=True)
    return table(["d", "width", *(f"{family}: mean, largest" for family in FAMILIES)], lines)


def proven(seed: int) -> str:
    """A line for each grid and epsilon: at the theorem's rows, trials with other edges, scales and angles."""
    lines = []
    for (bits, epsilon), trials in PROVEN.items():
        d, made, budget = 2**bits - 1, [], Privacy(epsilon, float(BUDGET.delta))
        n = learner("wedges", d)[0].sample_size(budget, ACCURACY)
        angles = np.random.default_rng([seed, bits]).uniform(0, 2 * np.pi, trials)
        for trial, angle in enumerate(angles):
            law = beside(trial % 3, SCALES[trial // 3 % len(SCALES)], d, angle)
            made += errors("wedges", law, n, d, seed, [trial], budget)
            print(d, epsilon, n, trial, made[-1], flush=True)
        good = int(np.sum(np.array(made) <= float(ACCURACY.alpha)))
        lines.append((d, epsilon, n, f"{good} of {trials}", f"{np.median(made):.3f}", f"{np.max(made):.3f}"))
    return table(["d", "epsilon", "n", f"error <= {float(ACCURACY.alpha):g}", "median error", "largest error"], lines)


def main(arguments: list[str] | None = None) -> None:
    """Writes the page."""
    args = options(__doc__, 6, 3, arguments)
    by_edge, by_theorem = edges(args.seed, args.trials), proven(CHOSEN)
    values = by_edge, ROWS, args.trials, args.seed, TEST, by_theorem, CHOSEN
    write_page(args.out / "union-edges.md", PAGE.format(*values))


PAGE = """# All rows beside an edge of a triangle

Where all rows are beside one edge, `UnionLearner` by `Pieces` errs at any n, because its lines are finitely many. By
`SlabWedges`, whose theorem is for every distribution, it does not; the default has them, and `Pieces` beside them.

Written by `scripts/union_edges.py`: errors on {4} other rows of the same law, n = {1}, epsilon = 1, delta = 1e-6, {2}
trial(s) for each of the three edges, seed {3}. Rows are three steps of the grid from the edge, and up to the width
more, which is a part of the side of the square. On the smallest grid three steps are a twentieth of the side. The
default family is "both". The numbers of rounds were chosen on rows and keys of another seed, {6}.

{0}

At the sample size of the theorem for one triangle, alpha = beta = .1: each trial has another of the three edges, of the
widths, and a triangle that is turned by another angle. These plans have no measured rounds; the seed is {6}.

{5}
"""

if __name__ == "__main__":
    main()
