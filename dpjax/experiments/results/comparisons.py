"""Further statistics from the stored trials of a result: paired differences, and n* at other alphas."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.experiments.statistics.bands import simultaneous_band
from dpjax.experiments.statistics.paired_difference import difference
from dpjax.experiments.store import error_bins

Row = Mapping[str, Any]
AXES = ("learner", "epsilon", "n")
"""Points that differ only in one of these share their trials; see `setting.Setting.trials_of`."""
_WHERE = ("learner", "k", "epsilon", "delta", "alpha", "beta", "n")


def pairs(points: Sequence[Row], between: str) -> list[tuple[Row, Row]]:
    """The pairs of points that differ in ``between`` alone, in the order of the points."""
    checks.choice("between", between, AXES)
    others = [name for name in _WHERE if name != between]
    groups: dict[tuple, list[Row]] = {}
    for row in points:
        groups.setdefault(tuple(row[name] for name in others), []).append(row)
    return [pair for group in groups.values() for pair in combinations(group, 2)]


def differences(
    points: Sequence[Row], outcomes: Mapping[str, NDArray[np.uint8]], between: str, confidence: float = 0.95
) -> Iterator[dict[str, Any]]:
    """The success rate of the second point minus that of the first, for each of `pairs`.

    outcomes: the bytes of each point's trials by the name of its cell. confidence: that all intervals are right at
    once; each has 1 less its part of the error. ratio: of the interval's width to that of unpaired trials.
    """
    checks.probability("confidence", confidence)
    if not (row_pairs := pairs(points, between)):
        advice = "measure both at the same sizes: give n=[...], or more points around n*"
        raise InputError("between", f"points that differ in {between} alone", "none", advice)
    each = 1 - (1 - confidence) / len(row_pairs)
    for first, second in row_pairs:
        good = [error_bins.successes(outcomes[row["cell"]][: row["trials"]], row["alpha"]) for row in (first, second)]
        trials = min(map(len, good))
        first_good, second_good = (part[:trials] for part in good)
        alone = int((second_good & ~first_good).sum()), int((first_good & ~second_good).sum())
        gap = difference(*alone, int((first_good & second_good).sum()), trials, each)
        yield {
            **{name: first[name] for name in _WHERE if name != between},
            "first": first[between],
            "second": second[between],
            "trials": trials,
            "second_only": alone[0],
            "first_only": alone[1],
            "difference": gap.estimate,
            "lower": gap.lower,
            "upper": gap.upper,
            "confidence": confidence,
            "ratio": gap.ratio,
        }


def brackets_at(
    points: Sequence[Row], outcomes: Mapping[str, NDArray[np.uint8]], alphas: Sequence[float], confidence: float = 0.95
) -> Iterator[dict[str, Any]]:
    """For each curve and each alpha: between which of its n success, an error of at most alpha, exceeds 1 - beta.

    With probability ``confidence`` for each curve, all its alphas together: success is below 1 - beta at n_low, and at
    all smaller n of the curve, and above it at n_high. None where the curve does not show it. Learners were planned for
    their own alpha. Errors are known to within a bin of the grid, see `error_bins`: an alpha between two edges counts
    as the smaller one, which is ``at_most``.
    """
    checks.probability("confidence", confidence)
    alphas = [checks.probability("alpha", alpha) for alpha in alphas]
    if not alphas:
        raise InputError("alphas", "at least one", "none", "give some, such as [0.05, 0.1]")
    curves: dict[tuple, list[Row]] = {}
    for row in points:
        curves.setdefault(tuple(row[name] for name in _WHERE if name != "n"), []).append(row)
    for rows in curves.values():
        rows = sorted(rows, key=lambda row: row["n"])
        for alpha in alphas:
            yield _bracket(rows, outcomes, alpha, 1 - (1 - confidence) / len(alphas)) | {"confidence": confidence}


def _bracket(rows: list[Row], outcomes: Mapping[str, Any], alpha: float, confidence: float) -> dict[str, Any]:
    goal, planned = 1 - rows[0]["beta"], rows[0]["alpha"]
    good = [error_bins.successes(outcomes[row["cell"]][: row["trials"]], planned, alpha) for row in rows]
    lower, upper = simultaneous_band(
        [int(successes.sum()) for successes in good], [len(successes) for successes in good], confidence
    )
    below = int(np.argmin([*(upper < goal), False]))  # of the smallest n
    above = np.flatnonzero(lower > goal)
    return {
        **{name: rows[0][name] for name in _WHERE if name != "n"},
        "planned_alpha": planned,
        "alpha": alpha,
        "at_most": error_bins.told_apart(planned, alpha),
        "n_low": rows[below - 1]["n"] if below else None,
        "n_high": rows[above[0]]["n"] if len(above) else None,
    }
