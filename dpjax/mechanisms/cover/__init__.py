"""Private set cover: learning an AND or an OR of k members of a family, by greedily covering one class in rounds.

Reference: Kaplan, Mansour, Matias, Stemmer, "Differentially private learning of geometric concepts".
"""

from .family import Family as Family
from .family import Following as Following
from .literals import Literals as Literals
from .plan import CoverPlan as CoverPlan
from .plan import cover_guarantee as cover_guarantee
from .plan import cover_plan as cover_plan
from .rounds import set_cover as set_cover
from .score import Gain as Gain
from .score import Saturating as Saturating
from .score import Score as Score
from .score import Scoring as Scoring
from .slabs.wedges import SlabWedges as SlabWedges
from .triangles.pieces import Pieces as Pieces
