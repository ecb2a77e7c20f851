"""Every exit status of the command line is provoked, and the page has all of them."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from dpjax import cli
from dpjax.cli.exit_status import Status
from dpjax.experiments.run.engine import Engine

STUDY = ("curve", "--concepts", "Points(16)", "--n", "8", "16", "--trials", "8", "--formats")
OWN = """
from dataclasses import dataclass
import dpjax as dp

@dataclass(frozen=True)
class Raises(dp.KLN):
    def _plan(self, privacy, accuracy, n=None):
        raise RuntimeError("no plan")
"""


def done(folder, monkeypatch):
    return [*STUDY, "--learners", "KLN", "--out", str(folder)]


def refuted(folder, monkeypatch):
    return ["audit", "stability", "--calibration", "printed"]


def invalid(folder, monkeypatch):
    return [*STUDY, "--learners", "KLN", "--epsilon", "-1", "--out", str(folder)]


def fault(folder, monkeypatch):
    def no_json(command):
        return {"answer": object()}, lambda: None

    monkeypatch.setattr("dpjax.cli.commands.list.run", no_json)
    return ["list", "--json"]


def failed(folder, monkeypatch):
    (folder / "raising.py").write_text(OWN)
    monkeypatch.syspath_prepend(folder)
    return [*STUDY, "--import", "raising", "--learners", "ok=KLN", "bad=raising:Raises", "--out", str(folder / "out")]


def left(folder, monkeypatch):
    sizes = [str(n) for n in range(8, 24)]
    assert cli.main([*STUDY, "--learners", "KLN", "--out", str(folder), "--prepare", "--n", *sizes]) == Status.DONE
    tiles = Engine.tiles

    def signaled(*arguments):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.1)
        return tiles(*arguments)

    monkeypatch.setattr(Engine, "tiles", signaled)
    return ["curve", str(folder), "--out", str(folder), "--shard", "0/1"]


def interrupted(folder, monkeypatch):
    def stop(command):
        raise KeyboardInterrupt

    monkeypatch.setattr("dpjax.cli.commands.list.run", stop)
    return ["list"]


PROVOKED = {
    Status.DONE: done,
    Status.REFUTED: refuted,
    Status.INVALID: invalid,
    Status.FAULT: fault,
    Status.FAILED: failed,
    Status.LEFT: left,
    Status.INTERRUPTED: interrupted,
}


def test_all_are_provoked():
    assert PROVOKED.keys() == set(Status)


@pytest.mark.parametrize("status", Status)
def test_a_command_ends_with_it(status, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    found = cli.main(PROVOKED[status](tmp_path, monkeypatch))
    assert found == status, capsys.readouterr()


def test_a_process_ends_with_a_plain_number(root):
    words = [sys.executable, "-m", "dpjax.cli", "list", "--unknown"]
    assert subprocess.run(words, cwd=root, capture_output=True).returncode == Status.INVALID


def test_the_page_has_each_of_them():
    import statuses

    (page,) = statuses.pages().values()
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", page, re.MULTILINE)
    assert [(int(number), text) for number, text in rows] == [(one.value, one.meaning) for one in Status]
