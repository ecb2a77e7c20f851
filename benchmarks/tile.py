"""The tile that processes run: the threshold learner at n = 200 on a domain of 2**10."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpjax.concepts import Domain, Thresholds, distributions
from dpjax.core import keys, wide
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.engine import capacity, tile_program
from dpjax.experiments.experiment import Experiment, Point, Workload, point
from dpjax.learners import KLN

_ROWS, _SIZE = 200, 1 << 10


def threshold_tile() -> tuple[Experiment, Workload, Point]:
    """What `Engine.tiles` takes first."""
    domain = Domain(_SIZE)
    distribution = distributions.uniform(domain)
    workload = Workload(distribution, jnp.asarray(wide.encode([_SIZE // 2 - 1])))
    learner = KLN(Thresholds(domain))
    plan = learner.plan(Privacy(1.0), Accuracy(0.1, 0.1))
    return Experiment(learner, 1, capacity(_ROWS)), workload, point(bytes(8), _ROWS, plan, 0.1, distribution)


def compiled() -> Any:
    """The tile's executable, for its memory analysis."""
    experiment, workload, numbers = threshold_tile()
    root = np.asarray(jax.random.key_data(keys.root(0)))
    return jax.jit(tile_program(experiment)).lower(root, workload, numbers, np.uint32(0)).compile()
