"""Private medians and interior points of databases of bit strings of any width.

`plan_for` returns a design on the host; ``plan_for(...).plan()`` is the plan that `private_median` runs and
`median_guarantee` adds up.
"""

from .answer import MedianAnswer as MedianAnswer
from .answer import MedianPlan as MedianPlan
from .exponential import ExponentialPlan as ExponentialPlan
from .exponential import MedianLaw as MedianLaw
from .exponential import exponential_median as exponential_median
from .exponential import rank_quality as rank_quality
from .exponential import three_candidates as three_candidates
from .majority import MajorityPlan as MajorityPlan
from .majority import majority as majority
from .plan_majority import MajorityDesign as MajorityDesign
from .plan_majority import failure_of as failure_of
from .plan_majority import plan_majority as plan_majority
from .plan_majority import plan_majority_like as plan_majority_like
from .plan_recprefix import RecPrefixDesign as RecPrefixDesign
from .plan_recprefix import plan_recprefix as plan_recprefix
from .plan_rsc import RscDesign as RscDesign
from .plan_rsc import plan_rsc as plan_rsc
from .plan_search import MedianDesign as MedianDesign
from .plan_search import rank_margin as rank_margin
from .plan_treelog import TreeLogDesign as TreeLogDesign
from .plan_treelog import plan_treelog as plan_treelog
from .plans import METHODS as METHODS
from .plans import NAMES as NAMES
from .plans import RACED as RACED
from .plans import ExponentialDesign as ExponentialDesign
from .plans import plan_auto as plan_auto
from .plans import plan_exponential as plan_exponential
from .plans import plan_for as plan_for
from .private_median import median_guarantee as median_guarantee
from .private_median import private_median as private_median
from .recprefix import PrefixStep as PrefixStep
from .recprefix import RecPrefixPlan as RecPrefixPlan
from .recprefix import recprefix as recprefix
from .recprefix import recprefix_guarantee as recprefix_guarantee
from .treelog import TreeLogPlan as TreeLogPlan
from .treelog import TreeStep as TreeStep
from .treelog import treelog as treelog
from .treelog import treelog_guarantee as treelog_guarantee
from .treelog_rsc import RscPlan as RscPlan
from .treelog_rsc import treelog_rsc as treelog_rsc
from .treelog_rsc import treelog_rsc_guarantee as treelog_rsc_guarantee
