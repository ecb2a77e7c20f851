"""Large studies are listed and started at once, and a second process compiles nothing again."""

import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpjax.experiments.run.run import prepare
from dpjax.experiments.store.store import Store
from tests.experiments import fast

REPOSITORY = Path(__file__).parents[2]
START = """
import sys
from tests.experiments import fast
fast.study({cells}, trials=64).run(sys.argv[1], quiet=True)
"""


def command(*words, **environment):
    script = "import sys; from dpjax.cli import main; sys.exit(main(sys.argv[1:]))"
    arguments = [sys.executable, "-c", script, *map(str, words)]
    return subprocess.run(
        arguments, cwd=REPOSITORY, env=os.environ | environment, capture_output=True, text=True, check=True
    )


def used():
    """CPU seconds of all ended child processes."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def test_status_of_a_hundred_thousand_pending_cells_takes_less_than_2_seconds(tmp_path):
    """Beyond what the same command takes for one cell, which is the start of Python, and depends on the machine."""
    took = {}
    for cells in (1, 10**5):
        out = tmp_path / str(cells)
        with Store(out):
            prepare(fast.study(cells, trials=64), out)
        spent = []
        for _ in range(2):
            begin = used()  # other tests run beside this one: time of the processor
            said = command("status", out).stdout
            spent.append(used() - begin)
            assert f"0 of {cells} cells done, {cells} left" in said
        took[cells] = min(spent)
    assert took[10**5] - took[1] < 2


@pytest.mark.slow
def test_a_study_of_ten_thousand_cells_starts_within_5_seconds_of_one_of_ten(tmp_path):
    """From the start of the process to its first stored trials."""

    def seconds(cells):
        root = tmp_path / f"{cells}"
        begin = time.monotonic()
        process = subprocess.Popen([sys.executable, "-c", START.format(cells=cells), root], cwd=REPOSITORY)
        while not any(root.glob("cells/**/*.parquet")):
            assert process.poll() is None and time.monotonic() - begin < 120
            time.sleep(0.02)
        took = time.monotonic() - begin
        process.kill()
        process.wait()
        return took

    few, many = map(seconds, (10, 10**4))
    assert many < few + 5


@pytest.mark.slow
def test_a_second_process_takes_a_third_of_the_time_of_the_first(tmp_path):
    """CPU time of `dpjax curve` for the demo, whose programs the first process compiled."""

    def seconds(name):
        before = used()
        words = ("curve", "configs/demo.toml", "--out", tmp_path / name, "--trials", 64, "--formats")
        said = command(*words, XDG_CACHE_HOME=str(tmp_path / "cache"), XLA_FLAGS="").stdout
        compiled = re.search(r"by (\d+) programs, of which (\d+) were compiled", said)
        return used() - before, *map(int, compiled.groups())

    first, programs, compiled = seconds("first")
    assert compiled == programs
    second, programs, compiled = seconds("second")
    assert compiled == 0 < programs
    assert second < 0.35 * first
