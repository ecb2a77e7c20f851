"""Trials of a learner at one point, for tests that count successes."""

from functools import cache, partial

import jax
import numpy as np

from dpjax.experiments.run.trial import Trial, point
from dpjax.experiments.store import error_bins
from dpjax.experiments.store.capacity import capacity


@cache
def program(trial, batch):
    return jax.jit(lambda keys, task, at: jax.lax.map(lambda key: trial(key, task, at), keys, batch_size=batch))


def successes(learner, task, n, plan, alpha, trials, *, k=1, largest=None, seed=5, batch=16):
    """How many of the trials have all errors at most alpha. largest: of the n that share one program."""
    run = program(Trial(learner, k, capacity(largest or n)), batch)
    at = point(b"counted by a test", n, plan, alpha, task)
    found = np.asarray(run(jax.random.split(jax.random.key(seed), trials), task, at))
    assert not (error_bins.bins(found) == error_bins.INVALID).any()
    return int(error_bins.successes(found, alpha).sum())


@jax.jit
def jit_learn(learner, key, sample, plan):
    """`learn` as one program, which equal learners, shapes and structures of plans share; eager operations are many."""
    return learner.learn(key, sample, plan)


@jax.jit
def jit_predict(learner, found, x):
    """`predict` as one program."""
    return learner.predict(found, x)


def jit_draw(task, key, n, k=1, capacity=None):
    """`Task.draw` as one program for all n of a capacity, by default n."""
    return _draw(task, key, np.int32(n), k, capacity or n)


@partial(jax.jit, static_argnames=("k", "capacity"))
def _draw(task, key, n, k, capacity):
    return task.draw(key, n, k, capacity)


@jax.jit
def jit_error(task, found, target):
    """`Task.error` as one program."""
    return task.error(found, target)
