"""Probabilistic representations of classes, one per file. The interface of all of them is `base.Representation`."""

from .base import Representation as Representation
from .point_sets import PointSetBuckets as PointSetBuckets
from .points import PointBuckets as PointBuckets
from .runs import LearnerRuns as LearnerRuns
from .whole import Whole as Whole
