"""Counts of keyed trials at one point: read from the store as far as they go, computed where they do not."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.engine import Engine, capacity, device_kind, tile_shape
from dpjax.experiments.experiment import COUNTS, Experiment, Workload, point
from dpjax.experiments.store import Store, canonical, versions
from dpjax.learners import Learner

_CHECKPOINT_SECONDS = 1.0


@dataclass(frozen=True)
class Setting:
    """One point of a sweep, in plain numbers.

    purpose: what the trials are for. Two purposes never share a trial, so what a search selects is measured afresh.
    """

    learner: Learner
    workload: Workload
    k: int
    n: int
    epsilon: float
    delta: float
    alpha: float
    beta: float
    purpose: str = "curve"

    def __post_init__(self):
        try:
            hash(self.learner)
        except TypeError as error:
            raise InputError(
                "learner", "a frozen dataclass whose fields are equal by value and can be hashed",
                f"{type(self.learner).__name__} ({error})", "use tuples for lists, and leaves of the plan for arrays",
            ) from error  # fmt: skip

    def plan(self) -> Any:
        """The learner's plan for these numbers, n among them, on the host."""
        return _planned(self.learner, self.epsilon, self.delta, self.alpha, self.beta, self.n)

    def identity(self) -> dict[str, Any]:
        """What the point is, as canonical data: the trials' keys are derived from this and from nothing else."""
        digest = hashlib.sha256()
        for part in jax.tree.leaves(self.workload):
            digest.update(np.asarray(part).tobytes() + b"|")
        return {
            "learner": repr(self.learner), "workload": digest.hexdigest(), "k": self.k, "n": self.n,
            "epsilon": float(self.epsilon), "delta": float(self.delta), "alpha": float(self.alpha),
            "beta": float(self.beta), "purpose": self.purpose,
        }  # fmt: skip


def _planned(learner: Any, epsilon: float, delta: float, alpha: float, beta: float, n: int) -> Any:
    return learner.plan(Privacy(epsilon, delta), Accuracy(alpha, beta), n)


def digest_of(plan: Any) -> str:
    """Of a plan's structure and of its leaves, to the last bit: a planner that changes its numbers is seen."""
    digest = hashlib.sha256(str(jax.tree.structure(plan)).encode())
    for leaf in jax.tree.leaves(plan):
        array = np.asarray(leaf)
        digest.update(f"{array.dtype.str}{array.shape}".encode() + array.tobytes())
    return digest.hexdigest()


class Cells:
    """The trials of settings, from a store and an engine. Each plan is made once.

    Args:
      store: where counts are kept; every second, and whenever it stops for whatever reason.
      engine: what computes the missing ones.
      seed: root of all keys.
      progress: called with the number of trials just computed.
    """

    def __init__(self, store: Store, engine: Engine, seed: int, progress: Callable[[int], None] = lambda trials: None):
        self.store, self.engine, self.seed, self.progress = store, engine, seed, progress
        self._planned = lru_cache(maxsize=1024)(_planned)

    def counts(self, setting: Setting, trials: int) -> dict[str, int]:
        """Totals by `COUNTS` over the first ``trials`` trials, rounded up to whole tiles."""
        experiment = Experiment(setting.learner, setting.k, capacity(setting.n))
        tile, block = tile_shape(experiment)
        wanted = -(-trials // tile)
        identity = setting.identity()
        config = {
            "point": identity, "seed": self.seed, "capacity": experiment.capacity, "tile": tile, "block": block,
            "plan": digest_of(self._plan(setting)), "device": device_kind(), "versions": versions(),
        }  # fmt: skip
        stored = self.store.read(config)
        columns = [np.zeros(0, np.int64) if stored is None else stored[name] for name in COUNTS]
        tiles = np.stack(columns, axis=1)
        if len(tiles) < wanted:
            tiles = self._compute(setting, experiment, config, tiles, wanted)
        return dict(zip(COUNTS, tiles[:wanted].sum(axis=0).tolist(), strict=True))

    def _plan(self, setting: Setting) -> Any:
        learner: Any = setting.learner
        return self._planned(learner, setting.epsilon, setting.delta, setting.alpha, setting.beta, setting.n)

    def _compute(
        self, setting: Setting, experiment: Experiment, config: dict, tiles: np.ndarray, wanted: int
    ) -> np.ndarray:
        identity = hashlib.sha256(canonical(config["point"]).encode()).digest()
        work = setting.workload
        numbers = point(identity, setting.n, self._plan(setting), setting.alpha, work.distribution, work.noise)
        rows, saved = list(tiles), time.monotonic()
        stream = self.engine.tiles(experiment, setting.workload, numbers, self.seed, len(tiles), wanted)
        try:
            for row in stream:
                rows.append(row)
                self.progress(int(row[0]))
                if time.monotonic() - saved > _CHECKPOINT_SECONDS and len(rows) < wanted:
                    self._save(config, rows)
                    saved = time.monotonic()
        finally:
            stream.close()
            if len(rows) > len(tiles):
                self._save(config, rows)
        return np.array(rows)

    def _save(self, config: dict, rows: list[np.ndarray]) -> None:
        table = np.array(rows)
        self.store.write(config, {name: table[:, i] for i, name in enumerate(COUNTS)})
