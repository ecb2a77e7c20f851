"""Combinatorial dimensions of concept classes, on the host."""

from .trees import height as height
from .trees import threshold_dimension as threshold_dimension
from .trees import tree_threshold_dimension as tree_threshold_dimension
from .trees import vc_dimension as vc_dimension
