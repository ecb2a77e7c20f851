"""How uneven three-way splits by private medians are: the tail of the largest part, on the host."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import expit

from dpjax.core.host import host_functions

_NODES = 1 << 15
_DEEP = 45  # e^-45 is below all that is added for rounding
_ROUNDING = 1e-12  # of a probability, by FFT


@dataclass(frozen=True)
class Excess:
    """An upper bound on the expected number of parts whose excess is at least ``step`` * i rows, i = 0, 1, ...

    The excess of a part is half of what it has more than n / 2^levels rows.
    """

    step: float
    number: np.ndarray

    def probability(self, rows: np.ndarray) -> np.ndarray:
        """An upper bound on P[some excess >= rows], ``float64[...]``, of ``float64[...]``."""
        nodes = np.floor(np.maximum(rows, 0.0) / self.step)
        beyond = self.number[np.minimum(nodes, len(self.number) - 1).astype(np.int64)]
        return np.minimum(1.0, beyond)

    def quantile(self, beta: float) -> float:
        """Rows that no excess reaches but with probability ``beta``; inf if the bound does not get that small."""
        enough = np.flatnonzero(self.number <= beta)
        return float(self.step * enough[0]) if len(enough) else float("inf")


@lru_cache(maxsize=64)
def excess(log_size: float, rates: tuple[float, ...]) -> Excess:
    """Of the 2^levels intervals between the medians of all levels; proof in docs/proofs/hierarchy.md#tails-of-sums.

    A median of quality ceil(c / 2) - Q leaves c / 2 + Q rows or fewer on one side and (c + 1) / 2 or fewer on the
    other, and P[Q >= d] <= |X| / (|X| + e^(rate d)). With these laws the number of parts is convolved level by level.

    Args:
      log_size: ln |X|. rates: the inverse temperature of each level's medians, the root first.
    """
    weights = 2.0 ** -np.arange(len(rates), 0, -1)
    widths = weights / np.asarray(rates)
    reach = float(np.sum(widths) * log_size + (_DEEP + len(rates)) * np.max(widths) + np.sum(weights) / 2)
    step = reach / (_NODES - 1)
    mass = np.zeros(_NODES)
    mass[0] = 1.0
    for width, weight in zip(widths, weights, strict=True):
        tail = expit(log_size - step * np.arange(-1, _NODES) / width)  # of D, rounded up to a node
        law = -np.diff(tail)
        law[0] = 1 - tail[1]
        law[-1] += tail[-1]
        law[min(int(np.ceil(weight / 2 / step)), _NODES - 1)] += 1.0  # the smaller side
        both = np.maximum(np.fft.irfft(np.fft.rfft(mass, 2 * _NODES) * np.fft.rfft(law, 2 * _NODES), 2 * _NODES), 0.0)
        mass = both[:_NODES]
        mass[-1] += float(np.sum(both[_NODES:]))
    number = np.cumsum(mass[::-1])[::-1]
    return Excess(step, number + _ROUNDING * 2 ** len(rates))


host_functions(globals())
