"""The short pages of docs/guide: snippets print what the page says, and its commands run, all in one folder."""

import re
import shlex

import pytest

from dpjax import cli
from tests.conftest import ROOT
from tests.docs.test_explain import BLOCK, expected

GUIDE = ROOT / "docs" / "guide"
PAGES = ("n-star", "distributions", "compare", "choose", "figures", "export", "stores", "reproduce")
SHELL = re.compile(r"^```\n((?:dpjax .*\n)+)```", re.MULTILINE)
"""Blocks of commands, without those that need another environment (docs/guide/gpu.md, clusters.md)."""
FILE = re.compile(r"^```toml\n# (\S+\.toml)\n(.*?)^```", re.MULTILINE | re.DOTALL)
"""Configurations that the commands of a page read, by name."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("guide")


def snippets(page, capsys):
    space = {"__name__": "__main__"}
    for number, (code, text) in enumerate(BLOCK.findall((GUIDE / f"{page}.md").read_text())):
        exec(compile(code, f"{page}, snippet {number}", "exec"), space)
        assert capsys.readouterr().out.splitlines() == expected(code, text), (page, number)


def commands(page):
    return [line for block in SHELL.findall((GUIDE / f"{page}.md").read_text()) for line in block.splitlines()]


@pytest.mark.parametrize("page", [*PAGES, "gpu", "compose", "python", "lower-bounds"])
def test_snippets_print_what_the_page_says(page, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    snippets(page, capsys)


@pytest.mark.parametrize("page", PAGES)
def test_commands_run(page, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    lines = commands(page)
    assert lines
    for name, text in FILE.findall((GUIDE / f"{page}.md").read_text()):
        (folder / name).write_text(text)
    for line in lines:
        assert cli.main(shlex.split(line)[1:]) == 0, line
        assert capsys.readouterr().out, line


SHOWN = re.compile(r"^```\n\$ dpjax (.*)\n((?:(?!```|\$).*\n)+)```", re.MULTILINE)
"""A command and what it prints, with ... for what the page leaves out."""
OUTPUTS = SHOWN.findall((GUIDE / "lower-bounds.md").read_text())


@pytest.mark.parametrize(("command", "text"), OUTPUTS, ids=[command.split()[0] for command, _ in OUTPUTS])
def test_a_command_prints_what_the_page_shows(command, text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)  # workers of tests have it
    cli.main(shlex.split(command))
    printed = " ".join(capsys.readouterr().out.split())
    parts = [" ".join(part.split()) for part in re.split(r"\.\.\.|\n", text)]
    assert len(OUTPUTS) >= 3 and any(parts) and not [part for part in parts if part not in printed]


def test_what_commands_made_is_there(folder):
    for name in ("figure.pdf", "talk.png", "compare.html", "compare.parquet", "results/again/result.json"):
        assert (folder / name).stat().st_size > 1000, name
    assert len(list((folder / "results/all/cells").iterdir())) >= 4


def test_the_index_names_every_page():
    text = (GUIDE / "index.md").read_text()
    pages = {path.stem for path in GUIDE.glob("*.md")} - {"index"}
    found = re.findall(r"```\{toctree\}\n(?::\w+:.*\n)*\n(.*?)```", text, re.DOTALL)
    trees = {name for tree in found for name in tree.split()}
    assert trees == pages
    for page in pages:
        assert f"]({page}.md)" in text, page
