"""The names by which a configuration asks for learners, classes, distributions and targets."""

import importlib
from collections.abc import Callable
from itertools import product
from typing import Any

import jax.numpy as jnp
import numpy as np

from dpjax import checks, wide
from dpjax.checks import InputError
from dpjax.concepts import Distribution, Domain, Points, Thresholds, distributions
from dpjax.experiments.experiment import Workload
from dpjax.learners import ERM, KLN, Independent, Learner, PointLearner, ThresholdMedian
from dpjax.learners.budget import COMPOSITIONS

CLASSES: dict[str, Callable[[Domain], Points | Thresholds]] = {"points": Points, "thresholds": Thresholds}
_SINGLE: dict[str, Callable[[Any], KLN | ThresholdMedian]] = {"kln": KLN, "median": ThresholdMedian}
_WHOLE: dict[str, Callable[[Any], Learner]] = {"point": PointLearner, "erm": ERM}
_TARGETS = 64


def learner_names() -> list[str]:
    """Every name that `learner` knows: whole learners, and single ones with each composition."""
    return sorted([*_WHOLE, *("-".join(pair) for pair in product(_SINGLE, COMPOSITIONS))])


def learner(name: str, concepts: Points | Thresholds, k: int) -> Learner:
    """A learner of k concepts: "point", "erm", "kln-optimal", ..., or ``module:callable`` of (concepts, k).

    Raises InputError for an unknown name, with the nearest ones, and for a class that the learner does not fit.
    """
    if ":" in name:
        return _load(name)(concepts, k)
    checks.choice("learner", name, learner_names())
    if name in _WHOLE:
        return _WHOLE[name](concepts)
    single, composition = name.split("-")
    return Independent(_SINGLE[single](concepts), k, composition)


def workload(
    concepts: str, domain_size: int, distribution: str, *, atoms: int, mass: float, exponent: float, alpha: float
) -> Workload:
    """Examples and targets by name: "uniform", "heavy" (atoms, mass), "zipf" (atoms, exponent), "adversarial" (alpha).

    Targets are the distribution's single points (at most 64, spread over them), or spread elements if it has none.
    """
    domain = Domain(domain_size)
    hard = distributions.adversarial_points if concepts == "points" else distributions.adversarial_thresholds
    builders: dict[str, Callable[[], Distribution]] = {
        "uniform": lambda: distributions.uniform(domain),
        "heavy": lambda: distributions.heavy(domain, atoms, mass),
        "zipf": lambda: distributions.zipf(domain, atoms, exponent),
        "adversarial": lambda: hard(domain, alpha),
    }
    law = builders[checks.choice("distribution", distribution, builders)]()
    single = wide.decode(law.start)[wide.decode(law.start) == wide.decode(law.end)]
    if concepts == "thresholds" and distribution == "adversarial":
        single = single[1:2]  # the one threshold between the two middle atoms
    if not len(single):
        single = np.array(distributions.spread(domain, min(_TARGETS, domain.size)), np.uint64)
    chosen = single[np.unique(np.linspace(0, len(single) - 1, min(_TARGETS, len(single))).astype(int))]
    return Workload(law, jnp.asarray(wide.encode(chosen)))


def _load(path: str) -> Callable:
    module, _, name = path.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InputError(
            "learner", "module:callable that takes (concepts, k) and returns a Learner", repr(path),
            f"put the module on the path and check the name ({error})",
        ) from error  # fmt: skip
