"""The cost of a study: trials, programs, memory and, from timed tiles, seconds. Nothing is stored or read."""

import time
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from dpjax.core import keys
from dpjax.experiments.run.cells import digest_of, program_of
from dpjax.experiments.run.engine import Engine
from dpjax.experiments.run.measuring import STRIDE
from dpjax.experiments.run.tiles import arguments_of, shape_of, tile_shape
from dpjax.experiments.run.trial import Trial, point
from dpjax.experiments.statistics.sequential_search import Bracket, search
from dpjax.experiments.store.capacity import capacity
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.sweep import Curve, Sweep

RULE = (
    "the search meets its expected counts where a trial fails with probability beta^(n / n*), n* being the theorem's "
    "number or the end of the grid"
)
"""The assumption under which the trials of a search are estimated."""


@dataclass(frozen=True)
class Visit:
    """Trials at one point: the number asked for, the whole tiles computed, and the program that computes them."""

    setting: Setting
    asked: int
    computed: int
    program: Any

    @property
    def work(self) -> int:
        """Rows times concepts over all its trials."""
        return self.computed * capacity(self.setting.n) * self.setting.k


@dataclass(frozen=True)
class CurveForecast:
    """Forecast of one curve. shared: an earlier curve has the same points, so they are not computed again."""

    curve: Curve
    search: tuple[Visit, ...]
    points: tuple[Visit, ...]
    shared: bool

    @property
    def visits(self) -> tuple[Visit, ...]:
        """All visited points."""
        return self.search + self.points


@dataclass(frozen=True)
class Forecast:
    """Forecast of a study with an empty store.

    curves: the curves in order. programs: number compiled on each device. bytes: the examples and labels of the
    concurrent trials of the largest program, over all tiles in flight; the learner's own memory is not included.
    estimated: whether a search makes trials and programs an estimate, see `RULE`.
    """

    curves: tuple[CurveForecast, ...]
    programs: int
    bytes: int
    estimated: bool

    @property
    def visits(self) -> list[Visit]:
        """The points that are computed."""
        return [visit for curve in self.curves if not curve.shared for visit in curve.visits]

    @property
    def cells(self) -> int:
        """The number of pieces that workers take, as `dpjax status` counts them: searches and points of all curves."""
        return sum(bool(curve.search) + len(curve.points) for curve in self.curves)

    @property
    def trials(self) -> int:
        """The number of computed trials, in whole tiles."""
        return sum(visit.computed for visit in self.visits)


@dataclass(frozen=True)
class Rate:
    """Speed of one learner, from one program: seconds to compile, and rows times concepts per second."""

    learner: str
    n: int
    k: int
    compile_seconds: float
    per_second: float


def forecast(study: Sweep, in_flight: int | None = None) -> Forecast:
    """The cost of ``study``. in_flight: number of concurrent tiles, by default two per device."""
    curves, seen = [], set[Any]()
    for curve in study.curves:
        visits: tuple[Visit, ...] = ()
        if study.search is not None:
            visits = tuple(
                _visit(replace(curve.setting, n=step.n, purpose="search"), step.trials)
                for step in expected_search(curve, study).visits
            )
        points = tuple(_visit(replace(curve.setting, n=n), study.trials) for n in sizes_of(curve, study))
        same = tuple(
            (visit.setting.purpose, visit.setting.n, digest_of(visit.setting.plan()), visit.asked)
            for visit in visits + points
        )
        identity = (curve.setting.learner, curve.setting.k, same)
        curves.append(CurveForecast(curve, visits, points, identity in seen))
        seen.add(identity)
    programs = {visit.program: visit for curve in curves for visit in curve.visits}
    tiles = in_flight or 2 * jax.local_device_count()
    largest = max((_bytes(visit.setting) for visit in programs.values()), default=0)
    return Forecast(tuple(curves), len(programs), tiles * largest, study.search is not None)


def sizes_of(curve: Curve, study: Sweep) -> tuple[int, ...]:
    """The sample sizes of a curve: given ones, or those around the expected n*."""
    return study.sizes(_expected(curve, study) if study.search is not None else None)


def expected_search(curve: Curve, study: Sweep) -> Bracket:
    """The search of a curve, with its expected trials under `RULE`."""
    assert study.search is not None
    options, setting, middle = study.search, curve.setting, _expected(curve, study)

    def evaluate(n: int, trials: int) -> tuple[int, int]:
        return round(trials * (1 - setting.beta ** (n / middle))), trials

    return search(
        evaluate,
        options.grid(),
        setting.beta,
        1 - options.confidence,
        trials=options.most_trials,
        gamma=options.gamma,
        start=curve.expected(),
        stride=STRIDE,
    )


def timed(study: Sweep, what: Forecast) -> list[Rate]:
    """A rate for each learner: one tile of its largest point, compiled and run, then run again."""
    largest: dict[str, Visit] = {}
    for entry in what.curves:
        for visit in entry.visits:
            known = largest.get(entry.curve.name)
            if known is None or visit.work / visit.computed > known.work / known.computed:
                largest[entry.curve.name] = visit
    rates = []
    with Engine(in_flight=1, devices=jax.local_devices()[:1]) as machine:
        for name, visit in largest.items():
            setting = visit.setting
            program, where = program_of(setting, machine.device)
            spent = []
            for tile in range(2):
                begin = time.perf_counter()
                list(
                    machine.tiles(
                        program, setting.task, where, study.seed, tile * program.tile, (tile + 1) * program.tile
                    )
                )
                spent.append(max(time.perf_counter() - begin, 1e-9))
            work = program.tile * program.trial.capacity * setting.k
            rates.append(Rate(name, setting.n, setting.k, max(spent[0] - spent[1], 0.0), work / spent[1]))
    return rates


def seconds(what: Forecast, rates: list[Rate]) -> float:
    """Seconds to compile all programs on one device, and to run all trials on all devices at these rates."""
    compiling, running = _parts(what, rates)
    return compiling + running / jax.local_device_count()


def seconds_per_cell(what: Forecast, rates: list[Rate]) -> float:
    """Mean seconds of a cell on one device, compilation included; cells that an earlier curve has, too, take none."""
    return sum(_parts(what, rates)) / what.cells


def _parts(what: Forecast, rates: list[Rate]) -> tuple[float, float]:
    """Seconds to compile all programs once, and to run all trials, on one device."""
    of = {rate.learner: rate for rate in rates}
    compiling, running, compiled = 0.0, 0.0, set[Any]()
    for entry in what.curves:
        rate = of[entry.curve.name]
        for visit in () if entry.shared else entry.visits:
            running += visit.work / rate.per_second
            if visit.program not in compiled:
                compiled.add(visit.program)
                compiling += rate.compile_seconds
    return compiling, running


def _expected(curve: Curve, study: Sweep) -> int:
    assert study.search is not None
    expected = curve.theorem()
    return study.search.n_max if expected is None else min(max(expected, study.search.n_min), study.search.n_max)


def _visit(setting: Setting, asked: int) -> Visit:
    trial = Trial(setting.learner, setting.k, capacity(setting.n))
    _, block = tile_shape(trial)
    where = point(bytes(8), setting.n, setting.plan(), setting.alpha, setting.task)
    program = (trial, shape_of(arguments_of(setting.task, where, 0)))
    return Visit(setting, asked, -(-asked // block) * block, program)


def _bytes(setting: Setting) -> int:
    """Bytes of the examples, labels and targets of a block of trials, and of the outcomes of a tile."""
    trial = Trial(setting.learner, setting.k, capacity(setting.n))
    tile, block = tile_shape(trial)
    drawn = jax.eval_shape(
        lambda key: setting.task.draw(key, np.int32(setting.n), trial.k, trial.capacity), keys.root(0)
    )
    return tile + block * sum(int(np.prod(leaf.shape)) * leaf.dtype.itemsize for leaf in jax.tree.leaves(drawn))
