"""Bounds on epsilon from scores of independent runs on two neighbors, at 95%."""

import functools
import itertools

import jax
import numpy as np
from jax import Array

from benchmarks import peers
from benchmarks.clock import Work, race
from benchmarks.row import Measured, Row
from dpjax.audit import epsilon_of_scores
from dpjax.core import keys, random

_MANY, _AT_ONCE = 100_000, 20  # scores a side and audits of a call


def _audit(key: Array, count: int) -> Array:
    of_first, of_second = jax.random.split(key)
    return epsilon_of_scores(1 + random.laplace(of_first, (count,)), random.laplace(of_second, (count,)))


@functools.cache
def _scores(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Laplace noise around 1 and around 0: the true epsilon is 1."""
    of_first, of_second = jax.random.split(keys.root(0))
    return np.asarray(1 + random.laplace(of_first, (count,))), np.asarray(random.laplace(of_second, (count,)))


def _one(count: int) -> Work:
    first, second = (jax.device_put(part) for part in _scores(count))
    bound = jax.jit(epsilon_of_scores)

    def work() -> int:
        bound(first, second).block_until_ready()
        return 2 * count

    return work


def _many() -> Work:
    turn = itertools.count()
    every = jax.jit(lambda of_turn: jax.vmap(lambda key: _audit(key, _MANY))(jax.random.split(of_turn, _AT_ONCE)))

    def work() -> int:
        every(keys.root(next(turn))).block_until_ready()
        return 2 * _MANY * _AT_ONCE

    return work


def _single(seconds: float) -> Measured:
    return race(_one(10**6), peers.jax_privacy_bound(*_scores(10**6)), seconds)


def _in_one_call(seconds: float) -> Measured:
    return race(_many(), peers.jax_privacy_bound(*_scores(_MANY)), seconds)


_PEER, _NEEDS = "jax_privacy, all thresholds, Bonferroni", ("jax_privacy",)
ROWS = (
    Row("audit-jax-privacy", _PEER, "scores/s", 3.0, _single, _NEEDS),
    Row("audits-in-one-call", _PEER, "scores/s", None, _in_one_call, _NEEDS),
)
