"""The improper learner of a class of VC dimension 1, end to end: in every trial draw labelled examples and learn."""

import functools
import itertools
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from benchmarks import peers
from benchmarks.clock import Work, race
from benchmarks.row import Measured, Row
from dpjax.concepts import Domain, Hypothesis, Thresholds, Tree, distributions, tree_generators
from dpjax.core import keys, wide
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.learners import ImproperVC1

_NODES, _SUBSAMPLES, _ROWS = 1 << 16, 128, 4096
_HEIGHT, _MANY, _SECONDS = 1 << 20, 10_000, 60.0
_TILE, _BLOCK = 64, 32


@functools.cache
def tree() -> Tree:
    """A random recursive tree, half of its branching nodes improper."""
    return tree_generators.recursive(_NODES, 0, 0.5)


def learned(concepts: Tree | Thresholds, target: int, trials: int):
    """First trial -> ``uint32[trials, 1, 2]``, nodes."""
    learner = ImproperVC1(concepts, "exponential", _SUBSAMPLES)
    plan = learner.plan(Privacy(1.0, 1e-6), Accuracy(0.1, 0.1))
    distribution, hypothesis = distributions.uniform(concepts.domain), Hypothesis.of(jnp.asarray(wide.encode([target])))
    mask = jnp.ones(_ROWS, bool)

    def one(trial: Array) -> Array:
        key = keys.of_trial(keys.root(0), trial)
        x = distribution.draw(keys.stream(key, "sample"), _ROWS)
        sample = Sample(x, concepts.predict(hypothesis, x), mask)
        return learner.learn(keys.stream(key, "learn"), sample, plan).concept

    @jax.jit
    def tile(first: Array) -> Array:
        return jax.lax.map(one, first + jnp.arange(trials, dtype=jnp.uint32), batch_size=_BLOCK)

    return tile


def _ours() -> Work:
    tile, turn = learned(tree(), deep_target(), _TILE), itertools.count()

    def work() -> int:
        tile(jnp.uint32(next(turn) * _TILE)).block_until_ready()
        return _TILE

    return work


def deep_target() -> int:
    """A concept at the largest depth."""
    return int(np.argmax(tree().depth))


def _against_numpy(seconds: float) -> Measured:
    return race(_ours(), peers.numpy_tree(tree(), deep_target(), _ROWS, _SUBSAMPLES), seconds)


def _thresholds(seconds: float) -> Measured:
    """All trials at once if there is time for it, else as many as fit; against the rate that ends in 60 seconds."""
    tile = learned(Thresholds(Domain(_HEIGHT)), _HEIGHT // 2, _TILE)
    tile(jnp.uint32(0)).block_until_ready()
    done, start = 0, time.perf_counter()
    while done < _MANY and (done == 0 or time.perf_counter() - start < 4 * seconds):
        tile(jnp.uint32(done)).block_until_ready()
        done += _TILE
    rate, needed = done / (time.perf_counter() - start), _MANY / _SECONDS
    return Measured(rate, needed, rate / needed, f"{done} trials; {_MANY} would take {_MANY / rate:.3g} s")


_UNIT = "trials/s"
ROWS = (
    Row(
        "vc1-tree-numpy",
        f"NumPy, one trial after the other, {_NODES} nodes, {_SUBSAMPLES} subsamples",
        _UNIT,
        50.0,
        _against_numpy,
    ),
    Row(
        "vc1-thresholds",
        f"{_MANY} trials of {_ROWS} rows, height {_HEIGHT}, in {_SECONDS:g} s",
        _UNIT,
        1.0,
        _thresholds,
    ),
)
