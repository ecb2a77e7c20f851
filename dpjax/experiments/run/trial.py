"""One trial: draw targets and a sample, learn, and measure the error exactly."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.concepts import Hypothesis
from dpjax.core import checks, keys
from dpjax.core.types import Sample
from dpjax.experiments.sweep.error_mass import binned, limits
from dpjax.experiments.sweep.task import Task
from dpjax.learners import Learner


@register_dataclass
@dataclass(frozen=True)
class Point:
    """The traced numbers of one point of a study.

    identity: ``uint32[2]``, what the trials' keys are derived from. n: ``int32[]``. plan: the learner's.
    bounds: ``uint32[edges + 1, 2]``, see `error_mass.limits`.
    """

    identity: Array | np.ndarray
    n: Any
    plan: Any
    bounds: Array | np.ndarray


class Outcome(NamedTuple):
    """All values of a trial. mass: error of each hypothesis, ``uint64[k]``; valid: ``bool[k]``."""

    sample: Sample
    target: Hypothesis
    found: Any
    mass: Array
    valid: Array


@dataclass(frozen=True)
class Trial:
    """The static part of a program: a learner, the number of concepts and the capacity. Equal by value.

    Args:
      learner: any `Learner` of the task's class.
      k: concepts, >= 1.
      capacity: rows of the buffer, at least n.
    """

    learner: Learner
    k: int
    capacity: int = 1

    def __call__(self, key: Array, task: Task, point: Point) -> Array:
        """``uint8[]``: the bin of the largest of the k errors, see `error_bins`; the same in any batch."""
        return self.byte(self.run(key, task, point), point)

    def byte(self, outcome: Outcome, point: Point) -> Array:
        """``uint8[]``: the stored byte of an outcome."""
        with jax.enable_x64(True):
            silent = getattr(outcome.found, "outcome", jnp.zeros(1, jnp.int32)) < 0
            return binned(outcome.mass, silent, outcome.valid, jnp.asarray(point.bounds))

    def run(self, key: Array, task: Task, point: Point) -> Outcome:
        """The same trial with all its values. Data and learner use separate streams of the key."""
        of_data, of_learner = keys.streams(key, "data", "learner")
        sample, target = task.draw(of_data, point.n, self.k, self.capacity)
        hypothesis = self.learner.learn(of_learner, sample, point.plan)
        with jax.enable_x64(True):
            return Outcome(sample, target, hypothesis, *task.mass(hypothesis, target))


def point(identity: bytes, n: int, plan: Any, alpha: float, task: Task) -> Point:
    """The traced numbers of a point, as NumPy scalars of fixed dtypes. ``identity``: at least 8 bytes of a hash."""
    checks.integer("n", n, 1)
    numbers = np.frombuffer(identity[:8], ">u4").astype(np.uint32)
    return Point(numbers, np.int32(n), plan, limits(alpha, task.total, task.scale))
