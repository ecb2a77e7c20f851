"""Builds the study from a command's file and flags."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.experiments.config.builder import LEARNERS, imported, public_names
from dpjax.experiments.results.result import Result
from dpjax.experiments.store.file_schemas import read_study
from dpjax.experiments.store.store import PATIENCE
from dpjax.experiments.study import study as studies
from dpjax.experiments.study import toml
from dpjax.experiments.study.study import Study
from dpjax.learners.base import Learner
from dpjax.plots import read_metadata

_TABLES = {
    "task": ("concepts", "distribution", "noise"),
    "sweep": tuple(toml.SweepTable.model_fields),
    "search": tuple(toml.SearchTable.model_fields),
}
_FIGURES = (".png", ".svg", ".pdf")


def study_of(command: Any) -> Study:
    """The study of a file, if given, with the values of given flags replaced."""
    for module in command.imports:
        if not module.endswith(".py"):  # whoever uses it says so
            imported(module)
    flags = vars(command)
    patience = PATIENCE if flags.get("shard") else 0.0
    data = {} if command.config is None else read(command.config, patience)
    for table, names in _TABLES.items():
        if given := {name: value for name in names if (value := flags.get(name)) not in (None, ())}:
            checks.instance(table, data.get(table, {}), Mapping, f"write [{table}]", "a table")
            data[table] = {**data.get(table, {}), **given}
    if command.n:
        data.pop("search", None)
        unused = [name for name in ("points", *_TABLES["search"]) if flags.get(name) is not None]
        if unused:
            raise InputError(unused[0], "none beside n", str(flags[unused[0]]), "leave it out, or leave out n")
    if command.concepts is not None:
        data["task"] = {key: value for key, value in data["task"].items() if key not in ("use", "arguments", "targets")}
    if command.learners:
        data["learners"] = _learners(command.learners, data.get("learners", {}))
    data |= {name: value for name in ("seed", "title") if (value := flags.get(name)) is not None}
    if not data.get("task") or not data.get("learners"):
        actual = "a file without them" if command.config else "neither a file nor flags"
        advice = 'give a TOML file such as configs/demo.toml, or --concepts "Thresholds(2**20)" --learners KLN'
        raise InputError("study", "a task and learners", actual, advice)
    return studies.study_of(data, command.imports)


def read(path: Path, patience: float = 0.0) -> dict[str, Any]:
    """The configuration in a TOML file, a figure, a result, or a folder with one; patience: see `read_study`."""
    if path.suffix == ".toml":
        return toml.read_toml(path)
    if path.suffix in _FIGURES:
        config = read_metadata(path).get("config")
        if not isinstance(config, Mapping) or not {"task", "settings"} & config.keys():
            script = script_of(config)
            origin = f"{path}, drawn by {script or 'something else'}"
            advice = f"draw it again, in a checkout of dpjax: python {script}" if script else "give another figure"
            raise InputError("config", "a figure of a study or of named points", origin, advice)
        return dict(config)
    new = path.is_dir() and not os.path.lexists(path / "result.json")
    if new and (prepared := read_study(path, patience)) is not None:
        return prepared
    if path.suffix == ".json" or path.is_dir():
        return dict(Result.load(path).data["config"])
    kinds = f"a file whose name ends in .toml, .json, {', '.join(_FIGURES)}, or a folder of results"
    raise InputError("config", kinds, repr(str(path)), "rename it, or check the name")


def script_of(config: Any) -> str:
    """The script that drew a figure, in a checkout of dpjax; empty if none did."""
    name = config.get("script") if isinstance(config, Mapping) else None
    return f"scripts/{name}.py" if isinstance(name, str) and name.isidentifier() else ""


def _learners(words: tuple[str, ...], known: Any) -> dict[str, Any]:
    """Learners of the file by name; others as name=Learner(...), or Learner(...), whose text is the name."""
    named = known if isinstance(known, Mapping) else {str(spec): spec for spec in known}
    learners: dict[str, Any] = {}
    public = public_names(LEARNERS).items()
    known_learners = [name for name, kind in public if isinstance(kind, type) and issubclass(kind, Learner)]
    for word in words:
        head, equals, spec = word.partition("=")
        if word in named:
            name, value = word, named[word]
        elif equals and head.replace(" ", "").replace(",", "").replace("-", "").isalnum():
            name, value = head.strip(), spec.strip()
        else:
            if ":" not in word:
                checks.choice("learners", word.partition("(")[0], [*named, *known_learners])
            name, value = word, word
        if name in learners:
            raise InputError("learners", "each name once", repr(name), "remove what is there twice")
        learners[name] = value
    return learners
