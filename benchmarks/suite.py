"""All rows, and running them."""

import importlib.util
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks import (
    audits,
    codes,
    conjunctions,
    devices,
    halfplanes,
    learner,
    memory,
    noise,
    parity,
    selection,
    unions,
    vc1,
)
from benchmarks.row import Row
from dpjax.core import checks
from dpjax.core.checks import InputError

_PARTS = (selection, noise, learner, vc1, parity, conjunctions, halfplanes, unions, audits, codes, devices, memory)
ROWS: dict[str, Row] = {row.name: row for part in _PARTS for row in part.ROWS}


def run(
    names: Iterable[str] | None = None, quick: bool = False, done: Callable[[dict[str, Any]], None] = lambda row: None
) -> list[dict[str, Any]]:
    """Measures rows, all by default, one after the other.

    Args:
      names: of `ROWS`.
      quick: a few repetitions of each.
      done: called with each row as soon as it is measured.

    Returns: {name, value, peer, peer_value, ratio, goal, unit, passed, note, processor} of each row; larger ratios are
      better and ``passed`` says whether the goal is met (None without a goal). InputError for an unknown name, or where
      a peer is not installed, before anything runs.
    """
    asked = list(ROWS if names is None else (checks.choice("row", name, ROWS) for name in names))
    missing = {package for name in asked for package in ROWS[name].needs if importlib.util.find_spec(package) is None}
    if missing:
        others = [name for name in ROWS if not missing.intersection(ROWS[name].needs)]
        raise InputError(
            "benchmarks",
            f"{', '.join(sorted(missing))} to compare with",
            "not installed",
            f"pip install 'dpjax[bench]', or name only rows that do without: {' '.join(others)}",
        )
    rows = []
    for name in asked:
        rows.append(ROWS[name].run(0.2 if quick else 3.0))
        done(rows[-1])
    return rows
