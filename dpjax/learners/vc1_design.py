"""The design of the improper learner of a class of VC dimension 1: its splits of budget and beta, and its rows."""

from dataclasses import dataclass
from functools import lru_cache

from dpjax.core import checks
from dpjax.core.plans import down
from dpjax.mechanisms.median import METHODS, MedianDesign, plan_for
from dpjax.theory import vc1 as theory

_SHARES = tuple(part / 20 for part in range(4, 19))  # of epsilon, for the median
_BETAS = tuple(  # of beta: the rows, the median, the choice of the node
    (rows, (1 - rows) * median, (1 - rows) * (1 - median)) for rows in (0.25, 0.4, 0.55, 0.7) for median in (0.35, 0.6)
)
_EVEN = (0.4, 0.3, 0.3)
_MOST = 1e3  # epsilon of a median: planners of recursive ones take no more, and none needs it


@dataclass(frozen=True)
class DeepDesign:
    """A median and a choice for the deepest rows: the numbers of the proof in docs/proofs/deepest-rows.md.

    median: design of the median. epsilon, delta: of the choice, as float32 numbers. high: rows at or below the depth,
    which are the votes for the node. deep: how many of the deepest rows determine the depth. rows: the theorem's n.
    """

    median: MedianDesign
    epsilon: float
    delta: float
    high: int
    deep: int
    rows: int


@lru_cache(maxsize=1024)
def of_rows(method: str, bits: int, size: int, epsilon: float, delta: float, alpha: float, beta: float) -> DeepDesign:
    """The design with the fewest rows for depths in {0..size - 1}, ``bits`` bits; host.

    method: "auto" tries the ``METHODS`` of `mechanisms.median`, but none whose median alone needs more rows at the
    largest part of the budget.
    """
    best: DeepDesign | None = None
    for name in METHODS if method == "auto" else (method,):
        if best is None or _least(name, bits, size, epsilon, delta) < best.deep:
            design = _search(name, bits, size, epsilon, delta, alpha, beta)
            best = design if best is None or design.rows < best.rows else best
    assert best is not None, "nothing was tried"
    return best


def of_choice(delta: float, median: MedianDesign) -> float:
    """The choice's delta: half of it, or all of it if the median is pure."""
    return delta / 2 if median.spends == "approximate" else delta


def _least(method: str, bits: int, size: int, epsilon: float, delta: float) -> int:
    """A lower bound of ``deep`` of all designs with this median: at the largest part of epsilon, at beta = 1/2."""
    return plan_for(method, bits, min(_SHARES[-1] * epsilon, _MOST), delta / 2, 0.5, size=size).interior


def _search(method: str, bits: int, size: int, epsilon: float, delta: float, alpha: float, beta: float) -> DeepDesign:
    """First epsilon is split at an even split of beta, by steps toward fewer rows; then beta; then epsilon again."""

    def at(place: int, betas: tuple[float, float, float]) -> DeepDesign:
        return _design(method, bits, size, epsilon, delta, alpha, beta, _SHARES[place], betas)

    def descend(place: int, betas: tuple[float, float, float]) -> tuple[int, DeepDesign]:
        best, step = at(place, betas), 4
        while step:
            near = [p for p in (place - step, place + step) if 0 <= p < len(_SHARES)]
            candidate = min(((at(p, betas), p) for p in near), key=lambda pair: pair[0].rows, default=(best, place))
            if candidate[0].rows < best.rows:
                best, place = candidate
            else:
                step //= 2
        return place, best

    place, _ = descend(len(_SHARES) // 2, _EVEN)
    betas = min((_EVEN, *_BETAS), key=lambda each: at(place, each).rows)
    return descend(place, betas)[1]


@lru_cache(maxsize=4096)
def _design(
    method: str,
    bits: int,
    size: int,
    epsilon: float,
    delta: float,
    alpha: float,
    beta: float,
    share: float,
    betas: tuple[float, float, float],
) -> DeepDesign:
    """The design for one split of epsilon and of beta."""
    of_rows, of_median, of_node = (part * beta for part in betas)
    median = plan_for(method, bits, min(share * epsilon, _MOST), checks.delta(delta) / 2, of_median, size=size)
    choice = down(epsilon * (1 - share)), down(of_choice(delta, median))
    high = theory.votes(float(choice[0]), float(choice[1]), of_node)
    deep = high - 1 + median.interior
    return DeepDesign(median, float(choice[0]), float(choice[1]), high, deep, theory.deepest(deep, alpha, of_rows))
