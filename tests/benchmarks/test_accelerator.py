"""The measurement of a device: what it measures, that it can be continued, and its time."""

import json
import time

import pytest

from benchmarks.__main__ import main
from benchmarks.accelerator.jobs import NAMES, ROWS, Job, jobs
from benchmarks.accelerator.measure import COMPARED, measured
from benchmarks.accelerator.work import done, work


def lines(folder):
    return [json.loads(line) for line in (folder / "cpu.jsonl").read_text().splitlines()]


def test_every_learner_is_measured_at_every_size():
    usual = {(job.learner, job.rows) for job in jobs("gpu") if job.k is job.block is None and not job.profile}
    assert usual == {(name, rows) for name in NAMES for rows in ROWS}
    assert len({*jobs("gpu")}) == len([*jobs("gpu")])
    assert {job.rows for job in jobs("cpu")} == {*ROWS[:2]}


def test_a_failed_job_is_a_line_and_the_next_is_measured(tmp_path):
    def measure(job, alone):
        if job.rows == 200:
            raise MemoryError("too large")
        with alone():
            return {"trials_per_s": 1.0}

    work(tmp_path, time.time() + 60, ("KLN", "ERM"), measure)
    found = {(one["learner"], one["rows"]): one.get("error") for one in lines(tmp_path)}
    assert found == {(name, rows): "MemoryError: too large" if rows == 200 else None
                     for name in ("KLN", "ERM") for rows in (200, 1024)}  # fmt: skip


def test_a_folder_is_continued_and_nothing_is_begun_late(tmp_path):
    begun = []

    def measure(job, alone):
        begun.append(job)
        return {}

    work(tmp_path, time.time() + 60, ("KLN",), measure)
    work(tmp_path / "late", time.time() - 1, ("KLN",), measure)
    (tmp_path / "claims").rename(tmp_path / "of an earlier run")
    work(tmp_path, time.time() + 60, ("KLN", "ERM"), measure)
    assert [job.learner for job in begun] == ["KLN", "KLN", "ERM", "ERM"]
    assert len(done(tmp_path / "cpu.jsonl")) == 4


def test_a_job_of_this_cpu():
    found = measured(Job("ERM", 200, k=2))
    assert found["concepts"] == 2
    assert found["trials_per_s"] > 0
    assert len(bytes.fromhex(found["outcomes"])) == COMPARED
    assert found["outcomes"] == measured(Job("ERM", 200, k=2, block=256))["outcomes"]


@pytest.mark.parametrize("arguments", [[], ["--out", "a", "--seconds", "long"]])
def test_wrong_arguments(arguments, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["accelerator", *arguments])
    capsys.readouterr()
