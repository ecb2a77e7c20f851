"""How many of a learner's hypotheses are concepts of its class, beside how many are good."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts import Thresholds, Tree
from dpjax.core import checks, keys, wide
from dpjax.core.checks import InputError
from dpjax.experiments.cells import Setting
from dpjax.experiments.engine import capacity
from dpjax.experiments.experiment import Experiment, Point, Workload, point

_BLOCK_CELLS = 1 << 16


class Judged(NamedTuple):
    """Of ``trials``: hypotheses of error at most alpha, and hypotheses that are concepts of the class."""

    successes: int
    members: int
    trials: int


def judged(setting: Setting, seed: int, trials: int) -> Judged:
    """Trials of a learner of one concept, over a `Tree` or `Thresholds`, from samples of setting.n rows.

    The trials are its own: none is one of `Cells`.
    """
    concepts, learner, rows = setting.learner.concepts, setting.learner, capacity(setting.n)
    assert isinstance(concepts, Tree | Thresholds)
    if setting.workload.noise is not None:
        raise InputError("workload", "labels without noise", "noise", "leave the noise out: members are of the class")
    experiment = Experiment(learner, 1, rows)
    block = max(1, min(checks.integer("trials", trials, 1), _BLOCK_CELLS // rows))
    numbers = point(b"judged: no identity", setting.n, setting.plan(), setting.alpha, setting.workload.distribution)

    def trial(key: Array, workload: Workload, at: Point) -> Array:
        of_target, of_sample, of_learn = keys.streams(key, "target", "sample", "learn")
        target = experiment.draw_targets(of_target, workload)
        sample = experiment.draw_sample(of_sample, workload, target, at.n)
        found = learner.learn(of_learn, sample, at.plan)
        with jax.enable_x64(True):
            good = concepts.error(workload.distribution, found, target) <= wide.join(at.limit)
        return jnp.stack([good[0], concepts.is_member(found)[0]]).astype(jnp.int32)

    def run(trial_keys: Array, workload: Workload, at: Point) -> Array:
        counts = jax.lax.map(lambda key: trial(key, workload, at), trial_keys, batch_size=block)
        return jnp.sum(counts, axis=0, dtype=jnp.int32)

    root = keys.stream(keys.root(seed), "judged")
    successes, members = np.asarray(jax.jit(run)(keys.per_index(root, trials), setting.workload, numbers)).tolist()
    return Judged(successes, members, trials)
