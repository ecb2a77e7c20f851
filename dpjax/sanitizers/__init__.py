"""Synthetic databases that answer all thresholds at once: `default` picks the sanitizer, `error` measures it."""

from .blocks import RankBlocks as RankBlocks
from .choice import AnySanitizer as AnySanitizer
from .choice import candidates as candidates
from .choice import default as default
from .hierarchy import Hierarchy as Hierarchy
from .joint import JointQuantiles as JointQuantiles
from .quantiles import IndependentQuantiles as IndependentQuantiles
from .quantiles import RecursiveQuantiles as RecursiveQuantiles
from .slices import Slices as Slices
from .thresholds import Sanitized as Sanitized
from .thresholds import ThresholdSanitizer as ThresholdSanitizer
from .thresholds import error as error
from .thresholds import worst_gap as worst_gap
