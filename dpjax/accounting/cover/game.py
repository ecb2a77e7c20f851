"""The stopping game that bounds the privacy loss of private set cover, solved with every rounding upwards."""

import math
from collections.abc import Mapping
from functools import lru_cache, reduce
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from dpjax.accounting.cover.effects import Effect, effect_of
from dpjax.accounting.cover.states import Alive, State, largest_loss, starts, states
from dpjax.accounting.numeric.bisection import MARGIN
from dpjax.core.types import Neighboring

_CELLS = 48
"""Cells per coefficient for many rounds; the grid's contribution to delta falls with their square."""
_WIDEST = 0.05
"""The widest cell, in units of log-ratio."""
_REACH = 6
"""How far the grid extends beyond the losses between 0 and epsilon, in coefficients; counts may extend it further."""
_MOST_UNIT = 128
"""Cells are multiples of an effect's unit up to this one; differences of a finer one are rounded outwards."""
_MOST, _MOST_DRIFT = 100.0, 20.0
"""For larger coefficients the answer is 1; the grid ends after this many units of noise."""
_NODES, _MOST_NODES = 200_000, 2_000_000
"""Grids longer than the first number use fewer cells; beyond the second the answer is 1."""
_BLOCK = 1 << 15
"""Mixtures at grid nodes that are computed in one call: they fit in a processor's cache."""


@lru_cache(maxsize=4096)
def game_delta(epsilon: float, *numbers: Any) -> float:
    """The largest of ``game_deltas``, with the same arguments: an upper bound on delta(epsilon) over all neighbors."""
    return max(game_deltas(epsilon, *numbers).values())


def game_deltas(
    epsilon: float,
    coefficient: float,
    rounds: int,
    rate: float,
    effect: int | Effect | None,
    neighboring: Neighboring,
    cells: int | None = None,
) -> dict[Alive, float]:
    """Upper bounds on delta(epsilon) of ``rounds`` rounds of set cover, one for each kind of neighbors in `starts`.

    An adversary chooses, round by round, how scores differ between the databases: a dynamic program over the state and
    the privacy loss so far. docs/proofs/set-cover-game.md has the game, the proof, and the rounding of the grid.

    Args:
      epsilon: >= 0.
      coefficient: > 0, h has density proportional to exp(coefficient q(h)).
      rounds: m >= 1.
      rate: >= 0, 1 / scale of the counts' discrete Laplace noise; 0 if no count is published.
      effect: of the score, see `effects`. k stands for min{T - b / k, -O} with an exact count b that is not published,
        None for the same with a published one.
      neighboring: the relation.
      cells: the minimum number of grid cells per coefficient; None for `enough_cells`.
    """
    effect = effect_of(effect).limited()
    if epsilon >= largest_loss(neighboring, effect, rounds, coefficient, rate) * (1 + MARGIN):
        return dict.fromkeys(starts(neighboring), 0.0)
    drift = min(rounds * rate, 8 * rate * math.sqrt(rounds), _MOST_DRIFT)
    low = min(max(-_REACH * coefficient - drift, epsilon - rounds * (2 * coefficient + rate)), 0.0)
    cells = max(min(cells or enough_cells(rounds), int(_NODES * coefficient / (epsilon - low + drift))), 1)
    cells = max(cells, math.ceil(coefficient / _WIDEST))
    if effect.unit <= _MOST_UNIT:
        cells = effect.unit * math.ceil(cells / effect.unit)
    step = coefficient / cells
    if coefficient > _MOST or (epsilon - low + drift) / step > _MOST_NODES:
        return dict.fromkeys(starts(neighboring), 1.0)
    first = math.floor((low - epsilon) / step) - 1
    ladder = np.arange(first, _REACH * cells + math.ceil(drift / step) + 1)
    end = -np.expm1(-step * np.maximum(ladder, 0))
    table = states(neighboring, effect, cells)
    values = dict.fromkeys(table, end) | {(): end}
    place = -epsilon / step - first
    index, base = math.floor(place), 0
    widest = max(state.moves[-1][0] - state.moves[0][0] for state in table.values())
    reach = widest + math.ceil(min(rate / step, len(ladder))) + 4  # nodes on either side that one round reads
    for left in range(rounds, 0, -1):  # of the grid, what the answer depends on in so many rounds
        bottom, top = max(base, index - left * reach), index + left * reach
        kept = {alive: value[bottom - base : top - base] for alive, value in values.items()}
        values = {(): end[bottom:top]} | {
            alive: _count(_select(state, kept, step), rate if state.counted else 0.0, step)
            for alive, state in table.items()
        }
        base = bottom
    index -= base
    share = math.expm1(-step * (place - math.floor(place))) / math.expm1(-step)
    deltas = {}
    for alive in starts(neighboring):
        value = (1 - share) * values[alive][index] + share * values[alive][index + 1]
        deltas[alive] = min(1.0, float(value) * (1 + MARGIN))
    return deltas


def enough_cells(rounds: int) -> int:
    """Cells per coefficient for a bound within about one percent of the game's value."""
    return _CELLS * math.ceil(4 / math.sqrt(rounds))


def _select(state: State, values: Mapping[Alive, np.ndarray], step: float) -> np.ndarray:
    """The supremum over laws of (D, rows hit), at the grid nodes."""
    after = [(shift, reduce(np.maximum, (values[left] for left in lefts))) for shift, lefts in state.moves]
    best = np.zeros(1)
    for index, (shift, value) in enumerate(after):
        for other, larger in after[index + 1 :]:
            best = np.maximum(best, _mixtures(value, larger, other - shift, step))
    return best


def _mixtures(value: np.ndarray, larger: np.ndarray, width: int, step: float) -> np.ndarray:
    """The supremum over mixtures of two differences ``width`` steps apart; ``value`` belongs to the smaller one.

    At Z = e^{t step} times the smaller factor, the larger one has probability
    p = (e^{t step} - 1) / (e^{width step} - 1); ``value`` is evaluated t steps up, ``larger`` width - t steps down.
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
    best = np.zeros(len(value))
    first = max(0, min(int(np.argmax(side > 0)) for side in (up, down)) - width)  # nodes below it have value 0
    ups, downs = (sliding_window_view(side[first:], len(value) - first) for side in (up, down))
    block = max(1, _BLOCK // (len(value) - first))
    for at in range(0, width + 1, block):
        part = slice(at, at + block)
        mixtures = ups[part] * rest[part, None] + downs[part] * share[part, None]
        np.maximum(best[first:], mixtures.max(axis=0), out=best[first:])
    return best


def _count(value: np.ndarray, rate: float, step: float) -> np.ndarray:
    """The mean over a count that changes ell by -+ ``rate``: randomized response."""
    if rate == 0:
        return value
    cell = math.floor(min(rate / step, len(value)))  # all cells beyond the grid have the same value
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
    """Extended downwards by its last value and upwards by 1, which both bound V there."""
    return np.concatenate([np.full(below, value[0]), value, np.ones(above)])
