"""Trials of one study, computed on two kinds of devices: which outcomes are identical.

A trial has the same key on every device. Random bits and integers are the same everywhere; exp, log and sums of floats
may differ in the last bit, and then a choice between two candidates that are nearly tied may, too.
"""

from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpjax.core import intervals
from dpjax.core.checks import InputError
from dpjax.core.schemas import check
from dpjax.experiments.results.result import Result
from dpjax.experiments.store import error_bins
from dpjax.experiments.store.canonical import canonical
from dpjax.experiments.store.cell_file import Cell, outcomes_of
from dpjax.experiments.store.file_schemas import PointCell
from dpjax.experiments.store.store import Store
from dpjax.experiments.sweep.setting import APART

WHERE = ("device", "versions", "program", "block", "tile")
"""The parts of a configuration that say where and how a point was computed, not which point it is."""
_FALSE_ALARM = 0.05


@dataclass(frozen=True)
class Pair:
    """One point in both stores.

    Args:
      learner: the study's names for it; its class if neither store has a result.json that can be read and names the
        cell. epsilon: None in this case, and if lines of several epsilons share the cell.
      k, n, alpha, purpose: of the point.
      cells: names of both cells. devices: of both. same_program: whether both traced the same operations.
      trials: that both hold. differ: those with another outcome. near: of these, errors in neighboring bins and the
        same hypotheses abstaining. flipped: of these, a success in one only.
      successes: in each.
      integers: whether all other columns are equal.
    """

    learner: str
    epsilon: float | None
    k: int
    n: int
    alpha: float
    purpose: str
    cells: tuple[str, str]
    devices: tuple[str, str]
    same_program: bool
    trials: int
    differ: int
    near: int
    flipped: int
    successes: tuple[int, int]
    integers: bool


@dataclass(frozen=True)
class Comparison:
    """All points that two stores share. alone: cells of each without a counterpart."""

    pairs: tuple[Pair, ...]
    alone: tuple[int, int]

    @property
    def trials(self) -> int:
        """Compared trials."""
        return sum(pair.trials for pair in self.pairs)

    @property
    def differ(self) -> int:
        """Trials with different outcomes."""
        return sum(pair.differ for pair in self.pairs)

    @property
    def near(self) -> int:
        """Of these, near ones; see `Pair`."""
        return sum(pair.near for pair in self.pairs)

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return self.differ == 0 and all(pair.integers for pair in self.pairs)

    @property
    def at_most(self) -> float | None:
        """The largest upper end, over the points with a number of trials fixed in advance, of simultaneous 95%
        intervals for the probability that a trial differs; None without such a point.

        Trials of two points share keys, so points are not pooled.
        """
        fixed = [pair for pair in self.pairs if pair.purpose not in APART]
        if not fixed:
            return None
        counts = ([pair.differ for pair in fixed], [pair.trials for pair in fixed])
        return float(intervals.clopper_pearson(*counts, 1 - _FALSE_ALARM / len(fixed))[1].max())


def compare_stores(first: Path | str, second: Path | str) -> Comparison:
    """Compares the trials that two stores share, reading only.

    If a store holds a point several times, computed by different devices or versions, all combinations that differ in
    them are compared. InputError if no point is in both.
    """
    sides = [_points(root) for root in (first, second)]
    shared = sorted(sides[0].keys() & sides[1].keys())
    if not shared:
        advice = "run the same configuration with the same seed into both"
        raise InputError("stores", "two results of one study", f"{first} and {second}, which share no point", advice)
    labels = _labels(second) | _labels(first)
    pairs = [_pair(*two, labels) for name in shared for two in _combinations(sides[0][name], sides[1][name])]
    first_alone, second_alone = (sum(len(side[name]) for name in side if name not in shared) for side in sides)
    pairs.sort(key=lambda pair: (pair.learner, pair.epsilon or 0, pair.k, pair.n, pair.purpose, pair.cells))
    return Comparison(tuple(pairs), (first_alone, second_alone))


def _points(root: Path | str) -> dict[str, list[Cell]]:
    groups = defaultdict(list)
    with Store(root, read_only=True) as store:
        for cell in store.iter_cells():
            outcomes_of(cell.rows)
            check(PointCell, f"cell {cell.hash[:12]}", cell.config, "compare stores of studies")
            point = {key: value for key, value in cell.config.items() if key not in WHERE}
            groups[canonical(point)].append(cell)
    return groups


def _labels(root: Path | str) -> dict[str, tuple[str, float | None]]:
    """The names that a store's result gives its cells: learners and epsilon by the cell's hash.

    They only decorate the comparison, so a result that cannot be read is no reason to refuse it.
    """
    names: dict[str, list[tuple[str, float]]] = defaultdict(list)
    with suppress(InputError):
        data = Result.load(root).data
        for row in data["points"]:
            names[row.get("cell", "")].append((str(row["learner"]), float(row["epsilon"])))
        for row in (*data["n_star"], *data["n_within"]):
            for cell in row.get("cells", {}).values():
                names[cell].append((str(row["learner"]), float(row["epsilon"])))
    return {cell: _joined(lines) for cell, lines in names.items()}


def _joined(lines: list[tuple[str, float]]) -> tuple[str, float | None]:
    learners, epsilons = (list(dict.fromkeys(part)) for part in zip(*lines, strict=True))
    return ", ".join(learners), epsilons[0] if len(epsilons) == 1 else None


def _combinations(first: list[Cell], second: list[Cell]) -> list[tuple[Cell, Cell]]:
    every = [(left, right) for left in first for right in second]
    return [(left, right) for left, right in every if left.hash != right.hash] or every


def _pair(one: Cell, other: Cell, labels: Mapping[str, tuple[str, float | None]]) -> Pair:
    config: dict[str, Any] = one.config
    learner, epsilon = (
        labels.get(one.hash) or labels.get(other.hash) or (config["learner"]["class"].rpartition(".")[2], None)
    )
    trials = min(len(one.rows["outcome"]), len(other.rows["outcome"]))
    a, b = (cell.rows["outcome"][:trials] for cell in (one, other))
    alpha = config["alpha"]
    good = [error_bins.successes(side, alpha) for side in (a, b)]
    differ = a != b
    steps = np.abs(error_bins.bins(a) - error_bins.bins(b))
    near = differ & (error_bins.silent(a) == error_bins.silent(b)) & (steps == 1)
    names = one.rows.keys() | other.rows.keys()
    integers = one.rows.keys() == other.rows.keys() and all(
        np.array_equal(one.rows[name][:trials], other.rows[name][:trials]) for name in names - {"outcome"}
    )
    point = learner, epsilon, config["k"], config["n"], alpha, config["trials"]["purpose"]
    devices, programs = ([side.config[name] for side in (one, other)] for name in ("device", "program"))
    where = (one.hash, other.hash), (devices[0], devices[1]), programs[0] == programs[1]
    counts = int(differ.sum()), int(near.sum()), int((good[0] != good[1]).sum())
    return Pair(*point, *where, trials, *counts, (int(good[0].sum()), int(good[1].sum())), integers)
