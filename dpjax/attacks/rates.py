"""Counts of trials with exact intervals."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpjax.core.intervals import clopper_pearson


@dataclass(frozen=True)
class Rate:
    """``count`` of ``trials`` independent trials with an event, and the Clopper-Pearson interval of its probability."""

    count: int
    trials: int
    low: float
    high: float

    @staticmethod
    def of(events: Any, confidence: float) -> "Rate":
        """From ``bool[trials]``."""
        count, trials = int(np.sum(events)), len(events)
        low, high = (float(end) for end in clopper_pearson(count, trials, confidence))
        return Rate(count, trials, low, high)

    def __str__(self) -> str:
        return f"{self.count} of {self.trials} ({self.low:.3g} to {self.high:.3g})"
