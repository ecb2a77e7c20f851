"""What a guarantee claims beside (epsilon, delta): concentrated privacy and bounded range, checked on exact laws."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.numeric.profile import Floats, log_ratio

CHUNK = 1 << 22  # numbers in one chunk of pairs
_ROUNDING = 2.0**-46  # float64 error of a log mass, relative to 1 + its absolute value
_LEAST = -690.0  # an outcome below this log mass may have underflowed on the neighbor
_ORDERS = 1 + 2.0 ** np.arange(-2, 10)  # of Renyi divergences; the limit at 1 is the relative entropy


@dataclass(frozen=True)
class Further:
    """A further claim, the value that exact laws need, the neighbors that need it, and whether it is exceeded."""

    name: str
    claimed: float
    found: float
    place: tuple[int, int]
    refuted: bool

    @property
    def rank(self) -> tuple[bool, float]:
        """Sort key for the worst of several: one that is refuted, else the largest value."""
        return self.refuted, self.found


def further_of(claim: Guarantee) -> dict[str, float]:
    """The further claims of a guarantee by name, as `Guarantee` names them."""
    both = {"rho": claim.rho, "bounded_range": claim.bounded_range}
    return {name: value for name, value in both.items() if value is not None}


def check_further(claim: Guarantee, table: np.ndarray, pairs: np.ndarray, tolerance: float) -> list[Further]:
    """Each further claim beside what the laws need: the largest divergence of order alpha divided by alpha, over a grid
    of orders from 1 to 513, and the largest difference of two log-ratios.

    Log masses may be off by rounding, see `rounding`; values are lowered by as much before they refute a claim.

    table: ``float64[databases, outcomes]``, log-probabilities. pairs: ``int64[p, 2]``, neighbors in both orders.
    """
    results = []
    for name, claimed in further_of(claim).items():
        largest, place, refuted = 0.0, (0, 0), False
        step = max(1, CHUNK // table.shape[1])
        for start in range(0, len(pairs), step):
            part = pairs[start : start + step]
            p, q = (table[part[:, side]] for side in range(2))
            value, lowered = _VALUES[name](p, q)
            at = int(np.argmax(value))
            if value[at] > largest or not any(place):
                largest, place = max(largest, float(value[at])), (int(part[at, 0]), int(part[at, 1]))
            refuted |= bool(np.any(lowered > claimed * (1 + tolerance)))
        results.append(Further(name, claimed, largest, place, refuted))
    return results


def rounding(p: Floats, q: Floats) -> tuple[Floats, Floats]:
    """The privacy loss ln(P/Q) of outcomes and its possible error; -inf where only underflow may have made Q zero.

    A log mass l is taken to be exact up to 2^-46 (1 + |l|).
    """
    loss = log_ratio(p, q)
    loss = np.where(np.isneginf(q) & (p < _LEAST), -np.inf, loss)
    off = _ROUNDING * (2 + np.abs(p) + np.where(np.isneginf(q), 0.0, np.abs(q)))
    return loss, np.where(np.isfinite(loss), off, 0.0)


def _rho(p: Floats, q: Floats) -> tuple[Floats, Floats]:
    """The largest Renyi divergence of order alpha divided by alpha, of each pair of laws, and a lower bound on it."""
    loss, off = rounding(p, q)
    off = off * (
        2 + np.where(np.isfinite(loss), np.abs(loss), 0.0)
    )  # the masses that weigh the losses are rounded, too
    return _concentration(p, loss), _concentration(p, loss - off)


def _concentration(p: Floats, loss: Floats) -> Floats:
    real = ~np.isneginf(loss)
    with np.errstate(all="ignore"):
        best = np.sum(np.where(real, np.exp(p) * loss, 0.0), axis=-1)  # the relative entropy
        for order in _ORDERS:
            power = np.where(real, p + (order - 1) * loss, -np.inf)
            best = np.maximum(best, logsumexp(power, axis=-1) / (order - 1) / order)
    return best


def _range(p: Floats, q: Floats) -> tuple[Floats, Floats]:
    """The difference of the largest and the smallest log-ratio of each pair of laws, and a lower bound on it."""
    ends = [rounding(*laws) for laws in ((p, q), (q, p))]
    tops = [(np.max(loss, axis=-1), np.max(loss - off, axis=-1)) for loss, off in ends]
    return tops[0][0] + tops[1][0], tops[0][1] + tops[1][1]


_VALUES: dict[str, Callable[[Floats, Floats], tuple[Floats, Floats]]] = {"rho": _rho, "bounded_range": _range}
