"""Counts the hypotheses of a learner that are concepts of its class, and those with small error."""

from fractions import Fraction
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts import Thresholds, Tree
from dpjax.core import checks, keys, wide
from dpjax.core.checks import InputError
from dpjax.experiments.run.trial import Point, Trial, point
from dpjax.experiments.store.capacity import capacity
from dpjax.experiments.store.error_bins import edges
from dpjax.experiments.sweep.error_mass import limits
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.task import Task

_BLOCK_CELLS = 1 << 16


class Judged(NamedTuple):
    """Counts among ``trials``: hypotheses of error at most alpha, and hypotheses that are concepts of the class."""

    successes: int
    members: int
    trials: int


def judged(setting: Setting, seed: int, trials: int) -> Judged:
    """Trials of a learner of one concept, over a `Tree` or `Thresholds`, from samples of setting.n rows.

    The trials are separate from those of `Cells`.
    """
    task, concepts, rows = setting.task, setting.learner.concepts, capacity(setting.n)
    assert isinstance(concepts, Tree | Thresholds)
    if task.flips is not None:
        raise InputError("task", "labels without noise", "noise", "remove the noise")
    trial = Trial(setting.learner, 1, rows)
    block = max(1, min(checks.integer("trials", trials, 1), _BLOCK_CELLS // rows))
    numbers = point(b"judged: no identity", setting.n, setting.plan(), setting.alpha, task)
    most = wide.decode(limits(setting.alpha, task.total))[edges(setting.alpha).index(Fraction(repr(setting.alpha)))]

    def one(key: Array, task: Task, at: Point) -> Array:
        outcome = trial.run(key, task, at)
        with jax.enable_x64(True):
            good = outcome.mass <= jnp.uint64(most)
        return jnp.stack([good[0], concepts.is_member(outcome.found)[0]]).astype(jnp.int32)

    def run(trial_keys: Array, task: Task, at: Point) -> Array:
        counts = jax.lax.map(lambda key: one(key, task, at), trial_keys, batch_size=block)
        return jnp.sum(counts, axis=0, dtype=jnp.int32)

    root = keys.stream(keys.root(seed), "judged")
    successes, members = np.asarray(jax.jit(run)(keys.per_index(root, trials), task, numbers)).tolist()
    return Judged(successes, members, trials)
