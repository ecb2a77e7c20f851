"""Prints the trials of searches for n*, beside those of looks within gamma, on known curves of success.

Run: python scripts/bracket_cost.py [--runs RUNS]
"""

import argparse
import math
from collections.abc import Callable, Sequence

import numpy as np
from pages import table

from dpjax.experiments.statistics.sequential_search import Bracket, geometric_grid, search

BETA, ERROR, GAMMA, RUNS = 0.1, 0.05, 0.05, 100
GRID = geometric_grid(16, 65536)
CURVES: dict[str, Callable[[int], float]] = {
    "a step at 300": lambda n: float(n >= 300),
    "steep: failures 1 / (1 + (n / 620)^6)": lambda n: 1 - 1 / (1 + (n / 620) ** 6),
    "exponential: failures exp(-n / 90)": lambda n: -math.expm1(-n / 90),
    "shallow: failures 3 / sqrt(n)": lambda n: max(0.0, 1 - 3 / math.sqrt(n)),
}
HEADINGS = (
    "success",
    "look within gamma: trials",
    "contains n*",
    "n*: trials",
    "contains n*",
    "n_high / n_low",
    "one step",
)


class Counts:
    """Keyed trials of a known curve."""

    def __init__(self, curve: Callable[[int], float], seed: int):
        self.curve, self.seed, self.known = curve, seed, dict[int, tuple[np.random.Generator, int, int]]()

    def __call__(self, n: int, trials: int, /) -> tuple[int, int]:
        """See `search.Evaluate`."""
        random, successes, before = self.known.get(n, (np.random.default_rng((self.seed, n)), 0, 0))
        successes += int(random.binomial(trials - before, self.curve(n)))
        self.known[n] = random, successes, trials
        return successes, trials


def rows(runs: int = RUNS) -> list[tuple[str, ...]]:
    """A row for each curve: means, and of the ratio of the ends the median."""
    made = []
    for name, curve in CURVES.items():
        enough = next(n for n in GRID if curve(n) >= 1 - BETA)

        def stars(gamma: float, trials: int, curve=curve, enough=enough) -> list[Bracket]:
            how = {"start": 2 * enough, "stride": 4}
            return [
                search(Counts(curve, seed), GRID, BETA, ERROR, gamma=gamma, trials=trials, **how)
                for seed in range(runs)
            ]

        look, exact = stars(GAMMA, 10**7), stars(0.0, 10_000)
        ratio = float(np.median([(star.n_high or GRID[-1]) / (star.n_low or GRID[0]) for star in exact]))
        steps = f"{sum(star.ended == 'one step' for star in exact) / runs:.0%}"
        made.append((name, *_about(look, enough), *_about(exact, enough), f"{ratio:.2f}", steps))
    return made


def _about(stars: Sequence[Bracket], enough: int) -> tuple[str, str]:
    """Mean trials, and how many contain n*."""
    inside = sum((star.n_low or 0) < enough <= (star.n_high or enough) for star in stars)
    return f"{np.mean([star.trials_total for star in stars]):.0f}", f"{inside / len(stars):.0%}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    print(table(HEADINGS, rows(parser.parse_args().runs)))
