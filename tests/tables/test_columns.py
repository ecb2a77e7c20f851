"""Learning from a table: placement on a public grid, errors against scikit-learn-free brute force, and a real table."""

import json
import subprocess
import sys

import numpy as np
import pytest

from dpjax.baselines import ERM
from dpjax.concepts import Domain, Points, Thresholds
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.learners import KLN, HashedPoints, Independent
from dpjax.tables import columns as table


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.csv"
    rows = ["a,b,y,z"] + [f"{i / 10},{10 - i / 10},{int(i < 60)},{int(i > 30)}" for i in range(100)]
    path.write_text("\n".join(rows))
    return path


def test_a_grid_places_values_and_names_the_edge():
    grid = table.Grid(0.0, 8.0, 3)
    np.testing.assert_array_equal(grid.place("v", np.array([0.0, 0.99, 1.0, 7.99, 8.0]), False), [0, 0, 1, 7, 7])
    assert grid.value(2) == 3.0
    flipped = table.Grid(0.0, 8.0, 3, flip=True)
    np.testing.assert_array_equal(flipped.place("v", np.array([0.0, 8.0, 5.5]), False), [7, 0, 2])
    assert flipped.value(2) == 5.0


def test_a_threshold_predicts_what_its_rule_says():
    for flip in (False, True):
        grid = table.Grid(-1.0, 3.0, 6, flip)
        values = np.random.default_rng(0).uniform(-1, 3, 500)
        cells = grid.place("v", values, False)
        for number in (0, 17, 62):
            rule = values >= grid.value(number) if flip else values < grid.value(number)
            np.testing.assert_array_equal(cells <= number, rule)


def test_clip_or_refuse():
    grid = table.Grid(0.0, 1.0, 2)
    with pytest.raises(InputError, match=r"1\.5 in row 2"):
        grid.place("v", np.array([0.5, 1.5]), False)
    np.testing.assert_array_equal(grid.place("v", np.array([0.5, 1.5]), True), [2, 3])


@pytest.mark.parametrize(
    ("features", "targets", "bounds", "words"),
    [
        (["a"], ["y"], [], "never read from the data"),
        (["a"], ["y"], ["a=1:0"], "low < high"),
        (["a"], ["y"], ["a=0:nan"], "low < high"),
        (["a"], ["y"], ["a"], "name=low:high"),
        (["a"], ["y"], ["c=0:1"], "bounds or flip"),
        (["a"], ["w"], ["a=0:10"], "column"),
        (["a"], ["b"], ["a=0:10"], "labels 0 or 1"),
        (["a"], ["y"], ["a=0:5"], "declared bounds 0:5"),
        (["a", "b"], ["y", "z"], ["a=0:10", "b=0:10"], "one feature and k targets"),
        ([], ["y"], [], "one feature and k targets"),
    ],
)
def test_bad_tables_are_refused(small, features, targets, bounds, words):
    with pytest.raises(InputError, match=words):
        table.read(small, features, targets, table.grids(features, bounds, 8, []))


@pytest.mark.parametrize("text", ["", "a,y\n", "a,y\n1,0\nx,1\n", "a,y\n1,0\n,1\n"])
def test_broken_files_are_refused(tmp_path, text):
    path = tmp_path / "broken.csv"
    path.write_text(text)
    with pytest.raises(InputError):
        table.read(path, ["a"], ["y"], table.grids(["a"], ["a=0:10"], 8, []))


def test_non_private_learner_finds_the_consistent_threshold(small):
    data = table.read(small, ["a"], ["y"], table.grids(["a"], ["a=0:10"], 10, []))
    erm = ERM(Thresholds(Domain(2**10)))
    budget = Privacy(1.0, 1e-6), Accuracy(0.1, 0.1)
    hypothesis = table.learn_all(erm, data, *budget, 0)
    (row,) = table.summary(erm, hypothesis, data)
    assert 5.9 < row["value"] <= 6.01
    errors = table.held_out({"erm": erm}, data, *budget, 0, 50, 30)["erm"]
    assert errors.shape == (50, 1)
    assert errors.mean() < 1.0


def test_a_bucket_is_no_point(small):
    data = table.read(small, ["a"], ["y"], table.grids(["a"], ["a=0:10"], 4, []))
    learner = HashedPoints(Points(Domain(2**4)), 1, 2, 2)
    hypothesis = table.learn_all(learner, data, Privacy(50.0), Accuracy(0.1, 0.1), 0)
    (row,) = table.summary(learner, hypothesis, data)
    assert "value" not in row and ("hash function" in row["rule"] or row["rule"] == "0 everywhere")
    assert ("hash function" in row["rule"]) != bool(hypothesis.zero[0])


@pytest.mark.slow
def test_trials_are_keyed_and_do_not_depend_on_how_many_follow(small):
    data = table.read(small, ["a", "b"], ["y"], table.grids(["a", "b"], ["a=0:10", "b=0:10"], 8, []))
    learner = Independent(KLN(Thresholds(Domain(2**8))), 2, "basic")
    budget = Privacy(1.0, 0.0), Accuracy(0.1, 0.1)
    few = table.held_out({"x": learner}, data, *budget, 5, 7, 20)["x"]
    many = table.held_out({"x": learner}, data, *budget, 5, 400, 20)["x"]
    np.testing.assert_array_equal(few, many[:7])
    assert len(np.unique(many[:, 0])) > 1


@pytest.fixture(scope="module")
def cancer(tmp_path_factory):
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    path = tmp_path_factory.mktemp("table") / "cancer.csv"
    header = ",".join([*map(str, data.feature_names), "benign"])
    rows = [",".join([*map(repr, map(float, x)), str(y)]) for x, y in zip(data.data, data.target, strict=True)]
    path.write_text("\n".join([header, *rows]))
    return path


@pytest.mark.slow
def test_a_real_table_one_feature_and_all_thirty(cancer):
    config = "configs/breast-cancer.toml"
    base = [sys.executable, "-m", "dpjax.cli", "learn", str(cancer), config, "--json"]
    one = subprocess.run(
        [*base, "--features", "mean radius", "--bounds", "mean radius=0:50"], capture_output=True, text=True
    )
    assert one.returncode == 0, one.stderr
    (row,) = json.loads(one.stdout)["concepts"]
    assert 12 < row["value"] < 18
    assert row["error_private"]["mean"] < row["error_not_private"]["mean"] + 0.05
    all_of_them = subprocess.run(base, capture_output=True, text=True)
    assert all_of_them.returncode == 0, all_of_them.stderr
    answer = json.loads(all_of_them.stdout)
    assert answer["k"] == 30
    assert answer["trials"] == 1000
    assert answer["guarantee"]["epsilon"] <= 1.0
    assert len(answer["guarantee"]["parts"]) == 1
    assert all(0 <= row["error_private"]["mean"] <= 0.6 for row in answer["concepts"])
