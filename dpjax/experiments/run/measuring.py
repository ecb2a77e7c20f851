"""The measurements of one item: the search of a curve, or the trials of a point."""

from dataclasses import replace
from typing import Any

from dpjax.experiments.run.cells import Cells
from dpjax.experiments.run.items import Item
from dpjax.experiments.run.n_star import bracket, end_of
from dpjax.experiments.statistics.sequential_search import Bracket
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.sweep import Curve, Sweep

STRIDE = 4
"""Grid points of the first step from where a search begins."""


def find(curve: Curve, study: Sweep, cells: Cells) -> Bracket:
    """The bracket of n* (with gamma > 0: of n within gamma), from trials that are used for nothing else. Success means
    that all k concepts are good."""
    assert study.search is not None
    options = study.search
    return bracket(
        curve.setting,
        cells,
        options.grid(),
        start=curve.expected(),
        trials=options.most_trials,
        error=1 - options.confidence,
        gamma=options.gamma,
        stride=STRIDE,
    )


def setting_of(item: Item) -> Setting:
    """The point of an item with an n."""
    assert item.n is not None
    return replace(item.curve.setting, n=item.n)


def compute(item: Item, cells: Cells) -> dict[str, Any]:
    """Computes and stores what is missing of an item. Returns a record: the names of its cells, and its bracket."""
    if item.n is None:
        star = find(item.curve, item.study, cells)
        names = {str(visit.n): cells.cell(end_of(item.curve.setting, visit.n)) for visit in star.visits}
        return {"cells": names, "n_low": star.n_low, "n_high": star.n_high, "trials": star.trials_total}
    setting = setting_of(item)
    outcomes = cells.outcomes(setting, item.study.trials)
    return {"cells": {str(item.n): cells.cell(setting)}, "trials": len(outcomes)}
