"""A study of many cells that compute quickly, for tests of how studies run; processes import it by name.

The learner's faults are switched on by files in the folder named by DPJAX_TEST_FAULTS: "raise-N", "exit-N", "hang-N"
and "slow-N" concern the cells of N rows.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from dpjax.concepts import Domain, Hypothesis, Points, distributions
from dpjax.core.plans import Number, down, plan_type
from dpjax.core.types import Neighboring
from dpjax.experiments.study.study import Study
from dpjax.experiments.sweep.sweep import Search
from dpjax.experiments.sweep.task import Task
from dpjax.learners.base import Learner


@plan_type
class CoinPlan:
    """rate: how often the answer is right, ``float32[]``."""

    rate: Number


@dataclass(frozen=True)
class Coin(Learner):
    """Answers right with a probability that grows with n and epsilon."""

    concepts: Points
    number: int = 0
    neighboring = Neighboring.REPLACE_ONE
    spends = "pure"

    def _plan(self, privacy, accuracy, n=None) -> CoinPlan:
        _fault(n)
        return CoinPlan(down(1 - 0.5 ** (privacy.epsilon * (n or 1) / 16)))

    def _learn(self, key, sample, plan):
        wrong = jax.random.uniform(key, (), jnp.float32) >= plan.rate
        return Hypothesis.of(jnp.stack([jnp.uint32(0), wrong.astype(jnp.uint32)])[None])

    def _guarantee(self, plan):
        return None

    def _sample_size(self, privacy, accuracy):
        return 64


def _fault(n: Any) -> None:
    folder = os.environ.get("DPJAX_TEST_FAULTS")
    if folder is None or n is None:
        return
    for name in os.listdir(folder):
        kind, _, size = name.partition("-")
        if size != str(n):
            continue
        if kind == "raise":
            raise ArithmeticError(f"a fault at n = {n}")
        if kind == "exit" and os.environ.get("DPJAX_TEST_MAY_EXIT"):
            os._exit(9)
        if kind == "hang":
            time.sleep(3600)
        if kind == "slow":
            time.sleep(float(Path(folder, name).read_text()))


def task() -> Task:
    """For configurations."""
    domain = Domain(2)
    return Task(Points(domain), distributions.uniform(domain), [0])


TOML = """
[task]
use = "tests.experiments.fast:task"
[learners]
"coin 0" = "tests.experiments.fast:Coin"
[sweep]
n = {sizes}
trials = {trials}
"""


def study(cells=20, search=False, trials=200, learners=1):
    """``cells`` cells, or as many searches."""
    coins = task()
    named = {f"coin {i}": Coin(coins.concepts, i) for i in range(learners)}
    if search:
        epsilon = [0.5 + 0.25 * i for i in range(cells)]
        return Study(coins, named, epsilon=epsilon, trials=trials, points=3, search=Search(n_max=1024))
    return Study(coins, named, n=list(range(1, cells + 1)), trials=trials)
