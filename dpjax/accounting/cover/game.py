"""The stopping game that private set cover plays against its own privacy, solved with every rounding upwards."""

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from dpjax.accounting.cover.states import Alive, State, largest_loss, starts, states
from dpjax.accounting.numeric.bisection import MARGIN
from dpjax.core.types import Neighboring

_CELLS = 48
"""Cells in a coefficient for many rounds; what the grid adds to delta falls with their square."""
_WIDEST = 0.05
"""The widest cell, in units of log-ratio."""
_REACH = 6
"""How far the grid goes beyond the losses between 0 and epsilon, in coefficients; what counts may add comes on top."""
_MOST_K = 128
"""The largest k that is told apart from larger ones."""
_MOST, _MOST_DRIFT = 100.0, 20.0
"""Beyond this coefficient the answer is 1; beyond this many units of noise the grid ends."""
_NODES, _MOST_NODES = 200_000, 2_000_000
"""Fewer cells are used for grids longer than the first, and beyond the second the answer is 1."""


@lru_cache(maxsize=4096)
def game_delta(epsilon: float, *numbers: Any) -> float:
    """The largest of ``game_deltas``, which has the arguments: a bound on delta(epsilon) above every two neighbors."""
    return max(game_deltas(epsilon, *numbers).values())


def game_deltas(
    epsilon: float,
    coefficient: float,
    rounds: int,
    rate: float,
    k: int | None,
    neighboring: Neighboring,
    cells: int | None = None,
) -> dict[Alive, float]:
    """Upper bounds on delta(epsilon) of ``rounds`` rounds of set cover, one for each kind of neighbors in `starts`.

    Let ell be the log-ratio of the first to the second database's probability of what was output so far. A round in
    state s first publishes a count, ell -+ rate as randomized response where the state is counted. Then h is drawn, the
    second law is the first one times exp(coefficient D(h)) / Z, Z = E exp(coefficient D), so ell moves by
    ln Z - coefficient D. The adversary chooses the law of (D, which rows are hit), D in the intervals of the state:

      V_m(s, ell) = (1 - e^{epsilon - ell})_+ = V_j(end, ell),
      V_j(s, ell) = E_count sup E V_{j+1}(s', ell + ln Z - coefficient D),      delta = V_0(start, 0).

    V is convex and nonincreasing in y = e^{-ell}, as all operations above keep it so. Hence at a fixed Z the mean is
    largest with D at ends of intervals; the constraint E e^{coefficient D} = Z makes this a linear program with two
    equations, so **two values of D suffice**, and the game is a maximum over pairs of D and one number Z.

    A smaller k only helps the adversary: with D shifted by 1 / k where an exact count differs (Z absorbs that), rows
    that are missed have D in [0, 1 / k], and a hit at a D that a miss can have is worse for it than the miss.

    Upwards: V is known at ell = epsilon + i step, step = coefficient / cells, and taken linear in y between (above a
    convex function), constant below the grid, 1 above it. All D are multiples of the step and so is the place where
    (1 - e^{epsilon - ell})_+ bends, so shifts cost nothing. For ln Z within a cell the mean is A + B Z + C / Z, and its
    values at the ends with its largest curvature, 2 |C| / Z^3, bound it. Every number is a sum of non-negative terms,
    so the relative rounding error is of order rounds * 1e-15 and MARGIN covers it.

    Args:
      epsilon: >= 0.
      coefficient: > 0, h has density proportional to exp(coefficient q(h)).
      rounds: m >= 1.
      rate: >= 0, 1 / scale of the counts' discrete Laplace noise; 0 where ``k`` is given.
      k: of the quality function if the count in it is exact and not published, None if it is the published one.
      neighboring: the relation.
      cells: of the grid in one coefficient, at least; None for enough.
    """
    k = None if k is None else min(k, _MOST_K)
    if epsilon >= largest_loss(neighboring, k, rounds, coefficient, rate) * (1 + MARGIN):
        return dict.fromkeys(starts(neighboring), 0.0)
    drift = min(rounds * rate, 8 * rate * math.sqrt(rounds), _MOST_DRIFT)
    low = min(max(-_REACH * coefficient - drift, epsilon - rounds * (2 * coefficient + rate)), 0.0)
    cells = max(min(cells or enough_cells(rounds), int(_NODES * coefficient / (epsilon - low + drift))), 1)
    cells = max(cells, math.ceil(coefficient / _WIDEST))
    if k is not None:
        cells = k * math.ceil(cells / k)
    step = coefficient / cells
    if coefficient > _MOST or (epsilon - low + drift) / step > _MOST_NODES:
        return dict.fromkeys(starts(neighboring), 1.0)
    first = math.floor((low - epsilon) / step) - 1
    ladder = np.arange(first, _REACH * cells + math.ceil(drift / step) + 1)
    end = -np.expm1(-step * np.maximum(ladder, 0))
    table = states(neighboring, k, cells)
    values = dict.fromkeys(table, end) | {(): end}
    for _ in range(rounds):
        values = {(): end} | {
            alive: _count(_select(state, values, step), rate if state.counted else 0.0, step)
            for alive, state in table.items()
        }
    place = -epsilon / step - first
    index = math.floor(place)
    share = math.expm1(-step * (place - index)) / math.expm1(-step)
    found = {}
    for alive in starts(neighboring):
        value = (1 - share) * values[alive][index] + share * values[alive][index + 1]
        found[alive] = min(1.0, float(value) * (1 + MARGIN))
    return found


def enough_cells(rounds: int) -> int:
    """Cells in a coefficient for a bound within about one per cent of the game's value."""
    return _CELLS * math.ceil(4 / math.sqrt(rounds))


def _select(state: State, values: Mapping[Alive, np.ndarray], step: float) -> np.ndarray:
    """The supremum over laws of (D, rows hit), at the nodes."""
    after = [(shift, np.maximum.reduce([values[left] for left in lefts])) for shift, lefts in state.moves]
    best = np.zeros(1)
    for index, (shift, value) in enumerate(after):
        for other, larger in after[index + 1 :]:
            best = np.maximum(best, _mixtures(value, larger, other - shift, step))
    return best


def _mixtures(value: np.ndarray, larger: np.ndarray, width: int, step: float) -> np.ndarray:
    """The supremum over mixtures of two differences ``width`` steps apart, ``value`` following the smaller one.

    At Z = e^{t step} times the smaller factor, p = (e^{t step} - 1) / (e^{width step} - 1) is the larger one's
    share, ``value`` is taken t steps up and ``larger`` width - t steps down.
    """
    turn = np.arange(width + 1)
    whole = math.expm1(width * step)
    share = np.expm1(turn * step) / whole
    rest = np.exp(turn * step) * np.expm1((width - turn) * step) / whole
    up = _padded(value, 1, width + 1)  # node i at 1 + i; entry 1 + i + t is t steps up
    down = _padded(larger, width + 1, 1)  # entry 1 + i + t is width - t steps down
    bend = math.exp(width * step) * np.diff(up) - np.diff(down)
    bend = np.maximum(bend, 0.0) * (math.expm1(step) ** 2 / (4 * whole * -math.expm1(-step)))
    bulge = np.maximum(bend[:-1], bend[1:])
    up, down = up[1:-1] + bulge, down[1:-1] + bulge
    best, mixture, other = (np.zeros(len(value)) for _ in range(3))
    for at in turn:
        np.multiply(up[at : at + len(value)], rest[at], out=mixture)
        np.multiply(down[at : at + len(value)], share[at], out=other)
        np.maximum(best, np.add(mixture, other, out=mixture), out=best)
    return best


def _count(value: np.ndarray, rate: float, step: float) -> np.ndarray:
    """The mean over a count that moves ell by -+ ``rate``: randomized response."""
    if rate == 0:
        return value
    cell = math.floor(min(rate / step, len(value)))  # cells beyond the grid are all alike
    part = min(max(rate - cell * step, 0.0), step)
    share = math.expm1(-part) / math.expm1(-step)  # linear in e^{-ell}, upwards and
    below = math.expm1(part - step) / math.expm1(-step)  # downwards, from the node under it
    up = _padded(value, 0, cell + 1)[cell:]
    down = _padded(value, cell + 1, 0)[: len(value) + 1]
    higher = (1 - share) * up[:-1] + share * up[1:]
    lower = (1 - below) * down[:-1] + below * down[1:]
    truth = 1 / (1 + math.exp(-rate))
    return truth * higher + (1 - truth) * lower


def _padded(value: np.ndarray, below: int, above: int) -> np.ndarray:
    """Continued downwards by its last value and upwards by 1: both bound what V is there."""
    return np.concatenate([np.full(below, value[0]), value, np.ones(above)])
