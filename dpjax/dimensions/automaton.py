"""The standard optimal algorithm of a finite class as an automaton: states are version spaces, listed on the host."""

from typing import NamedTuple

import numpy as np

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.matrices import LARGEST, class_matrix
from dpjax.dimensions.clock import Clock
from dpjax.dimensions.littlestone import Search
from dpjax.dimensions.matrix import columns_of
from dpjax.dimensions.psi import natarajan


class Automaton(NamedTuple):
    """Tables of the states that can be reached, a pytree; state 0 is the whole class.

    prediction: ``int32[S, N]``, the label that is predicted at each element.
    following: ``int32[S, N, c]``, the next state after each label 0..c-1; the state itself where no row has the label.
    dimension: ``int32[S]``, the Littlestone dimension of the version space: an upper bound of the mistakes to come.
    """

    prediction: np.ndarray
    following: np.ndarray
    dimension: np.ndarray


def standard_optimal_algorithm(matrix, conservative: bool = True, states: int = 1 << 16) -> Automaton:
    """The automaton of ``int[m, N]``, m distinct rows of labels >= 0.

    It predicts the label whose rows keep the largest dimension, the smallest of them in a tie, and makes at most as
    many mistakes as the class's Littlestone dimension on any sequence that a row realizes. conservative: the version
    space shrinks after mistakes only, which keeps the number of states small. InputError for more than ``states``,
    or more than 2^28 next states.

    Reference: Littlestone 1988; Daniely, Sabato, Ben-David, Shalev-Shwartz 2011, Theorem 5.1; Bun, Gaboardi, Sivakumar
      2021, Claim 5.7; Yan 2025, Definition 8.
    """
    table = class_matrix(matrix)
    checks.integer("states", states, 1)
    labels = int(table.max(initial=0)) + 1
    _require_size(1, table.shape[1], labels)
    clock = Clock(None)
    columns = list(columns_of(table, clock))
    search = Search(table, natarajan, clock)
    number = {(1 << len(table)) - 1: 0}
    order = list(number)
    prediction: list[list[int]] = []
    following: list[np.ndarray] = []
    dimension: list[int] = []
    for rows in order:  # grows while it is read
        dimension.append(_dimension(search, rows))
        guesses: list[int] = []
        after = np.full((len(columns), labels), number[rows], np.int32)
        for x, column in enumerate(columns):
            parts = {label: rows & part for label, part in column if rows & part}
            guess = max(parts, key=lambda label: (_dimension(search, parts[label]), -label))
            guesses.append(guess)
            for label, part in parts.items():
                if conservative and label == guess:
                    continue
                if part not in number:
                    number[part] = len(order)
                    order.append(part)
                after[x, label] = number[part]
        if len(order) > states:
            expected = f"at most {states} version spaces"
            advice = "raise states" if conservative else "raise states, or take conservative=True"
            raise InputError("states", expected, f"more after {len(prediction)} of them were listed", advice)
        _require_size(len(order), len(columns), labels)
        prediction.append(guesses)
        following.append(after)
    guessed = np.array(prediction, np.int32).reshape(len(order), len(columns))
    return Automaton(guessed, np.stack(following), np.array(dimension, np.int32))


def _require_size(states: int, elements: int, labels: int) -> None:
    entries = states * elements * labels
    if entries > LARGEST:
        expected = f"at most 2^28 = {LARGEST} entries (state, element, label) in the table of next states"
        actual = f"{states} states, {elements} elements and labels 0..{labels - 1}: {entries / 2**28:.3g} GiB"
        raise InputError("labels", expected, actual, "number the labels from 0 without gaps, or take a smaller class")


def _dimension(search: Search, rows: int) -> int:
    depth = 0
    while search.at_least(rows, depth + 1):
        depth += 1
    return depth
