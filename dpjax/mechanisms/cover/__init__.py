"""Private set cover: learning an AND or an OR of k members of a family, by covering one class round by round.

Reference: Kaplan, Mansour, Matias, Stemmer, "Differentially private learning of geometric concepts".
"""

from .family import Family as Family
from .literals import Literals as Literals
from .rounds import set_cover as set_cover
