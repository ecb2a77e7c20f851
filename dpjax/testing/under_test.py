"""A learner under test, with plans and compiled programs that all checks share."""

from functools import cached_property
from typing import Any

import jax

from dpjax.core import checks
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.experiments.sweep.task import Task
from dpjax.learners.base import require_learner
from dpjax.testing.objects import Written
from dpjax.testing.samples import CAPACITY, Samples, task_for

BATCH = 64
MIXED = (0.3, 1.0, 4.0, 9.0, 40.0)
"""Budgets from pure noise to near certainty: at one of them every learner has several about equally likely outputs."""
QUICK = (1.0, 9.0)


class LearnerUnderTest:
    """A learner and the shared data of its checks.

    Args:
      learner: an instance.
      k: number of concepts that it learns at once; by default its own ``k``, else 1.
      task: the task of the success check; by default `samples.task_for` its class.
      small: the same learner over a domain of two to four elements, for an exact audit; by default derived.
      rows: maximum number of rows in an exact audit.
      sized: the learner whose sample size is used; by default the learner.
      programs: maximum number of programs in a sweep of epsilon over a factor of 16.
      least_spent: the smallest fraction of epsilon that a plan may spend.
      source: how to rebuild it in fresh processes; by default it is pickled.
      random: number of random budgets that are planned; by default 30, and 6 for quick.
      quick: fewer budgets and trials.
      seconds: approximate time of each measured check (success, privacy), without compilation.
    """

    def __init__(
        self,
        learner: Any,
        k: int | None = None,
        *,
        task: Task | None = None,
        small: Any = None,
        rows: int = 3,
        sized: Any = None,
        programs: int = 4,
        least_spent: float = 0.0,
        source: Written | None = None,
        random: int | None = None,
        quick: bool = False,
        seconds: float = 20.0,
    ):
        require_learner(learner)
        self.learner: Any = learner
        self.k = checks.integer("k", learner.number_of_concepts if k is None else k, 1)
        self.given_task, self.small, self.rows = task, small, checks.integer("rows", rows, 1, 8)
        self.sized = learner if sized is None else sized
        self.programs, self.least_spent, self.source = programs, least_spent, source
        self.quick, self.seconds = quick, checks.number("seconds", seconds)
        self.budgets = QUICK if quick else MIXED
        self.random = (6 if quick else 30) if random is None else checks.integer("random", random, 0)
        self._plans: dict[tuple, Any] = {}

    @cached_property
    def samples(self) -> Samples:
        """Samples of its class."""
        return Samples(self.learner.concepts, self.k)

    @cached_property
    def task(self) -> Task:
        """The given task, or one for its class."""
        return self.given_task or task_for(self.learner.concepts)

    @cached_property
    def program(self) -> Any:
        """Jitted: (keys, sample, plan) -> hypotheses, over a batch of keys."""
        return jax.jit(jax.vmap(self.learner.learn, (0, None, None)))

    @cached_property
    def one_by_one(self) -> Any:
        """The same, one key at a time."""
        learn = self.learner.learn
        return jax.jit(lambda keys, sample, plan: jax.lax.map(lambda key: learn(key, sample, plan), keys))

    def draw(self, n: int = 40, capacity: int = CAPACITY, **how: Any) -> Sample:
        """See `Samples.draw`."""
        return self.samples.draw(n, capacity, **how)

    def plan(self, epsilon: float = 1.0, delta: float = 1e-6, alpha: float = 0.1, beta: float = 0.1) -> Any:
        """The plan for any number of rows, cached."""
        key = epsilon, delta, alpha, beta
        if key not in self._plans:
            self._plans[key] = self.learner.plan(Privacy(epsilon, delta), Accuracy(alpha, beta), 1)
        return self._plans[key]

    def learn(self, sample: Sample, *budget: float, batch: int = BATCH, seed: int = 1, how: Any = None) -> Any:
        """Hypotheses for a batch of keys with the plan of a budget (epsilon, delta, alpha, beta)."""
        keys = jax.random.split(jax.random.key(seed), batch)
        return (how or self.program)(keys, sample, self.plan(*budget))
