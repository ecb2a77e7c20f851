"""Concept classes, and the distributions that examples come from."""

from . import distributions as distributions
from .base import ConceptClass as ConceptClass
from .bitwise import Bitwise as Bitwise
from .cube import Cube as Cube
from .cube import UniformCube as UniformCube
from .distributions import Distribution as Distribution
from .domain import Domain as Domain
from .domain import FiniteDomain as FiniteDomain
from .example_distribution import ExampleDistribution as ExampleDistribution
from .finite import Finite as Finite
from .hypothesis import Hypothesis as Hypothesis
from .hypothesis import sentences as sentences
from .literals import Conjunctions as Conjunctions
from .literals import Disjunctions as Disjunctions
from .multiclass import Multiclass as Multiclass
from .outside import Outside as Outside
from .parities import Parities as Parities
from .plane import Plane as Plane
from .plane import UniformPlane as UniformPlane
from .plane_atoms import PlaneAtoms as PlaneAtoms
from .point_sets import PointSets as PointSets
from .points import Points as Points
from .polygons import ConvexPolygons as ConvexPolygons
from .product import ProductCube as ProductCube
from .stumps import Stumps as Stumps
from .thresholds import Thresholds as Thresholds
from .tree import Rooted as Rooted
from .tree import Spider as Spider
from .tree import Tree as Tree
from .tree import generators as tree_generators  # noqa: F401
from .unions import Unions as Unions
