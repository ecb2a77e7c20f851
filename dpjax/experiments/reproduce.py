"""Reruns one trial of a study from its key."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from dpjax.concepts.hypothesis import sentences
from dpjax.experiments import errors
from dpjax.experiments.cells import Setting
from dpjax.experiments.engine import capacity
from dpjax.experiments.task import Task
from dpjax.experiments.trial import Outcome, Point, Trial, point


@dataclass(frozen=True)
class Reproduced:
    """A trial as host data.

    key: key of the trial. x, y: the n rows, decoded by the domain, and ``bool[n, k]``. targets, hypotheses: sentences.
    errors: per concept, in excess of the target's. outcome: the byte in the store.
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
        outcome, byte, error = jax.tree.map(np.asarray, _program(run)(key, task, where))
    n = setting.n
    x = learner.concepts.domain.decode(np.asarray(outcome.sample.x)[:n])
    return Reproduced(
        key, np.asarray(x).tolist(), np.asarray(outcome.sample.y)[:n], described(learner.concepts, outcome.target),
        described(learner.concepts, outcome.found), error.tolist(), int(byte),
        bool(errors.successes(byte, setting.alpha)), bool(errors.silent(byte)),
    )  # fmt: skip


@lru_cache(maxsize=16)
def _program(trial: Trial) -> Any:
    """Jitted: (key, task, point) -> all values of the trial, its byte, and the errors of its hypotheses."""

    def run(key: jax.Array, task: Task, where: Point) -> tuple[Outcome, jax.Array, jax.Array]:
        outcome = trial.run(key, task, where)
        return outcome, trial.byte(outcome, where), task.error(outcome.found, outcome.target)

    return jax.jit(run)


def described(concepts: Any, hypothesis: Any) -> list[str]:
    """Descriptions of the hypotheses by ``concepts.describe``; without that method, their encodings."""
    if (describe := getattr(concepts, "describe", None)) is not None:
        return list(describe(hypothesis))
    return sentences(hypothesis, lambda words: f"the concept of words {words.tolist()}")
