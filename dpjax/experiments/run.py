"""Runs a study: n*, the success curve and the theorem's number for every learner, k and epsilon."""

import json
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.files import StoreError, replace_file
from dpjax.experiments import errors
from dpjax.experiments.bands import fit_exponent, simultaneous_band
from dpjax.experiments.cells import Cells, Executor
from dpjax.experiments.engine import Engine
from dpjax.experiments.n_star import bracket, end_of
from dpjax.experiments.progress import Progress
from dpjax.experiments.results import Result
from dpjax.experiments.search import NStar
from dpjax.experiments.store import Store, versions
from dpjax.experiments.study import Line, Search, Study

LEVELS = (0.5, 0.9, 0.95)
"""Quantile levels of the error that a result reports per point."""
Step = Callable[[str, int, int], None]


def run(
    study: Study, out: str | Path, *, engine: Executor | None = None, progress: Any = None, quiet: bool = False
) -> Result:  # fmt: skip
    """Measures everything that is not yet stored in ``out``.

    Writes result.json with what is known of the same study, then study.json, and result.json again after every line. A
    result of another study, or of code that has changed since, is kept as result.earlier.json.

    engine: what computes tiles, by default all local devices. progress: with ``step`` and ``trials``, see `Progress`;
    quiet: none.

    A point that raises is recorded with its traceback among the result's failures, and the others go on; the next run
    tries it again. Trials whose errors are no numbers are stored as they are, and their point fails again. Raises
    InputError where the folder cannot be used.
    """
    checks.instance("out", out, (str, Path), "give the folder of the results", "a path")
    out = Path(out)
    with ExitStack() as stack:
        store = stack.enter_context(Store(out))
        machine = stack.enter_context(Engine()) if engine is None else engine
        seen = stack.enter_context(Progress(False if quiet else None)) if progress is None else progress
        config = study.to_dict()
        cells = Cells(store, machine, study.seed, seen.trials)
        found = _known(out)
        known = _valid(found, config, study, cells)
        if _curves(found) - _curves(known):
            (out / "result.json").replace(out / EARLIER)
            if progress is None and not quiet:
                seen.say(f"{out} held curves of another study, or of other code, versions or devices: now in {EARLIER}")
        keep = lambda part: save(_joined(part, known, study.fit_from), out)  # noqa: E731
        keep(_about(study, cells) | _EMPTY | {"left": len(study.lines)})
        replace_file(out / "study.json", json.dumps(config, indent=1, allow_nan=False).encode())
        result = Result(measure(study, cells, seen.step, keep), out)
        save(result.data, out)
    return result


EARLIER = "result.earlier.json"
_ROWS = ("points", "n_star", "failures")
_EMPTY: dict[str, Any] = {"points": [], "n_star": [], "exponents": [], "exponents_all_k": [], "failures": []}


def _known(out: Path) -> dict[str, Any]:
    """What an earlier run wrote; empty if there is none."""
    try:
        return Result.load(out).data
    except InputError:
        return {}


def _valid(found: dict[str, Any], config: dict[str, Any], study: Study, cells: Cells) -> dict[str, Any]:
    """The rows of the same study's curves that have no failure and that the present code would measure the same."""
    kept = {name: list[dict[str, Any]]() for name in _ROWS}
    if found.get("config") != json.loads(json.dumps(config)):
        return kept
    for line in study.lines:
        with suppress(Exception):  # a row that is not complete, or code that raises
            own = {name: [row for row in found[name] if _place(row) == _place(line.labels())] for name in _ROWS}
            if not own["failures"] and all(_is_present(name, row, line, cells) for name in own for row in own[name]):
                for name in _ROWS:
                    kept[name] += own[name]
    return kept


def _curves(data: dict[str, Any]) -> set[tuple[Any, ...]]:
    """The curves of which a result has rows and no failure."""
    failed = {_place(row) for row in data.get("failures", ())}
    return {_place(row) for name in ("points", "n_star") for row in data.get(name, ())} - failed


def _is_present(name: str, row: dict[str, Any], line: Line, cells: Cells) -> bool:
    """Whether all trials of a row are those of the present code, and so are the theorem's numbers."""
    if name == "points":
        return row["cell"] == cells.cell(replace(line.setting, n=row["n"]))
    same = row | _theory(line) == row
    return same and all(cell == cells.cell(end_of(line.setting, int(n))) for n, cell in row["cells"].items())


def _joined(part: dict[str, Any], known: dict[str, Any], fit_from: int) -> dict[str, Any]:
    """The rows of this run so far, and for curves that it has not come to those of an earlier run."""
    own = {_place(row) for name in _ROWS for row in part[name]}
    earlier = {name: [row for row in known[name] if _place(row) not in own] for name in _ROWS}
    rows = {name: part[name] + earlier[name] for name in _ROWS}
    seen = {_place(row) for name in _ROWS for row in earlier[name]}
    return part | rows | _fits(rows["n_star"], fit_from) | {"left": max(0, part["left"] - len(seen))}


def _place(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row.get("learner"), row.get("k"), row.get("epsilon")


def _fits(stars: list[dict[str, Any]], fit_from: int) -> dict[str, list[dict[str, Any]]]:
    return {"exponents": exponents(stars, fit_from), "exponents_all_k": exponents(stars)}


def save(data: dict[str, Any], out: Path) -> None:
    """Writes result.json."""
    replace_file(out / "result.json", json.dumps(data, indent=1, allow_nan=False).encode())


def measure(
    study: Study, cells: Cells, step: Step = lambda text, done, total: None,
    keep: Callable[[dict[str, Any]], None] = lambda part: None,
) -> dict[str, Any]:  # fmt: skip
    """The result as JSON-ready data. keep: called with the result so far after every line.

    points: success at each n, with the simultaneous band of its curve, quantiles of the error, and the name of the
    cell that holds its trials. n_star: brackets, with the cells of all n that the search visited.
    exponents, exponents_all_k: see `exponents`. failures: what raised. left: lines not measured yet.
    """
    points: list[dict[str, Any]] = []
    stars: list[dict[str, Any]] = []
    failures: list[dict[str, Any]] = []
    about = _about(study, cells)
    data: dict[str, Any] = {}
    for done, line in enumerate(study.lines):
        star = None
        if study.search is not None:
            step(f"{line}: searching n*", done, len(study.lines))
            star = _tried(line, None, failures, partial(find, line, study, cells))
            row = None if star is None else _tried(line, None, failures, partial(_star_row, line, star, cells))
            stars += [] if row is None else [row]
        if star is not None or study.n != "search":
            step(f"{line}: curve", done, len(study.lines))
            middle = None if star is None else star.n_high or star.n_low
            points += _point_rows(line, study, study.sizes(middle), cells, failures)
        data = about | {
            "points": points, "n_star": stars, "failures": failures, **_fits(stars, study.fit_from),
            "left": len(study.lines) - done - 1,
        }  # fmt: skip
        keep(data)
    step("done", len(study.lines), len(study.lines))
    return data


def _about(study: Study, cells: Cells) -> dict[str, Any]:
    return {"title": study.title, "config": study.to_dict(), "seed": study.seed, "versions": versions(),
            "device": cells.engine.device_kind}  # fmt: skip


def find(line: Line, study: Study, cells: Cells) -> NStar:
    """The bracket of n*, from trials that are used for nothing else. Success means that all k concepts are good."""
    assert study.search is not None
    asked = study.search
    return bracket(line.setting, cells, asked.grid(), gamma=asked.gamma, error=1 - asked.confidence)


def exponents(stars: list[dict[str, Any]], fit_from: int = 1) -> list[dict[str, Any]]:
    """Fitted exponents of k in n* over k >= fit_from, one for each learner and epsilon with two or more brackets.

    slope in [low, high]: least squares through the brackets, see `bands.Exponent`. theorem: the same fit of the
    theorem's numbers at the same k, which has all its logarithms; claimed: the theorem's exponent without them.
    """
    rows = []
    for name, epsilon in dict.fromkeys((row["learner"], row["epsilon"]) for row in stars):
        own = [row for row in stars if (row["learner"], row["epsilon"]) == (name, epsilon) and row["k"] >= fit_from]
        own = [row for row in own if row["n_low"] is not None and row["n_high"] is not None]
        if len(own) < 2:
            continue
        k, low, high, theorem = (np.array([row[f] for row in own], float) for f in ("k", "n_low", "n_high", "theorem"))
        fit = fit_exponent(k, low, high, error=1 - own[0]["confidence"])
        rows.append({
            "learner": name, "epsilon": epsilon, "k_from": int(k.min()), "k_to": int(k.max()),
            "slope": fit.slope, "low": fit.low, "high": fit.high, "confidence": fit.confidence,
            "theorem": None if np.isnan(theorem).any() else fit_exponent(k, theorem, theorem).slope,
            "claimed": own[-1]["exponent_of_k"],
        })  # fmt: skip
    return rows


def _tried(line: Line, n: int | None, failures: list[dict[str, Any]], work: Callable[[], Any]) -> Any:
    """The value of ``work``; None, with a recorded failure, if it raises."""
    try:
        return work()
    except StoreError:
        raise
    except Exception as error:
        failures.append({
            **line.labels(), "n": n, "error": f"{type(error).__name__}: {error}",
            "traceback": "".join(traceback.format_exception(error)),
        })  # fmt: skip
        return None


def _star_row(line: Line, star: NStar, cells: Cells) -> dict[str, Any]:
    return {
        **line.labels(), "n_low": star.n_low, "n_high": star.n_high, **_theory(line), "confidence": star.confidence,
        "gamma": star.gamma, "trials": star.trials_total,
        "cells": {str(visit.n): cells.cell(end_of(line.setting, visit.n)) for visit in star.visits},
    }  # fmt: skip


def _theory(line: Line) -> dict[str, Any]:
    """The theorem's n, and the lower bound for all learners that are as private: ``below``, by ``below_by``."""
    below = line.below()
    return {
        "theorem": line.theorem(), "exponent_of_k": getattr(line.setting.learner, "exponent_of_k", None),
        "below": None if below is None else below.n, "below_by": None if below is None else below.name,
    }  # fmt: skip


def _point_rows(
    line: Line, study: Study, sizes: tuple[int, ...], cells: Cells, failures: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:  # fmt: skip
    counted = []
    for n in sizes:
        setting = replace(line.setting, n=n)
        found = _tried(line, n, failures, partial(cells.outcomes, setting, study.trials))
        counted += [] if found is None else [(n, found, cells.cell(setting))]
    if not counted:
        return
    alpha, confidence = line.setting.alpha, (study.search or Search()).confidence
    successes = np.array([errors.successes(found, alpha).sum() for _, found, _ in counted])
    trials = np.array([len(found) for _, found, _ in counted])
    lower, upper = simultaneous_band(successes, trials, confidence)
    for i, (n, found, cell) in enumerate(counted):
        yield {
            **line.labels(), "n": n, "trials": int(trials[i]), "successes": int(successes[i]),
            "no_answers": int(errors.silent(found).sum()), "lower": float(lower[i]), "upper": float(upper[i]),
            "errors": dict(zip(map(str, LEVELS), errors.quantiles(found, alpha, LEVELS), strict=True)), "cell": cell,
        }  # fmt: skip
