"""The program that runs a tile of trials, and its sizes.

A tile is computed in blocks of a fixed size, one after the other. The program is told how many blocks to compute, so
that one program serves a search, which asks for few trials at a time, and a curve. A block is the same machine code
whatever tile it is in: results do not depend on how trials are cut into tiles.
"""

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core import keys
from dpjax.core.checks import InputError
from dpjax.experiments.identity import program
from dpjax.experiments.run.device import memory_of
from dpjax.experiments.run.trial import Point, Trial
from dpjax.experiments.sweep.task import Task


@dataclass(frozen=True)
class Sizes:
    """Sizes of tiles and blocks on a device, in rows times concepts and in trials.

    A block of a CPU fits a core's cache; other devices compute a block at once, so theirs grows with the memory.
    A learner's passes over the rows take time, but hardly more memory: they count on a CPU alone (``with_passes``),
    but for a trial of few rows, which counts for one row a pass.
    """

    tile_cells: int
    block_cells: int
    most_tile: int
    most_block: int
    with_passes: bool

    def shape(self, trial: Trial) -> tuple[int, int]:
        """(trials of a tile, trials of a block in it); a block divides a tile."""
        passes = trial.learner.passes
        cells = max(trial.capacity * (passes if self.with_passes else 1), passes) * trial.k
        tile = _power_of_two(self.tile_cells // cells, 16, self.most_tile)
        return tile, _power_of_two(self.block_cells // cells, 1, min(tile, self.most_block))


CPU = Sizes(1 << 21, 1 << 16, 1024, 64, True)
_LEAST_DEVICE, _MOST_DEVICE = 1 << 20, 1 << 24  # cells of a block
_BYTES_PER_CELL = 1 << 12  # of the device's memory: a block takes some hundred bytes a cell, and two run at once


def sizes_of(device: Any) -> Sizes:
    """The sizes for a device: by its platform and, rounded down to a power of two, its memory."""
    if device.platform == "cpu":
        return CPU
    cells = _power_of_two((memory_of(device) or 0) // _BYTES_PER_CELL, _LEAST_DEVICE, _MOST_DEVICE)
    return Sizes(4 * cells, cells, 1 << 14, 1 << 12, False)


def tile_shape(trial: Trial, device: Any = None) -> tuple[int, int]:
    """`Sizes.shape` on a device, by default the first local one. Part of a result's identity.

    A learner's ``passes``, if given, is its approximate number of passes over the rows.
    """
    return sizes_of(jax.local_devices()[0] if device is None else device).shape(trial)


def _power_of_two(value: int, low: int, high: int) -> int:
    """The largest power of two up to ``value``, clipped to [low, high]."""
    return 1 << (min(high, max(low, value)).bit_length() - 1)


@dataclass(frozen=True, eq=False)
class Program:
    """The program of a trial's tiles.

    run: jitted, see `tile_program`. digest: of what was traced, see `program`. jaxpr: returns what was traced, None
    once ``run`` has dropped it. tile, block: see `tile_shape`. threaded: see `program.sums_in_parts`. calls_host: see
    `program.calls_host`.

    Compiled programs are found by the digest, not by the learner: learners that compare equal may differ.
    """

    trial: Trial
    run: Any
    digest: str
    jaxpr: Callable[[], Any]
    tile: int
    block: int
    threaded: bool = False
    calls_host: bool = False

    def compiled(self, run: Any, specs: tuple) -> Any:
        """The executable of ``run``, which is traced again if its trace was dropped: it must be what was digested."""
        trace = run.trace(*specs)
        if trace.jaxpr is not self.jaxpr() and _digest(self.trial, trace.jaxpr) != self.digest:
            expected = "code that stays as it is while it is measured"
            advice = "do not change the learner, or what it reads, during a run; run the study again"
            raise InputError("learner", expected, "another program than a moment ago", advice)
        return trace.lower().compile()


def arguments_of(task: Task, point: Point, seed: int) -> tuple:
    """The arguments of a tile's program, except the index of its first trial and the number of its blocks."""
    root = np.asarray(jax.random.key_data(keys.root(seed)))
    return root, jax.tree.map(np.asarray, task), point


def shape_of(arguments: tuple) -> Any:
    """What determines the program besides the trial: the structure, and each leaf's shape and type."""
    leaves, structure = jax.tree.flatten(arguments)
    return structure, tuple((np.shape(leaf), np.asarray(leaf).dtype.name) for leaf in leaves)


def tile_program(trial: Trial, device: Any = None, shape: tuple[int, int] | None = None) -> Any:
    """Jitted: (root key data, task, point, first trial, blocks) -> the outcomes ``uint8[trials]`` of one tile.

    shape: trials of the tile and of a block, by default `tile_shape`. The outcomes of blocks that are not computed are
    0. A new function at each call, so that it is traced anew: a learner may have been edited meanwhile.
    """
    size, block = shape or tile_shape(trial, device)

    def run(root: Array, task: Task, point: Point, first: Array, blocks: Array) -> Array:
        of_point = keys.of_point(jax.random.wrap_key_data(root, impl="threefry2x32"), point.identity)

        def one(index: Array, found: Array) -> Array:
            begin = index * block
            trials = first + begin.astype(jnp.uint32) + jnp.arange(block, dtype=jnp.uint32)
            trial_keys = jax.vmap(keys.of_trial, (None, 0))(of_point, trials)
            outcomes = jax.vmap(trial, (0, None, None))(trial_keys, task, point)
            return jax.lax.dynamic_update_slice(found, outcomes, (begin,))

        return jax.lax.fori_loop(jnp.int32(0), blocks, one, jnp.zeros(size, jnp.uint8))

    return jax.jit(run)


def traced(trial: Trial, task: Task, point: Point, device: Any = None) -> Program:
    """The tile's program, traced as it runs: with 64-bit types off."""
    arguments, run = (*arguments_of(task, point, 0), np.uint32(0), np.int32(1)), tile_program(trial, device)
    with jax.enable_x64(False):
        specs = jax.tree.map(lambda part: jax.ShapeDtypeStruct(np.shape(part), np.asarray(part).dtype), arguments)
        jaxpr = run.trace(*specs).jaxpr
        return Program(
            trial,
            run,
            _digest(trial, jaxpr),
            weakref.ref(jaxpr),
            *tile_shape(trial, device),
            program.sums_in_parts(jaxpr),
            program.calls_host(jaxpr),
        )


def _digest(trial: Trial, jaxpr: Any) -> str:
    return program.digest(jaxpr, trial.learner.cache_token)


def program_digest(trial: Trial, task: Task, point: Point) -> str:
    """`program.digest` of the tile's program."""
    return traced(trial, task, point).digest
