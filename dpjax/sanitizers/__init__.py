"""Synthetic databases that answer a whole class of queries. For thresholds, see `default` and `error`."""

from .base import Sanitized as Sanitized
from .base import Sanitizer as Sanitizer
from .base import SanitizerPlan as SanitizerPlan
from .blocks import RankBlocks as RankBlocks
from .blr import BLR as BLR
from .choice import candidates as candidates
from .choice import default as default
from .hierarchy import Hierarchy as Hierarchy
from .joint import JointQuantiles as JointQuantiles
from .mwem import MWEM as MWEM
from .points import PointCounts as PointCounts
from .quantiles import IndependentQuantiles as IndependentQuantiles
from .quantiles import RecursiveQuantiles as RecursiveQuantiles
from .slices import Slices as Slices
from .thresholds import error as error
from .thresholds import worst_gap as worst_gap
from .window_hierarchy import WindowHierarchy as WindowHierarchy
