"""Two stores of one study: trials that are identical, differ, or are nearly tied."""

import json

import numpy as np
import pytest

from dpjax import cli
from dpjax.core.checks import InputError
from dpjax.experiments.run.compare_devices import compare_stores
from dpjax.experiments.store import error_bins
from dpjax.experiments.store.store import Store, versions

ALPHA, TRIALS = 0.1, 64


def config(**changes):
    return {
        "trials": {"task": "a", "purpose": "curve"},
        "seed": 0,
        "n": 100,
        "k": 1,
        "alpha": ALPHA,
        "capacity": 256,
        "tile": 64,
        "block": 64,
        "learner": {"class": "KLN", "digest": "b"},
        "plan": "c",
        "program": "d",
        "device": "cpu:cpu",
        "versions": versions(),
    } | changes


def filled(folder, *cells):
    with Store(folder) as store:
        for which, outcome in cells:
            store.write(which, {"outcome": outcome})
    return folder


@pytest.fixture
def outcome():
    return (np.arange(TRIALS) % 100).astype(np.uint8)


ELSEWHERE = {"device": "gpu:NVIDIA", "tile": 128, "block": 128, "program": "e"}


def test_points_meet_whatever_computed_them(tmp_path, outcome):
    one = filled(tmp_path / "one", (config(), outcome), (config(n=200), outcome))
    other = filled(tmp_path / "other", (config(**ELSEWHERE), outcome[:48]), (config(seed=1, **ELSEWHERE), outcome))
    found = compare_stores(one, other)
    assert [pair.n for pair in found.pairs] == [100] and found.alone == (1, 1)
    pair = found.pairs[0]
    assert (pair.trials, pair.differ, pair.devices) == (48, 0, ("cpu:cpu", "gpu:NVIDIA"))
    assert found.same and not pair.same_program
    assert found.at_most == pytest.approx(1 - 0.025 ** (1 / 48))


def test_differences_are_counted_by_kind(tmp_path, outcome):
    changed = outcome.copy()
    changed[3] += 1  # the next bin
    changed[5] += 40
    changed[7] |= error_bins.SILENT  # abstains
    changed[9] = (changed[9] + 1) | error_bins.SILENT
    first, second = filled(tmp_path / "a", (config(), outcome)), filled(tmp_path / "b", (config(**ELSEWHERE), changed))
    found = compare_stores(first, second)
    assert (found.trials, found.differ, found.near) == (TRIALS, 4, 1) and not found.same
    pair = found.pairs[0]
    good = [error_bins.successes(side, ALPHA) for side in (outcome, changed)]
    assert pair.successes == tuple(int(side.sum()) for side in good)
    assert pair.flipped == int((good[0] != good[1]).sum())


def test_one_point_of_several_devices_meets_the_others(tmp_path, outcome):
    both = filled(tmp_path / "both", (config(), outcome), (config(**ELSEWHERE), outcome))
    met = {pair.devices for pair in compare_stores(both, both).pairs}
    assert met == {("cpu:cpu", "gpu:NVIDIA"), ("gpu:NVIDIA", "cpu:cpu")}
    alone = filled(tmp_path / "alone", (config(), outcome))
    assert compare_stores(alone, alone).trials == TRIALS


def test_stores_of_two_studies_are_refused(tmp_path, outcome):
    one, other = (filled(tmp_path / str(seed), (config(seed=seed), outcome)) for seed in (0, 1))
    with pytest.raises(InputError, match="share no point"):
        compare_stores(one, other)


def test_the_command(tmp_path, outcome, capsys):
    changed = outcome.copy()
    changed[3] += 1
    one = filled(tmp_path / "one", (config(), outcome))
    other = filled(tmp_path / "other", (config(**ELSEWHERE), changed))
    assert cli.main(["compare", str(one), str(one), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["identical"] == TRIALS
    assert cli.main(["compare", str(one), str(other)]) == 1
    printed = capsys.readouterr().out
    assert f"{TRIALS - 1} of {TRIALS} trials are identical; 1 differ, 1 of them" in printed
    assert "cpu:cpu and gpu:NVIDIA" in printed
    assert cli.main(["compare", str(one), str(tmp_path / "none")]) == 2
    assert "a directory with results" in capsys.readouterr().err


def test_two_runs_of_one_study_are_identical(tmp_path, capsys):
    words = ["--concepts", "Points(16)", "--learners", "ERM", "--n", "20", "--trials", "8", "--formats"]
    for name in ("one", "other"):
        assert cli.main(["curve", *words, "--out", str(tmp_path / name)]) == 0
    capsys.readouterr()
    assert cli.main(["compare", str(tmp_path / "one"), str(tmp_path / "other"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["alone"] == [0, 0]


def test_points_have_the_names_of_the_study(tmp_path, outcome, capsys):
    one = filled(tmp_path / "one", (config(), outcome), (config(n=200), outcome), (config(n=300), outcome))
    other = filled(tmp_path / "other", *((config(n=n, **ELSEWHERE), outcome) for n in (100, 200, 300)))
    with Store(other, read_only=True) as store:
        cells = {cell.config["n"]: cell.hash for cell in store.iter_cells()}
    label = {"learner": "ours, v1.5", "k": 1, "epsilon": 0.5, "delta": 0.0, "alpha": 0.1, "beta": 0.1}
    ends = {"n_low": None, "n_high": 200}
    searches = [label | ends | {"epsilon": epsilon, "cells": {"200": cells[200]}} for epsilon in (0.5, 1)]
    counts = {"trials": 8, "successes": 4, "lower": 0.1, "upper": 0.9}
    points = [label | counts | {"n": 100, "cell": cells[100]}]
    data = {"config": {}, "seed": 0, "versions": {}, "points": points, "n_star": searches}
    (other / "result.json").write_text(json.dumps(data))

    def names():
        return {pair.n: (pair.learner, pair.epsilon) for pair in compare_stores(one, other).pairs}

    found = names()
    assert found == {100: ("ours, v1.5", 0.5), 200: ("ours, v1.5", None), 300: ("KLN", None)}
    cli.main(["compare", str(one), str(other)])
    printed = capsys.readouterr().out
    assert printed.count("ours, v1.5") == 2 and "epsilon" in printed and "KLN" in printed
    for text in ("", "{}", json.dumps(data | {"points": [{}]})):
        (other / "result.json").write_text(text)
        assert names()[300] == ("KLN", None)
