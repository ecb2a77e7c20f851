"""dpjax: private PAC learners, run thousands of times with explicit keys, measured and audited.

    import dpjax as dp

The nouns below are imported when they are first used; ``dir(dpjax)`` lists them.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpjax import audit as audit
    from dpjax import dimensions as dimensions
    from dpjax import laws as laws
    from dpjax import mechanisms as mechanisms
    from dpjax import tables as tables
    from dpjax import testing as testing
    from dpjax.advice.answer import ask as ask
    from dpjax.advice.race import Measure as Measure
    from dpjax.baselines import ERM as ERM
    from dpjax.concepts import ConceptClass as ConceptClass
    from dpjax.concepts import Conjunctions as Conjunctions
    from dpjax.concepts import ConvexPolygons as ConvexPolygons
    from dpjax.concepts import Disjunctions as Disjunctions
    from dpjax.concepts import Domain as Domain
    from dpjax.concepts import ExampleDistribution as ExampleDistribution
    from dpjax.concepts import Finite as Finite
    from dpjax.concepts import Hypothesis as Hypothesis
    from dpjax.concepts import Multiclass as Multiclass
    from dpjax.concepts import Parities as Parities
    from dpjax.concepts import Points as Points
    from dpjax.concepts import PointSets as PointSets
    from dpjax.concepts import ProductCube as ProductCube
    from dpjax.concepts import Stumps as Stumps
    from dpjax.concepts import Thresholds as Thresholds
    from dpjax.concepts import Tree as Tree
    from dpjax.concepts import UniformCube as UniformCube
    from dpjax.concepts import UniformPlane as UniformPlane
    from dpjax.concepts import Unions as Unions
    from dpjax.concepts.distributions import empirical as empirical
    from dpjax.concepts.distributions import from_segments as from_segments
    from dpjax.concepts.distributions import from_weights as from_weights
    from dpjax.concepts.distributions import heavy as heavy
    from dpjax.concepts.distributions import uniform as uniform
    from dpjax.concepts.distributions import zipf as zipf
    from dpjax.core import keys as keys
    from dpjax.core.checks import InputError as InputError
    from dpjax.core.types import Accuracy as Accuracy
    from dpjax.core.types import Neighboring as Neighboring
    from dpjax.core.types import Privacy as Privacy
    from dpjax.core.types import Sample as Sample
    from dpjax.experiments.results.result import Result as Result
    from dpjax.experiments.study.study import Study as Study
    from dpjax.experiments.sweep.setting import Setting as Setting
    from dpjax.experiments.sweep.setting import trial_key as trial_key
    from dpjax.experiments.sweep.sweep import Search as Search
    from dpjax.experiments.sweep.task import Task as Task
    from dpjax.learners import KLN as KLN
    from dpjax.learners import BitReduction as BitReduction
    from dpjax.learners import Boosted as Boosted
    from dpjax.learners import Confident as Confident
    from dpjax.learners import ConjunctionLearner as ConjunctionLearner
    from dpjax.learners import EmpiricalLearner as EmpiricalLearner
    from dpjax.learners import GenericLearner as GenericLearner
    from dpjax.learners import HashedPoints as HashedPoints
    from dpjax.learners import ImproperVC1 as ImproperVC1
    from dpjax.learners import Independent as Independent
    from dpjax.learners import Learner as Learner
    from dpjax.learners import ParityLearner as ParityLearner
    from dpjax.learners import PointLearner as PointLearner
    from dpjax.learners import PolygonLearner as PolygonLearner
    from dpjax.learners import ProperVC1 as ProperVC1
    from dpjax.learners import RepresentationLearner as RepresentationLearner
    from dpjax.learners import SparseAggregate as SparseAggregate
    from dpjax.learners import StableNodes as StableNodes
    from dpjax.learners import StablePoints as StablePoints
    from dpjax.learners import ThresholdInterior as ThresholdInterior
    from dpjax.learners import ThresholdMedian as ThresholdMedian
    from dpjax.learners import UnionLearner as UnionLearner
    from dpjax.learners import database as database
    from dpjax.lists import GloballyStable as GloballyStable
    from dpjax.lists import Irreducibility as Irreducibility

    __version__: str

_NOUNS = {
    "dpjax.audit": "audit",
    "dpjax.dimensions": "dimensions",
    "dpjax.laws": "laws",
    "dpjax.mechanisms": "mechanisms",
    "dpjax.tables": "tables",
    "dpjax.testing": "testing",
    "dpjax.core.keys": "keys",
    "dpjax.core.checks": "InputError",
    "dpjax.core.types": "Accuracy Neighboring Privacy Sample",
    "dpjax.concepts": "ConceptClass Conjunctions ConvexPolygons Disjunctions Domain ExampleDistribution Finite "
    "Hypothesis Multiclass Parities Points PointSets ProductCube Stumps Thresholds Tree UniformCube UniformPlane "
    "Unions",
    "dpjax.concepts.distributions": "empirical from_segments from_weights heavy uniform zipf",
    "dpjax.learners": "BitReduction Boosted Confident ConjunctionLearner EmpiricalLearner GenericLearner HashedPoints "
    "ImproperVC1 Independent KLN Learner ParityLearner PointLearner PolygonLearner ProperVC1 "
    "RepresentationLearner SparseAggregate StableNodes StablePoints ThresholdInterior ThresholdMedian UnionLearner "
    "database",
    "dpjax.lists": "GloballyStable Irreducibility",
    "dpjax.baselines": "ERM",
    "dpjax.advice.answer": "ask",
    "dpjax.experiments.sweep.setting": "Setting trial_key",
    "dpjax.experiments.sweep.task": "Task",
    "dpjax.experiments.sweep.sweep": "Search",
    "dpjax.experiments.study.study": "Study",
    "dpjax.advice.race": "Measure",
    "dpjax.experiments.results.result": "Result",
}
"""Where each noun is; a module's own last name is the module."""
_HOME = {name: module for module, names in _NOUNS.items() for name in names.split()}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib import metadata

        try:
            return metadata.version("dpjax")
        except metadata.PackageNotFoundError:  # a source tree on the path that was never installed
            return "0+unknown"
    if name not in _HOME:
        near = _near(name)
        raise AttributeError(f"module 'dpjax' has no attribute {name!r}{f'; did you mean {near}?' if near else ''}")
    module = importlib.import_module(_HOME[name])
    found = module if _HOME[name].endswith(f".{name}") else getattr(module, name)
    globals()[name] = found
    return found


def _near(name: str) -> str | None:
    """The noun that was meant."""
    import difflib

    folded = {noun.lower(): noun for noun in __all__}
    return folded[near[0]] if (near := difflib.get_close_matches(name.lower(), folded, 1, 0.75)) else None


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
