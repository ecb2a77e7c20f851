"""One trial of a study again, from its key alone."""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from dpjax.concepts.hypothesis import sentences
from dpjax.experiments import errors
from dpjax.experiments.cells import Setting
from dpjax.experiments.engine import capacity
from dpjax.experiments.trial import Trial, point


@dataclass(frozen=True)
class Reproduced:
    """A trial as host data.

    key: of the trial. x, y: the n rows, decoded by the domain, and ``bool[n, k]``. targets, hypotheses: sentences.
    errors: of each concept, beyond the target's own. outcome: the byte that a store holds.
    """

    key: jax.Array
    x: list[Any]
    y: np.ndarray
    targets: list[str]
    hypotheses: list[str]
    errors: list[float]
    outcome: int
    success: bool
    silent: bool


def reproduce(setting: Setting, seed: int, trial: int) -> Reproduced:
    """Trial ``trial`` of the setting's point and purpose: its data, hypotheses, errors, and the byte of its outcome."""
    task, learner = setting.task, setting.learner
    run = Trial(learner, setting.k, capacity(setting.n))
    key = setting.key_of(seed, trial)
    where = point(bytes(8), setting.n, setting.plan(), setting.alpha, task)
    with jax.enable_x64(False):
        outcome = jax.jit(run.run)(key, task, where)
        byte = np.asarray(jax.jit(run)(key, task, where))
        error = np.asarray(task.error(outcome.found, outcome.target), np.float64)
    n = setting.n
    x = learner.concepts.domain.decode(np.asarray(outcome.sample.x)[:n])
    return Reproduced(
        key, np.asarray(x).tolist(), np.asarray(outcome.sample.y)[:n], described(learner.concepts, outcome.target),
        described(learner.concepts, outcome.found), error.tolist(), int(byte),
        bool(errors.successes(byte, setting.alpha)), bool(errors.silent(byte)),
    )  # fmt: skip


def described(concepts: Any, hypothesis: Any) -> list[str]:
    """What ``concepts.describe`` says of each hypothesis; without that method, its words."""
    if (describe := getattr(concepts, "describe", None)) is not None:
        return list(describe(hypothesis))
    return sentences(hypothesis, lambda words: f"the concept of words {words.tolist()}")
