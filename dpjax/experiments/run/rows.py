"""The rows of a result: brackets of n*, points of curves, fitted exponents, and failures."""

import traceback
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpjax.accounting.guarantee import Guarantee
from dpjax.core import checks
from dpjax.core.files import StoreError
from dpjax.experiments.run.cells import Cells
from dpjax.experiments.run.items import Item, Record
from dpjax.experiments.run.measuring import find, setting_of
from dpjax.experiments.run.n_star import end_of
from dpjax.experiments.statistics.bands import fit_exponent, simultaneous_band
from dpjax.experiments.statistics.sequential_search import Bracket
from dpjax.experiments.store import error_bins
from dpjax.experiments.store.cell_file import BrokenCell
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.sweep import Curve, Search, Sweep

LEVELS = (0.5, 0.9, 0.95)
"""Quantile levels of the error that a result reports per point."""
TABLES = ("points", "n_star", "n_within", "failures")
Rows = dict[str, list[dict[str, Any]]]
Known = Callable[[Item], Record | None]
"""The recorded failure of an item, if that is not to be tried again."""


def rows_of(curve: Curve, study: Sweep, cells: Cells, known: Known = lambda item: None) -> Rows:
    """The rows of one curve, by table. What is not stored yet is computed.

    points: success at each n, with the simultaneous band of its curve, quantiles of the error, and the name of the
    cell that holds its trials. n_star: brackets, with the cells of all n that the search visited; with gamma > 0 these
    are in n_within. All have the delta of the plan's guarantee. failures: what raised.
    """
    failures: list[dict[str, Any]] = []
    stars: list[dict[str, Any]] = []
    points: list[dict[str, Any]] = []
    star = None
    if study.search is not None:
        item = Item(study, curve, None)
        star = _tried(item, known, failures, partial(find, curve, study, cells))
        row = None if star is None else _tried(item, lambda _: None, failures, partial(_star_row, curve, star, cells))
        stars += [] if row is None else [row]
    if star is not None or study.n != "search":
        middle = None if star is None else star.n_high or star.n_low
        points += _point_rows(curve, study, study.sizes(middle), cells, known, failures)
    within = study.search is not None and study.search.gamma > 0
    of_search = {"n_star": [] if within else stars, "n_within": stars if within else []}
    return {"points": points, **of_search, "failures": failures}


def joined(parts: list[Rows]) -> Rows:
    """The rows of several curves, in their order."""
    return {name: [row for part in parts for row in part[name]] for name in TABLES}


def place(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """The curve of a row."""
    return row.get("learner"), row.get("k"), row.get("epsilon")


def fits(stars: list[dict[str, Any]], fit_from: int = 1) -> Rows:
    """The fitted exponents, over k >= fit_from and over all k."""
    return {"exponents": exponents(stars, fit_from), "exponents_all_k": exponents(stars)}


def exponents(stars: list[dict[str, Any]], fit_from: int = 1) -> list[dict[str, Any]]:
    """Fitted exponents of k in n* over k >= fit_from, one for each learner and epsilon with two or more brackets.

    slope in [low, high]: least squares through the brackets, see `bands.Exponent`. theorem: the same fit of the
    theorem's numbers at the same k, which has all its logarithms; claimed: the theorem's exponent without them.
    """
    rows = []
    for name, epsilon in dict.fromkeys((row["learner"], row["epsilon"]) for row in stars):
        group = [row for row in stars if (row["learner"], row["epsilon"]) == (name, epsilon) and row["k"] >= fit_from]
        group = [row for row in group if row["n_low"] is not None and row["n_high"] is not None]
        if len(group) < 2:
            continue
        k, low, high, theorem = (
            np.array([row[f] for row in group], float) for f in ("k", "n_low", "n_high", "theorem")
        )
        fit = fit_exponent(k, low, high, error=1 - group[0]["confidence"])
        proved = None if np.isnan(theorem).any() else fit_exponent(k, theorem, theorem).slope
        row = {"learner": name, "epsilon": epsilon, "k_from": int(k.min()), "k_to": int(k.max()), "slope": fit.slope}
        row |= {"low": fit.low, "high": fit.high, "confidence": fit.confidence}
        rows.append(row | {"theorem": proved, "claimed": group[-1]["exponent_of_k"]})
    return rows


def _tried(item: Item, known: Known, failures: list[dict[str, Any]], work: Callable[[], Any]) -> Any:
    """The value of ``work``; None, with a recorded failure, if it raises or is known to fail."""
    if (failure := known(item)) is not None:
        failures.append(_failure(item, failure["error"], failure["traceback"]))
        return None
    try:
        return work()
    except checks.RAISED as error:
        if isinstance(error, StoreError) and not isinstance(error, BrokenCell):
            raise
        text = "".join(traceback.format_exception(error))
        failures.append(_failure(item, f"{type(error).__name__}: {error}", text))
        return None


def _failure(item: Item, error: str, text: str) -> dict[str, Any]:
    return {**item.curve.labels(), "n": item.n, "error": error, "traceback": text}


def _star_row(curve: Curve, star: Bracket, cells: Cells) -> dict[str, Any]:
    names = ("fails_at", "passes_at", "gamma") if star.gamma else ("n_low", "n_high")
    return {
        **curve.labels(),
        "guarantee_delta": _delta(curve.guarantee()),
        **dict(zip(names, (star.n_low, star.n_high, star.gamma), strict=False)),
        **theory(curve),
        "confidence": star.confidence,
        "trials": star.trials_total,
        "ended": star.ended,
        "cells": {str(visit.n): cells.cell(end_of(curve.setting, visit.n)) for visit in star.visits},
    }


def theory(curve: Curve) -> dict[str, Any]:
    """The theorem's n, and the lower bound for all learners that are as private: ``below``, by ``below_by``."""
    below = curve.below()
    return {
        "theorem": curve.theorem(),
        "exponent_of_k": curve.setting.learner.exponent_of_k,
        "below": None if below is None else below.n,
        "below_by": None if below is None else below.name,
    }


def _delta(guarantee: Guarantee | None) -> float | None:
    """Delta of a guarantee, 0 for pure differential privacy whatever the budget; None without privacy."""
    return None if guarantee is None else float(guarantee.delta)


def _point_rows(
    curve: Curve, study: Sweep, sizes: tuple[int, ...], cells: Cells, known: Known, failures: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    counted = []
    for n in sizes:
        item = Item(study, curve, n)
        setting = setting_of(item)
        measured = _tried(item, known, failures, partial(_measured, setting, study.trials, cells))
        counted += [] if measured is None else [(n, *measured)]
    if not counted:
        return
    alpha, confidence = curve.setting.alpha, (study.search or Search()).confidence
    successes = np.array([error_bins.successes(measured, alpha).sum() for _, measured, _, _ in counted])
    trials = np.array([len(measured) for _, measured, _, _ in counted])
    lower, upper = simultaneous_band(successes, trials, confidence)
    for i, (n, measured, cell, delta) in enumerate(counted):
        yield {
            **curve.labels(),
            "guarantee_delta": delta,
            "n": n,
            "trials": int(trials[i]),
            "successes": int(successes[i]),
            "no_answers": int(error_bins.silent(measured).sum()),
            "lower": float(lower[i]),
            "upper": float(upper[i]),
            "errors": dict(zip(map(str, LEVELS), error_bins.quantiles(measured, alpha, LEVELS), strict=True)),
            "cell": cell,
        }


def _measured(setting: Setting, trials: int, cells: Cells) -> tuple[NDArray[np.uint8], str, float | None]:
    """The outcomes of a point, its cell, and the delta of its guarantee."""
    return cells.outcomes(setting, trials), cells.cell(setting), _delta(cells.guarantee(setting))
