"""Learning from a table: rows on public grids, errors against brute force, one split for all learners."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.baselines import ERM
from dpjax.concepts import Domain, Points, Thresholds
from dpjax.core import keys, random, wide
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners import KLN, HashedPoints, Independent
from dpjax.tables import columns as table
from dpjax.tables.constant import Constant
from dpjax.tables.grids import on_lines, on_plane
from dpjax.tables.learned import Learned

BUDGET = Privacy(1.0, 1e-6), Accuracy(0.1, 0.1)


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.csv"
    rows = ["a,b,y,z"] + [f"{i / 10},{10 - i / 10},{int(i < 60)},{int(i > 30)}" for i in range(100)]
    path.write_text("\n".join(rows))
    return path


@pytest.mark.parametrize(
    ("features", "targets", "bounds", "words"),
    [
        (["a"], ["w"], ["a=0:10"], "column"),
        (["a"], ["b"], ["a=0:10"], "labels 0 or 1"),
        (["a"], ["y"], ["a=0:5"], "declared bounds 0:5"),
        (["a", "b"], ["y", "z"], ["a=0:10", "b=0:10"], "one feature and k targets"),
        (["a"], [], ["a=0:10"], "by --features and --target: 'a', 'b', 'y', 'z'"),
        (["a"], ["a"], ["a=0:10"], "name it once"),
    ],
)
def test_bad_tables_are_refused(small, features, targets, bounds, words):
    with pytest.raises(InputError, match=words):
        table.read(small, on_lines(features, bounds, 8, []), targets)


def test_rows_with_holes_are_left_out_and_counted(tmp_path):
    path = tmp_path / "holes.csv"
    path.write_text("a,b,y\n1,1,0\n,2,1\n3,3,\ninf,4,1\n9,5,1\n5,NA,0\n")
    placing = on_lines(["a"], ["a=0:8"], 3, [])
    with pytest.raises(InputError, match=r"3 of 6 rows without: 'a' in 2 \(row 2, 4\), 'y' in 1 \(row 3\)"):
        table.read(path, placing, ["y"], clip=True)
    data = table.read(path, placing, ["y"], clip=True, drop_missing=True)
    np.testing.assert_array_equal(data.x[:, 0], [2, 8, 6])
    np.testing.assert_array_equal(data.y[:, 0], [False, True, False])
    assert (data.dropped, data.moved) == (3, 1)
    with pytest.raises(InputError, match="9 in row 5"):
        table.read(path, placing, ["y"], drop_missing=True)


def test_places_are_moved_and_counted(tmp_path):
    path = tmp_path / "places.csv"
    path.write_text("a,b,y\n0.3,0.9,1\n-0.5,2.0,0\n1.0,1.0,1\n")
    read = partial(table.read, path, targets=["y"])
    data = read(on_plane(["a", "b"], (0, 0, 1, 1), 2))
    assert data.x.dtype == np.uint32 and data.x.tolist() == [[1, 3], [0, 3], [3, 3]] and data.moved == 1
    swapped = read(on_plane(["b", "a"], (0, 0, 1, 1), 2))
    assert swapped.x.tolist() == [[3, 1], [3, 0], [3, 3]] and swapped.y.tolist() == data.y.tolist()


def test_only_a_public_number_of_rows_is_told_to_a_planner():
    class Asked:
        def __init__(self, neighboring):
            self.neighboring = neighboring

        def plan(self, privacy, accuracy, n):
            return n

    assert table.plan_for(Asked(Neighboring.REPLACE_ONE), *BUDGET, 7) == 7
    assert table.plan_for(Asked(Neighboring.ADD_OR_REMOVE_ONE), *BUDGET, 7) is None


def test_non_private_learner_finds_the_consistent_threshold(small):
    placing = on_lines(["a"], ["a=0:10"], 10, [])
    data = table.read(small, placing, ["y"])
    erm = ERM(Thresholds(placing.domain))
    learned = Learned(erm, table.learn_all(erm, data, *BUDGET, 0), placing, data.names)
    (row,) = learned.rules()
    assert row["interval"][0] == 0 and 5.9 < row["interval"][1] <= 6.01 and row["rule"].startswith("1 iff a < ")
    errors = table.held_out({"erm": erm}, data, *BUDGET, 0, 50, 30)["erm"]
    assert errors.shape == (50, 1)
    assert errors.mean() < 1.0


@pytest.mark.parametrize("label", [0, 1])
def test_thresholds_have_their_constants(tmp_path, label):
    path = tmp_path / "constant.csv"
    path.write_text("a,y\n" + "".join(f"{i / 10},{label}\n" for i in range(11)))  # the lowest and the highest cell, too
    placing = on_lines(["a"], ["a=0:1"], 3, [])
    data = table.read(path, placing, ["y"])
    erm = ERM(Thresholds(placing.domain))
    learned = Learned(erm, table.learn_all(erm, data, *BUDGET, 0), placing, data.names)
    assert learned.rules()[0]["rule"] == f"{label} everywhere"
    assert (learned.predict([np.linspace(0, 1, 50)]) == label).all()


def test_a_bucket_is_no_point(small):
    placing = on_lines(["a"], ["a=0:10"], 4, [])
    data = table.read(small, placing, ["y"])
    learner = HashedPoints(Points(placing.domain), 1, 2, 2)
    hypothesis = table.learn_all(learner, data, Privacy(50.0), Accuracy(0.1, 0.1), 0)
    (row,) = Learned(learner, hypothesis, placing, data.names).rules()
    assert "interval" not in row and ("hash function" in row["rule"] or row["rule"] == "0 everywhere")
    assert ("hash function" in row["rule"]) != bool(hypothesis.zero[0])


def test_the_constant_is_the_label_of_most_training_rows_on_the_same_splits():
    y = np.random.default_rng(0).random((40, 3)) < [0.5, 0.2, 0.9]
    x = np.arange(1, 41, dtype=np.uint32)[:, None]
    data = table.Table(x, y, ("p", "q", "r"), ())
    constant = Constant(Thresholds(Domain(64)))
    found = table.held_out({"constant": constant}, data, *BUDGET, 3, 5, 12)["constant"]
    root = keys.stream(keys.root(3), "split")
    for t in range(5):
        key = keys.stream(keys.of_trial(root, np.uint32(t)), "order")
        with jax.enable_x64(True):
            order = np.argsort(np.asarray(wide.word(*random.words(key, (40,)))), kind="stable")
        train, test = y[order[12:]], y[order[:12]]
        np.testing.assert_array_equal(found[t], np.sum(test != (train.mean(axis=0) > 0.5), axis=0))
    tie = Sample(jnp.asarray(x[:2]), jnp.asarray([[True], [False]]), jnp.ones(2, bool))
    assert not constant.predict(constant.learn(keys.root(0), tie, None), tie.x).any()


@pytest.mark.slow
def test_trials_are_keyed_and_do_not_depend_on_how_many_follow(small):
    placing = on_lines(["a", "b"], ["a=0:10", "b=0:10"], 8, [])
    data = table.read(small, placing, ["y"])
    learner = Independent(KLN(Thresholds(placing.domain)), 2, "basic")
    budget = Privacy(1.0, 0.0), Accuracy(0.1, 0.1)
    few = table.held_out({"x": learner, "constant": Constant(Thresholds(placing.domain))}, data, *budget, 5, 7, 20)
    many = table.held_out({"x": learner}, data, *budget, 5, 400, 20)["x"]
    np.testing.assert_array_equal(few["x"], many[:7])
    assert len(np.unique(many[:, 0])) > 1
    np.testing.assert_array_equal(few["constant"][:, 0], few["constant"][:, 1])  # one target beside two features


def test_blocks_change_no_error_and_every_split_is_reported(small, monkeypatch):
    placing = on_lines(["a"], ["a=0:10"], 8, [])
    data = table.read(small, placing, ["y"])
    learner, budget, reported = KLN(Thresholds(placing.domain)), (Privacy(1.0), Accuracy(0.1, 0.1)), []
    whole = table.held_out({"x": learner}, data, *budget, 5, 7, 20)["x"]
    monkeypatch.setattr(table, "_BLOCK_CELLS", 3 * len(data.y) * max(1, getattr(learner, "passes", 1)))
    parts = table.held_out({"x": learner}, data, *budget, 5, 7, 20, reported.append)["x"]
    np.testing.assert_array_equal(parts, whole)
    assert reported == [3, 3, 1] and len(whole) == 7
