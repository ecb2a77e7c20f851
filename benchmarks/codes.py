"""Tardos codebooks, pirated by majority and traced, against the same steps one codebook at a time in NumPy."""

import itertools
import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from benchmarks.clock import Work, race
from benchmarks.row import Measured, Row
from dpjax.attacks import Tardos, pirates
from dpjax.core import keys

CODE = Tardos(32, k=27 * 32**2, threshold="chernoff")
_BATCH = 32  # codebooks of a call


def traced(first: Array, count: int, at_once: int = 4) -> Array:
    """The accused users of the codebooks ``first`` to ``first`` + ``count`` - 1, ``bool[count, n]``; traceable."""

    def one(number: Array) -> Array:
        codebook = CODE.generate(keys.of_trial(keys.root(0), number))
        word = pirates.majority(keys.root(1), codebook.bits, jnp.ones(CODE.users, bool))
        return CODE.trace(codebook, word)

    return jax.lax.map(one, first + jnp.arange(count, dtype=jnp.uint32), batch_size=at_once)


def _ours() -> Work:
    run, turn = jax.jit(partial(traced, count=_BATCH)), itertools.count()

    def work() -> int:
        run(jnp.uint32(next(turn) * _BATCH)).block_until_ready()
        return _BATCH

    return work


def by_numpy() -> Work:
    """One codebook a call."""
    generator = np.random.default_rng(0)
    n, k, rate = CODE.users, CODE.length, math.log(CODE.users / CODE.security)
    low, c = math.asin(math.sqrt(1 / (300 * n))), math.sqrt(2 * rate / k)

    def work() -> int:
        p = np.sin(generator.uniform(low, math.pi / 2 - low, k)) ** 2
        bits = generator.random((n, k)) < p
        sign = np.where(2 * bits.sum(axis=0) > n, 1, -1)
        one, zero = sign * np.sqrt((1 - p) / p), -sign * np.sqrt(p / (1 - p))
        scores = np.where(bits, one, zero).sum(axis=1)
        log_moment = np.sum(c * zero + np.log1p(p * np.expm1(c * (one - zero))))
        assert scores.max() > (log_moment + rate) / c - k  # uses both
        return 1

    return work


def _measure(seconds: float) -> Measured:
    return race(_ours(), by_numpy(), seconds)


ROWS = (Row("tardos-numpy", "NumPy, one codebook at a time, n = 32, k = 27648", "codebooks/s", None, _measure),)
