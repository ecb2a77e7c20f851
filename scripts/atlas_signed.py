"""Learners that look only at the difference of the numbers of labels 1 and 0 at each point: a smaller program.

Run: python scripts/atlas_signed.py --store FOLDER --rows N --epsilon 0.5 "000 001 010 101" [--seconds 600]

A row of label 1 and one of label 0 at the same point cancel, so that many databases have one law. Databases that some
target draws keep laws of their own, and two of them are as many replaced rows apart as before. The learner that is
found is one of all databases: its table is compared and its success bounded as any other's. Certificates of the smaller
program would be about such learners alone, so none is stored.
"""

import argparse
import math
import time
from collections.abc import Sequence
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from atlas_data import ALPHA, BETA

from dpjax.advice.atlas import GAP, ROUNDS
from dpjax.advice.collection import GRID, Collection
from dpjax.attacks.optimum import Databases, Goal, goal_of
from dpjax.attacks.optimum.best import closed_cases
from dpjax.attacks.optimum.first_order import FirstOrder
from dpjax.attacks.optimum.stencil import Stencil
from dpjax.attacks.optimum.symmetry import symmetries
from dpjax.attacks.optimum.tiny import matrix_of_code
from dpjax.attacks.optimum.worst import worst_of_all


class Signed(Databases):
    """The differences of labels 1 and 0 at each point that databases of n rows have, in lexicographic order."""

    @cached_property
    def states(self) -> np.ndarray:
        """``int64[size, points]``."""
        every = np.array(list(product(range(-self.rows, self.rows + 1), repeat=self.cells // 2)), np.int64)
        rows = np.abs(every).sum(axis=1)
        return every[(rows <= self.rows) & ((self.rows - rows) % 2 == 0)]

    @property
    def size(self) -> int:
        """The number of states."""
        return len(self.states)

    @cached_property
    def counts(self) -> np.ndarray:
        """``int64[size, cells]``: a database of each state; rows that cancel are at the first point."""
        labels = np.maximum(np.stack([-self.states, self.states], axis=2), 0)
        labels[:, 0] += ((self.rows - np.abs(self.states).sum(axis=1)) // 2)[:, None]
        return labels.reshape(len(labels), -1)

    def index(self, counts: np.ndarray) -> np.ndarray:
        """The state of each database."""
        return self._places[self._digits(counts[..., 1::2] - counts[..., ::2])]

    def permuted(self, cells: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
        """The state of each database after each row of cell i becomes one of cell ``cells[i]``."""
        counts = self.counts if counts is None else counts
        moved = np.empty_like(counts)
        moved[:, cells] = counts
        return self.index(moved)

    @cached_property
    def without_a_row(self) -> "Signed":
        """The states of one row less."""
        return Signed(self.rows - 1, self.cells, self.neighboring)

    @cached_property
    def _places(self) -> np.ndarray:
        places = np.full((2 * self.rows + 1) ** (self.cells // 2), -1, np.int64)
        places[self._digits(self.states)] = np.arange(self.size)
        return places

    def _digits(self, states: np.ndarray) -> np.ndarray:
        return (states + self.rows) @ (2 * self.rows + 1) ** np.arange(self.cells // 2 - 1, -1, -1)


class SignedStencil(Stencil):
    """Families of states: a state of n rows has a family for each kind of row that some database of it has."""

    @cached_property
    def collect(self) -> np.ndarray:
        """As in `Stencil`."""
        kinds, orbits, databases = self.databases.kinds, self.of_families, self.databases
        counts = databases.counts[self.of_databases.kept]
        signed = counts[:, 1::2] - counts[:, ::2]
        cancels = np.abs(signed).sum(axis=1) < databases.rows
        cells = np.array([symmetry.cells for symmetry in self.group])
        places = np.full((kinds, self.hypotheses, len(counts)), kinds * self.hypotheses * len(orbits.kept))
        for kind in range(kinds):
            some = np.flatnonzero(cancels | (signed[:, kind // 2] * (2 * (kind % 2) - 1) > 0))
            family = databases.without_a_row.index(counts[some] - np.eye(kinds, dtype=np.int64)[kind])
            by = orbits.by[family]
            row = cells[by, kind][:, None] * self.hypotheses + self.moved[by]
            places[kind][:, some] = (row * len(orbits.kept) + orbits.of[family][:, None]).T
        return places


def signed_learner(
    goal: Goal, n: int, epsilon: float, seconds: float, distributions: Sequence[Any] = (), level: float = 1 - BETA
) -> tuple[np.ndarray, float, list[tuple[int, ...]]]:
    """(The table of the best learner that was found, over all databases; its success over all distributions; those that
    were tested beyond the grid.)"""
    group, databases, states = symmetries(goal), Databases(n, goal.cells), Signed(n, goal.cells)
    stencil = SignedStencil(states, group, goal.sizes[0])
    solver = FirstOrder(states, goal, group, math.exp(epsilon), seconds=seconds, stencil=stencil)
    state, until = states.index(databases.counts), time.monotonic() + seconds
    further = [goal.case(target, masses) for target in goal.each_target for masses in distributions]
    cases = closed_cases(goal, [*goal.on_grid(GRID), *further], group)
    best, success, rough = np.zeros(0), -1.0, 1.0
    for _ in range(ROUNDS + 1):
        point = solver.solve(cases, max(GAP / 2, rough / 8))
        table = point.table(states, epsilon, 0.0)[state]
        searches = worst_of_all(table, goal, databases, group, GAP / 4)
        least = min(one.least for _, one in searches)
        print(f"n = {n}: {least:.4f} everywhere, {point.lower:.4f} over {len(cases)} cases", flush=True)
        if least > success:
            best, success = table, least
        new = [goal.case(target, one.masses) for target, one in searches if one.value < point.lower - GAP / 8]
        wider = closed_cases(goal, [*cases, *new], group)
        known = len(wider) == len(cases)
        if success >= level or time.monotonic() > until or (known and not rough):
            break
        cases, rough = wider, 0.0 if known else max(point.lower - least, 0.0)
    return best, success, sorted({case.elements for case in cases if sum(case.elements) > GRID})


def known_distributions(store: Collection, concepts: str, n: int, epsilon: float) -> Sequence[Any]:
    """Those of the stored program of the class that is the closest."""
    near = [one for one in store.programs() if one.concepts == concepts and one.distributions and one.epsilon]
    near.sort(key=lambda one: (abs((one.epsilon or 0) - epsilon), abs(one.n - n)))
    return near[0].distributions if near else ()


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """Of a command that works on one program of a store."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("concepts", help="a class by its concepts, such as '00 01 10'")
    parser.add_argument("--store", type=Path, required=True, help="folder of solved programs and their proofs")
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--seconds", type=float, default=600.0)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    given = parser_of(__doc__).parse_args(arguments)
    store, level = Collection(given.store), round(1 - BETA, 12)
    goal = goal_of(matrix_of_code(given.concepts), ALPHA)
    known = known_distributions(store, given.concepts, given.rows, given.epsilon)
    table, success, _ = signed_learner(goal, given.rows, given.epsilon, given.seconds, known)
    lower = math.floor(success * 1e6) / 1e6
    if lower >= level:
        print(store.add_table(given.concepts, given.rows, given.epsilon, ALPHA, level, lower, table))


if __name__ == "__main__":
    main()
