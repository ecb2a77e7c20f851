"""The (database, path) rows that an interpreter of jaxprs evaluates a program for; all in NumPy."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Value:
    """A value in a program: one per row of the population, on the leading axis, or the same for all rows."""

    x: np.ndarray
    each: bool

    def take(self, rows: np.ndarray) -> "Value":
        """The value for these rows."""
        return Value(self.x[rows], True) if self.each else self

    def rows(self, count: int) -> np.ndarray:
        """``[count, ...]``, one entry per row."""
        return self.x if self.each else np.broadcast_to(self.x[None], (count, *self.x.shape))


def taken(values: Sequence[Value], rows: np.ndarray) -> list[Value]:
    """All values for these rows."""
    return [value.take(rows) for value in values]


@dataclass(frozen=True)
class Population:
    """Rows of a piece of a program.

    at: ``int64[n]``, the index of the origin of each row in the population that entered the piece.
    log_p: ``float64[n]``, log-probability of its path since then.
    history: ``int64[n]``, the keys that its path has used, an index of `histories.Histories`.
    lanes: ``bool[n, ...]`` or None: inside a loop under vmap, the lanes that are still active.
    """

    at: np.ndarray
    log_p: np.ndarray
    history: np.ndarray
    lanes: np.ndarray | None = None

    @staticmethod
    def of(history: np.ndarray, lanes: np.ndarray | None = None) -> "Population":
        """The population at the start of a piece."""
        return Population(np.arange(len(history)), np.zeros(len(history)), history, lanes)

    def __len__(self) -> int:
        return len(self.at)

    def take(self, rows: np.ndarray) -> "Population":
        """The population restricted to these rows."""
        lanes = None if self.lanes is None else self.lanes[rows]
        return Population(self.at[rows], self.log_p[rows], self.history[rows], lanes)

    def entering(self) -> "Population":
        """The same rows at the start of another piece."""
        return Population.of(self.history, self.lanes)

    def behind(self, fresh: "Population") -> "Population":
        """The rows of ``fresh``, at the end of a piece, relative to the population that entered this one."""
        rows = self.take(fresh.at)
        return replace(rows, log_p=rows.log_p + fresh.log_p, history=fresh.history)

    @staticmethod
    def joined(parts: Sequence["Population"]) -> "Population":
        """The concatenation of populations."""
        lanes = None if parts[0].lanes is None else np.concatenate([part.lanes for part in parts])
        at, log_p, history = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("at", "log_p", "history")
        )
        return Population(at, log_p, history, lanes)


def joined(parts: Sequence[tuple[list[Value], Population]]) -> tuple[list[Value], Population]:
    """The concatenation of values and rows of several populations."""
    if len(parts) == 1:
        return parts[0]
    rows = [[value.rows(len(pop)) for value in values] for values, pop in parts]
    columns = [Value(np.concatenate(column), True) for column in zip(*rows, strict=True)]
    return columns, Population.joined([pop for _, pop in parts])


def merged(live: Sequence[Value], pop: Population) -> tuple[np.ndarray | None, Population]:
    """Merges rows of one origin whose live values and keys are bitwise equal.

    Returns: indices of the remaining rows (None: all of them), and their population.
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
