"""DP-SGD on shapes, for `scripts/union_shapes.py`: the networks and the tuning of `scripts/dp_sgd.py`."""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from dp_sgd_runs import BLOCK, CHUNK, DELTA, WORKLOADS, Choice, private_choices
from jax import Array
from slab_wedges import Law, encoded

from dpjax.baselines.dp_sgd import DPSGD, Numbers, batch_for, noise_multiplier
from dpjax.core.types import Sample

STAGES = (3, 6, 24)
"""Runs of all configurations, how many are kept, and runs of these."""
CHOICES = private_choices(WORKLOADS[0])
EPSILON = 4.0
"""The largest: of the buffers of batches, which are then large enough for smaller ones."""


class Data(NamedTuple):
    """Samples in buffers, other rows of the same law and their labels, with a leading axis of runs."""

    sample: Sample
    probes: np.ndarray
    truth: np.ndarray

    @staticmethod
    def of(law: Law, n: int, d: int, sizes: tuple[int, int, int], root: Sequence[int]) -> "Data":
        """sizes: of the buffer, of the other rows, and the number of runs. root: of the seeds, see `union_shapes`."""
        room, test, runs = sizes
        points, label = np.zeros((runs, room, 2), np.uint32), np.zeros((runs, room, 1), bool)
        probes, truth = np.zeros((runs, test, 2), np.uint32), np.zeros((runs, test, 1), bool)
        for trial in range(runs):
            for many, x, y in ((n, points, label), (test, probes, truth)):
                *parts, inside = law(many, np.random.default_rng([*root, trial, many]))
                x[trial, :many], y[trial, :many, 0] = encoded((parts[0], parts[1]), d), inside
        mask = np.broadcast_to(np.arange(room) < n, (runs, room))
        return Data(Sample(points, label, mask), probes, truth)


def tuned(data: Data, n: int, d: int, epsilon: float, choices: Sequence[Choice]) -> Choice:
    """The configuration with the least mean error in the second stage, on the runs of ``data``; no privacy is paid."""
    first, kept, second = STAGES
    left = list(choices)
    for runs, most in ((first, kept), (second, 1)):
        found: dict[Choice, float] = {}
        for _, group in groupby(sorted(left, key=repr), lambda choice: network(choice, d)):
            same = list(group)
            found |= dict(zip(same, errors(data, n, d, epsilon, same, runs).mean(axis=1), strict=True))
        left = sorted(found, key=found.__getitem__)[:most]
    return left[0]


def errors(data: Data, n: int, d: int, epsilon: float, choices: Sequence[Choice], runs: int) -> np.ndarray:
    """Of each configuration of one network the errors of the first runs, ``float64[choices, runs]``."""
    rows = [
        (min(1.0, c.expected / n), multiplier(c, n, epsilon), c.learning_rate, c.clip, c.spread, c.average)
        for c in choices
    ]
    numbers = np.repeat(np.array(rows, np.float32), runs, axis=0)
    run, trial, wrong = program(network(choices[0], d)), np.tile(np.arange(runs, dtype=np.int32), len(choices)), []
    for begin in range(0, len(trial), CHUNK):
        place = np.arange(begin, begin + CHUNK) % len(trial)
        wrong.append(np.asarray(run(trial[place], Numbers(*numbers[place].T), data)))
    return np.concatenate(wrong)[: len(trial)].reshape(len(choices), runs) / data.truth.shape[1]


def network(choice: Choice, d: int) -> DPSGD:
    """The program of a configuration, for every n and epsilon."""
    room = batch_for(choice.expected, choice.steps, EPSILON, DELTA)
    return DPSGD(d, choice.widths, choice.steps, choice.expected, room, choice.optimizer)


def multiplier(choice: Choice, n: int, epsilon: float) -> float:
    """Of the noise."""
    return noise_multiplier(epsilon, DELTA, min(1.0, choice.expected / n), choice.steps)


@cache
def program(network: DPSGD) -> Callable[[np.ndarray, Numbers, Data], Array]:
    """(runs, numbers, data) -> rows in error, ``int32[CHUNK]``."""

    def one(trial: Array, numbers: Numbers, data: Data) -> Array:
        sample, probes, truth = jax.tree.map(lambda part: part[trial], data)
        layers = network.fit(jax.random.key(trial), sample, numbers)
        return jnp.sum(network.predict(layers, probes) != truth, dtype=jnp.int32)

    def run(trial: Array, numbers: Numbers, data: Data) -> Array:
        return jax.lax.map(lambda each: one(*each, data), (trial, numbers), batch_size=BLOCK)

    return jax.jit(run)
