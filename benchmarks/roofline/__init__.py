"""Kernels of dpjax as fractions of what the machine can do: words, exp, log, sort, copy, measured in the same run."""

from .report import heading as heading
from .report import lines as lines
from .report import measured as measured
from .report import only as only
from .suite import ROWS as ROWS
from .suite import run as run
