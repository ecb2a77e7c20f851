"""The files that `dpjax new` writes work: every test in them passes, and every command that is printed."""

import importlib
import inspect
import os
import subprocess
import sys

import pytest

from dpjax import cli
from dpjax.testing import identity

KINDS = {"learner": "learner", "class": "concept_class", "mechanism": "mechanism"}
LONG = {  # tests/testing has both in short
    "test_its_learner_passes_every_check",
    "test_a_learner_that_claims_too_little_is_found",
}
ONE = [{part: part for part in identity.PARTS}]


def cases():
    for kind, stem in KINDS.items():
        module = importlib.import_module(f"dpjax.templates.test_{stem}")
        for name, test in inspect.getmembers(module, inspect.isfunction):
            if name.startswith("test_"):
                yield pytest.param(test, id=f"{kind}-{name}", marks=pytest.mark.slow if name in LONG else ())


@pytest.mark.parametrize("test", [*cases()])
def test_the_tests_of_a_template_pass(test, monkeypatch):
    """But for fresh processes, which tests/testing has."""
    monkeypatch.setattr(identity, "in_fresh_processes", lambda sent: [ONE, ONE])
    test()


def test_each_template_has_its_test(root):
    files = {path.stem for path in (root / "dpjax" / "templates").glob("*.py")} - {"__init__"}
    assert files == {*KINDS.values(), *(f"test_{stem}" for stem in KINDS.values())}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_commands_that_new_prints_work_as_printed(kind, tmp_path, root):
    """In an empty folder, by the shell."""
    (tmp_path / "bin").mkdir()
    for name, words in (("dpjax", " -m dpjax.cli"), ("python", "")):  # whatever else is on the path
        script = tmp_path / "bin" / name
        script.write_text(f'#!/bin/sh\nexec {sys.executable}{words} "$@"\n')
        script.chmod(0o755)
    path = os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])
    env = os.environ | {"PATH": path, "PYTHONPATH": str(root)}
    (tmp_path / "work").mkdir()

    def run(line):
        done = subprocess.run(line, shell=True, cwd=tmp_path / "work", env=env, capture_output=True, text=True)
        assert done.returncode == 0, f"{line}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    printed = run(f"dpjax new {kind} own")
    steps = [line.strip() for line in printed.split("next:\n")[1].splitlines()]
    assert len(steps) >= 4 and any(step.startswith("python -m pytest ") for step in steps)
    for step in steps:
        run(step)
    if kind != "mechanism":
        assert (tmp_path / "work" / "results" / "curve.png").exists()


def test_written_files_are_the_templates_under_another_name(tmp_path, monkeypatch, root):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["new", "class", "spans"]) == 0
    written = (tmp_path / "spans.py").read_text()
    assert written == (root / "dpjax" / "templates" / "concept_class.py").read_text()
    test = (tmp_path / "test_spans.py").read_text()
    assert "from spans import Intervals" in test and "dpjax.templates" not in written + test
