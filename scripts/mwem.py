"""Writes mwem.md: the error of MWEM, and of Laplace noise on every query or on every value, at the same budget.

Run: python scripts/mwem.py [--out FOLDER] [--seed SEED] [--trials TRIALS]
"""

import math
from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from pages import options, table, write_page

from dpjax.accounting.zcdp import zcdp_rho
from dpjax.concepts import Finite
from dpjax.core import keys
from dpjax.core.types import Accuracy, Privacy
from dpjax.mechanisms import laplace_mechanism
from dpjax.sanitizers import MWEM
from dpjax.sanitizers.queries import answers, error, histogram

EPSILON, DELTA, SKEW = 1.0, 1e-6, 0.05
VALUES, QUERIES, ROWS = (2**8, 2**10), (2**8, 2**10, 2**12), (500, 2000, 8000)
ROUNDS = ((10, 0), (40, 0), (160, 0), (10, 8), (40, 8))  # (rounds, replays)
HEAD = f"""# Many queries on one table: MWEM and noisy counts

MWEM answers many queries on a private table by a synthetic one. It errs less than noise on each query if there are few
rows and many queries. On domains so small that every value can be counted, a noisy count of each value errs less than
both as soon as there are enough rows. Repeating the update for earlier counts costs no privacy, and helps if there are
rows enough for the rounds.

Written by `scripts/mwem.py`: the largest error over all queries, as a fraction of the rows, at epsilon = {EPSILON:g},
delta = {DELTA:g}, replace-one; the median of {{trials}} runs. Each query holds half of the values, chosen at random;
rows are drawn from a Dirichlet law of parameter {SKEW:g}. "Uniform" ignores the rows. "A query each" adds Laplace noise
to every query's count, by basic composition or zCDP, whichever leaves more epsilon; "a value each" adds
Laplace(2 / epsilon) to the count of every value of the domain. Both are clipped to [0, 1]. MWEM takes T rounds;
"r replays": after each round it repeats the update for all counts so far r more times, and answers with its last
distribution.

"""
TAIL = """
The error of MWEM depends on the logarithm of the number of queries, that of noise on each query on its square root, so
MWEM is better for few rows and many queries. Its cost for the domain is slow convergence: the proved error without
noise is 2 sqrt(ln |X| / (T + 1)), and the budget is split over T rounds. On domains as small as these, from 2000 rows
on, a noisy count of every value is better than both; its error grows with the square root of |X|, and it needs no
class.

Replays cost no privacy; with too few rows for the number of rounds they fit the noise.
"""


def main(
    out: Path,
    seed: int,
    trials: int,
    values: Sequence[int] = VALUES,
    queries: Sequence[int] = QUERIES,
    rows: Sequence[int] = ROWS,
    rounds: Sequence[tuple[int, int]] = ROUNDS,
) -> None:
    """Runs everything, writes the page."""
    found = [row for size in values for many in queries for row in _of_class(size, many, rows, rounds, seed, trials)]
    header = ("values", "queries", "n", "uniform", *(_name(*plan) for plan in rounds), "a query each", "a value each")
    write_page(out / "mwem.md", HEAD.format(trials=trials) + table(header, found) + TAIL)


def _name(rounds: int, replays: int) -> str:
    return f"MWEM, T = {rounds}" + (f", {replays} replays" if replays else "")


def _of_class(size: int, many: int, rows: Sequence[int], rounds: Sequence[tuple[int, int]], seed: int, trials: int):
    generator = np.random.default_rng([seed, size, many])
    queries = Finite.of(generator.random((many, size)) < 0.5)
    law, capacity = generator.dirichlet(np.full(size, SKEW)), max(rows)
    rho = zcdp_rho(EPSILON, DELTA)
    part = max(EPSILON / many, math.sqrt(2 * rho / many))
    programs = [_mwem(MWEM(queries, *plan), trials) for plan in rounds]
    noisy = jax.jit(lambda key, x, mask: _noisy(queries, part, key, x, mask, trials))
    for n in rows:
        x = np.zeros((capacity, 1), np.uint32)
        x[:n, 0] = generator.choice(size, n, p=law)
        mask, key = np.arange(capacity) < n, keys.root(seed)
        errors = [np.median(_errors(queries, program(key, x, mask), x, mask)) for program in programs]
        truth = answers(queries, jnp.asarray(np.bincount(x[:n, 0], minlength=size), jnp.int32))
        uniform = np.max(np.abs(np.asarray(truth) / n - queries.matrix().mean(axis=1)))
        others = [float(np.median(part)) for part in noisy(key, x, mask)]
        yield (size, many, n, float(uniform), *(float(e) for e in errors), *others)
        print(size, many, n, flush=True)


def _mwem(sanitizer: MWEM, trials: int):
    plan = sanitizer.plan(Privacy(EPSILON, DELTA), Accuracy(0.5, 0.1))  # the rounds are given
    return jax.jit(
        lambda key, x, mask: jax.lax.map(
            lambda own: sanitizer.sanitize(own, x, mask, plan), keys.per_index(key, trials)
        )
    )


def _errors(queries: Finite, made, x, mask) -> list[float]:
    count = made.weights.shape[0]
    return [float(error(queries, jax.tree.map(lambda a: np.asarray(a)[t], made), x, mask)) for t in range(count)]  # noqa: B023


def _noisy(queries: Finite, part: float, key, x, mask, trials: int):
    """The errors of noise on each query, and of noise on each value, ``float[trials]`` each."""
    counts = histogram(queries, x, mask)
    n, truth = jnp.sum(mask), answers(queries, counts)

    def one(own):
        of_queries, of_values = keys.streams(own, "queries", "values")
        each = laplace_mechanism(truth, part, sensitivity=1).sample(of_queries)
        cells = laplace_mechanism(counts, EPSILON, sensitivity=2).sample(of_values) - counts
        cell = jnp.asarray(queries.matrix(), jnp.float32) @ cells + truth
        return tuple(jnp.max(jnp.abs(jnp.clip(found, 0, n) - truth)) / n for found in (each, cell))

    return jax.lax.map(one, keys.per_index(key, trials))


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=5)
    main(given.out, given.seed, given.trials)
