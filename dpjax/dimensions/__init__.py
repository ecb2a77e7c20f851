"""Combinatorial dimensions of finite classes, exactly and with witnesses, on the host.

A class is a matrix of labels: a row per concept, a column per domain element.
"""

from . import families as families
from . import psi as psi
from .covers import sauer_bound as sauer_bound
from .covers import zero_cover as zero_cover
from .covers import zero_cover_number as zero_cover_number
from .littlestone import littlestone_dimension as littlestone_dimension
from .littlestone import psi_littlestone_dimension as psi_littlestone_dimension
from .randomized import randomized_littlestone_dimension as randomized_littlestone_dimension
from .representations import representation_size as representation_size
from .result import Dimension as Dimension
from .sets import dual_vc_dimension as dual_vc_dimension
from .sets import psi_dimension as psi_dimension
from .sets import vc_dimension as vc_dimension
from .star import star_number as star_number
from .subsets import subset_tables as subset_tables
from .teaching import recursive_teaching_dimension as recursive_teaching_dimension
from .teaching import teaching_dimension as teaching_dimension
from .threshold import threshold_dimension as threshold_dimension
from .trees import height as height
from .trees import tree_threshold_dimension as tree_threshold_dimension
from .uniform import uniform_psi_littlestone_dimension as uniform_psi_littlestone_dimension
from .witnesses import Chain as Chain
from .witnesses import NoSearch as NoSearch
from .witnesses import ShatteredSet as ShatteredSet
from .witnesses import ShatteredTree as ShatteredTree
from .witnesses import StarSet as StarSet
from .witnesses import TeachingSets as TeachingSets
