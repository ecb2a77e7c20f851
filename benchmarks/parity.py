"""The linear equations of `ParityLearner`: 256 parities of 128 bits, from 32 subsamples in every trial."""

import functools
import itertools

import jax
import numpy as np
from jax import Array

from benchmarks import peers
from benchmarks.clock import Work, race
from benchmarks.row import Measured, Row
from dpjax.learners.gf2 import solve

DIMENSION, CONCEPTS, SUBSAMPLES, EXAMPLES = 128, 256, 32, 136
_TRIALS = 8  # whose examples are drawn beforehand


@functools.cache
def systems(trials: int = _TRIALS) -> tuple[np.ndarray, np.ndarray]:
    """Examples ``uint64[trials, subsamples, rows, 2]`` and labels ``uint64[trials, subsamples, rows, 4]``."""
    draws = peers.generator()
    bits = draws.integers(0, 2, (trials, SUBSAMPLES, EXAMPLES, DIMENSION), np.uint8)
    targets = draws.integers(0, 2, (trials, DIMENSION, CONCEPTS), np.uint8)
    labels = (bits.reshape(trials, -1, DIMENSION).astype(np.float32) @ targets.astype(np.float32)).astype(np.int32) & 1
    packed = (np.packbits(part, axis=-1, bitorder="little").view("<u8") for part in (bits, labels.astype(np.uint8)))
    left, right = packed
    return left, right.reshape(trials, SUBSAMPLES, EXAMPLES, CONCEPTS // 64)


def ours(trials: int = _TRIALS) -> tuple[np.ndarray, np.ndarray]:
    """The same as `gf2.solve` takes them."""
    left, right = (np.moveaxis(part.view("<u4"), (2, 3), (3, 2)) for part in systems(trials))  # [t, S, words, r]
    return np.moveaxis(left[:, :, ::-1], 1, 3), np.moveaxis(right, 1, 3)


@jax.jit
def solved(left: Array, right: Array) -> tuple[Array, Array]:
    """Trial after trial: solutions ``uint32[trials, 128, 8, 32]``, and which systems have one, ``bool[trials, 32]``."""
    return jax.lax.map(lambda one: solve(one[0], one[1], DIMENSION)[:2], (left, right))


def _ours() -> Work:
    left, right = (jax.device_put(np.ascontiguousarray(part)) for part in ours())

    def work() -> int:
        jax.block_until_ready(solved(left, right))
        return _TRIALS

    return work


def _theirs() -> Work:
    left, right = systems()
    turn = itertools.count()

    def work() -> int:
        trial = next(turn) % _TRIALS
        for one, labels in zip(left[trial], right[trial], strict=True):
            peers.eliminated(one, labels, DIMENSION)
        return 1

    return work


def _against_numpy(seconds: float) -> Measured:
    return race(_ours(), _theirs(), seconds)


ROWS = (
    Row(
        "parity-numpy",
        f"NumPy on packed bits, one system after the other, {CONCEPTS} parities of {DIMENSION} bits",
        "trials/s",
        20.0,
        _against_numpy,
    ),
)
