"""Without a terminal a log has a line every 30 seconds that says how far the work is."""

import re
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from dpjax.experiments.results import notebooks
from dpjax.experiments.run.progress import Estimate, Progress


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


def test_lines_go_to_the_logger_of_the_package(clock, caplog):
    with Progress() as seen:
        seen.step("KLN", 0, 4)
        clock[0] += 31
        seen.trials(50)
        seen.say("a line at once")
    assert [(one.name, one.levelname) for one in caplog.records] == [("dpjax", "INFO")] * 2
    assert "0 of 4 done; KLN; 50 trials" in caplog.text


def test_the_logger_writes_to_standard_error_unless_the_program_configures_logging():
    """In a process of its own: pytest configures logging."""
    code = "import logging\nfrom dpjax.core.logs import LOG\n{}LOG.info('a \x1b[31mline')\n"
    said = {}
    for setting in ("", "logging.basicConfig(format='%(name)s %(message)s')\n", "LOG.setLevel('WARNING')\n"):
        words = [sys.executable, "-c", code.format(setting)]
        said[setting[:3]] = subprocess.run(words, capture_output=True, text=True, check=True).stderr
    assert said == {"": "dpjax: a \\x1b[31mline\n", "log": "dpjax a \x1b[31mline\n", "LOG": ""}


class Display:
    """IPython's display: what a notebook shows, and how often it was drawn."""

    def __init__(self):
        self.shown, self.drawn = None, 0

    def __call__(self, data, raw, display_id):
        assert raw and display_id
        self.update(data, raw)
        return self

    def update(self, data, raw):
        self.shown, self.drawn = data["text/html"], self.drawn + 1


def test_a_bar_in_a_notebook(clock, monkeypatch, capsys, caplog):
    display = Display()
    monkeypatch.setattr(notebooks, "display", lambda: display)
    with Progress() as seen:
        seen.step("<b>KLN</b>", 0, 4)
        assert not display.drawn, "short work shows none"
        for _ in range(100):
            clock[0] += 0.02
            seen.trials(50)
        assert 4 <= display.drawn <= 7
        assert re.fullmatch(
            r'<progress value="0" max="4"></progress> 0 of 4: &lt;b&gt;KLN&lt;/b&gt;, \d+ trials', display.shown
        )
    assert display.shown == "" and capsys.readouterr().err == "" and not caplog.records


def test_a_process_without_a_notebook_has_no_bar(monkeypatch):
    assert notebooks.display() is None
    shell = SimpleNamespace(get_ipython=lambda: None, display=SimpleNamespace(display=print))
    monkeypatch.setitem(sys.modules, "IPython", shell)
    assert notebooks.display() is None, "a terminal"
    shell.get_ipython = lambda: SimpleNamespace(kernel=None)
    assert notebooks.display() is print


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
    assert lines == ["1000 runs, about 218 s"]
    for done in range(30, 180, 10):
        clock.now += 2
        tell(done, 1000, "runs")
    assert lines[1:] == ["170 of 1000 runs after 52 s, about 254 s left"]
    clock.now += 200
    tell(1000, 1000, "runs")
    assert len(lines) == 2


def test_short_work_is_announced_too():
    lines, clock = [], Clock()
    tell = Estimate(lines.append, clock)
    tell(0, 7, "databases")
    clock.now += 0.25
    tell(7, 7, "databases")
    assert lines == ["7 databases, a few seconds"]


def test_work_that_grows_is_announced_again():
    lines, clock = [], Clock()
    tell = Estimate(lines.append, clock)
    for done, total in ((0, 100), (50, 100), (60, 150), (150, 150)):
        tell(done, total, "runs")
        clock.now += 10
    assert lines == ["100 runs, about 20 s", "50 more, 150 runs, about 38 s"]


def test_a_chunk_that_lasts_is_reported_from_beside():
    lines, clock = [], Clock()
    with Estimate(lines.append, clock) as tell:
        tell(0, 9, "databases")
        clock.now += 31
        tell._tell(clock())
    assert lines == ["0 of 9 databases after 31 s"]
