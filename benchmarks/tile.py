"""The tile that processes run: the threshold learner at n = 200 on a domain of 2**10."""

from typing import Any

import jax
import numpy as np

from dpjax.concepts import Domain, Thresholds, distributions
from dpjax.core import keys
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.run.tiles import tile_program
from dpjax.experiments.run.trial import Point, Trial, point
from dpjax.experiments.store.capacity import capacity
from dpjax.experiments.sweep.task import Task
from dpjax.learners import KLN

_ROWS, _SIZE = 200, 1 << 10


def threshold_tile() -> tuple[Trial, Task, Point]:
    """What `Engine.tiles` takes first."""
    domain = Domain(_SIZE)
    task = Task(Thresholds(domain), distributions.uniform(domain), [_SIZE // 2 - 1])
    learner = KLN(task.concepts)
    plan = learner.plan(Privacy(1.0), Accuracy(0.1, 0.1))
    return Trial(learner, 1, capacity(_ROWS)), task, point(bytes(8), _ROWS, plan, 0.1, task)


def compiled() -> Any:
    """The tile's executable, for its memory analysis."""
    trial, task, numbers = threshold_tile()
    root = np.asarray(jax.random.key_data(keys.root(0)))
    return tile_program(trial).lower(root, task, numbers, np.uint32(0), np.int32(1)).compile()
