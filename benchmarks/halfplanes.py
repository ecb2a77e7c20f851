"""One private halfplane: the time that a choice takes, beside samplers that list every cell, and many at a time."""

import functools
import itertools
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from benchmarks import peers
from benchmarks.clock import Work, race
from benchmarks.row import Measured, Row
from dpjax.concepts import ConvexPolygons, Hypothesis
from dpjax.core import keys
from dpjax.mechanisms.cover.lines.halfplanes import HalfPlanes
from dpjax.mechanisms.cover.score import Score
from tests.oracles import events
from tests.oracles.slabs import Frame, slab_select

_D, _EDGES, _COEFFICIENT = 2**10, 4, 0.13  # as in a polygon's first round at epsilon = 1
_LEAST_ROUNDS, _BATCH = 10, 32
_SLAB_ROWS, _EVENT_ROWS, _BATCH_ROWS = 200, 800, 1500  # a second or so for one choice

Draw = Callable[[Array, Array, Array, Array], Any]


def rows(n: int, trials: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Uniform rows ``int32[trials, n, 2]``, which of them are outside of a polygon, and which inside."""
    x = peers.generator().integers(0, _D, (trials, n, 2), endpoint=True)
    concepts = ConvexPolygons(_D, _EDGES)
    predict = jax.jit(concepts.predict)
    inside = predict(Hypothesis.of(concepts.targets(1)), jnp.asarray(x.reshape(-1, 2), jnp.uint32))
    label = np.asarray(inside).reshape(trials, n)
    return x.astype(np.int32), ~label, label


def by_rejection(key: Array, x: Array, target: Array, other: Array) -> Any:
    """dpjax: any number of rows."""
    return HalfPlanes(_D).select(key, x, target, other, Score.of(*_numbers(target)))


def by_slabs(key: Array, x: Array, target: Array, other: Array) -> Any:
    """All trapezoids of all slabs between crossings, O(n**3)."""
    return slab_select(key, x, target, other, *_numbers(target), Frame.rotations(_D))


def by_events(key: Array, x: Array, target: Array, other: Array) -> Any:
    """All trapezoids by sorted crossings, O(n**2 log n)."""
    return events.cells(x, target, other, Frame.rotations(_D)).select(key, *_numbers(target))


def _numbers(target: Array) -> tuple[Array, int, Array]:
    """The budget (exact), k and the coefficient."""
    return jnp.sum(target).astype(jnp.float32), _EDGES, jnp.float32(_COEFFICIENT)


def one_by_one(draw: Draw, n: int) -> Work:
    """A choice from n rows a repetition, each with a key of its own."""
    choose = jax.jit(lambda trial, *data: draw(keys.of_trial(keys.root(0), trial), *data))
    data, turn = [jax.device_put(part[0]) for part in rows(n)], itertools.count()

    def work() -> int:
        jax.block_until_ready(choose(jnp.uint32(next(turn)), *data))
        return 1

    return work


def at_once(n: int, together: int, trials: int = _BATCH) -> Work:
    """Choices from ``trials`` databases of n rows in one program, ``together`` of them vmapped."""

    def one(trial: tuple[Array, ...]) -> Any:
        number, *data = trial
        return by_rejection(keys.of_trial(keys.root(0), number), *data)

    choose = jax.jit(lambda every: jax.lax.map(one, every, batch_size=together if together > 1 else None))
    data, turn = [jax.device_put(part) for part in rows(n, trials)], itertools.count()

    def work() -> int:
        first = next(turn) * trials
        jax.block_until_ready(choose((jnp.arange(first, first + trials, dtype=jnp.uint32), *data)))
        return trials

    return work


def within(n: int, limit: float, seconds: float) -> Measured:
    """The best rate of single choices, against one in ``limit`` seconds."""
    took: list[float] = []
    work = one_by_one(by_rejection, n)
    work()
    end = time.perf_counter() + seconds
    while len(took) < _LEAST_ROUNDS or time.perf_counter() < end:
        start = time.perf_counter()
        work()
        took.append(time.perf_counter() - start)
    note = f"one choice takes {1e3 * min(took):.3g} ms, the middle one of {len(took)} {1e3 * np.median(took):.3g} ms"
    return Measured(1 / min(took), 1 / limit, limit / min(took), note)


def against(peer: Draw, n: int, seconds: float) -> Measured:
    """Rejection against another sampler of the same law."""
    return race(one_by_one(by_rejection, n), one_by_one(peer, n), seconds)


def together(n: int, size: int, seconds: float) -> Measured:
    """One database after the other, as `experiments` runs loops that end when they end, against ``size`` vmapped."""
    return race(at_once(n, 1), at_once(n, size), seconds)


_UNIT = "choices/s"
ROWS = (
    Row("halfplane-1500", "one choice from 1500 rows in 8 ms", _UNIT, 1.0, functools.partial(within, 1500, 8e-3)),
    Row("halfplane-20000", "one choice from 20000 rows in 110 ms", _UNIT, 1.0, functools.partial(within, 20_000, 0.11)),
    Row(
        "halfplane-slabs",
        f"all trapezoids of {_SLAB_ROWS} rows slab by slab",
        _UNIT,
        100.0,
        functools.partial(against, by_slabs, _SLAB_ROWS),
    ),
    Row(
        "halfplane-events",
        f"all trapezoids of {_EVENT_ROWS} rows by sorted crossings",
        _UNIT,
        100.0,
        functools.partial(against, by_events, _EVENT_ROWS),
    ),
    Row(
        "halfplane-vmap",
        f"{_BATCH} of the databases of {_BATCH_ROWS} rows vmapped",
        _UNIT,
        None,
        functools.partial(together, _BATCH_ROWS, _BATCH),
    ),
)
