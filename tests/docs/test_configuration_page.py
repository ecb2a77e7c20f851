"""The page of configurations: every key and default is the code's, and a value is accepted if its range has it."""

import math
import re
import tomllib

import configuration
import pytest

from dpjax.cli.arguments.tables import LearnCommand
from dpjax.cli.parsing import parse
from dpjax.core.checks import InputError
from dpjax.experiments.study import toml
from dpjax.experiments.study.study import Study, load, study_of
from dpjax.experiments.study.toml import Range
from dpjax.experiments.sweep.sweep import Search

SMALL = {"task": {"concepts": "Points(16)"}, "learners": {"ERM": "ERM"}}
WIDE = SMALL | {"search": {"n_min": 1, "n_max": 2**20}}
PLACES = {"[task]": "task", "[sweep]": "sweep", "[search]": "search", "The file": None}
RANGES = [
    (heading, name, part)
    for heading, model in configuration.TABLES.items()
    for name, field in model.model_fields.items()
    for part in field.metadata
    if isinstance(part, Range)
]


@pytest.fixture(scope="module")
def page():
    (text,) = configuration.pages().values()
    return text


def study(heading, name, value):
    place = PLACES[heading]
    if place is None:
        return study_of(SMALL | {name: value})
    return study_of(WIDE | {place: {**WIDE.get(place, {}), name: value}})


def test_every_key_has_a_meaning(page):
    tables = dict(re.findall(r"^## (.*)\n\n.*\n\n((?:\|.*\n)+)", page, re.MULTILINE))
    for heading, model in configuration.TABLES.items():
        listed = re.findall(r"^\| `(\w+)` \| .*[.)] \|$", tables[heading.replace("[", r"\[").replace("]", r"\]")], re.M)
        assert listed == list(model.model_fields), heading
    assert "| `purpose` | text | required |" in page and configuration.pages() == {"reference/configuration.md": page}


def test_every_number_has_a_range():
    numbers = {(heading, name) for heading, name, _ in RANGES}
    for heading, model in configuration.TABLES.items():
        for key, kind, *_ in configuration.rows(model):
            assert ("number" in kind) == ((heading, key.strip("`")) in numbers), key


@pytest.mark.parametrize(("heading", "name", "span"), RANGES, ids=lambda part: str(part))
def test_ranges(heading, name, span):
    kinds = {key.strip("`"): kind for key, kind, *_ in configuration.rows(configuration.TABLES[heading])}
    step = 1 if "whole" in kinds[name] else span.low / 2 or 1e-9
    if name == "gamma":  # below 1 - beta, which its meaning says
        span = Range(0, 0.9, "[)")
    low, high = span.low, min(span.high, 1e9) if not isinstance(span.high, int) else span.high
    inside = low if span.ends[0] == "[" else low + step, high if span.ends[1] == "]" else high - step
    outside = low - step if span.ends[0] == "[" else low, span.high + step if span.ends[1] == "]" else span.high
    for value in inside:
        study(heading, name, value)
    for value in outside:
        with pytest.raises(InputError):
            study(heading, name, value)


def test_defaults(page):
    plain = study_of(SMALL)
    shown = {key.strip("`"): default.strip('`"') for key, _, default, *_ in configuration.rows(toml.SweepTable)}
    assert plain.k == (int(shown["k"]),) and plain.epsilon == (float(shown["epsilon"]),)
    for name in ("delta", "n", "trials", "points", "fit_from"):
        assert str(getattr(plain, name)) == shown[name]
    assert (shown["alpha"], shown["beta"]) == (str(plain.accuracy.alpha), str(plain.accuracy.beta))
    found = {key.strip("`"): default.strip("`") for key, _, default, *_ in configuration.rows(toml.SearchTable)}
    assert found == {name: str(value) for name, value in vars(Search()).items()}
    assert plain.search == Search() and plain.seed == Study.seed


def test_examples_are_files_that_run(page, root):
    for name, text in re.findall(r"```toml\n# configs/([\w.-]+)\n(.*?)```", page, re.DOTALL):
        assert (root / "configs" / name).read_text() == text and tomllib.loads(text)
    assert len(load(root / "configs/demo.toml").curves) == 16
    assert isinstance(parse(["learn", "a.csv", str(root / "configs/breast-cancer.toml")]), LearnCommand)


def test_a_range_as_text():
    spans = Range(0, 2**32 - 1), Range(1, 2**16), Range(0, 1, "()"), Range(0, math.inf, "[)")
    assert [*map(str, spans)] == ["[0, 2**32 - 1]", "[1, 2**16]", "(0, 1)", "[0, inf)"]
