"""Private set cover on two neighboring databases: which differing rows are alive, and how far scores can differ.

Two runs are compared on databases that share all rows but one (ADD_OR_REMOVE_ONE) or one on each side (REPLACE_ONE).
Given the same earlier outputs the runs differ only through the live differing rows, which form the state.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import lru_cache

from dpjax.accounting.cover.effects import Effect, effect_of
from dpjax.core.types import Neighboring


@dataclass(frozen=True, order=True)
class Row:
    """A row that exactly one of the databases has.

    Args:
      side: 1 if the second database has it, -1 if the first has it.
      target: True for the class that is to be covered, False for the other one.
    """

    side: int
    target: bool


Alive = tuple[Row, ...]


@dataclass(frozen=True)
class State:
    """The possible effects of one round on a pair of runs.

    Args:
      moves: (shift, the states that may follow), shifts ascending: the ends of the intervals of score differences.
      counted: True if the databases' numbers of live target rows differ, so that a noisy count distinguishes them.
    """

    moves: tuple[tuple[int, tuple[Alive, ...]], ...]
    counted: bool


def starts(neighboring: Neighboring) -> tuple[Alive, ...]:
    """All kinds of neighbors, in both directions: which rows differ, and on which side."""
    if neighboring is Neighboring.ADD_OR_REMOVE_ONE:
        return tuple((Row(side, target),) for side in (-1, 1) for target in (True, False))
    return tuple((Row(-1, first), Row(1, second)) for first in (True, False) for second in (True, False))


@lru_cache(maxsize=64)
def states(neighboring: Neighboring, effect: int | Effect | None, cells: int) -> dict[Alive, State]:
    """All states that the pairs of ``starts`` can reach, fewer live rows first, without the empty state (the end).

    Args:
      neighboring: the relation.
      effect: of the score, see `effects.effect_of`.
      cells: shifts are in units of 1 / cells.
    """
    effect = effect_of(effect)
    subsets = {part for rows in starts(neighboring) for count in (1, 2) for part in itertools.combinations(rows, count)}
    return {alive: _state(alive, effect, cells) for alive in sorted(subsets, key=lambda rows: (len(rows), rows))}


def _state(alive: Alive, effect: Effect, cells: int) -> State:
    moves: dict[int, set[Alive]] = {}
    for count in range(len(alive) + 1):
        for hit in itertools.combinations(alive, count):
            left = tuple(row for row in alive if row not in hit)
            for shift in effect.interval(alive, hit, cells):
                moves.setdefault(shift, set()).add(left)
    ordered = tuple((shift, tuple(sorted(left))) for shift, left in sorted(moves.items()))
    return State(ordered, sum(row.side for row in alive if row.target) != 0)


def largest_loss(
    neighboring: Neighboring, effect: int | Effect | None, rounds: int, coefficient: float = 1.0, rate: float = 0.0
) -> float:
    """The largest possible log-ratio of the probabilities of one transcript under two neighbors.

    With shifts D in [low, high] a round multiplies the ratio by at most exp(coefficient (high - D)); a count adds
    ``rate``. In units of the coefficient (rate 0), for `effects.Minimum`: m under ADD_OR_REMOVE_ONE, m + 1 under
    REPLACE_ONE, for which exact counts can increase it to m (1 + 1 / k).

    Args:
      neighboring, effect: see ``states``.
      rounds: m >= 1.
      coefficient, rate: >= 0.
    """
    effect = effect_of(effect)
    unit = effect.unit
    table = states(neighboring, effect, unit)
    worst: dict[Alive, float] = dict.fromkeys(table, 0.0) | {(): 0.0}
    for _ in range(rounds):
        worst = {(): 0.0} | {alive: _worst(state, worst, coefficient / unit, rate) for alive, state in table.items()}
    return max(worst[alive] for alive in starts(neighboring))


def score_range(neighboring: Neighboring, effect: int | Effect | None = None) -> float:
    """The length of the interval of score differences between neighbors, for any functions of one round."""
    effect = effect_of(effect)
    unit = effect.unit
    table = states(neighboring, effect, unit)
    return max(state.moves[-1][0] - state.moves[0][0] for state in table.values()) / unit


def _worst(state: State, following: dict[Alive, float], step: float, rate: float) -> float:
    high = state.moves[-1][0]
    turns = (step * (high - shift) + following[left] for shift, after in state.moves for left in after)
    return rate * state.counted + max(turns)
