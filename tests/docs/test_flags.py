"""Flags that pages name exist."""

import re

import pytest

from dpjax import cli
from dpjax.cli.arguments import COMMANDS
from tests.conftest import ROOT

DOCS = ROOT / "docs"


def test_flags_exist(capsys):
    """Every flag that a page of the guide or of Explain names, in the help of some command."""
    pages = [*(DOCS / "guide").glob("*.md"), *(DOCS / "explain").rglob("*.md")]
    used = {(page.name, flag) for page in pages for flag in re.findall(r"(?<=[ `(])--[a-z][a-z-]+", page.read_text())}
    known = set()
    for command in COMMANDS:
        with pytest.raises(SystemExit) as ended:
            cli.main([command, "--help"])
        known |= set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out))
        assert ended.value.code == 0
    others = {"--gres", "--cpus-per-task", "--gpus", "--xla", "--version"}  # of Slurm, of XLA, of dpjax itself
    others |= set(re.findall(r'"(--[a-z]+)"', (ROOT / "scripts" / "check_release.py").read_text()))
    others |= set(re.findall(r'"(--[a-z]+)"', (ROOT / "benchmarks" / "__main__.py").read_text()))
    assert len(used) > 50 and not [one for one in used if one[1] not in known | others]
