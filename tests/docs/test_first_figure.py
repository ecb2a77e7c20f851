"""The figure of README and of the landing page is what `make demo` draws, and the command prints few lines."""

import json
import re

import pytest

from dpjax.cli.commands import curve
from dpjax.experiments.run.rows import exponents, theory
from dpjax.experiments.study import toml
from dpjax.experiments.study.study import study_of
from dpjax.plots import read_metadata

SHOWN = re.compile(r"!\[[^]]*\]\(([^)]*/figures/[^)]*)\)")


@pytest.fixture(scope="module")
def study(root):
    path = re.search(r"^demo:.*\n.* curve (\S+) ", (root / "Makefile").read_text(), re.MULTILINE)[1]
    return study_of(toml.read_toml(root / path), ())


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_first_figure_is_that_of_the_demo(page, root, study):
    """Its metadata has the study that `make demo` runs, with the seed of its trials."""
    path = (root / page).parent / SHOWN.search((root / page).read_text())[1]
    drawn = read_metadata(path)
    assert drawn["config"] == json.loads(json.dumps(study.to_dict())) and drawn["seed"] == study.seed


def test_the_demo_is_beyond_where_the_square_root_begins(study):
    """From k of about 2 ln(1 / delta) = 28 on composition has its square root."""
    assert min(study.k) >= 28 and study.search.gamma == 0


def test_the_demo_prints_fifteen_lines_of_eighty_columns(study, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    stars = [
        line.labels()
        | theory(line)
        | {
            "n_low": line.setting.k,
            "n_high": line.setting.k + 9,
            "guarantee_delta": 1e-6,
            "confidence": 0.95,
            "trials": 1000,
            "ended": "trials spent",
        }
        for line in study.curves
    ]
    answer = {
        "n_star": stars,
        "n_within": [],
        "points": [],
        "exponents": exponents(stars),
        "exponents_all_k": [],
        "failures": [],
        "computed": {"trials": 6000, "programs": 3, "compiled": 3},
        "elsewhere": False,
        "figures": ["out/demo/curve.png"],
    }
    curve._show(answer, study)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 15 and len(set(lines)) == len(lines) and max(map(len, lines)) <= 80, lines
    zcdp = next(line for line in lines if line.startswith("zCDP composition: n* like k^"))
    assert "; theorem k^0.51, k^0.5 up to logs" in zcdp and any(
        line.startswith("+: all trials spent") for line in lines
    )


@pytest.mark.parametrize("name", ["demo", "exponents"])
def test_curves_fit_eighty_columns(name, root, capsys, monkeypatch):
    """A line for each bracket, however the learners are called: their names may take several lines."""
    monkeypatch.setenv("COLUMNS", "80")
    study = study_of(toml.read_toml(root / f"configs/{name}.toml"), ())
    stars = [
        line.labels()
        | {
            "n_low": 100_000,
            "n_high": None,
            "guarantee_delta": 1e-6,
            "trials": 10_000,
            "theorem": 76_938,
            "below": 958,
            "below_by": "packing",
            "ended": "end of the grid",
        }
        for line in study.curves
    ]
    curve._show_searches({"n_star": stars, "n_within": []}, study, study.search, curve.screen())
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80 and "all trials spent" not in "".join(lines)
    assert sum(" (100000, >" in line for line in lines) == len(study.curves)
