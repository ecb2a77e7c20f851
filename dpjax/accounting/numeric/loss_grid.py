"""Privacy-loss laws on an even grid, pessimistic, with an error of second order in the step.

Mass p under P and q under Q between two grid points is split over them so that both totals are kept. As
max(0, p - e^epsilon q) is subadditive in (p, q), the split law has at least the delta(epsilon) of the given one, alone
and after composition.

Reference: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, "Connect the dots", Section 3.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.legendre import leggauss

_NODES, _WEIGHTS = leggauss(6)
_ON_GRID = 1e-9
"""A loss within this distance of a grid point, in steps, is moved to it: the difference is rounding error."""


@dataclass(frozen=True)
class LossGrid:
    """A privacy-loss law under P.

    Args:
      step: > 0.
      first: the first loss is ``first * step``.
      mass: ``float64[m]``, the probabilities of the losses ``first * step``, ``(first + 1) * step``, ...
      infinite: the probability of an infinite loss.
    """

    step: float
    first: int
    mass: np.ndarray
    infinite: float = 0.0


def grid_of_atoms(log_mass: np.ndarray, loss: np.ndarray, step: float) -> LossGrid:
    """A law of finitely many finite losses, ``float64[m]``."""
    nearest = np.rint(loss / step)
    below = np.where(np.abs(loss - nearest * step) <= _ON_GRID * step, nearest, np.floor(loss / step))
    upper_share = np.clip(np.expm1(-(loss - below * step)) / math.expm1(-step), 0.0, 1.0)
    cell = below.astype(np.int64)
    first = int(cell.min())
    mass = np.zeros(int(cell.max()) - first + 2)
    probability = np.exp(log_mass)
    np.add.at(mass, cell - first, probability * (1 - upper_share))
    np.add.at(mass, cell - first + 1, probability * upper_share)
    used = np.flatnonzero(mass)
    return LossGrid(step, first + int(used[0]), mass[used[0] : used[-1] + 1])


def grid_of_laplace(epsilon: float, step: float) -> LossGrid:
    """Laplace noise of pure privacy ``epsilon``: atoms at both ends, density e^{-(epsilon - loss)/2} / 4 between."""
    cells = max(1, math.floor(2 * epsilon / step))
    width = 2 * epsilon / cells
    low = -epsilon + width * np.arange(cells)
    log_inside = math.log(-0.5 * math.expm1(-width / 2)) - (epsilon - low - width) / 2
    log_upper_share, log_lower_share = -math.log1p(math.exp(-width / 2)), -math.log1p(math.exp(width / 2))
    ends = [math.log(0.5) - epsilon, math.log(0.5)]
    log_mass = np.concatenate([log_inside + log_lower_share, log_inside + log_upper_share, ends])
    return grid_of_atoms(log_mass, np.concatenate([low, low + width, [-epsilon, epsilon]]), step)


def grid_of_gaussian(shift: float, step: float, floor: float) -> LossGrid:
    """N(shift, 1) against N(0, 1): a normal loss of mean shift^2/2 and standard deviation ``shift``.

    Probability ``floor`` is removed from each tail: the upper one counts as an infinite loss, the lower one is added to
    the smallest loss.
    """
    mean, reach = shift * shift / 2, shift * math.sqrt(2 * math.log(1 / floor))
    width = step / math.ceil(16 * step / shift)
    low = width * np.arange(math.floor((mean - reach) / width), math.ceil((mean + reach) / width))
    offset = 0.5 * width * (1 + _NODES)
    density = _WEIGHTS * np.exp(-0.5 * ((low[:, None] + offset - mean) / shift) ** 2)
    upper = density @ (np.expm1(-offset) / math.expm1(-width))
    lower = density.sum(axis=1) - upper
    mass = np.concatenate([lower, upper]) * ((1 - 2 * floor) / density.sum())
    mass[0] += floor
    with np.errstate(divide="ignore"):
        law = grid_of_atoms(np.log(mass), np.concatenate([low, low + width]), step)
    return LossGrid(step, law.first, law.mass, infinite=floor)
