"""One byte per trial: the bin of its error in a fixed grid, and whether the learner abstained."""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpjax.core import checks

_STEPS = (1, 1.12, 1.25, 1.4, 1.6, 1.8, 2, 2.24, 2.5, 2.8, 3.15, 3.55, 4, 4.5, 5, 5.6, 6.3, 7.1, 8, 9)
_DECADES = 6
SILENT = 128
"""The bit of a byte that is set if some hypothesis abstains."""
INVALID = 127
"""The bin of invalid errors: not a number, or not in [0, 1]."""

GRID = (Fraction(0), *(Fraction(str(step)) / 10**k for k in range(_DECADES, 0, -1) for step in _STEPS))
"""The edges of the bins: 0, then the preferred numbers R20 from 1e-6 up to 0.9, steps of about 12 %."""


def edges(alpha: float) -> list[Fraction]:
    """The grid and alpha, ascending: whether an error is at most alpha is decided exactly.

    An error lies in bin i if it is above edge i - 1 and at most edge i; in the last bin if it is above all edges.
    """
    return sorted([*GRID, Fraction(repr(checks.probability("alpha", alpha)))])


def bins(outcomes: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The bins of stored bytes, without the `SILENT` bit."""
    return (np.asarray(outcomes) & (SILENT - 1)).astype(np.int64)


def are_outcomes(outcomes: NDArray[np.uint8]) -> bool:
    """Whether all bytes are of a bin, or `INVALID`."""
    indices = bins(outcomes)
    return bool(np.all((indices <= len(GRID) + 1) | (indices == INVALID)))


def silent(outcomes: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """The trials in which some hypothesis abstains."""
    return (np.asarray(outcomes) & SILENT) > 0


def successes(outcomes: NDArray[np.uint8], alpha: float, at_most: float | None = None) -> NDArray[np.bool_]:
    """Mask of trials with an error of at most ``at_most``, by default alpha, the learner's goal.

    at_most: any number; errors that the grid does not distinguish from larger ones count as larger.
    """
    return bins(outcomes) <= _last_edge(alpha, alpha if at_most is None else at_most)


def told_apart(alpha: float, at_most: float) -> float:
    """The largest edge that is at most ``at_most``, the threshold of `successes`."""
    return float(edges(alpha)[_last_edge(alpha, at_most)])


@lru_cache(256)
def _last_edge(alpha: float, at_most: float) -> int:
    limit = Fraction(repr(checks.probability("at_most", at_most)))
    return sum(edge <= limit for edge in edges(alpha)) - 1


def quantiles(outcomes: NDArray[np.uint8], alpha: float, levels: Sequence[float]) -> list[float]:
    """Upper ends of the bins that contain the quantiles of the error; 1 above all edges."""
    ends = np.array([*map(float, edges(alpha)), 1.0])
    indices = np.quantile(bins(outcomes), list(levels), method="inverted_cdf").astype(int)
    return [float(end) for end in ends[indices]]
