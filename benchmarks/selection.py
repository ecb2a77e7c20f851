"""Choosing one of m candidates whose scores are new in every trial."""

import functools
import itertools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array

from benchmarks import peers
from benchmarks.clock import Work, race
from benchmarks.row import Measured, Row
from dpjax.core import keys
from dpjax.laws import Categorical
from dpjax.mechanisms.exponential import exponential

_SHARE = 1 << 23  # candidates of one repetition
SMALL, LARGE = 1 << 10, 1 << 16
_TRIALS = {SMALL: 1024, LARGE: 1}  # worked on at once, where each side is fastest
_TRIALS_OF_JAX = {SMALL: 64, LARGE: 1}


def choices(
    draw: Callable[[Array, Array], Array], candidates: int, trials: int, at_once: int = 256
) -> Callable[[Array], Array]:
    """First trial -> ``int32[trials]``: in each trial ``draw(key, scores)``, with scores made where they are used."""
    base = jnp.asarray(peers.base_scores(candidates))

    def one(trial: Array) -> Array:
        fresh = base ^ (trial & jnp.uint32(15)).astype(jnp.int32)  # as `peers.fresh_scores`
        return draw(keys.of_trial(keys.root(0), trial), fresh)

    @jax.jit
    def tile(first: Array) -> Array:
        numbers = first + jnp.arange(trials, dtype=jnp.uint32)
        return jax.lax.map(one, numbers, batch_size=at_once)

    return tile


def by_sample(key: Array, scores: Array) -> Array:
    """dpjax: the exponential mechanism by inverse CDF."""
    return _law(scores).sample(key)


def by_race(key: Array, scores: Array) -> Array:
    """dpjax: the exponential mechanism by the exponential race."""
    return _law(scores).sample_race(key)


def _law(scores: Array) -> Categorical:
    return exponential(scores, 2 * peers.RATE)


@functools.cache
def _work(draw: Callable[[Array, Array], Array], candidates: int, share: int, at_once: int) -> Work:
    trials, turn = max(1, share // candidates), itertools.count()
    tile = choices(draw, candidates, trials, at_once)

    def work() -> int:
        tile(jnp.uint32(next(turn) * trials)).block_until_ready()
        return trials * candidates

    return work


def _ours(candidates: int) -> Work:
    return _work(by_sample, candidates, _SHARE, _TRIALS[candidates])


def _against_numpy(candidates: int, seconds: float) -> Measured:
    return race(_ours(candidates), peers.numpy_one_by_one(candidates), seconds)


def _against_chunks(seconds: float) -> Measured:
    return race(_ours(SMALL), peers.numpy_in_chunks(peers.inverse_cdf_in_chunks, SMALL), seconds)


def _against_jax(candidates: int, seconds: float) -> Measured:
    categorical = _work(peers.jax_categorical, candidates, _SHARE // 32, _TRIALS_OF_JAX[candidates])
    return race(_ours(candidates), categorical, seconds)


def _race_against_numpy(seconds: float) -> Measured:
    ours = _work(by_race, SMALL, _SHARE // 8, _TRIALS_OF_JAX[SMALL])
    return race(ours, peers.numpy_in_chunks(peers.race_in_chunks, SMALL), seconds)


_UNIT = "candidates/s"
_NUMPY, _JAX = "NumPy, inverse CDF a trial, float64", "jax.random.categorical, vmapped"
ROWS = (
    Row("exponential-1k-numpy", _NUMPY, _UNIT, 8.0, functools.partial(_against_numpy, SMALL)),
    Row("exponential-64k-numpy", _NUMPY, _UNIT, 8.0, functools.partial(_against_numpy, LARGE)),
    Row("exponential-1k-numpy-chunks", "NumPy, inverse CDF in chunks, float64", _UNIT, None, _against_chunks),
    Row("exponential-1k-jax", _JAX, _UNIT, 20.0, functools.partial(_against_jax, SMALL)),
    Row("exponential-64k-jax", _JAX, _UNIT, 20.0, functools.partial(_against_jax, LARGE)),
    Row("race-1k-numpy", "NumPy, exponential race in chunks, float32, no keys", _UNIT, None, _race_against_numpy),
)
