"""Without a terminal a log has a line every 30 seconds that says how far the work is."""

import time

import pytest

from dpjax.experiments.progress import Progress


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
