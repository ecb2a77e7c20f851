"""The exact interval of a probability."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainccinv, betaincinv

from dpjax.core import checks
from dpjax.core.checks import InputError

Floats = NDArray[np.float64]


def clopper_pearson(successes: ArrayLike, trials: ArrayLike, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """The exact two-sided interval of each probability, from counts of independent trials.

    Args:
      successes, trials: whole numbers of one shape, 0 <= successes <= trials. No trials give [0, 1].
      confidence: in (0, 1).

    Returns:
      lower, upper: float64 of the same shape. For numbers of trials fixed in advance, each interval covers its own
      probability with probability >= confidence. **Not valid if trials are added depending on the results.**

    Reference: Clopper and Pearson 1934, "The use of confidence or fiducial limits", Biometrika.
    """
    hits, total = _counts(successes, trials)
    tail = (1 - checks.probability("confidence", confidence)) / 2
    misses = total - hits
    lower = np.where(hits > 0, betaincinv(np.maximum(hits, 1), misses + 1, tail), 0.0)
    upper = np.where(misses > 0, betainccinv(hits + 1, np.maximum(misses, 1), tail), 1.0)
    return lower, upper


def _counts(successes: ArrayLike, trials: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Both as int64 of one shape with 0 <= successes <= trials; InputError if they are invalid."""
    hits, total = np.asarray(successes), np.asarray(trials)
    if hits.shape != total.shape or any(a.size and a.dtype.kind not in "iu" for a in (hits, total)):
        actual = f"{hits.dtype}{list(hits.shape)} and {total.dtype}{list(total.shape)}"
        raise InputError("successes, trials", "whole numbers of one shape", actual, "give counts, not rates")
    hits, total = hits.astype(np.int64), total.astype(np.int64)
    if np.any((hits < 0) | (hits > total)):
        where = np.unravel_index(np.argmax((hits < 0) | (hits > total)), hits.shape)
        advice = "check that the two arrays are not swapped"
        raise InputError("successes", "0 <= successes <= trials", f"{hits[where]} of {total[where]}", advice)
    return hits, total
