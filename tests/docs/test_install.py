"""docs/guide/install.md: what it says of extras and versions is what pyproject.toml says."""

import re
import shlex
import tomllib

import pytest

from dpjax import __version__, cli


@pytest.fixture(scope="module")
def page(root):
    return (root / "docs/guide/install.md").read_text()


@pytest.fixture(scope="module")
def project(root):
    return tomllib.loads((root / "pyproject.toml").read_text())["project"]


def test_every_extra_is_named_once(page, project):
    named = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert sorted(named) == sorted(project["optional-dependencies"])
    used = {name for words in re.findall(r"\[([\w,]+)\]\"", page) for name in words.split(",")}
    assert used <= set(named) and len(used) > 1


def test_versions_are_those_of_the_project(page, project):
    (jax,) = (one for one in project["dependencies"] if one.startswith("jax>"))
    assert f'pip install "jax[cuda13]{jax.removeprefix("jax")}"' in page
    assert f"Python {project['requires-python'].removeprefix('>=')} or newer" in page


def test_make_knows_the_targets(page, root):
    targets = re.findall(r"^(\S+):", (root / "Makefile").read_text().replace("$(VENV)", ".venv"), re.MULTILINE)
    asked = re.findall(r"(?:`|^)make ([\w./-]+)", page, re.MULTILINE)
    assert len(asked) > 5 and set(asked) <= set(targets)


def test_the_commands_that_check_it_run(page, capsys):
    commands = re.findall(r"^dpjax (.*)$", "".join(page.split("```")[1::2]), re.MULTILINE)
    assert len(commands) == 2
    printed = []
    for words in commands:
        assert cli.main(shlex.split(words)) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == f"dpjax {__version__}\n" and "consistent with the claim" in printed[1]
