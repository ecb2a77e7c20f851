"""Workloads on which thresholds are hard to learn with error alpha."""

import jax.numpy as jnp

from dpjax.concepts import Thresholds, distributions
from dpjax.core import wide
from dpjax.experiments.experiment import Workload


def hard_thresholds(concepts: Thresholds, alpha: float) -> Workload:
    """`distributions.adversarial_thresholds`, with its one good threshold, number size / 2 - 1, as the target."""
    domain = concepts.domain
    target = jnp.asarray(wide.encode([domain.size // 2 - 1]))
    return Workload(distributions.adversarial_thresholds(domain, alpha), target)
