"""The names by which a configuration asks for learners, classes, distributions and targets."""

import importlib
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from math import isqrt
from typing import Any

import jax.numpy as jnp
import numpy as np

from dpjax import concepts as c
from dpjax import learners as le
from dpjax.accounting.splits import COMPOSITIONS
from dpjax.baselines import ERM
from dpjax.core import checks, wide
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.experiment import Workload, noise_of
from dpjax.mechanisms.median.plans import METHODS
from dpjax.sanitizers import Hierarchy, PointCounts

_SHARE = 0.5  # of the nodes of a tree that may be improper and are
LITERALS, EDGES, TRIANGLES = 3, 4, 7  # of the targets of set covers
AnyClass = c.Points | c.Thresholds | c.Tree | c.Parities | c.Conjunctions | c.ConvexPolygons | c.Unions

CLASSES: dict[str, Callable[[c.Domain], AnyClass]] = {
    "points": c.Points, "thresholds": c.Thresholds,
    "parities": lambda domain: c.Parities(max(1, (domain.size - 1).bit_length())),
    "conjunctions": lambda domain: c.Conjunctions(max(1, (domain.size - 1).bit_length())),
    "polygons": lambda domain: c.ConvexPolygons(max(1, isqrt(domain.size) - 1), EDGES),
    "unions": lambda domain: c.Unions(max(1, isqrt(domain.size) - 1), TRIANGLES),
    "recursive-tree": lambda domain: c.tree_generators.recursive(domain.size, 0, _SHARE),
    "caterpillar": lambda domain: c.tree_generators.caterpillar(max(1, domain.size // 4), 3, _SHARE),
}  # fmt: skip
REFERENCE = Privacy(1.0, 1e-6), Accuracy(0.1, 0.1)
_SINGLE: dict[str, Callable[[Any], le.KLN | le.ThresholdMedian]] = {"kln": le.KLN, "median": le.ThresholdMedian}
_WHOLE: dict[str, Callable[[Any], le.Learner]] = {"point": le.PointLearner, "erm": ERM}
MULTI = ("empirical", "generic-", "hashed-", "parity")  # how the names of learners of many concepts begin
_VC1 = (*(f"vc1-{m}" for m in (*METHODS, "rsc", "auto")), "vc1-proper", *(f"interior-{m}" for m in (*METHODS, "auto")))
COVERS = ("conjunction", "polygon", "union")
_TARGETS = 64


def learner_names() -> list[str]:
    """Every name that `learner` knows: whole learners, and single ones with each composition."""
    composed = ("-".join(pair) for pair in product([*_SINGLE, "generic", "hashed"], COMPOSITIONS))
    return sorted([*_WHOLE, *composed, *_VC1, *COVERS, "empirical", "parity"])


def learner(name: str, concepts: Any, k: int) -> le.Learner:
    """A learner of k concepts: "point", "erm", "kln-optimal", "vc1-auto", ..., or ``module:callable`` of (concepts, k).

    Raises InputError for an unknown name, with the nearest ones, and for a class that the learner does not fit.
    """
    if ":" in name:
        return _load(name)(concepts, k)
    checks.choice("learner", name, learner_names())
    _require_fit(name, concepts)
    if name in _WHOLE:
        return _WHOLE[name](concepts)
    if name.startswith((*COVERS, "vc1-", "interior-")) and k != 1:
        raise InputError("k", f"1 for {name}", str(k), "learn the concepts one by one, or use another learner")
    if name == "conjunction":
        return le.ConjunctionLearner(concepts, literals=LITERALS)
    if name in ("polygon", "union"):
        return (le.PolygonLearner if name == "polygon" else le.UnionLearner)(concepts)
    if name == "vc1-proper":
        return le.ProperVC1(concepts)
    if name.startswith(("vc1-", "interior-")):
        kind, method = name.split("-")
        return (le.ImproperVC1 if kind == "vc1" else le.ThresholdInterior)(concepts, method=method)
    if name.startswith(MULTI):
        return _of_many(name, concepts, k)
    single, composition = name.split("-")
    return le.Independent(_SINGLE[single](concepts), k, composition)


def _require_fit(name: str, concepts: Any) -> None:
    """What the learners do not say themselves."""
    trees = c.Tree if name == "vc1-proper" else c.Tree | c.Thresholds
    if name.startswith("vc1-") and not isinstance(concepts, trees):
        raise InputError("concepts", f"a tree for {name}", type(concepts).__name__, "use another learner for it")
    if name.startswith(("kln", "erm", "empirical")) and isinstance(concepts, c.ConvexPolygons | c.Unions):
        raise InputError(
            "learner", "polygon for polygons, union for unions", repr(name), "others list the errors of all concepts"
        )  # fmt: skip


def _of_many(name: str, concepts: Any, k: int) -> le.Learner:
    kind, _, composition = name.partition("-")
    if kind == "parity":
        return le.ParityLearner(concepts)
    if kind == "empirical":
        return le.EmpiricalLearner(le.Independent(le.KLN(concepts), k))
    if kind == "hashed":
        return le.HashedPoints(concepts, k, composition=composition)
    if isinstance(concepts, c.Points):
        return le.GenericLearner(concepts, k, PointCounts(concepts.domain), composition)
    if not isinstance(concepts, c.Thresholds):
        raise InputError("learner", "points or thresholds for generic", type(concepts).__name__, "use kln-*")
    return le.GenericLearner(concepts, k, Hierarchy(bits=max(1, (concepts.size - 1).bit_length())), composition)


def fitting(name: str) -> tuple[str, int]:
    """A class that the learner of this name fits, and a number of concepts."""
    if name == "vc1-proper":
        return "caterpillar", 1
    if name.startswith(("vc1-", "interior-")):
        return "thresholds", 1
    if name in COVERS:
        return f"{name}s", 1
    if name == "parity":
        return "parities", 100
    return ("thresholds" if name.startswith(("median", "generic")) else "points"), 100


def workload(
    concepts: str, domain_size: int, distribution: str, *, atoms: int, mass: float, exponent: float, alpha: float,
    noise: float = 0.0,
) -> Workload:  # fmt: skip
    """Examples and targets by name: "uniform", "heavy" (atoms, mass), "zipf" (atoms, exponent), "adversarial" (alpha).

    Targets are the distribution's single points (at most 64, spread over them), or spread elements if it has none; of a
    tree, concepts spread over the proper nodes. Parities are learned from uniform examples of the smallest cube that
    holds the domain. Conjunctions have 3 literals of coordinates that are alike, so that they are 1 with probability
    1/2; polygons 4 edges and unions 7 triangles, on the largest square grid in the domain, uniform.

    noise: labels are flipped with this probability.
    """
    found = _noiseless(concepts, domain_size, distribution, atoms, mass, exponent, alpha)
    return found if noise == 0 else replace(found, noise=noise_of(noise))


def _noiseless(
    concepts: str, domain_size: int, distribution: str, atoms: int, mass: float, exponent: float, alpha: float
) -> Workload:
    domain = c.Domain(domain_size)
    if concepts in ("parities", "conjunctions", "polygons", "unions"):
        checks.choice("distribution", distribution, ("uniform",))
    if concepts == "conjunctions":
        ands = c.Conjunctions(max(1, (domain_size - 1).bit_length()))
        literals = min(LITERALS, ands.dimension)
        return Workload(c.ProductCube.balanced(ands.dimension, literals), ands.targets(_TARGETS, literals, signs=False))
    if concepts in ("polygons", "unions"):
        checks.integer("domain_size", domain_size, 16, 2**60)
        polygons = CLASSES[concepts](domain)
        assert isinstance(polygons, c.ConvexPolygons | c.Unions)
        return Workload(c.UniformPlane(polygons.d), polygons.targets(_TARGETS))
    if concepts == "parities":
        parities = c.Parities(max(1, (domain_size - 1).bit_length()))
        return Workload(c.UniformCube(parities.dimension), parities.targets(_TARGETS))
    tree = CLASSES[concepts](domain) if concepts not in ("points", "thresholds") else None
    domain = tree.domain if isinstance(tree, c.Tree) else domain
    hard = c.distributions.adversarial_points if concepts == "points" else c.distributions.adversarial_thresholds
    builders: dict[str, Callable[[], c.Distribution]] = {
        "uniform": lambda: c.distributions.uniform(domain),
        "heavy": lambda: c.distributions.heavy(domain, atoms, mass),
        "zipf": lambda: c.distributions.zipf(domain, atoms, exponent),
        "adversarial": lambda: hard(domain, alpha),
    }
    law = builders[checks.choice("distribution", distribution, builders)]()
    if isinstance(tree, c.Tree):
        return Workload(law, jnp.asarray(tree.targets(_TARGETS)))
    single = wide.decode(law.start)[wide.decode(law.start) == wide.decode(law.end)]
    if concepts == "thresholds" and distribution == "adversarial":
        single = single[1:2]  # the one threshold between the two middle atoms
    if not len(single):
        single = np.array(c.distributions.spread(domain, min(_TARGETS, domain.size)), np.uint64)
    chosen = single[np.unique(np.linspace(0, len(single) - 1, min(_TARGETS, len(single))).astype(int))]
    return Workload(law, jnp.asarray(wide.encode(chosen)))


def _load(path: str) -> Callable:
    module, _, name = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InputError(
            "learner", "module:callable that takes (concepts, k) and returns a Learner", repr(path),
            f"put the module on the path and check the name ({error})",
        ) from error  # fmt: skip
    if not callable(found):
        raise InputError(
            "learner", "module:callable that takes (concepts, k) and returns a Learner",
            f"{path}, a {type(found).__name__}", f"write: build = lambda concepts, k: {name}",
        )  # fmt: skip
    return found
