"""Without a terminal a log has a line every 30 seconds that says how far the work is."""

import time

import pytest

from dpjax.experiments.progress import Estimate, Progress


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_a_line_at_most_every_30_seconds(clock):
    said = []
    with Progress(say=said.append) as seen:
        seen.step("KLN, k = 1: searching n*", 0, 4)
        for _ in range(100):
            clock[0] += 1.0
            seen.trials(50)
        assert len(said) == 3 and "0 of 4 done; KLN, k = 1: searching n*; 1500 trials, 50/s" in said[0]
        seen.step("KLN, k = 8: curve", 2, 4)
        clock[0] += 20
        seen.trials(1000)
    assert len(said) == 4 and "2 of 4 done" in said[3] and "about 120 s left" in said[3]


def test_quiet_is_quiet(clock, capsys):
    with Progress(False) as seen:
        clock[0] += 1000
        seen.step("x", 1, 2)
        seen.trials(5)
    assert capsys.readouterr().err == ""


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_the_estimate_is_said_once_and_then_a_line_every_thirty_seconds():
    lines, clock = [], Clock()
    tell = Estimate(lines.append, clock)
    tell(0, 1000, "runs")
    clock.now += 20  # the first chunk compiles
    tell(10, 1000, "runs")
    assert not lines
    clock.now += 2
    tell(20, 1000, "runs")
    assert lines == ["dpjax: 1000 runs, about 218 s"]
    for done in range(30, 180, 10):
        clock.now += 2
        tell(done, 1000, "runs")
    assert lines[1:] == ["dpjax: 170 of 1000 runs after 52 s, about 254 s left"]
    clock.now += 200
    tell(1000, 1000, "runs")
    assert len(lines) == 2


def test_short_work_is_announced_too():
    lines, clock = [], Clock()
    tell = Estimate(lines.append, clock)
    tell(0, 7, "databases")
    clock.now += 0.25
    tell(7, 7, "databases")
    assert lines == ["dpjax: 7 databases, a few seconds"]


def test_a_chunk_that_lasts_is_reported_from_beside():
    lines, clock = [], Clock()
    with Estimate(lines.append, clock) as tell:
        tell(0, 9, "databases")
        clock.now += 31
        tell._tell(clock())
    assert lines == ["dpjax: 0 of 9 databases after 31 s"]
