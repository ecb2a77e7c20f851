"""Tiles of learners, as a study runs them: in every trial draw examples, learn, and find the exact error."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array

from benchmarks.roofline.device import Sizes
from dpjax.concepts import Domain, Points, Thresholds, distributions
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.run.tiles import arguments_of, tile_program, tile_shape
from dpjax.experiments.run.trial import Trial, point
from dpjax.experiments.store.capacity import capacity
from dpjax.experiments.sweep.task import Task
from dpjax.learners import KLN, ImproperVC1, PointLearner


class Tile(NamedTuple):
    """A learner, the task of its class, the number of concepts and of rows."""

    learner: Any
    task: Task
    k: int
    n: int


def _kln() -> Tile:
    concepts = Thresholds(Domain(2**32))
    return Tile(KLN(concepts), Task(concepts, distributions.uniform(concepts.domain)), 1, 200)


def _points() -> Tile:
    concepts = Points(Domain(2**32))
    return Tile(PointLearner(concepts), Task(concepts, distributions.heavy(concepts.domain, 8, 0.12)), 8, 1000)


def _vc1() -> Tile:
    concepts = Thresholds(Domain(2**20))
    learner = ImproperVC1(concepts, "exponential", 128)
    return Tile(learner, Task(concepts, distributions.uniform(concepts.domain)), 1, 4096)


TILES: dict[str, Callable[[], Tile]] = {"kln-tile": _kln, "points-tile": _points, "vc1-tile": _vc1}


def program(sizes: Sizes, build: Callable[[], Tile]) -> tuple[Callable[[Array], Array], int]:
    """(jitted, from the index of a tile to its outcomes; trials of a tile)."""
    tile = build()
    plan = tile.learner.plan(Privacy(1.0, 1e-6), Accuracy(0.1, 0.1), tile.n)
    trial = Trial(tile.learner, tile.k, capacity(tile.n))
    given = arguments_of(tile.task, point(bytes(8), tile.n, plan, 0.1, tile.task), 0)
    run, (trials, block) = tile_program(trial), tile_shape(trial)
    firsts = np.arange(0, trials, block, dtype=np.uint32)

    def whole(index: Array) -> Array:  # block by block, in a loop whose length is known, so that its work is counted
        return jax.lax.map(lambda first: run(*given, index * trials + first, np.int32(1))[:block], firsts)

    return jax.jit(whole), trials
