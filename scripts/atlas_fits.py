"""Sums of parameters fitted to n*, judged on classes that the fit has not seen."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from atlas_data import ends
from atlas_laws import PARAMETERS, choices, informative

HEAD = ("parameters", "fit", "error on a class left out", "in the bracket", "below", "above")


def fits(small: Sequence[dict[str, Any]], large: Sequence[dict[str, Any]], epsilon: float) -> list[list[str]]:
    """The best sum of none, one and two parameters for n* of small classes, by least squares: rows under `HEAD`.

    The error is the root of the mean square over small classes of what a fit to all others says of it, and the best sum
    is that whose error is least for the middles of the brackets; a range is over `choices` of n*. The last line selects
    the parameters again for each class left out. The last columns count large classes by where the fit to the middles
    is: in the bracket of n*, below what is proved, or above a learner that is known.
    """
    some, wide = (
        [one for one in informative(records) if ends(one, epsilon)[1] is not None] for records in (small, large)
    )
    wanted, brackets = choices(some, epsilon), np.array([ends(one, epsilon) for one in wide])
    middles, rows = wanted[2], []
    for count in range(3):
        names = min(combinations(PARAMETERS, count), key=lambda names: left_out(_of(some, names), middles))
        table = _of(some, names)
        weights = np.linalg.lstsq(table, middles, rcond=None)[0]
        said = np.round(_of(wide, names) @ weights)
        below, above = int(np.sum(said < brackets[:, 0])), int(np.sum(said > brackets[:, 1]))
        terms = [f"{weight:+.2f} {name}" for weight, name in zip(weights[1:], names, strict=True)]
        errors = [left_out(table, choice) for choice in wanted]
        counts = [f"{len(wide) - below - above} of {len(wide)}", str(below), str(above)]
        rows.append(
            [" and ".join(names) or "a constant", " ".join([f"{weights[0]:.2f}", *terms]), _range(errors), *counts]
        )
    nested = [_selected(some, choice) for choice in wanted[:3]]
    return [*rows, ["at most two, selected again", "-", _range(nested), "-", "-", "-"]]


def left_out(table: np.ndarray, values: np.ndarray) -> float:
    """Root of the mean square of what a fit to all other rows misses; infinite if another row does not fix it."""
    leverage = np.einsum("ij,ji->i", table, np.linalg.pinv(table))
    if leverage.max() > 1 - 1e-9:
        return float("inf")
    residuals = values - table @ np.linalg.lstsq(table, values, rcond=None)[0]
    return float(np.sqrt(np.mean((residuals / (1 - leverage)) ** 2)))


def _selected(some: Sequence[dict[str, Any]], values: np.ndarray) -> float:
    """As `left_out`, with the sum of at most two parameters that is best on the others."""
    sums = [_of(some, names) for count in range(3) for names in combinations(PARAMETERS, count)]
    misses = []
    for i, value in enumerate(values):
        others = np.arange(len(values)) != i
        table = min(sums, key=lambda table: left_out(table[others], values[others]))
        misses.append(value - table[i] @ np.linalg.lstsq(table[others], values[others], rcond=None)[0])
    return float(np.sqrt(np.mean(np.square(misses))))


def _of(some: Sequence[dict[str, Any]], names: Sequence[str]) -> np.ndarray:
    return np.array([[1.0, *(one[name] for name in names)] for one in some])


def _range(values: Sequence[float]) -> str:
    low, high = (f"{end:.2f}" for end in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"
