"""The report of a study."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import tomli_w

from dpjax.core.commands import command
from dpjax.core.html import Markup, block, code, details, element, together
from dpjax.plots.records import read
from dpjax.reports import figures, measurements, words
from dpjax.reports.page import Section, notice, origin, page

_UNTITLED = "Success probability and sample complexity"
_ENDS: dict[str, Any] = {"n_low": None, "n_high": None}
_LONGEST = 4000  # characters of a configuration that is shown at once


def study_page(data: Mapping[str, Any], source: str = "result.json") -> str:
    """A study's result as one HTML file, also of a run that is not finished.

    data: as in `Result.data`. source: the folder or the file of the result, for the commands that rerun its trials.
    Equal results give equal text. InputError for rows that no study writes.
    """
    data = _checked(data)
    versions = words.table_of(data, "versions")
    facts = [f"dpjax {versions.get('dpjax', '')}".strip(), f"seed {data['seed']}", measurements.goal(data)]
    about = together([fact for fact in facts if fact], ", ")
    failures = list(measurements.of_failures(data)) if data.get("failures") else []
    advice = [
        Section("question", "What was asked", list(_question(data))),
        Section("failures", "Failures", failures),
        Section("figures", "Figures", list(figures.of_study(data)) if data["points"] or data["n_star"] else []),
        Section("n-star", "n*", list(measurements.of_n_star(data))),
        Section("exponents", "Exponents of k", list(measurements.of_exponents(data))),
        Section("curves", "Success curves", list(measurements.of_curves(data))),
        Section("trials", "Reproduce a trial", list(measurements.of_trials(data, source))),
        Section("origin", "Versions and device", [origin(versions, _others(data))]),
        Section("configuration", "Configuration", list(_configuration(data))),
    ]
    return page(str(data.get("title") or _UNTITLED), about, _notices(data), advice)


def _checked(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data with rows that can be shown, each with all fields that are used."""
    read(data)  # InputError
    points = [row for row in data["points"] if row["trials"]]
    return {**data, "points": points, "n_star": [_ENDS | row for row in data["n_star"]]}


def _notices(data: Mapping[str, Any]) -> Iterator[Markup]:
    if not data["points"] and not data["n_star"]:
        yield notice("Nothing is measured yet.")
    if left := data.get("left"):
        names = measurements.missing(data)
        which = f": {'; '.join(names)}" if names else ""
        yield notice(f"This result is partial. Curves that are not measured yet: {left}{which}.")
    if failures := data.get("failures"):
        yield notice(f"Points that failed: {len(failures)}. Their tracebacks are below.", bad=True)


def _question(data: Mapping[str, Any]) -> Iterator[Markup]:
    yield from (element("p", sentence) for sentence in words.question(data))
    if pairs := words.settings(data):
        shown = [element("div", element("dt", name, dir="auto"), element("dd", code(text))) for name, text in pairs]
        yield element("dl", *shown)


def _others(data: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [
        ("made by", data.get("made_by")),
        ("device", data.get("device")),
        ("seed", data["seed"]),
        ("root of all keys", f"jax.random.key({data['seed']})"),
    ]


def as_toml(config: Mapping[str, Any]) -> str | None:
    """A configuration as the text of a file, from which `dpjax curve` runs it again.

    Entries of the outermost table that are None are left out; None if there are others, which TOML cannot say.
    """
    try:
        return tomli_w.dumps({name: value for name, value in config.items() if value is not None})
    except TypeError:
        return None


def _configuration(data: Mapping[str, Any]) -> Iterator[Markup]:
    config = data.get("config")
    text = as_toml(config) if isinstance(config, Mapping) else None
    if text is not None and {"task", "learners"} <= words.table_of(data, "config").keys():
        yield element(
            "p",
            "Saved as a file, ",
            code("study.toml"),
            ", it runs again by ",
            code(command("curve", "study.toml", "--out", "results", config=config)),
            ".",
        )
    else:
        text = json.dumps(config, indent=1, ensure_ascii=False)
    shown = block(text, "Configuration")
    yield shown if len(text) <= _LONGEST else details("The whole configuration", shown, paper="printed")
