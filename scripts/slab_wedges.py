"""Writes slab-wedges.md: the time of one selection of a slab wedge, against n and d, and on rows that no union fits.

Run: python scripts/slab_wedges.py [--out FOLDER] [--seed SEED] [--trials TRIALS]
"""

import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from pages import options, table, write_page

from dpjax.concepts import Unions
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.learners import UnionLearner
from dpjax.mechanisms.cover import SlabWedges
from dpjax.mechanisms.cover.score import Floored
from dpjax.mechanisms.cover.slabs.selection import select_wedge

ROWS, SIZES = (200, 2000, 6000, 20_000), (6, 10, 20, 64)
USUAL, ACCURACY = 1023, Accuracy(0.1, 0.1)
EVERY, MANY = 2000, None
FINE, LEARNED, TEST = 64, (2000, 6000), 20_000
"""Of the default learner's runs: bits of a place, numbers of rows, and other rows on which it is tested."""
Law = Callable[[int, np.random.Generator], tuple[np.ndarray, np.ndarray, np.ndarray]]


def star(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Uniform rows of the unit square, positive in a star of five points."""
    x, y = rng.random((2, n))
    angle = np.mod(np.arctan2(y - 0.5, x - 0.5) - np.pi / 2, 2 * np.pi / 5)
    turned = np.minimum(angle, 2 * np.pi / 5 - angle)
    edge = 0.48 * 0.2 * np.sin(np.pi / 5) / (0.48 * np.sin(turned) + 0.2 * np.sin(np.pi / 5 - turned))
    return x, y, np.hypot(x - 0.5, y - 0.5) < edge


def ring(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Uniform rows, positive between two circles."""
    x, y = rng.random((2, n))
    return x, y, np.abs(np.hypot(x - 0.5, y - 0.5) - 0.32) < 0.11


def beside_an_edge(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All rows within .3 percent of a line, positive above it."""
    x, above = 0.15 + 0.7 * rng.random(n), rng.choice([-3, -2, 2, 3], n)
    return x, 0.09 + x / 8 + above / 1000, above > 0


def coins(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels do not depend on uniform rows."""
    return *rng.random((2, n)), rng.random(n) < 0.4


def checkerboard(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eight by eight squares."""
    x, y = rng.random((2, n))
    return x, y, (np.floor(8 * x) + np.floor(8 * y)) % 2 == 0


def diagonal(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All rows on one line, with 40 parts of changing labels."""
    x = rng.random(n)
    return x, x, np.floor(40 * x) % 2 == 0


def steep(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All rows on a line of slope 7/3 through points of the grid, with random labels."""
    place = np.floor(146 * rng.random(n))
    return (3 * place + 0.5) / USUAL, (7 * place + 0.5) / USUAL, rng.random(n) < 0.5


def rounded(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All rows on a line of slope .31, rounded to the grid, with 40 parts of changing labels."""
    x = rng.random(n)
    return x, 0.2 + 0.31 * x, np.floor(40 * x) % 2 == 0


def two_lines(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All rows on two lines that cross, with 40 parts of changing labels."""
    x, first = rng.random(n), rng.random(n) < 0.5
    return x, np.where(first, x, 1 - 0.7 * x), np.floor(40 * x) % 2 == 0


def three_places(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All rows at three points, with both labels."""
    place = rng.integers(0, 3, n)
    return np.array([0.1, 0.5, 0.8])[place], np.array([0.3, 0.9, 0.2])[place], rng.random(n) < 0.5


def one_place(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All rows at one point, with both labels."""
    return np.full(n, 1 / 3), np.full(n, 1 / 2), rng.random(n) < 0.5


LINES = [diagonal, steep, rounded, two_lines]


def encoded(parts: tuple[np.ndarray, np.ndarray], d: int) -> np.ndarray:
    """Rows of the grid, in the encoding of the family."""
    whole = np.stack([np.array([int(part * 2**53) * d >> 53 for part in column], object) for column in parts], 1)
    if d < 2**31:
        return whole.astype(np.int32)
    return np.stack([(whole >> shift) & 0xFFFFFFFF for shift in (32, 0)], -1).reshape(len(whole), 4).astype(np.uint32)


class Run(NamedTuple):
    """The error on other rows of the law, and CPU seconds of `learn`."""

    error: float
    seconds: float


def one_run(by: tuple[Callable, Callable, Any], law: Law, d: int, sizes: tuple[int, int], seed: int, trial: int) -> Run:
    """One trial by a compiled ``learn``, a compiled ``predict`` and a plan; sizes: rows to learn from, and to test."""
    learn, predict, plan = by
    rows, test = (law(many, np.random.default_rng([seed, trial, many])) for many in sizes)
    points, x = (encoded(part[:2], d).astype(np.uint32) for part in (rows, test))
    sample, begin = Sample(points, rows[2][:, None], np.ones(sizes[0], bool)), time.process_time()
    hypothesis = jax.block_until_ready(learn(jax.random.key(trial), sample, plan))
    seconds = time.process_time() - begin
    return Run(float(np.mean(np.asarray(predict(hypothesis, x)).reshape(-1) != test[2])), seconds)


def programs(by: UnionLearner, n: int, plan: Any) -> tuple[Callable, Callable, Any]:
    """The compiled programs of a learner for n rows, and the plan."""
    rows = Sample(np.zeros((n, by.concepts.domain.limbs), np.uint32), np.zeros((n, 1), bool), np.ones(n, bool))
    return jax.jit(by.learn).lower(jax.random.key(0), rows, plan).compile(), jax.jit(by.predict), plan


@cache
def program(n: int, d: int) -> Callable[[Array, np.ndarray, np.ndarray, Floored], Array]:
    """The compiled selection, which returns the number of boxes."""
    family, words = SlabWedges(d), (2, np.int32) if d < 2**31 else (4, np.uint32)
    with jax.enable_x64(True):
        score = Floored(*(jnp.float64(1.0) for _ in range(3)))
    run = jax.jit(lambda key, points, label, score: select_wedge(family, key, points, label, ~label, score).boxes)
    return run.lower(jax.random.key(0), np.zeros((n, words[0]), words[1]), np.zeros(n, bool), score).compile()


def learner(d: int, triangles: int = 8) -> UnionLearner:
    """Of unions of so many triangles."""
    return UnionLearner(Unions(d, triangles), family=SlabWedges(d))


def times(
    laws: list[Law], n: int, d: int, epsilon: float, args: tuple[int, int], triangles: int = 8
) -> Iterator[tuple[float, int]]:
    """Of each law: CPU seconds of one selection at the first round of a plan, and boxes; medians over the trials."""
    seed, trials = args
    plan = learner(d, triangles).plan(Privacy(epsilon, 1e-6), ACCURACY, n)
    for law in laws:
        x, y, label = law(n, np.random.default_rng(seed))
        points, score, made = encoded((x, y), d), plan.scoring.of(label.sum(), plan.coefficient), []
        run = program(n, d)
        for trial in range(trials):
            begin = time.process_time()
            boxes = int(run(jax.random.key(trial), points, label, score))
            made.append((time.process_time() - begin, boxes))
        print(law.__name__, n, d, epsilon, made, flush=True)
        yield float(np.median([second for second, _ in made])), int(np.median([boxes for _, boxes in made]))


def learned(laws: list[Law], seed: int, trials: int) -> Iterator[tuple]:
    """A line of each number of rows and law, for the default learner on the finest grid at epsilon = 1."""
    d = 2**FINE - 1
    by = UnionLearner(Unions(d))
    for n in LEARNED:
        plan = by.plan(Privacy(1.0, 1e-6), ACCURACY, n)
        compiled = programs(by, n, plan)
        for law in laws:
            made = [one_run(compiled, law, d, (n, TEST), seed, trial) for trial in range(trials)]
            print(law.__name__, n, made, flush=True)
            seconds = np.median([one.seconds for one in made])
            errors = np.array([one.error for one in made])
            found = f"{errors.mean():.3f}, {errors.max():.3f}"
            yield n, law.__doc__.rstrip("."), plan.rounds, f"{seconds:.3g}", f"{seconds / plan.rounds:.3g}", found


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """The slope of log seconds against log size, by least squares."""
    return float(np.polyfit(np.log(np.array(sizes, float)), np.log(seconds), 1)[0])


def swept(laws: list[Law], sizes: list[int], at: Callable[[int], Iterator[tuple[float, int]]], name: str) -> str:
    """A table of seconds and boxes, with exponents in the last line."""
    rows = [(size, list(at(size))) for size in sizes]
    header = [name, *[part for law in laws for part in (law.__doc__.rstrip("."), "boxes")]]
    slopes = [exponent(sizes, [made[i][0] for _, made in rows]) for i in range(len(laws))]
    lines = [[size if size < 10**5 else f"2^{size.bit_length()} - 1", *sum(made, ())] for size, made in rows]
    return table(header, [*lines, ["exponent", *[part for slope in slopes for part in (slope, None)]]])


def main(arguments: list[str] | None = None) -> None:
    """Writes the page."""
    args = options(__doc__, 3, 3, arguments)
    root = args.seed, args.trials
    fits, bad = [beside_an_edge, star], [ring, coins, checkerboard, *LINES, one_place, three_places]
    by_rows = swept(fits, list(ROWS), lambda n: times(fits, n, USUAL, 1.0, root), "n")
    by_size = swept(fits, [2**bits - 1 for bits in SIZES], lambda d: times(fits, EVERY, d, 1.0, root), "d")
    enough = learner(USUAL, 1).sample_size(Privacy(4.0, 1e-6), ACCURACY) if MANY is None else MANY
    hostile = named(bad, times(bad, EVERY, USUAL, 4.0, root))
    proven = named([coins, *LINES], times([coins, *LINES], enough, USUAL, 4.0, root, 1))
    runs = table(RUNS, list(learned(fits, *root)))
    values = by_rows, by_size, hostile, EVERY, USUAL, *root, proven, enough, runs, FINE
    write_page(args.out / "slab-wedges.md", PAGE.format(*values))


def named(laws: list[Law], made: Iterator[tuple[float, int]]) -> str:
    """A table of seconds and boxes, a law a line."""
    lines = [(law.__doc__.rstrip("."), second, boxes) for law, (second, boxes) in zip(laws, made, strict=True)]
    return table(HOSTILE, lines)


HOSTILE = ["rows", "CPU seconds", "boxes"]
RUNS = ["n", "rows", "rounds", "CPU seconds of a run", "of a round", "error: mean, largest"]
PAGE = """# The time of one selection of a slab wedge

How long `SlabWedges` takes to draw one wedge, as a round of `UnionLearner` does by default: less than a second for rows
of most kinds, and somewhat more for a shape that needs more wedges than the plan has.

Written by `scripts/slab_wedges.py`: seconds of CPU time of one selection by `SlabWedges`, and the boxes that its table
had at the end, medians over {6} key(s) on rows of one seed ({5}). The score has the numbers of the first round of
`UnionLearner`'s plan for n rows and delta = 1e-6, with the [floor](../proofs/slab-wedges.md#how-long-a-draw-takes) of
measured plans. With few keys a line is rough to a factor of 2. At d = 63 the rows beside the
line are rounded across it.

At epsilon = 1 and d = {4}, against the number of rows:

{0}

At epsilon = 1 and n = {3}, against the size of the grid:

{1}

Whole runs of the default learner, `UnionLearner(Unions(d))`, with `Pieces` beside the wedges, at epsilon = 1 and d =
2^{10} - 1, without the time to compile; errors are on other rows of the same law:

{9}

At epsilon = 4, d = {4} and n = {3}, a ring, which needs more pieces than k of the plan, and rows that no union fits:

{2}

At epsilon = 4 and d = {4}, with the plan of the theorem for one triangle, from n = {8} on:

{7}
"""

if __name__ == "__main__":
    main()
