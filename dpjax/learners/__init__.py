"""Private learners, one per file. The base class of all of them is `base.Learner`.

For learners of your own there are their base `Learner` and what a plan is made of: `plan_type`, `Number`, `STATIC`,
`down` and `up`.
"""

from dpjax.core.plans import STATIC as STATIC
from dpjax.core.plans import Number as Number
from dpjax.core.plans import Spends as Spends
from dpjax.core.plans import down as down
from dpjax.core.plans import plan_type as plan_type
from dpjax.core.plans import up as up

from .base import Learner as Learner
from .bit_reduction import BitReduction as BitReduction
from .boosted import Boosted as Boosted
from .confident import Confident as Confident
from .conjunctions import ConjunctionLearner as ConjunctionLearner
from .empirical import EmpiricalLearner as EmpiricalLearner
from .generic import GenericLearner as GenericLearner
from .hashed_points import HashedPoints as HashedPoints
from .independent import Independent as Independent
from .kln import KLN as KLN
from .nearest_parity import NearestParity as NearestParity
from .parity_learner import ParityLearner as ParityLearner
from .point_learner import PointLearner as PointLearner
from .polygons import PolygonLearner as PolygonLearner
from .representation_learner import RepresentationLearner as RepresentationLearner
from .samples import database as database
from .samples import single_column as single_column
from .sparse_aggregate import SparseAggregate as SparseAggregate
from .stable_nodes import StableNodes as StableNodes
from .stable_points import StablePoints as StablePoints
from .threshold_interior import ThresholdInterior as ThresholdInterior
from .threshold_median import ThresholdMedian as ThresholdMedian
from .unions import UnionLearner as UnionLearner
from .vc1_improper import ImproperVC1 as ImproperVC1
from .vc1_proper import ProperVC1 as ProperVC1
