"""One trial: draw targets and a sample, learn, and measure the error exactly."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax import checks, keys, random, wide
from dpjax.concepts import Distribution, Hypothesis
from dpjax.learners import Learner
from dpjax.types import Goal, Privacy, Sample, at_most

COUNTS = ("trials", "successes", "no_answers", "good_concepts")


@register_dataclass
@dataclass(frozen=True)
class Workload:
    """Where examples and targets come from. Traced: another one of the same shape compiles nothing.

    distribution: over the domain.
    targets: ``uint32[c, 2]``, numbers of the concepts that a target is drawn from, uniformly and independently for
        each of the k concepts.
    """

    distribution: Distribution
    targets: Array


@register_dataclass
@dataclass(frozen=True)
class Point:
    """The numbers of one point of a sweep, all traced: scalars, and ``limit``, alpha in units of the distribution."""

    identity: Array | np.ndarray  # uint32[2], the hash of what the point is
    n: Any  # int32
    privacy: Privacy
    goal: Goal
    limit: Array | np.ndarray  # uint32[2]


@dataclass(frozen=True)
class Experiment:
    """What is compiled: a learner, the number of concepts and the capacity of the sample. Equal by value.

    A trial succeeds if all k hypotheses have error at most alpha, which is decided on integers.

    Args:
      learner: any `Learner`; its ``concepts`` are the targets' class.
      k: concepts, >= 1.
      capacity: rows of the buffer, at least n.
    """

    learner: Learner
    k: int
    capacity: int = field(default=1)

    def trial(self, key: Array, workload: Workload, point: Point) -> Array:
        """``int32[4]``, the trial's `COUNTS`; an integer result, whatever the batch that it runs in."""
        of_target, of_sample, of_learn = keys.streams(key, "target", "sample", "learn")
        target = self.draw_targets(of_target, workload)
        sample = self.draw_sample(of_sample, workload, target, point.n)
        hypothesis = self.learner.learn(of_learn, sample, point.privacy, point.goal)
        with jax.enable_x64(True):
            error = self.learner.concepts.error(workload.distribution, hypothesis, target)
            good = error <= wide.join(point.limit)
        one = jnp.int32(1)
        success, silent = jnp.all(good), jnp.any(hypothesis.outcome < 0)
        count = jnp.sum(good, dtype=jnp.int32)
        return jnp.stack([one, success.astype(jnp.int32), silent.astype(jnp.int32), count])

    def draw_targets(self, key: Array, workload: Workload) -> Hypothesis:
        """k concepts, uniform among the workload's targets."""
        choices = workload.targets.shape[0]
        bound = jnp.asarray([choices], jnp.uint32)
        index = random.randint_below(key, bound, (self.k,))[:, 0].astype(jnp.int32)
        return Hypothesis.of(workload.targets[index])

    def draw_sample(self, key: Array, workload: Workload, target: Hypothesis, n: Array) -> Sample:
        """n labelled examples in the buffer."""
        x = workload.distribution.draw(key, self.capacity)
        mask = jnp.arange(self.capacity, dtype=jnp.int32) < n
        return Sample(x, self.learner.concepts.predict(target, x), mask)


def point(
    identity: bytes, n: int, epsilon: float, delta: float, alpha: float, beta: float, distribution: Distribution
) -> Point:
    """The traced numbers of a point, as NumPy scalars of fixed dtypes. ``identity``: at least 8 bytes of a hash."""
    checks.integer("n", n, 1)
    share = Fraction(repr(checks.probability("alpha", alpha)))
    limit = min(int(share * distribution.total), 2**64 - 1)
    return Point(
        np.frombuffer(identity[:8], ">u4").astype(np.uint32),
        np.int32(n),
        Privacy(at_most(checks.epsilon(epsilon)), at_most(checks.delta(delta))),
        Goal(at_most(alpha), at_most(checks.probability("beta", beta))),
        wide.encode(limit),
    )
