"""Outcomes of keyed trials at one point: read from the store if present, computed otherwise."""

import hashlib
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Generator, Sequence
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from dpjax.accounting.guarantee import Guarantee
from dpjax.core.checks import InputError
from dpjax.core.members import Base, required
from dpjax.experiments.identity.describe import label
from dpjax.experiments.run.device import threads
from dpjax.experiments.run.tiles import Program, arguments_of, shape_of, traced
from dpjax.experiments.run.trial import Point, Trial, point
from dpjax.experiments.store import error_bins
from dpjax.experiments.store.canonical import cell_hash, versions
from dpjax.experiments.store.capacity import capacity
from dpjax.experiments.store.cell_file import outcomes_of
from dpjax.experiments.store.store import Store
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.task import Task

_CHECKPOINT_SECONDS = 1.0


class TileEngine(Base):
    """Base class of what computes trials; see `engine.Engine`. Several threads may ask at the same time."""

    @abstractmethod
    def tiles(
        self, program: Program, task: Task, point: Point, seed: int, first: int, last: int
    ) -> Generator[NDArray[np.uint8]]:
        """Yields the outcomes of trials first, ..., last - 1 in order, some at a time.

        first, last: multiples of ``program.block``.
        """

    @required
    def device_kind(self) -> str:
        """Of the devices that compute, part of a result's identity."""

    @required
    def device(self) -> Any:
        """A device of this kind, by which sizes of tiles and blocks are chosen."""

    devices: Sequence[Any] = ()
    """All of them, for the number of threads."""


def digest_of(plan: Any) -> str:
    """Digest of a plan's structure and leaves, bitwise: it changes if a planner changes its numbers."""
    digest = hashlib.sha256(str(jax.tree.structure(plan)).encode())
    for leaf in jax.tree.leaves(plan):
        array = np.asarray(leaf)
        digest.update(f"{array.dtype.str}{array.shape}".encode() + array.tobytes())
    return digest.hexdigest()


def program_of(setting: Setting, device: Any, plan: Any = None) -> tuple[Program, Point]:
    """The program of a setting's trials, traced now, and the point that it is given; plan: the setting's, if known."""
    plan = setting.plan() if plan is None else plan
    where = point(setting.identity, setting.n, plan, setting.alpha, setting.task)
    return traced(Trial(setting.learner, setting.k, capacity(setting.n)), setting.task, where, device), where


class _Once:
    """Values by key, each made once, by the first of several threads that asks for it."""

    def __init__(self) -> None:
        self._values: dict[Any, Any] = {}
        self._locks: dict[Any, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: Any, make: Callable[[], Any]) -> Any:
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._values:
                self._values[key] = make()
            return self._values[key]


class Cells:
    """The trials of settings, from a store and an engine. Each plan is made once, each program traced once.

    Several threads may use it, for different settings or the same.

    Args:
      store: where outcomes are saved, every second and whenever computation stops.
      engine: what computes the missing ones.
      seed: root of all keys.
      progress: called with the number of trials just computed; if it raises, computation stops there.
    """

    def __init__(
        self, store: Store, engine: TileEngine, seed: int, progress: Callable[[int], None] = lambda trials: None
    ):
        self.store, self.engine, self.seed, self.progress = store, engine, seed, progress
        self._plans, self._programs, self._computing = _Once(), _Once(), _Once()

    def counts(self, setting: Setting, trials: int) -> dict[str, int]:
        """Of the first trials, ``trials`` rounded up to whole blocks: "trials", "successes" and "no_answers", those
        where a hypothesis abstains."""
        block = self._program(setting).block
        outcomes = self.outcomes(setting, -(-trials // block) * block)
        good, silent = error_bins.successes(outcomes, setting.alpha), error_bins.silent(outcomes)
        return {"trials": len(outcomes), "successes": int(good.sum()), "no_answers": int(silent.sum())}

    def outcomes(self, setting: Setting, trials: int) -> NDArray[np.uint8]:
        """The first ``trials`` trials, one byte each, see `error_bins`. Whole blocks are computed and stored.

        Raises InputError if an error is not a number in [0, 1].
        """
        config, where = self.config(setting), self._point(setting)
        with self._computing.get(cell_hash(config), threading.Lock):
            stored = self.store.read(config)
            outcomes = np.zeros(0, np.uint8) if stored is None else outcomes_of(stored)
            block = config["block"]
            first, last = len(outcomes) // block * block, -(-trials // block) * block
            if first < last:
                outcomes = self._compute(setting, where, config, outcomes[:first], last)
        outcomes = outcomes[:trials]
        if (wrong := error_bins.bins(outcomes) == error_bins.INVALID).any():
            expected = "a number in [0, 1] of each hypothesis"
            advice = "rerun that trial: the class's error or the learner's hypothesis is not a number"
            raise InputError("error", expected, f"another one in trial {int(np.argmax(wrong))}", advice)
        return outcomes

    def config(self, setting: Setting) -> dict[str, Any]:
        """Everything that the outcomes of a setting depend on, as canonical data; its hash names the cell.

        The budget and beta enter through the plan only: a learner that ignores epsilon has one cell for all values.
        """
        program = self._program(setting)
        trial, learner = program.trial, program.trial.learner
        return {
            "trials": setting.trials_of(),
            "seed": self.seed,
            "n": setting.n,
            "k": setting.k,
            "alpha": float(setting.alpha),
            "capacity": trial.capacity,
            "tile": program.tile,
            "block": program.block,
            "learner": {"class": label(learner), "digest": setting.learner_digest},
            "plan": digest_of(self._plan(setting)),
            "program": program.digest,
            "device": self.engine.device_kind + self._threads(program),
            "versions": versions(),
        }

    def cell(self, setting: Setting) -> str:
        """The hash that names the setting's cell in the store."""
        return cell_hash(self.config(setting))

    def guarantee(self, setting: Setting) -> Guarantee | None:
        """The guarantee of the setting's plan; None without privacy."""
        learner: Any = setting.learner
        return learner.guarantee(self._plan(setting))

    def _plan(self, setting: Setting) -> Any:
        numbers = setting.epsilon, setting.delta, setting.alpha, setting.beta, setting.n
        return self._plans.get((setting.learner_digest, setting.code, *numbers), setting.plan)

    def _point(self, setting: Setting) -> Point:
        return point(setting.identity, setting.n, self._plan(setting), setting.alpha, setting.task)

    def _program(self, setting: Setting) -> Program:
        """Traced once for a learner's description and code, not for what compares equal to it."""
        where, rows = self._point(setting), capacity(setting.n)
        shape = shape_of(arguments_of(setting.task, where, 0))
        key = (setting.learner_digest, setting.code, setting.task.class_digest, setting.k, rows, shape)
        return self._programs.get(key, lambda: program_of(setting, self.engine.device, self._plan(setting))[0])

    def _threads(self, program: Program) -> str:
        """Of a CPU, where numbers depend on them."""
        return f" threads={threads()}" if program.threaded and self.engine.device.platform == "cpu" else ""

    def _compute(
        self, setting: Setting, where: Point, config: dict, found: NDArray[np.uint8], last: int
    ) -> NDArray[np.uint8]:
        parts, known, saved = [found], len(found), time.monotonic()
        stream = self.engine.tiles(self._program(setting), setting.task, where, self.seed, known, last)
        try:
            for tile in stream:
                parts.append(tile)
                self.progress(len(tile))
                if time.monotonic() - saved > _CHECKPOINT_SECONDS:
                    self._save(config, parts)
                    saved = time.monotonic()
        finally:
            stream.close()
            if sum(map(len, parts)) > known:
                self._save(config, parts)
        return np.concatenate(parts)

    def _save(self, config: dict, parts: list[NDArray[np.uint8]]) -> None:
        self.store.write(config, {"outcome": np.concatenate(parts)})
