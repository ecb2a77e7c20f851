"""Writes boosting.md: boosting of private learners, its theorem by simulation and decision stumps on a table.

Run: python scripts/boosting.py [--out FOLDER] [--seed SEED] [--trials TRIALS]
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from pages import options, table, write_page
from papers import bgs_boosting
from papers.boosting_adversaries import PICKS, wrong_rows

from dpjax.baselines import ERM
from dpjax.baselines.dp_sgd import DPSGD, Numbers, batch_for, noise_multiplier
from dpjax.concepts import Domain, Stumps, Thresholds
from dpjax.core import keys
from dpjax.core.intervals import clopper_pearson
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.experiments.sweep.hard_tasks import hard_thresholds
from dpjax.learners import KLN, Boosted, Confident
from dpjax.plots.words import number
from dpjax.tables import columns, grids
from dpjax.theory import boosting

SMALL, ALPHAS, BETA, GAMMAS = Thresholds(Domain(32)), (0.3, 0.1), 0.1, (1 / 6, 0.25, 0.35)
KAPPAS, ROWS = ((0.1, 1 / 6), (0.05, 1 / 6), (0.02, 1 / 6), (1 / 30, 0.25)), 1000
CONFIGS = Path(__file__).resolve().parent.parent / "configs"
EPSILONS, DELTA, FOLDS, INNER, BITS, FINE = (0.5, 1.0, 3.0), 1e-6, 5, 12, 5, 16
ACCURACY = Accuracy(0.1, 0.1)  # of plans; no theorem applies to the table

HEAD = """# Boosting a private learner

Boosting turns weak private learners into a strong one, and confidence boosting lowers the failure probability of one.
Both are measured at the sizes that their theorems ask for, where they keep their promises with room to spare, and on a
table of tumors. Boosting costs far more rows than learning a small class directly, so it is for learners without a
strong form; on the table, boosted stumps err less than one stump unless the budget is small.

Written by `python scripts/boosting.py --trials {trials}`. Proofs: [`docs/proofs/boosting.md`](../proofs/boosting.md);
how to use it: [`docs/guide/boosting.md`](../guide/boosting.md).

## Sample sizes

Thresholds on 32 points, weak learner `KLN`, epsilon = 1, beta = {beta:g}; T rounds of m rows, in each of which the weak
learner has `e0`. "closed form" is max of T m (exp(e0) - 1) / (kappa epsilon) and (8/alpha)(T ln|G| + ln(2/beta)) at
e0 = 1/2. For so small a class `KLN` alone needs {alone} rows for alpha = 0.1: boosting is for weak learners that have
no strong form, not a saving.

"""
ROUNDS = """
## The round bound

Fewer than kappa n rows are wrong after T rounds, whatever a weak learner of weighted error 1/2 - gamma does. Below, the
largest fraction of wrong rows among {n} that {count} adversaries reached after T rounds, and after T/4.

"""
TRIALS = """
## From error 1/4 to 1/10

{trials} runs each on the distribution of the lower bound (every wrong threshold errs by more than alpha), at the sample
size, with the budget that the guarantee tree adds up.

"""
PRINTED = """
## As printed

Steps of the reference's Appendix A whose constants do not give their claim; the O-statements survive.

"""
TABLE = """
## A table

The Wisconsin diagnostic breast-cancer table, 569 rows, thirty columns on public bounds (`configs/breast-cancer.csv`).
**No theorem speaks about the errors here**: the rows are few and no stump has a fixed advantage on all reweightings.
Privacy holds regardless. `Boosted(KLN(Stumps({dimension})))` is beside the same boosting of the best stump, one private
stump, and logistic regression by DP-SGD with the same bounds (replace-one and pure for the former; add-or-remove-one
and delta = {delta:g} for DP-SGD, by dp-accounting). {folds} folds: settings are chosen for each fold, method and
epsilon on the other folds alone, by {inner} inner splits, then {runs} runs learn from all of these and are tested on
the fold. What the choice of settings costs in privacy is not counted, for any method. Mean error, with the 5% and 95%
quantiles over folds and runs; the constant errs on {constant:.3f}.

"""
VERDICT = """
{verdict} Settings that were chosen most often, with rounds of 200 draws each for the boosted stumps: {chosen}.
`dpjax learn configs/breast-cancer.csv configs/breast-cancer-stumps.toml` learns one such majority, with the setting
for epsilon = 3, and prints it.
"""


# --- the theorem -------------------------------------------------------------------------------------------------


def sizes() -> str:
    """A row for each accuracy and advantage."""
    rows = []
    for alpha, gamma in product(ALPHAS, GAMMAS):
        learner, accuracy, budget = Boosted(KLN(SMALL), gamma), Accuracy(alpha, BETA), Privacy(1.0)
        n, plan = learner.sample_size(budget, accuracy), learner.plan(budget, accuracy)
        goal = Accuracy(0.5 - gamma, BETA / (2 * plan.rounds))
        draws = KLN(SMALL).sample_size(Privacy(0.5), goal)
        closed = boosting.rows_printed(1.0, alpha, BETA, draws, 0.5, gamma, SMALL.size)
        weak = f"{0.5 - gamma:.3g}"
        rows.append(
            [alpha, weak, plan.rounds, int(plan.draws), f"{float(plan.one.epsilon):.3f}", f"{n:,}", f"{closed:,}"]
        )
    confident = [
        [
            "blocks of error 1/4 to 1/3",
            Confident(KLN(SMALL)).sample_size(Privacy(1.0), Accuracy(1 / 3, beta)),
            beta,
            boosting.fresh_rows_printed(boosting.blocks(beta, 0.25), 1 / 36, 1.0, beta),
        ]
        for beta in (0.1, 1e-3)
    ]
    header = ["alpha", "weak error", "T", "m", "e0", "n", "closed form"]
    more = "\nConfidence boosting, with the rows of its choice by Hoeffding's bound beside it:\n\n"
    named = ["", "n", "beta", "choice alone, by Hoeffding"]
    return table(header, rows) + more + table(named, confident)


def round_bound() -> str:
    """A row for each kappa."""
    rows = []
    for kappa, gamma in KAPPAS:
        turns = boosting.rounds(kappa, gamma)
        worst = [
            max((wrong_rows(kappa, gamma, count, ROWS, pick), name) for name, pick in PICKS.items())
            for count in (turns, turns // 4)
        ]
        rows.append(
            [
                f"{kappa:.3g}",
                f"{gamma:.3g}",
                turns,
                f"{worst[0][0] / ROWS:.3f}",
                worst[0][1],
                f"{worst[1][0] / ROWS:.3f}",
            ]
        )
    return table(["kappa", "gamma", "T", "wrong after T", "by", "wrong after T/4"], rows)


def boosted_trials(trials: int, seed: int) -> str:
    """A row for each weak error."""
    rows, budget, alpha = [], Privacy(1.0), 0.1
    task = hard_thresholds(SMALL, alpha)
    for gamma in (1 / 6, 0.25):
        learner = Boosted(KLN(SMALL), gamma)
        n, plan = learner.sample_size(budget, Accuracy(alpha, BETA)), learner.plan(budget, Accuracy(alpha, BETA))

        @jax.jit
        def one(key: Array, plan: Any, learner: Any = learner, n: int = n) -> tuple[Array, Array]:
            of_data, of_learner = jax.random.split(key)
            sample, target = task.draw(of_data, n)
            found = learner.learn(of_learner, sample, plan)
            wrong = jnp.sum(learner.predict(found, sample.x) != sample.y, dtype=jnp.int32)
            return task.error(found, target)[0], wrong

        root = keys.stream(keys.root(seed), f"trials {gamma:.6g}")
        found = [[float(part) for part in one(key, plan)] for key in keys.per_index(root, trials)]
        errors, wrong = np.array(found).T
        failed, trained = int(np.sum(errors > alpha)), int(np.sum(wrong >= alpha / 3 * n))
        upper = float(clopper_pearson(failed, trials)[1])
        spent = learner.guarantee(plan)
        rows.append(
            [
                f"{0.5 - gamma:.3g}",
                f"{n:,}",
                f"({spent.epsilon:.6f}, {spent.delta:g})",
                failed,
                f"{upper:.3f}",
                trained,
                f"{errors.max():.4f}",
            ]
        )
    return table(
        [
            "weak error",
            "n",
            "guarantee",
            "failures",
            "95% upper bound of their rate",
            "runs with kappa n wrong rows",
            "largest error",
        ],
        rows,
    )


def as_printed() -> str:
    """A row for each step."""
    turns = boosting.rounds(0.05, 1 / 6)
    return table(
        ["step", "printed", "computed"],
        [
            [
                f"amplify a run of {turns} rounds at epsilon = .25, which is {2 * turns * 0.25:g}-private, "
                "by subsampling",
                "linear in 2 T epsilon",
                f"{bgs_boosting.last_step_factor(0.25, turns):.3g} times that",
            ],
            [
                "the same with 2 T epsilon <= 1 at rate 1/(12 T): delta",
                "delta",
                f"{bgs_boosting.last_step_delta(0.25):.3f} delta",
            ],
            ["at rate 1/(16 T)", "", f"{bgs_boosting.last_step_delta(0.25, 16):.3f} delta"],
            [
                "training error alpha/2 needs density alpha/2: epsilon of a round, alpha = .1, n = 10^4, "
                "m = 100, e0 = 1/2",
                "density alpha",
                f"{bgs_boosting.density_factor(0.1, 10_000, 100, 0.5):.3f} times that",
            ],
        ],
    )


# --- the table ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    """The table on the cube of its columns' edges and on a fine grid, and its labels."""

    cube: Array
    fine: Array
    y: Array

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.y)


def load() -> Data:
    """The bundled table with the bounds of its configuration."""
    config = tomllib.loads((CONFIGS / "breast-cancer.toml").read_text())
    features = tuple(config["features"])
    bounds = tuple(f"{name}={low}:{high}" for name, (low, high) in config["bounds"].items())
    path = CONFIGS / "breast-cancer.csv"
    cube = columns.read(path, grids.on_cube(features, bounds, BITS), ("benign",))
    fine = columns.read(path, grids.on_lines(features, bounds, FINE, ()), ("benign",))
    return Data(jnp.asarray(cube.x), jnp.asarray(fine.x[:, :, -1]), jnp.asarray(cube.y))


STUMPS = Stumps(30 * (2**BITS - 1))
BOOSTS = tuple(
    Boosted(KLN(STUMPS), gamma, rounds, 200, kappa)
    for rounds, kappa, gamma in product((3, 5, 9, 15), (0.4, 0.7, 0.95), (0.1, 0.25))
)


@dataclass(frozen=True)
class Descent:
    """Settings of DP-SGD without hidden layer, on batches of all rows or of about 128."""

    steps: int
    whole: bool
    optimizer: str
    rate: float


DESCENTS = tuple(
    Descent(steps, whole, optimizer, rate)
    for steps, whole in ((20, True), (60, True), (100, False))
    for optimizer, rate in (("momentum", 0.3), ("momentum", 1.0), ("momentum", 4.0), ("adam", 0.1), ("adam", 0.3))
)


def of_learner(learner: Any, n: int, epsilon: float) -> Callable:
    """(key, data, train, test) -> number of wrong test rows."""
    plan = learner.plan(Privacy(epsilon), ACCURACY, n)
    return partial(_learned, _program_of(learner), plan)


def _program_of(learner: Any) -> Any:
    """Learners whose plans differ in numbers alone share a program."""
    return Boosted(learner.learner) if isinstance(learner, Boosted) else learner


@partial(jax.jit, static_argnums=0)
def _learned(learner: Any, plan: Any, key: Array, data: tuple, train: Array, test: Array) -> Array:
    cube, _, y = data
    found = learner.learn(key, Sample(cube[train], y[train], jnp.ones(len(train), bool)), plan)
    return jnp.sum(learner.predict(found, cube[test]) != y[test], dtype=jnp.int32)


@lru_cache(maxsize=256)
def _noise(epsilon: float, rate: float, steps: int) -> float:
    return noise_multiplier(epsilon, DELTA, rate, steps)


def of_descent(how: Descent, n: int, epsilon: float | None) -> Callable:
    """The same for DP-SGD; without noise if epsilon is None."""
    expected = n if how.whole else 128
    room = min(n, batch_for(expected, how.steps, epsilon or 1.0, DELTA))
    net = DPSGD(2**FINE, (), how.steps, min(expected, room), room, how.optimizer, 30)
    multiplier = 0.0 if epsilon is None else _noise(epsilon, expected / n, how.steps)
    numbers = Numbers(*map(np.float32, (expected / n, multiplier, how.rate, 1.0, 0.0, 0.5)))
    return partial(_descended, net, numbers)


@partial(jax.jit, static_argnums=0)
def _descended(net: DPSGD, numbers: Numbers, key: Array, data: tuple, train: Array, test: Array) -> Array:
    _, fine, y = data
    layers = net.fit(key, Sample(fine[train], y[train], jnp.ones(len(train), bool)), numbers)
    return jnp.sum(net.predict(layers, fine[test]) != y[test], dtype=jnp.int32)


METHODS: Mapping[str, tuple[Sequence[Any], Callable]] = {
    "Boosted(KLN)": (BOOSTS, of_learner),
    "one stump, KLN": ((KLN(STUMPS),), of_learner),
    "DP-SGD": (DESCENTS, of_descent),
    "Boosted(ERM), not private": (tuple(one.with_weak(ERM(STUMPS)) for one in BOOSTS), of_learner),
    "best stump, not private": ((ERM(STUMPS),), of_learner),
    "DP-SGD without noise": (DESCENTS, lambda how, n, epsilon: of_descent(how, n, None)),
}


def folds(rows: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(other rows, rows of the fold), for each fold, all of one size; left-over rows are in no fold."""
    order = np.asarray(jax.random.permutation(keys.stream(keys.root(seed), "folds"), rows))
    size = rows // FOLDS
    for i in range(FOLDS):
        own = order[i * size : (i + 1) * size]
        yield np.setdiff1d(order, own, assume_unique=True), own


def choose(name: str, epsilon: float, data: Data, rows: np.ndarray, seed: int) -> Any:
    """The setting with the fewest errors over inner splits of these rows, a quarter held out each time."""
    settings, runner = METHODS[name]
    if len(settings) == 1:
        return settings[0]
    held, errors = len(rows) // 4, []
    own = keys.per_index(keys.stream(keys.root(seed), "inner"), INNER)
    orders = [rows[np.asarray(jax.random.permutation(keys.stream(key, "order"), len(rows)))] for key in own]
    for setting in settings:
        run = runner(setting, len(rows) - held, epsilon)
        errors.append(
            sum(
                int(run(keys.stream(key, "learn"), (data.cube, data.fine, data.y), order[held:], order[:held]))
                for key, order in zip(own, orders, strict=True)
            )
        )
    return settings[int(np.argmin(errors))]


def measured(name: str, epsilon: float, data: Data, runs: int, seed: int) -> tuple[np.ndarray, list[Any]]:
    """Error rates of all runs on all folds, and the settings chosen for the folds."""
    found, chosen = [], []
    for fold, (train, test) in enumerate(folds(data.rows, seed)):
        setting = choose(name, epsilon, data, train, seed)
        run = METHODS[name][1](setting, len(train), epsilon)
        of_runs = keys.per_index(keys.stream(keys.root(seed), f"fold {fold}"), runs)
        wrong = [int(run(key, (data.cube, data.fine, data.y), train, test)) for key in of_runs]
        found += [count / len(test) for count in wrong]
        chosen.append(setting)
    return np.array(found), chosen


def said(setting: Any) -> str:
    """A setting in a few words."""
    if isinstance(setting, Boosted):
        return f"T = {setting.rounds}, kappa = {setting.kappa:g}, gamma = {setting.gamma:g}"
    return f"{setting.steps} steps, {'all rows' if setting.whole else '128 rows'}, {setting.optimizer} {setting.rate:g}"


def on_table(runs: int, seed: int) -> tuple[str, float, str]:
    """The table of errors, the constant's error, and a sentence about it."""
    data = load()
    private = [name for name in METHODS if "not private" not in name and "without" not in name]
    rows, means, often = [], {}, []
    for name in METHODS:
        cells, once = [], name not in private
        for epsilon in EPSILONS[-1:] if once else EPSILONS:
            errors, chosen = measured(name, epsilon, data, runs, seed)
            low, high = np.quantile(errors, [0.05, 0.95])
            cells.append(f"{errors.mean():.3f} ({low:.3f}-{high:.3f})")
            means[name, epsilon] = errors.reshape(FOLDS, runs).mean(axis=1)
            if len(METHODS[name][0]) > 1 and not once:
                every = [said(one) for one in chosen]
                most = max(sorted(set(every)), key=every.count)
                often.append(f"{name} at {epsilon:g}: {most} ({every.count(most)} of {FOLDS} folds)")
        rows.append([name, *(cells * 3 if once else cells)])
    lines = []
    for epsilon in EPSILONS:
        best, *others = sorted(private, key=lambda name, at=epsilon: means[name, at].mean())
        gaps = [(other, means[other, epsilon] - means[best, epsilon]) for other in others]
        behind = (f"{other} by {gap.mean():.3f} +- {gap.std(ddof=1) / FOLDS**0.5:.3f}" for other, gap in gaps)
        lines.append(f"at epsilon = {number(epsilon)}, {best}, before {' and '.join(behind)}")
    least = f"The private method with the smallest mean error is, {'; '.join(lines)} (standard errors over the folds)."
    verdict = VERDICT.format(verdict=least, chosen="; ".join(often))
    header = ["method", *(f"epsilon = {number(e)}" for e in EPSILONS)]
    ones = float(jnp.mean(data.y))
    return table(header, rows), min(ones, 1 - ones), verdict


def page(trials: int, seed: int) -> str:
    """The whole page."""
    runs = max(1, trials // FOLDS)
    errors, constant, verdict = on_table(runs, seed)
    alone = KLN(SMALL).sample_size(Privacy(1.0), Accuracy(0.1, BETA))
    return "".join(
        [
            HEAD.format(trials=trials, beta=BETA, alone=alone),
            sizes(),
            ROUNDS.format(n=ROWS, count=len(PICKS)),
            round_bound(),
            TRIALS.format(trials=trials),
            boosted_trials(trials, seed),
            PRINTED,
            as_printed(),
            TABLE.format(
                dimension=STUMPS.dimension, delta=DELTA, folds=FOLDS, inner=INNER, runs=runs, constant=constant
            ),
            errors,
            verdict,
        ]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes the page."""
    given = options(__doc__, 0, 200, arguments)
    write_page(given.out / "boosting.md", page(given.trials, given.seed))


if __name__ == "__main__":
    main()
