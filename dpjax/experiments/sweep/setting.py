"""One point of a study, and the keys of its trials."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpjax.accounting.guarantee import Guarantee
from dpjax.core import keys
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.identity.describe import code_of, digest
from dpjax.experiments.store.canonical import canonical
from dpjax.experiments.sweep.lower_bounds import LowerBound, lower_bound
from dpjax.experiments.sweep.task import Task
from dpjax.learners import Learner
from dpjax.learners.base import require_learner

APART = ("guess", "search")
"""Purposes whose trials at different n are independent, since the next n depends on earlier outcomes."""


@dataclass(frozen=True)
class Setting:
    """One point of a study, in plain numbers.

    purpose: use of the trials. Two purposes share no trial, so a searched n is measured on new trials.
    """

    learner: Learner
    task: Task
    k: int
    n: int
    epsilon: float
    delta: float
    alpha: float
    beta: float
    purpose: str = "curve"

    def __post_init__(self):
        require_learner(self.learner)
        try:
            hash(self.learner)
        except TypeError as error:
            expected = "a frozen dataclass whose fields are equal by value and can be hashed"
            advice = "use tuples for lists, and leaves of the plan for arrays"
            raise InputError("learner", expected, f"{type(self.learner).__name__} ({error})", advice) from error
        if self.learner.concepts != self.task.concepts:
            expected = f"one of the task's class, {self.task.concepts}"
            advice = "build it with task.concepts"
            raise InputError("learner", expected, f"{type(self.learner).__name__} of {self.learner.concepts}", advice)

    @cached_property
    def learner_digest(self) -> str:
        """What the learner is, 64 hexadecimal digits."""
        return digest(self.learner, "learner")

    @cached_property
    def code(self) -> tuple[Any, ...]:
        """The learner's classes and functions, see `describe.code_of`."""
        return code_of(self.learner)

    def below(self, guarantee: Guarantee | None) -> LowerBound | None:
        """The largest lower bound on the rows of every learner that is as private, and succeeds on every distribution;
        for label noise, every agnostic one. Delta is 0 for a guarantee without. None without privacy."""
        if guarantee is None:
            return None
        privacy = Privacy(self.epsilon, self.delta if guarantee.delta else 0.0)
        accuracy = Accuracy(self.alpha, self.beta)
        return lower_bound(self.task, self.k, privacy, accuracy, neighboring=guarantee.neighboring)

    def plan(self) -> Any:
        """The learner's plan for these numbers, n among them, on the host."""
        learner: Any = self.learner
        return learner.plan(Privacy(self.epsilon, self.delta), Accuracy(self.alpha, self.beta), self.n)

    def trials_of(self) -> dict[str, Any]:
        """The data that, with the seed, determine the keys of the trials.

        Neither learner nor epsilon nor, outside of searches, n: trial t has the same targets, examples and randomness
        of the learner for all of them, so that differences are paired.
        """
        of_task = {"task": self.task.digest, "purpose": self.purpose}
        return of_task | ({"n": self.n} if self.purpose in APART else {})

    @property
    def identity(self) -> bytes:
        """The hash of `trials_of`."""
        return _identity(self.trials_of())

    def key_of(self, seed: int, trial: int) -> jax.Array:
        """The key of one trial; `Trial` and `Task.draw` take it from there."""
        return trial_key(seed, self.trials_of(), trial)


def trial_key(seed: int, of: dict[str, Any], trial: int) -> jax.Array:
    """The key of trial ``trial``, from the result of `Setting.trials_of`, under the root ``seed``."""
    numbers = np.frombuffer(_identity(of)[:8], ">u4").astype(np.uint32)
    return keys.of_trial(keys.of_point(keys.root(seed), numbers), jnp.uint32(trial))


def _identity(of: dict[str, Any]) -> bytes:
    return hashlib.sha256(canonical(of).encode()).digest()
