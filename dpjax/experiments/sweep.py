"""A whole `dpjax curve`: for every learner, k and epsilon its n*, its success curve, and the theorem's number."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts import Domain
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments import catalog
from dpjax.experiments.bands import fit_exponent, simultaneous_band
from dpjax.experiments.cells import Cells, Setting
from dpjax.experiments.config import Curve
from dpjax.experiments.engine import CAPACITY_LIMIT, capacity, device_kind
from dpjax.experiments.n_star import bracket
from dpjax.experiments.search import NStar, geometric_grid
from dpjax.experiments.store import versions

Progress = Callable[[str, int, int], None]
_CLAIMED = {"point": 0.0, "basic": 1.0, "advanced": 0.5, "optimal": 0.5, "zcdp": 0.5, "erm": 0.0, "parity": 0.0}


@dataclass(frozen=True)
class Line:
    """One curve of a sweep: a learner by name, with everything but n fixed."""

    name: str
    setting: Setting

    def theorem(self) -> int:
        """The theorem's sample size, for all k concepts at once."""
        return self.setting.learner.sample_size(*self._goal)

    def guarantee(self) -> Guarantee | None:
        """What the learner's plan spends, for the theorem's n where it matters."""
        learner = self.setting.learner
        return learner.guarantee(learner.plan(*self._goal))

    @property
    def _goal(self) -> tuple[Privacy, Accuracy]:
        setting = self.setting
        return Privacy(setting.epsilon, setting.delta), Accuracy(setting.alpha, setting.beta)

    def labels(self) -> dict[str, Any]:
        """The fields by which a result names the curve."""
        names = ("k", "epsilon", "delta", "alpha", "beta")
        return {"learner": self.name} | {name: getattr(self.setting, name) for name in names}


def lines(config: Curve) -> list[Line]:
    """Every curve of a configuration, checked: unknown names, budgets that a learner cannot use, n beyond the limit."""
    config.check()
    sweep, problem = config.sweep, config.problem
    for n in (*sweep.n, *([config.search.n_max] if config.search.enabled else [])):
        checks.integer("n", n, 1)
        capacity(n)
    work = catalog.workload(
        problem.concepts, problem.domain_size, problem.distribution,
        atoms=problem.atoms, mass=problem.mass, exponent=problem.exponent, alpha=sweep.alpha,
        noise=problem.noise,
    )  # fmt: skip
    concepts = catalog.CLASSES[problem.concepts](Domain(problem.domain_size))
    found = []
    for epsilon in sweep.epsilon:
        if 0 < epsilon < 1.2e-38:
            raise InputError("sweep.epsilon", "at least 1.2e-38", repr(epsilon), "float32 has no less: choose more")
    for name, k, epsilon in product(sweep.learners, sweep.k, sweep.epsilon):
        learner = catalog.learner(name, concepts, k)
        setting = Setting(learner, work, k, 1, epsilon, sweep.delta, sweep.alpha, sweep.beta)
        found.append(Line(name, setting))
        found[-1].guarantee()
        found[-1].theorem()
    return found


def run(config: Curve, cells: Cells, progress: Progress = lambda text, done, total: None) -> dict[str, Any]:
    """Measures everything that the configuration asks for; the result is JSON-ready. See the fields in `_point_rows`.

    progress: called with (what is being done, steps done, steps in all).
    """
    todo, points, stars = lines(config), [], []
    steps = len(todo) * (2 if config.search.enabled else 1)
    done = 0
    for line in todo:
        star = None
        if config.search.enabled:
            progress(f"{line.name} k={line.setting.k} epsilon={line.setting.epsilon:g}: searching n*", done, steps)
            star = find(line, config, cells)
            stars.append(_star_row(line, star))
            done += 1
        progress(f"{line.name} k={line.setting.k} epsilon={line.setting.epsilon:g}: curve", done, steps)
        points += list(_point_rows(line, sizes(config, star), config, cells))
        done += 1
    progress("done", done, steps)
    return {
        "title": config.title, "config": config.model_dump(mode="json"), "seed": config.seed,
        "versions": versions(), "device": device_kind(), "points": points, "n_star": stars,
        "exponents": exponents(stars, config.sweep.fit_from),
        "exponents_all_k": exponents(stars),
    }  # fmt: skip


def find(line: Line, config: Curve, cells: Cells) -> NStar:
    """The bracket of n*, from trials that are used for nothing else. Success means that all k concepts are good."""
    asked = config.search
    grid = geometric_grid(asked.n_min, asked.n_max, 2 ** (1 / asked.steps_per_doubling))
    return bracket(line.setting, cells, grid, gamma=asked.gamma, error=1 - asked.confidence)


def sizes(config: Curve, star: NStar | None) -> tuple[int, ...]:
    """The sample sizes of one curve: those given, or some around n* at steps of sqrt(2)."""
    if config.sweep.n:
        return tuple(sorted(set(config.sweep.n)))
    if star is None:
        raise InputError("sweep.n", "sample sizes, as there is no search", "none", "give n, or enable the search")
    middle = star.n_high or star.n_low or config.search.n_min
    half = (config.sweep.points - 1) / 2
    chosen = {round(middle * 2 ** ((i - half) / 2)) for i in range(config.sweep.points)}
    return tuple(sorted(n for n in chosen if 1 <= n <= CAPACITY_LIMIT))


def exponents(stars: list[dict[str, Any]], fit_from: int = 1) -> list[dict[str, Any]]:
    """Fitted exponents of k in n* over k >= fit_from, one for each learner and epsilon with two or more brackets.

    slope in [low, high]: least squares through the brackets, see `bands.Exponent`. theorem: the same fit of the
    theorem's numbers at the same k, which has all its logarithms; claimed: the theorem's exponent without them.
    """
    rows = []
    for name, epsilon in dict.fromkeys((row["learner"], row["epsilon"]) for row in stars):
        own = [row for row in stars if (row["learner"], row["epsilon"]) == (name, epsilon) and row["k"] >= fit_from]
        own = [row for row in own if row["n_low"] is not None and row["n_high"] is not None]
        if len(own) < 2:
            continue
        k, low, high, theorem = (np.array([row[f] for row in own], float) for f in ("k", "n_low", "n_high", "theorem"))
        fit = fit_exponent(k, low, high, error=1 - own[0]["confidence"])
        claimed = _CLAIMED.get(name, _CLAIMED.get(name.rpartition("-")[2]))
        rows.append({
            "learner": name, "epsilon": epsilon, "k_from": int(k.min()), "k_to": int(k.max()),
            "slope": fit.slope, "low": fit.low, "high": fit.high, "confidence": fit.confidence,
            "theorem": fit_exponent(k, theorem, theorem).slope, "claimed": claimed,
        })  # fmt: skip
    return rows


def _star_row(line: Line, star: NStar) -> dict[str, Any]:
    return {
        **line.labels(), "n_low": star.n_low, "n_high": star.n_high, "theorem": line.theorem(),
        "confidence": star.confidence, "gamma": star.gamma, "trials": star.trials_total,
    }  # fmt: skip


def _point_rows(line: Line, chosen: tuple[int, ...], config: Curve, cells: Cells) -> Iterator[dict[str, Any]]:
    counted = [cells.counts(replace(line.setting, n=n), config.sweep.trials) for n in chosen]
    successes, trials = (np.array([row[name] for row in counted]) for name in ("successes", "trials"))
    lower, upper = simultaneous_band(successes, trials, config.search.confidence)
    for n, counts, low, high in zip(chosen, counted, lower, upper, strict=True):
        yield {
            **line.labels(), "n": n, "trials": counts["trials"], "successes": counts["successes"],
            "no_answers": counts["no_answers"], "lower": float(low), "upper": float(high),
        }  # fmt: skip
