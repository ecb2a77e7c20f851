"""The measurement of a device: what it measures, that it can be continued, and its time."""

import contextlib
import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.accelerator import processes
from benchmarks.accelerator.ceiling import Ceiling
from benchmarks.accelerator.command import Command
from benchmarks.accelerator.jobs import NAMES, ROWS, jobs
from benchmarks.accelerator.records import KILLED
from benchmarks.accelerator.tile import COMPARED, Tile
from benchmarks.accelerator.work import work
from benchmarks.roofline.ceilings import CEILINGS


@dataclass(frozen=True)
class Given:
    """A job that is done at once, and fails for 200 rows."""

    learner: str
    rows: int

    def record(self):
        return asdict(self)

    def measured(self, alone):
        if self.rows == 200:
            raise MemoryError("too large")
        with alone():
            return {"trials_per_s": 1.0}


JOBS = [Given(name, rows) for rows in (1024, 200) for name in ("KLN", "ERM")]


def lines(folder):
    return [json.loads(line) for line in (folder / "cpu.jsonl").read_text().splitlines()]


def test_every_learner_is_measured_at_every_size():
    tiles = {job for job in jobs("gpu") if isinstance(job, Tile)}
    usual = {(job.learner, job.rows) for job in tiles if job.k is job.block is None and not job.profile}
    assert usual == {(name, rows) for name in NAMES for rows in ROWS}
    for platform in ("gpu", "cpu"):
        records = [json.dumps(job.record()) for job in jobs(platform)]
        assert len({*records}) == len(records)
        assert {job.ceiling for job in jobs(platform) if isinstance(job, Ceiling)} == {*CEILINGS}


def test_a_failed_job_is_a_line_and_the_next_is_measured(tmp_path):
    work(tmp_path, time.time() + 60, JOBS)
    found = {(one["learner"], one["rows"]): one.get("error") for one in lines(tmp_path)}
    assert found == {(job.learner, job.rows): "MemoryError: too large" if job.rows == 200 else None for job in JOBS}


def test_what_found_too_little_memory_is_measured_again(tmp_path):
    wanting = {**JOBS[0].record(), "error": "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory"}
    (tmp_path / "cpu.jsonl").write_text(json.dumps(wanting) + "\n")
    work(tmp_path, time.time() + 60, JOBS[:2])
    assert [one.get("trials_per_s") for one in lines(tmp_path)] == [None, 1.0, 1.0]


def test_a_folder_is_continued_and_nothing_is_begun_late(tmp_path):
    work(tmp_path, time.time() + 60, JOBS[:2])
    work(tmp_path / "late", time.time() - 1, JOBS)
    assert not (tmp_path / "late" / "cpu.jsonl").exists()
    (tmp_path / "claims").rename(tmp_path / "of an earlier run")
    work(tmp_path, time.time() + 60, JOBS)
    assert [(one["learner"], one["rows"]) for one in lines(tmp_path)] == [(job.learner, job.rows) for job in JOBS]


def test_a_process_that_holds_much_memory_is_begun_anew(tmp_path, monkeypatch):
    begun = []
    monkeypatch.setattr("benchmarks.accelerator.work.jobs", lambda platform: JOBS)
    monkeypatch.setattr("benchmarks.accelerator.work._MOST_HELD", -1)
    monkeypatch.setattr("os.execv", lambda path, words: begun.append([path, *words[1:]]))
    until = time.time() + 60
    work(tmp_path, until)
    assert begun == len(JOBS) * [[sys.executable, "-m", "benchmarks.accelerator.work", str(tmp_path), repr(until)]]


def test_a_tile_of_this_cpu():
    found = Tile("ERM", 200, k=2).measured()
    assert found["concepts"] == 2
    assert found["trials_per_s"] > 0
    assert found["demand"]["words"] > 200  # a word for each example of a trial, at least
    assert len(bytes.fromhex(found["outcomes"])) == COMPARED
    assert found["outcomes"] == Tile("ERM", 200, k=2, block=256).measured()["outcomes"]


def test_a_command_and_a_ceiling_of_this_cpu(tmp_path):
    work(tmp_path, time.time() + 60, [Command(("audit", "no such target")), Ceiling("sort-64")])
    command, ceiling = lines(tmp_path)
    assert command["command"] == "dpjax audit no such target"
    assert command["status"] == 2
    assert "no such target" in command["printed"]
    assert ceiling["per_s"] > 1e5


SLEEPS = """import json, pathlib, subprocess, sys
child = subprocess.Popen(["sleep", "600"])
folder = pathlib.Path(sys.argv[1])
(folder / "child").write_text(str(child.pid))
(folder / "claims").mkdir()
(folder / "claims" / "done.json").write_text("")
(folder / "claims" / "begun.json").write_text(json.dumps(["cpu", {"learner": "KLN", "rows": 1024}]))
child.wait()"""


def test_what_overruns_is_killed_with_its_command_and_comes_last(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "_WORKER", [sys.executable, "-c", SLEEPS])
    begin = time.monotonic()
    processes.measure(tmp_path, time.time() + 5, 0, 1)
    assert time.monotonic() - begin < 60
    child = int((tmp_path / "child").read_text())
    with contextlib.suppress(FileNotFoundError):  # killed, and perhaps not yet waited for
        assert Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    assert lines(tmp_path) == [{**JOBS[0].record(), "error": KILLED}]
    work(tmp_path, time.time() + 60, JOBS[:2])
    assert [(one["learner"], one.get("error")) for one in lines(tmp_path)[1:]] == [("ERM", None), ("KLN", None)]


@pytest.mark.parametrize("arguments", [[], ["--out", "a", "--seconds", "long"]])
def test_wrong_arguments(arguments, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["accelerator", *arguments])
    capsys.readouterr()
