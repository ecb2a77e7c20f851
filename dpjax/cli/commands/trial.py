"""`dpjax trial`: one trial of a study again, with all its values."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from dpjax.cli.arguments.studies import TrialCommand
from dpjax.cli.output import Answer
from dpjax.cli.output import console as screen
from dpjax.cli.study_of import read, script_of, study_of
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.screen import Table
from dpjax.experiments.results.columns import LINE
from dpjax.experiments.results.result import Result
from dpjax.experiments.run.reproduce import Reproduced, reproduce
from dpjax.experiments.store import error_bins
from dpjax.experiments.store.capacity import capacity
from dpjax.experiments.store.cell_file import outcomes_of
from dpjax.experiments.store.store import Store
from dpjax.experiments.study import toml
from dpjax.experiments.study.study import Study
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.sweep import Curve, Search
from dpjax.plots.files import FORMATS
from dpjax.reports.words import table_of

_BEGINS = "where its search begins, since no bracket with an n_high is here"
_IN_FIGURE = "; a figure stores no brackets: give an n that it shows by --n"
_LISTED = ("k", "epsilon", "n")


def run(command: TrialCommand) -> Answer:
    """Reruns a trial of a curve from its key; the answer holds its data, hypothesis and errors."""
    checks.integer("trial", command.trial, 0, 2**32 - 1)
    if command.config is None:
        raise InputError("config", "a figure, a result or a TOML file", "none", "name the study of the trial")
    data = read(command.config)
    alone = not (command.learners or command.k or command.epsilon or command.n)
    if "settings" in data:
        listed = _of_points(data["settings"]) if alone else []
        first = replace(command, learners=(listed[0]["learner"],)) if listed else command
        return _with_list(listed, script_of(data), *_answer(*_point(first, data), command.trial))
    study = study_of(replace(command, n=()))
    listed = _of_lines(study) if alone else []
    if listed:
        line, (n, why) = study.curves[0], _first_size(study, command.config)
        answer = _answer(line.name, replace(line.setting, n=n), study.seed, command.trial)
        return _with_list(listed, "", *_compared(study, command.config, *answer), f", n = {n}: {why}")
    if len(command.n) != 1:
        raise InputError("n", "one sample size", " ".join(map(str, command.n)) or "none", "give --n 512")
    choice = {"learners": command.learners, "k": command.k, "epsilon": command.epsilon}
    if len(lines := study.curves) != 1:
        known = "; ".join(map(str, lines))
        missing = ", ".join(f"--{name}" for name, values in choice.items() if len(values) != 1)
        raise InputError("line", "one curve of the study", f"{len(lines)}: {known}", f"choose by {missing}")
    answer = _answer(lines[0].name, replace(lines[0].setting, n=command.n[0]), study.seed, command.trial)
    return _compared(study, command.config, *answer)


def _compared(study: Study, path: Path, answer: dict[str, Any], show: Callable[[], None]) -> Answer:
    """The answer with how the trial ended in the store, or why it is none of the study."""
    kept = _stored(path, answer)
    if not kept and (beyond := study.beyond(answer["n"], answer["trial"])):
        kept = {"note": beyond}

    def shown() -> None:
        show()
        for name, text in kept.items():
            screen().print(f"{name}: {text}")

    return answer | kept, shown


def _of_points(settings: Any) -> list[dict[str, Any]]:
    """The named points of a figure; InputError if there is none."""
    named = settings if isinstance(settings, Mapping) else {}
    if not named:
        raise InputError("config", "a figure of named points", "one without points", "give another figure")
    return [{"learner": name, **{key: table_of(named, name).get(key) for key in _LISTED}} for name in named]


def _of_lines(study: Study) -> list[dict[str, Any]]:
    sizes = "searched" if study.n == "search" else ", ".join(map(str, study.n))
    names = ("learner", "k", "epsilon")
    return [{name: line.labels()[name] for name in names} | {"n": sizes} for line in study.curves]


def _first_size(study: Study, path: Path) -> tuple[int, str]:
    """A sample size of the first line, and why this one: of a search n_high if a result has it, else the smallest."""
    if study.n != "search":
        return study.n[0], "the first of the study"
    labels = study.curves[0].labels()
    with suppress(InputError):
        for row in Result.load(path).data["n_star"]:
            if labels.items() <= row.items() and row["n_high"] is not None:
                return row["n_high"], "n_high of its bracket"
    return (study.search or Search()).n_min, _BEGINS + _IN_FIGURE * (path.suffix[1:] in FORMATS)


def _with_list(
    listed: list[dict[str, Any]], script: str, answer: dict[str, Any], show: Callable[[], None], size: str = ""
) -> Answer:
    """The answer with the list of what could be chosen, if nothing was; the trial is of the first.

    size: the sample size of the trial and the reason for it, if the study has several.
    """
    if not listed:
        return answer, show

    def shown() -> None:
        rows = Table(title=f"{len(listed)} to choose from by --learners, --k, --epsilon and --n")
        for name in listed[0]:
            rows.add_column(name, justify="left" if name == "learner" else "right")
        for choice in listed:
            rows.add_row(*("" if value is None else str(value) for value in choice.values()))
        screen().print(rows)
        if script:
            screen().print(f"the figure again, in a checkout of dpjax: python {script}")
        screen().print(f"a trial of the first{size}")
        show()

    return answer | {"listed": listed}, shown


def _stored(path: Path, answer: dict[str, Any]) -> dict[str, str]:
    """How the trial ended in the store beside a result; a note if the result has no such point or trial."""
    try:
        result = Result.load(path)
    except InputError:
        return {}
    labels = (*(column.name for column in LINE), "n")
    points = [row for row in result.data["points"] if all(row[name] == answer[name] for name in labels)]
    if not points or answer["trial"] >= points[0]["trials"]:
        return {"note": "the result has no such trial; this one is new"}
    try:
        with Store(path if path.is_dir() else path.parent, read_only=True) as store:
            byte = outcomes_of(store.cell(points[0].get("cell", "")).rows)[answer["trial"]]
    except (InputError, IndexError):
        return {"note": "the trials of the result are not stored here"}
    same = error_bins.successes(byte, answer["alpha"]) == answer["success"]
    return {"stored": "the same outcome" if same else "ANOTHER outcome: floats were rounded differently"}


def _point(command: TrialCommand, data: dict[str, Any]) -> tuple[str, Setting, int]:
    """The named point of a figure; --n may move it along its axis."""
    if len(command.learners) != 1:
        known = "".join(f"\n    {name!r}" for name in data["settings"])
        words = " ".join(command.learners) or "none"
        raise InputError("learners", "one name", words, f"choose by --learners one of{known}")
    (name,) = command.learners
    checks.instance("settings", data["settings"], dict, "give the figure as it was drawn", "points by name")
    seed = checks.integer("seed", data.get("seed"), 0, 2**32 - 1)
    setting = toml.setting_of(data["settings"][checks.choice("learners", name, data["settings"])], command.imports)
    flags = {"k": command.k, "epsilon": command.epsilon}
    if used := [key for key, value in flags.items() if value]:
        raise InputError(used[0], "none, since the point has its own", str(flags[used[0]]), "leave it out")
    if len(command.n) > 1:
        raise InputError("n", "one sample size", " ".join(map(str, command.n)), "give --n 512, or leave it out")
    return name, replace(setting, n=command.n[0]) if command.n else setting, seed


def _answer(name: str, setting: Setting, seed: int, trial: int) -> Answer:
    capacity(setting.n)
    rerun = reproduce(setting, seed, trial)
    answer = {**Curve(name, setting, setting.n).labels(), "n": setting.n, "seed": seed, "trial": trial, **_data(rerun)}
    return answer, lambda: _show(answer, rerun)


def _data(found: Reproduced) -> dict[str, Any]:
    key, y = np.asarray(jax.random.key_data(found.key)).tolist(), found.y.astype(int).tolist()
    data = {"key": key, "x": found.x, "y": y, "targets": found.targets, "hypotheses": found.hypotheses}
    return data | {"errors": found.errors, "success": found.success, "no_answer": found.silent}


def _show(answer: dict[str, Any], found: Reproduced) -> None:
    named = f"{answer['learner']}, k = {answer['k']}, epsilon = {answer['epsilon']:g}"
    named += f", n = {answer['n']}, trial {answer['trial']}, seed {answer['seed']}"
    screen().print(f"{named}\n{found}", markup=False, highlight=False, soft_wrap=True)
