"""One trial: draw targets and a sample, learn, and measure the error exactly."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.concepts import Hypothesis
from dpjax.core import checks, keys, random, wide
from dpjax.core.checks import InputError
from dpjax.core.types import Sample
from dpjax.learners import Learner

COUNTS = ("trials", "successes", "no_answers", "good_concepts")


@register_dataclass
@dataclass(frozen=True)
class Workload:
    """Where examples and targets come from. Traced: another one of the same shape compiles nothing.

    distribution: over the domain; a `Distribution`, or `UniformCube` for parities.
    targets: ``uint32[c, 2]``, numbers of the concepts that a target is drawn from, uniformly and independently for
        each of the k concepts (parities have wider numbers).
    noise: ``uint32[]`` below 2**31, or None: every label is flipped with probability noise / 2**32. No concept is then
        better than the target, and what counts is the error beyond the target's.
    """

    distribution: Any
    targets: Array
    noise: Any = None


@register_dataclass
@dataclass(frozen=True)
class Point:
    """The numbers of one point of a sweep, all traced: n, the learner's plan, and ``limit``, alpha in units of the
    distribution."""

    identity: Array | np.ndarray  # uint32[2], the hash of what the point is
    n: Any  # int32
    plan: Any
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
        if workload.noise is not None:
            sample = flipped(keys.stream(key, "noise"), sample, workload.noise)
        hypothesis = self.learner.learn(of_learn, sample, point.plan)
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


def flipped(key: Array, sample: Sample, noise: Array) -> Sample:
    """Labels flipped independently, each with probability noise / 2**32."""
    high, _ = random.words(key, sample.y.shape)
    return Sample(sample.x, sample.y ^ (high < noise), sample.mask)


def noise_of(rate: float) -> np.uint32:
    """`Workload.noise` for a rate in [0, 1/2), to within 2**-33."""
    if not 0 <= checks.number("noise", rate) < 0.5:
        raise InputError("noise", "a rate in [0, 1/2)", repr(rate), "flip fewer labels: at 1/2 they say nothing")
    return np.uint32(min(round(rate * 2**32), 2**31 - 1))


def point(identity: bytes, n: int, plan: Any, alpha: float, distribution: Any, noise: Any = None) -> Point:
    """The traced numbers of a point, as NumPy scalars of fixed dtypes. ``identity``: at least 8 bytes of a hash.

    With flipped labels a hypothesis that differs from the target with probability e errs (1 - 2 noise) e more often, so
    the limit of e is alpha / (1 - 2 noise).
    """
    checks.integer("n", n, 1)
    share = Fraction(repr(checks.probability("alpha", alpha)))
    if noise is not None:
        share /= 1 - Fraction(int(noise), 2**31)
    limit = min(int(share * distribution.total), 2**64 - 1)
    numbers = np.frombuffer(identity[:8], ">u4").astype(np.uint32)
    return Point(numbers, np.int32(n), plan, wide.encode(limit))
