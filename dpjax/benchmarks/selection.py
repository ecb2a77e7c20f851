"""Choosing one of m candidates whose scores are new in every trial."""

import functools
import itertools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array

from dpjax import keys
from dpjax.benchmarks import peers
from dpjax.benchmarks.clock import Work, race
from dpjax.benchmarks.row import Measured, Row
from dpjax.laws import Categorical
from dpjax.mechanisms.exponential import exponential

_BLOCK = 1 << 16  # candidates worked on at once
_SHARE = 1 << 23  # candidates of one repetition


def fresh_scores(base: Array, trial: Array) -> Array:
    """The scores of a trial, ``int32[m]``: the same as `peers.fresh_scores`, made where they are used."""
    return base ^ (trial & jnp.uint32(15)).astype(jnp.int32)


@functools.cache
def exponential_mechanism(candidates: int) -> Work:
    """Scores, law and one draw a trial."""
    return _over_trials(candidates, _SHARE, lambda key, scores: _law(scores).sample(key))


def exponential_race(candidates: int) -> Work:
    """The same by the exponential race."""
    return _over_trials(candidates, _SHARE // 8, lambda key, scores: _law(scores).sample_race(key))


def jax_categorical(candidates: int) -> Work:
    """The same by ``jax.random.categorical``, vmapped in the same blocks."""
    return _over_trials(candidates, _SHARE // 32, peers.jax_categorical)


def _law(scores: Array) -> Categorical:
    return exponential(scores, 2 * peers.RATE)


def _over_trials(candidates: int, share: int, draw: Callable[[Array, Array], Array]) -> Work:
    base, trials = jnp.asarray(peers.base_scores(candidates)), max(1, share // candidates)

    @jax.jit
    def tile(first: Array) -> Array:
        def one(trial: Array) -> Array:
            return draw(keys.of_trial(keys.root(0), trial), fresh_scores(base, trial))

        numbers = first + jnp.arange(trials, dtype=jnp.uint32)
        return jax.lax.map(one, numbers, batch_size=max(1, _BLOCK // candidates))

    turn = itertools.count()

    def work() -> int:
        tile(jnp.uint32(next(turn) * trials)).block_until_ready()
        return trials * candidates

    return work


def _against(peer: Callable[[int], Work], candidates: int) -> Callable[[float], Measured]:
    def measure(seconds: float) -> Measured:
        return race(exponential_mechanism(candidates), peer(candidates), seconds)

    return measure


def _race_against_numpy(seconds: float) -> Measured:
    return race(exponential_race(1 << 10), peers.numpy_race(1 << 10), seconds)


_UNIT = "candidates/s"
ROWS = (
    Row("exponential-1k-numpy", "NumPy, inverse CDF a trial, float64", _UNIT, 8.0,
        _against(peers.numpy_inverse_cdf, 1 << 10)),
    Row("exponential-64k-numpy", "NumPy, inverse CDF a trial, float64", _UNIT, 8.0,
        _against(peers.numpy_inverse_cdf, 1 << 16)),
    Row("exponential-1k-numpy-chunks", "NumPy, inverse CDF of 64 trials at once, float64", _UNIT, None,
        _against(peers.numpy_inverse_cdf_in_chunks, 1 << 10)),
    Row("exponential-1k-jax", "jax.random.categorical, vmapped", _UNIT, 20.0, _against(jax_categorical, 1 << 10)),
    Row("exponential-64k-jax", "jax.random.categorical, vmapped", _UNIT, 20.0, _against(jax_categorical, 1 << 16)),
    Row("race-1k-numpy", "NumPy, exponential race in chunks, float32, without keys", _UNIT, None, _race_against_numpy),
)  # fmt: skip
