"""Writes docs/dp-sgd.md: convex polygons by DP-SGD with a small network and by a private set cover, at one budget.

Run: python scripts/dp_sgd.py [--out FOLDER] [--seed SEED] [--trials TRIALS]
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, product
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.baselines.dp_sgd import DPSGD, Numbers, batch_for, noise_multiplier
from dpjax.concepts import ConvexPolygons, UniformPlane
from dpjax.core import keys
from dpjax.core.intervals import clopper_pearson
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.experiments.reports import about, figure_path, options, table, write_page
from dpjax.experiments.task import Task
from dpjax.experiments.tiles import capacity
from dpjax.learners import PolygonLearner
from dpjax.plots.lines import Line, Panel, plot_lines
from dpjax.plots.words import number

EPSILON, DELTA, ALPHA, BETA, D, EDGES, ROUNDS, TARGETS = 1.0, 1e-6, 0.1, 0.1, 2**10, 4, 14, 64
ROWS = (400, 800, 1600, 3200, 6400, 12_800)
CONCEPTS, UNIFORM = ConvexPolygons(D, EDGES), UniformPlane(D)
OURS = PolygonLearner(CONCEPTS, ROUNDS, neighboring=Neighboring.ADD_OR_REMOVE_ONE)
BUDGET, ACCURACY = Privacy(EPSILON, DELTA), Accuracy(ALPHA, BETA)
CHUNK, BLOCK = 16, 8  # runs of one call, and those at once, whose gradients stay in a core's cache
CHOICE = ("method", "n", "optimizer", "layers", "steps", "batch", "noise multiplier", "learning rate", "clip", "spread",
          "averaged")  # fmt: skip
NAMES = {"dp-sgd": "DP-SGD", "free": "DP-SGD without noise", "cover": "private set cover"}


@dataclass(frozen=True)
class Choice:
    """One configuration of DP-SGD: what makes a program, then what is traced."""

    optimizer: str
    widths: tuple[int, ...]
    steps: int
    expected: int
    learning_rate: float
    clip: float
    spread: float
    average: float

    def network(self) -> DPSGD:
        """The program."""
        room = batch_for(self.expected, self.steps, EPSILON, DELTA)
        return DPSGD(D, self.widths, self.steps, self.expected, room, self.optimizer)

    def rate(self, n: int) -> float:
        """Of a row to be in a batch."""
        return min(1.0, self.expected / n)

    def multiplier(self, n: int, private: bool) -> float:
        """Of the noise."""
        return noise_multiplier(EPSILON, DELTA, self.rate(n), self.steps) if private else 0.0


RATES = {"adam": (0.05, 0.1, 0.2, 0.4), "momentum": (1.0, 3.0, 10.0)}
CLIPS = {"adam": (0.1, 1.0), "momentum": (1.0,)}  # for momentum another clip is much like another learning rate
SHAPES = (((16,), 100, 256), ((16, 16), 100, 256), ((16,), 300, 256), ((32,), 300, 256), ((16,), 300, 1024),
          ((16,), 600, 256))  # fmt: skip
SPREADS = {"adam": (4.0, 8.0, 16.0), "momentum": (1.0, 4.0)}
PRIVATE = tuple(
    Choice(optimizer, *shape, *numbers)
    for optimizer, shapes in (("adam", SHAPES), ("momentum", SHAPES[:3]))
    for shape in shapes
    for numbers in product(RATES[optimizer], CLIPS[optimizer], SPREADS[optimizer], (0.5,))
)
FREE = tuple(
    Choice("adam", *shape, *numbers)
    for shape in SHAPES[:3]
    for numbers in product((0.03, 0.1, 0.3), (1.0,), (1.0,), (0.0, 0.5))
)
HEAD = f"""# Convex polygons by DP-SGD

Written by `scripts/dp_sgd.py`: random polygons of {EDGES} edges on {{{{0, ..., {D}}}}}^2, uniform examples, epsilon =
{EPSILON:g}, delta = {DELTA:g}, add-or-remove-one. Errors are fractions of 2^14 probes, in {{trials}} runs; targets and
examples are the same for all three.

DP-SGD trains a small network (tanh, log-loss) with optax: gradients of the rows of a Poisson batch, clipped and noised;
the noise multiplier is dp-accounting's, by privacy-loss distributions. It is tuned for each n on separate random
polygons,
**without a privacy cost**: all of {{private}} configurations in {{first}} runs each, then the best {{kept}} in
{{second}} more; the least mean error is selected. It gets n, which sets the sampling rate, although n is not public
under
add-or-remove-one. Without noise: the same, of {{free}} configurations. The set cover is
`PolygonLearner` with {ROUNDS} rounds, the kinematic measure and exact counts; it gets the number of edges, not n,
and is not tuned.

"""
SECONDS = """
Seconds of one run in a large batch, without compilation, and of tuning for that n, with compilation; all networks
train in a buffer for the largest n:

"""
CHOSEN = """
Selected configurations:

"""
TAIL = """
![Error against n](figures/dp-sgd.png)

{verdict}

Notes: DP-SGD is tuned separately for every n on polygons of the same kind as those of the test, which costs privacy if
only one private table is available; more steps and other networks were not tried. Its hypothesis is a network without
a bound on its error. The set cover's numbers depend on the budget and the edges only; it returns a polygon, with a
bound on its error for larger n on every distribution.
"""


@dataclass(frozen=True)
class Measured:
    """What one method did at one n: ``errors`` of runs that nothing was chosen by, and the seconds of one."""

    name: str
    n: int
    choice: Choice | None
    tuning: float
    errors: np.ndarray
    seconds: float

    def summary(self) -> tuple[float, float, str]:
        """Median, 90% quantile, and how many errors are at most alpha."""
        median, high = np.quantile(self.errors, (0.5, 0.9))
        return float(median), float(high), f"{self.good} of {len(self.errors)}"

    @property
    def good(self) -> int:
        """Runs of error at most alpha."""
        return int(np.sum(self.errors <= ALPHA))


Results = dict[tuple[str, int], Measured]


def main(
    out: Path, seed: int, trials: int, rows: Sequence[int] = ROWS, private: Sequence[Choice] = PRIVATE,
    free: Sequence[Choice] = FREE, stages: tuple[int, int, int] = (3, 6, 24),
) -> None:  # fmt: skip
    """Tunes, measures, writes. stages: runs of all configurations, how many are kept, runs of these."""
    room = capacity(max(rows))  # one buffer, so that there are few programs
    found = [_measured(*case, room, seed, trials, stages)
             for n in rows for case in (("dp-sgd", n, private), ("free", n, free), ("cover", n, ()))]  # fmt: skip
    write(out, seed, rows, {(one.name, one.n): one for one in found}, (len(private), len(free)), stages)


def write(
    out: Path, seed: int, rows: Sequence[int], of: Results, configurations: tuple[int, int],
    stages: tuple[int, int, int],
) -> None:  # fmt: skip
    """Page and figure."""
    trials, (private, free) = len(of["cover", rows[0]].errors), configurations
    page = HEAD.format(trials=trials, private=private, free=free, first=stages[0], kept=stages[1],
                       second=stages[2])  # fmt: skip
    head = ("n", *(f"{name}: {what}" for name in NAMES.values() for what in ("median", "90%", f"<= {ALPHA:g}")),
            "runs in which the set cover errs less than DP-SGD")  # fmt: skip
    page += table(head, [(n, *(cell for name in NAMES for cell in of[name, n].summary()), _ahead(of, n)) for n in rows])
    page += SECONDS + table(
        ("n", *NAMES.values(), "tuning of DP-SGD"),
        [(n, *(of[name, n].seconds for name in NAMES), of["dp-sgd", n].tuning) for n in rows],
    )
    page += CHOSEN + table(CHOICE, [_shown(of[name, n]) for name in ("dp-sgd", "free") for n in rows])
    write_page(out / "dp-sgd.md", page + TAIL.format(verdict=_verdict(of, rows)))
    config = {"script": "dp_sgd", "epsilon": EPSILON, "delta": DELTA, "alpha": ALPHA, "d": D, "edges": EDGES,
              "rounds": ROUNDS, "rows": list(rows), "trials": trials, "stages": list(stages),
              "configurations": list(configurations)}  # fmt: skip
    lines = [[_line(which, [of[name, n] for n in rows]) for name in NAMES] for which in (_error, _share)]
    panels = [Panel("error: median, 10% to 90% of runs", "rows $n$", "error", lines[0], ticks=rows),
              Panel(f"runs with error at most {ALPHA:g}, with 95% intervals", "rows $n$", "share of runs", lines[1],
                    log="x", ticks=rows)]  # fmt: skip
    plot_lines(panels, figure_path(out, "dp-sgd"), about(config, seed),
               rf"Polygons of {EDGES} edges, $\varepsilon = {EPSILON:g}$, $\delta = {number(DELTA)}$")  # fmt: skip


def _measured(
    name: str, n: int, choices: Sequence[Choice], room: int, seed: int, trials: int, stages: tuple[int, int, int]
) -> Measured:  # fmt: skip
    private, start = name == "dp-sgd", time.perf_counter()
    best = _tuned(choices, n, private, room, seed, stages) if choices else None
    tuning = time.perf_counter() - start
    targets, own = CONCEPTS.targets(TARGETS, seed), keys.per_index(keys.stream(keys.root(seed), "reported"), trials)
    numbers = _numbers([best] if best else [], n, private, trials)
    network, room = (best.network(), room) if best else (None, capacity(n))
    errors, seconds = _errors(network, room, n, targets, own, numbers)
    result = Measured(name, n, best, tuning, errors, seconds)
    print(name, n, *result.summary(), f"{seconds:.3g} s, tuning {tuning:.3g} s", best, flush=True)
    return result


def _tuned(
    choices: Sequence[Choice], n: int, private: bool, room: int, seed: int, stages: tuple[int, int, int]
) -> Choice:  # fmt: skip
    """The least mean error in the second stage; its runs are of other keys than the first one's."""
    first, kept, second = stages
    targets = CONCEPTS.targets(TARGETS, (seed + 1) % 2**32)
    left = list(choices)
    for stage, runs, most in (("first", first, kept), ("second", second, 1)):
        own = keys.per_index(keys.stream(keys.root(seed), stage), runs)
        found: dict[Choice, float] = {}
        for network, group in groupby(sorted(left, key=repr), Choice.network):
            same = list(group)
            repeated, numbers = jnp.concatenate([own] * len(same)), _numbers(same, n, private, runs)
            errors, _ = _errors(network, room, n, targets, repeated, numbers)
            found |= dict(zip(same, errors.reshape(len(same), runs).mean(axis=1), strict=True))
        left = sorted(found, key=found.__getitem__)[:most]
    return left[0]


def _numbers(choices: Sequence[Choice], n: int, private: bool, runs: int) -> Numbers | None:
    """Those of all choices, each ``runs`` times."""
    rows = [(c.rate(n), c.multiplier(n, private), c.learning_rate, c.clip, c.spread, c.average) for c in choices]
    return Numbers(*np.repeat(np.array(rows, np.float32), runs, axis=0).T) if rows else None


def _errors(
    network: DPSGD | None, room: int, n: int, targets: Array, own: Array, numbers: Numbers | None
) -> tuple[np.ndarray, float]:  # fmt: skip
    """The error of each run, ``float64[t]``, and the seconds of one; compiling does not count."""
    program, found = _program(network, room), []
    start = time.perf_counter()
    for first in range(0, len(own), CHUNK):
        index = np.arange(first, first + CHUNK) % len(own)
        found.append(program(targets, own[index], jnp.int32(n), jax.tree.map(lambda part: part[index], numbers)))  # noqa: B023
    wrong = np.concatenate(found)
    return wrong[: len(own)] / UNIFORM.total, (time.perf_counter() - start) / len(wrong)


@lru_cache(maxsize=64)
def _program(network: DPSGD | None, room: int) -> Callable:
    """(targets, keys, n, numbers) -> probes in error ``int32[CHUNK]``, of a network, or of the set cover without one.

    room: of the buffer that the n rows are in.
    """
    probes = jnp.asarray(UNIFORM.points())

    def trial(targets: Array, key: Array, n: Array, numbers: Numbers | None) -> Array:
        of_data, of_learn = keys.streams(key, "data", "learner")
        sample, target = Task(CONCEPTS, UNIFORM, targets).draw(of_data, n, capacity=room)
        if network is None or numbers is None:
            predicted = OURS.predict(OURS.learn(of_learn, sample, OURS.plan(BUDGET, ACCURACY)), probes)
        else:
            predicted = network.predict(network.fit(of_learn, sample, numbers), probes)
        return jnp.sum(predicted != CONCEPTS.predict(target, probes), dtype=jnp.int32)

    def run(targets: Array, own: Array, n: Array, numbers: Numbers | None) -> Array:
        return jax.lax.map(lambda each: trial(targets, each[0], n, each[1]), (own, numbers),
                           batch_size=1 if network is None else BLOCK)  # fmt: skip

    like = jax.ShapeDtypeStruct((CHUNK,), jnp.float32)
    own = keys.per_index(keys.root(0), CHUNK)
    numbers = None if network is None else Numbers(*[like] * 6)
    return jax.jit(run).lower(CONCEPTS.targets(TARGETS), own, jnp.int32(0), numbers).compile()


def _shown(one: Measured) -> tuple:
    choice, private = one.choice, one.name == "dp-sgd"
    assert choice is not None
    widths = " x ".join(str(width) for width in choice.widths)
    return (NAMES[one.name], one.n, choice.optimizer, widths, choice.steps, choice.expected,
            choice.multiplier(one.n, private), choice.learning_rate, choice.clip, choice.spread,
            choice.average)  # fmt: skip


def _line(which: Callable, row: Sequence[Measured]) -> Line:
    low, middle, high = zip(*(which(one) for one in row), strict=True)
    name = row[0].name
    return Line(NAMES[name], name, [one.n for one in row], middle, low, high)


def _error(one: Measured) -> tuple[float, float, float]:
    low, middle, high = (float(value) for value in np.quantile(one.errors, (0.1, 0.5, 0.9)))
    return low, middle, high


def _share(one: Measured) -> tuple[float, float, float]:
    low, high = clopper_pearson(one.good, len(one.errors))
    return float(low), one.good / len(one.errors), float(high)


def _ahead(of: Results, n: int) -> str:
    """Runs of equal target and sample."""
    return f"{np.sum(of['cover', n].errors < of['dp-sgd', n].errors)} of {len(of['cover', n].errors)}"


def _verdict(of: Results, rows: Sequence[int]) -> str:
    """Who needs how many rows, and where the one's median is below the other's."""
    words = []
    for name, text in NAMES.items():
        enough = [n for n in rows if of[name, n].good >= (1 - BETA) * len(of[name, n].errors)]
        words.append(f"{text} from {enough[0]} rows on" if enough else f"{text} at none of these n")
    ahead = [str(n) for n in rows if of["cover", n].summary()[0] < of["dp-sgd", n].summary()[0]]
    behind = [str(n) for n in rows if str(n) not in ahead]
    both = (("the set cover", ahead), ("DP-SGD", behind))
    medians = (f"{name} at n = {', '.join(where)}" for name, where in both if where)
    return (
        f"Error at most {ALPHA:g} in {1 - BETA:.0%} of the runs or more: {'; '.join(words)}.\n"
        f"The smaller median has {', and '.join(medians)}."
    )


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=80)
    main(given.out, given.seed, given.trials)
