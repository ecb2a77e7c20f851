"""A population of (database, path) rows, which an interpreter of a program's jaxpr pushes through it; all in NumPy."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Value:
    """A value of a program: one for each row of the population, leading with it, or the same for all."""

    x: np.ndarray
    each: bool

    def take(self, rows: np.ndarray) -> "Value":
        """Of these rows."""
        return Value(self.x[rows], True) if self.each else self

    def rows(self, count: int) -> np.ndarray:
        """``[count, ...]``, one for each row."""
        return self.x if self.each else np.broadcast_to(self.x[None], (count, *self.x.shape))


def taken(values: Sequence[Value], rows: np.ndarray) -> list[Value]:
    """All values, of these rows."""
    return [value.take(rows) for value in values]


@dataclass(frozen=True)
class Population:
    """Rows of a piece of a program.

    at: ``int64[n]``, the row that each comes from in the population that entered the piece.
    log_p: ``float64[n]``, log-probability of its path since then.
    history: ``int64[n]``, which keys its path has used: a number of `histories.Histories`.
    lanes: ``bool[n, ...]`` or None: inside a loop under vmap, the lanes that have not ended.
    """

    at: np.ndarray
    log_p: np.ndarray
    history: np.ndarray
    lanes: np.ndarray | None = None

    @staticmethod
    def of(history: np.ndarray, lanes: np.ndarray | None = None) -> "Population":
        """As it enters a piece."""
        return Population(np.arange(len(history)), np.zeros(len(history)), history, lanes)

    def __len__(self) -> int:
        return len(self.at)

    def take(self, rows: np.ndarray) -> "Population":
        """These rows."""
        lanes = None if self.lanes is None else self.lanes[rows]
        return Population(self.at[rows], self.log_p[rows], self.history[rows], lanes)

    def entering(self) -> "Population":
        """The same rows as they enter another piece."""
        return Population.of(self.history, self.lanes)

    def behind(self, fresh: "Population") -> "Population":
        """``fresh`` has left the piece that this one entered."""
        found = self.take(fresh.at)
        return replace(found, log_p=found.log_p + fresh.log_p, history=fresh.history)

    @staticmethod
    def joined(parts: Sequence["Population"]) -> "Population":
        """One behind the other."""
        lanes = None if parts[0].lanes is None else np.concatenate([part.lanes for part in parts])
        at, log_p, history = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("at", "log_p", "history")
        )
        return Population(at, log_p, history, lanes)


def joined(parts: Sequence[tuple[list[Value], Population]]) -> tuple[list[Value], Population]:
    """Values and rows of several populations as those of one."""
    if len(parts) == 1:
        return parts[0]
    rows = [[value.rows(len(pop)) for value in values] for values, pop in parts]
    columns = [Value(np.concatenate(column), True) for column in zip(*rows, strict=True)]
    return columns, Population.joined([pop for _, pop in parts])


def merged(live: Sequence[Value], pop: Population) -> tuple[np.ndarray | None, Population]:
    """Rows of one origin whose live values and keys are equal to the last bit become one.

    Returns: the rows that stay (None: all of them), and their population.
    """
    if len(pop) < 2:
        return None, pop
    parts: list[Any] = [pop.at, pop.history, *(value.x for value in live if value.each)]
    columns = [np.ascontiguousarray(part.reshape(len(pop), -1)).view(np.uint8) for part in parts if part.size]
    raw = np.ascontiguousarray(np.concatenate(columns, axis=1))
    _, first, slot = np.unique(raw.view(f"V{raw.shape[1]}").ravel(), return_index=True, return_inverse=True)
    if len(first) == len(pop):
        return None, pop
    total = np.full(len(first), -np.inf)
    np.logaddexp.at(total, slot, pop.log_p)
    return first, replace(pop.take(first), log_p=total)
