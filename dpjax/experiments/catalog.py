"""The names by which a configuration asks for learners, classes, distributions and targets."""

import importlib
from collections.abc import Callable
from itertools import product
from typing import Any

import jax.numpy as jnp
import numpy as np

from dpjax import checks, wide
from dpjax.checks import InputError
from dpjax.concepts import Distribution, Domain, Points, Thresholds, Tree, distributions, tree_generators
from dpjax.experiments.experiment import Workload
from dpjax.learners import (
    ERM,
    KLN,
    ImproperVC1,
    Independent,
    Learner,
    PointLearner,
    ProperVC1,
    ThresholdInterior,
    ThresholdMedian,
)
from dpjax.learners.budget import COMPOSITIONS
from dpjax.mechanisms.median.plans import METHODS
from dpjax.types import Goal, Privacy

_SHARE = 0.5  # of the nodes of a tree that may be improper and are

CLASSES: dict[str, Callable[[Domain], Points | Thresholds | Tree]] = {
    "points": Points, "thresholds": Thresholds,
    "recursive-tree": lambda domain: tree_generators.recursive(domain.size, 0, _SHARE),
    "caterpillar": lambda domain: tree_generators.caterpillar(max(1, domain.size // 4), 3, _SHARE),
}  # fmt: skip
REFERENCE = Privacy(1.0, 1e-6), Goal(0.1, 0.1)
_SINGLE: dict[str, Callable[[Any], KLN | ThresholdMedian]] = {"kln": KLN, "median": ThresholdMedian}
_WHOLE: dict[str, Callable[[Any], Learner]] = {"point": PointLearner, "erm": ERM}
_VC1 = (*(f"vc1-{m}" for m in (*METHODS, "rsc", "auto")), "vc1-proper", *(f"interior-{m}" for m in (*METHODS, "auto")))
_TARGETS = 64


def learner_names() -> list[str]:
    """Every name that `learner` knows: whole learners, and single ones with each composition."""
    composed = ("-".join(pair) for pair in product(_SINGLE, COMPOSITIONS))
    return sorted([*_WHOLE, *composed, *_VC1])


def learner(
    name: str, concepts: Points | Thresholds | Tree, k: int, privacy: Privacy = REFERENCE[0], goal: Goal = REFERENCE[1]
) -> Learner:
    """A learner of k concepts: "point", "erm", "kln-optimal", "vc1-auto", ..., or ``module:callable`` of (concepts, k).

    privacy, goal: what the static numbers of a learner of one concept of VC dimension 1 are planned for.
    Raises InputError for an unknown name, with the nearest ones, and for a class that the learner does not fit.
    """
    if ":" in name:
        return _load(name)(concepts, k)
    checks.choice("learner", name, learner_names())
    if name in _WHOLE:
        return _WHOLE[name](concepts)
    if name.startswith(("vc1-", "interior-")):
        if k != 1:
            raise InputError("k", f"1 for {name}", str(k), "learn the concepts one by one, or use another learner")
        return _of_dimension_one(name, concepts, privacy, goal)
    single, composition = name.split("-")
    return Independent(_SINGLE[single](concepts), k, composition)


def _of_dimension_one(name: str, concepts: Any, privacy: Privacy, goal: Goal) -> Learner:
    kind, method = name.split("-")
    if method == "proper":
        return ProperVC1.planned(concepts, privacy, goal)
    planned = ImproperVC1.planned if kind == "vc1" else ThresholdInterior.planned
    return planned(concepts, privacy, goal, method)


def fitting(name: str) -> tuple[str, int]:
    """A class that the learner of this name fits, and a number of concepts."""
    if name == "vc1-proper":
        return "caterpillar", 1
    if name.startswith(("vc1-", "interior-")):
        return "thresholds", 1
    return ("thresholds" if name.startswith("median") else "points"), 100


def workload(
    concepts: str, domain_size: int, distribution: str, *, atoms: int, mass: float, exponent: float, alpha: float
) -> Workload:
    """Examples and targets by name: "uniform", "heavy" (atoms, mass), "zipf" (atoms, exponent), "adversarial" (alpha).

    Targets are the distribution's single points (at most 64, spread over them), or spread elements if it has none; of a
    tree, concepts spread over the proper nodes.
    """
    domain = Domain(domain_size)
    tree = CLASSES[concepts](domain) if concepts not in ("points", "thresholds") else None
    domain = tree.domain if isinstance(tree, Tree) else domain
    hard = distributions.adversarial_points if concepts == "points" else distributions.adversarial_thresholds
    builders: dict[str, Callable[[], Distribution]] = {
        "uniform": lambda: distributions.uniform(domain),
        "heavy": lambda: distributions.heavy(domain, atoms, mass),
        "zipf": lambda: distributions.zipf(domain, atoms, exponent),
        "adversarial": lambda: hard(domain, alpha),
    }
    law = builders[checks.choice("distribution", distribution, builders)]()
    if isinstance(tree, Tree):
        return Workload(law, jnp.asarray(tree.targets(_TARGETS)))
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
