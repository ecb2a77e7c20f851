"""dpjax against its peers: ratios, each measured in one run."""

from .suite import ROWS as ROWS
from .suite import run as run
