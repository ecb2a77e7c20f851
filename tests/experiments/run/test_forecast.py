"""What a study will take, against what it takes."""

import json
import re

import pytest

import dpjax as dp
from dpjax import cli
from dpjax.concepts import distributions
from dpjax.experiments.run import forecast
from dpjax.experiments.run.engine import Engine
from dpjax.experiments.sweep.sweep import Search

CONCEPTS = dp.Points(dp.Domain(2**32))
TASK = dp.Task(CONCEPTS, distributions.heavy(CONCEPTS.domain, 4, 0.23))


@pytest.fixture(scope="module")
def grid():
    return dp.Study(
        TASK, {"erm": dp.ERM(CONCEPTS)}, epsilon=[0.5, 1.0], n=[9, 12, 40], trials=1100, accuracy=dp.Accuracy(0.2, 0.1)
    )


def run(study, out):
    with Engine(in_flight=1, devices=None) as machine:
        machine.devices = machine.devices[:1]
        study.run(out, engine=machine, quiet=True)
        return machine.trials, machine.programs


def test_a_grid_is_counted_exactly(grid, tmp_path):
    """A learner that ignores epsilon is measured once; sizes of one buffer share a program."""
    what = forecast.forecast(grid, in_flight=1)
    assert [line.shared for line in what.curves] == [False, True] and not what.estimated
    assert (what.trials, what.programs) == run(grid, tmp_path) == (3 * 1152, 2)
    block = 64 * (64 * (4 + 1 + 1) + 4)  # of 64 rows: a point, a label, whether it is there; and the target
    assert 1024 + block * 0.9 < what.bytes < 1024 + block * 1.3
    assert forecast.forecast(grid, in_flight=4).bytes == 4 * what.bytes


def test_a_search_is_estimated_by_a_rule(tmp_path):
    study = dp.Study(
        TASK,
        {"erm": dp.ERM(CONCEPTS)},
        accuracy=dp.Accuracy(0.2, 0.1),
        points=3,
        trials=300,
        search=Search(2, 256, steps_per_doubling=2),
    )
    what = forecast.forecast(study)
    assert what.estimated and len(what.curves[0].points) == 3 and what.cells == 4
    star = forecast.expected_search(study.curves[0], study)
    assert star.n_low < study.curves[0].theorem() < 1.1 * star.n_high, "it ends where the rule says that n* is"
    assert star.trials_total == sum(visit.asked for visit in what.curves[0].search)
    trials, programs = run(study, tmp_path)
    assert trials / 3 < what.trials < 3 * trials and abs(programs - what.programs) <= 1


def test_seconds_come_from_timed_tiles(grid):
    what = forecast.forecast(grid)
    (rate,) = forecast.timed(grid, what)
    assert rate.learner == "erm" and rate.n == 40 and rate.per_second > 1e5
    slow = forecast.Rate("erm", 40, 1, 2.0, 1000.0)
    rows = 1152 * (2 * 16 + 64)
    import jax

    assert forecast.seconds(what, [slow]) == pytest.approx(2 * 2.0 + rows / 1000 / jax.local_device_count())
    assert forecast.seconds_per_cell(what, [slow]) == pytest.approx((2 * 2.0 + rows / 1000) / what.cells)


def test_the_command_prints_them(capsys):
    flags = ["--concepts", "Points(2**20)", "--learners", "KLN", "--k", "1", "2", "--n", "20"]
    assert cli.main(["plan", *flags, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["trials"] == 2 * 1024 and answer["programs"] == 2 and answer["bytes"] > 5e4
    assert answer["seconds"] is None and answer["estimate"] is None
    assert answer["plan"][0]["curve"] == {"n": [20], "trials": 1024} and answer["plan"][0]["search"] is None
    assert cli.main(["plan", *flags[:-2]]) == 0
    said = capsys.readouterr().out
    assert "to find n*" in said and "run again with --time" in said and forecast.RULE in said
    assert cli.main(["plan", *flags[:5], "1", *flags[7:], "--time"]) == 0
    said = capsys.readouterr().out
    assert "rows x concepts a second (one tile at n = 20, k = 1)" in said
    assert re.search(r"^cells +1, about [\d.e-]+ s each$", said, re.MULTILINE)
