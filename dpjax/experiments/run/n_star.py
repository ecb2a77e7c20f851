"""The n* of one setting in three stages with separate trials: a guess, a bracket, and the success rate at its end."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from dpjax.core import checks
from dpjax.core.intervals import clopper_pearson
from dpjax.experiments.run.cells import Cells
from dpjax.experiments.run.engine import Engine
from dpjax.experiments.statistics.sequential_search import TRIALS, Bracket, search
from dpjax.experiments.store import error_bins
from dpjax.experiments.store.store import Store
from dpjax.experiments.sweep.setting import Setting

PROVED = "theorem"
"""How a search ended whose upper end is proved, see `proved`."""


@dataclass(frozen=True)
class Rate:
    """Successes among trials at one n, with the exact interval at confidence 0.95; ``no_answers``: abstentions."""

    n: int
    successes: int
    trials: int
    no_answers: int
    lower: float
    upper: float

    def __str__(self) -> str:
        return f"{self.successes / self.trials:.4f} [{self.lower:.4f}, {self.upper:.4f}]"


@contextmanager
def cells_in(folder: Path | None, seed: int) -> Iterator[Cells]:
    """Cells of a store in a folder, by default a temporary one for the duration of the context; for scripts."""
    with tempfile.TemporaryDirectory() as scratch, Store(folder or scratch) as store, Engine() as engine:
        yield Cells(store, engine, seed)


def rate(setting: Setting, cells: Cells, trials: int) -> Rate:
    """Success at setting.n in the first ``trials`` trials of its purpose, rounded up to whole tiles."""
    counts = cells.counts(setting, trials)
    lower, upper = (float(end) for end in clopper_pearson(counts["successes"], counts["trials"]))
    return Rate(setting.n, counts["successes"], counts["trials"], counts["no_answers"], lower, upper)


def guess(setting: Setting, cells: Cells, grid: Sequence[int], trials: int, wanted: float) -> int | None:
    """The n at which a fraction ``wanted`` of the trials succeeds, by bisection of an ascending grid; None if none.

    For selecting among settings, not an estimate: the selected setting must be measured on other trials.
    """
    checks.probability("wanted", wanted)
    checks.integer("trials", trials, 1)
    low, high = -1, len(grid)
    while high - low > 1:
        middle = (low + high) // 2
        counts = rate(replace(setting, n=grid[middle], purpose="guess"), cells, trials)
        low, high = (low, middle) if counts.successes >= wanted * counts.trials else (middle, high)
    return None if high == len(grid) else grid[high]


def end_of(setting: Setting, n: int) -> Setting:
    """The point whose trials `bracket` uses when it visits n."""
    return replace(setting, n=n, purpose="search")


def bracket(
    setting: Setting,
    cells: Cells,
    grid: Sequence[int],
    *,
    start: float | None = None,
    trials: int = TRIALS,
    error: float = 0.05,
    gamma: float = 0.0,
    stride: int = 1,
) -> Bracket:
    """`sequential_search.search` over keyed trials of the setting: the bracket of n* for success 1 - beta.

    Exactly the trials that the search asks for are counted, so its result does not depend on the size of blocks.
    """

    def evaluate(n: int, asked: int) -> tuple[int, int]:
        outcomes = cells.outcomes(end_of(setting, n), asked)
        return int(error_bins.successes(outcomes, setting.alpha).sum()), asked

    return search(evaluate, grid, setting.beta, error, trials=trials, gamma=gamma, start=start, stride=stride)


def proved(star: Bracket, theorem: int | None) -> Bracket:
    """The bracket with an upper end that is proved, where trials left it open or found only a larger one.

    theorem: a sample size proved for the setting, or None. If n_low contradicts it, the bracket stays as it is.
    """
    if theorem is None or theorem <= (star.n_low or 0) or theorem >= (star.n_high or theorem + 1):
        return star
    return replace(star, n_high=theorem, ended=PROVED)
