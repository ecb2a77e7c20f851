"""Benchmarks: rows that say what they should, peers that do the same job, and nothing about absolute speed."""

import contextlib
import functools
import importlib.util
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import chi2_contingency

import benchmarks
from benchmarks import __main__ as command
from benchmarks import clock, learner, parity, peers, selection
from benchmarks.row import Measured, Row
from dpjax.core.checks import InputError

SCHEMA = {
    "name": str,
    "value": float,
    "peer": str,
    "peer_value": float,
    "ratio": float,
    "goal": float | None,
    "unit": str,
    "passed": bool | None,
    "note": str,
    "processor": str,
}
SHORT = ("exponential-1k-jax", "laplace-jax")
OTHERS = [name for name, row in benchmarks.ROWS.items() if not row.needs and name not in SHORT]
AHEAD = ["exponential-1k-numpy", "exponential-64k-numpy", "exponential-1k-jax", "exponential-64k-jax", "laplace-jax"]


@functools.cache
def quick(name):
    return benchmarks.run([name], quick=True)[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_a_row_of_a_minute_says_what_it_should(name):
    says_what_it_should(quick(name))


@pytest.mark.parametrize("name", SHORT)
def test_a_row_says_what_it_should(name):
    says_what_it_should(quick(name))


def says_what_it_should(row):
    assert row.keys() == SCHEMA.keys()
    assert all(isinstance(row[key], kind) for key, kind in SCHEMA.items()), row
    assert row["value"] > 0 and row["peer_value"] > 0
    inverted = row["unit"].startswith("MiB")  # where less is better
    expected = row["peer_value"] / row["value"] if inverted else row["value"] / row["peer_value"]
    np.testing.assert_allclose(row["ratio"], expected)
    assert row["passed"] == (None if row["goal"] is None else row["ratio"] >= row["goal"])
    json.dumps(row, allow_nan=False)


@pytest.mark.parametrize(
    "name", [name if name in SHORT else pytest.param(name, marks=pytest.mark.slow) for name in AHEAD]
)
def test_dpjax_is_ahead(name):
    ratios = (quick(name) if again == 0 else benchmarks.run([name], quick=True)[0] for again in range(4))
    assert any(row["ratio"] > 1 for row in ratios)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_trials():
    assert quick("memory")["passed"] and quick("memory-tile")["passed"]


@pytest.mark.slow
def test_rows_against_opendp(monkeypatch):
    pytest.importorskip("opendp")
    rows = benchmarks.run(["thresholds-opendp", "thresholds-opendp-array"], quick=True)
    assert all(row["ratio"] > 1 for row in rows)


@pytest.fixture
def no_opendp(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "opendp" else find(name))


@pytest.mark.parametrize("names", [None, ["laplace-jax", "thresholds-opendp"]])
def test_a_missing_peer_is_named_before_anything_runs(monkeypatch, no_opendp, names):
    monkeypatch.setattr(Row, "run", lambda *_: pytest.fail("a row ran"))
    with pytest.raises(InputError, match=r"opendp.*dpjax\[bench\].*laplace-jax"):
        benchmarks.run(names)


def test_a_missing_peer_matters_only_to_rows_that_need_it(monkeypatch, no_opendp):
    monkeypatch.setattr(Row, "run", lambda row, _: row.name)
    assert benchmarks.run(["laplace-jax", "devices"]) == ["laplace-jax", "devices"]


def test_an_unknown_row_is_refused_with_its_neighbors(monkeypatch):
    monkeypatch.setattr(Row, "run", lambda *_: pytest.fail("a row ran"))
    with pytest.raises(InputError, match="did you mean laplace-jax"):
        benchmarks.run(["laplace-jaks"])


def test_names_are_unique_and_goals_are_ratios():
    parts = (selection, learner)
    assert len(benchmarks.ROWS) == len({row.name for row in benchmarks.ROWS.values()})
    assert {row.name for part in parts for row in part.ROWS} <= benchmarks.ROWS.keys()
    assert all(row.goal is None or row.goal > 0 for row in benchmarks.ROWS.values())


def test_the_command_prints_rows_and_says_whether_goals_are_met(monkeypatch, capsys):
    rows = {
        "good": Row("good", "a peer", "things/s", 2.0, lambda _: Measured(6, 2, 3, "a note")),
        "bad": Row("bad", "a peer", "things/s", 4.0, lambda _: Measured(6, 2, 3)),
        "informs": Row("informs", "a peer", "things/s", None, lambda _: Measured(6, 2, 3)),
    }
    monkeypatch.setattr("benchmarks.suite.ROWS", rows)
    assert command.main(["good", "informs", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["ratio"], row["passed"]) for row in printed] == [(3.0, True), (3.0, None)]
    assert command.main(["--quick"]) == 1
    assert "a note" in capsys.readouterr().out
    assert command.main(["worse"]) == 2
    assert "one of bad, good, informs" in capsys.readouterr().err


def test_what_is_measured_before_an_interrupt_is_printed(monkeypatch, capsys):
    def interrupted(_):
        raise KeyboardInterrupt

    rows = {
        "first": Row("first", "a peer", "things/s", None, lambda _: Measured(6, 2, 3)),
        "second": Row("second", "a peer", "things/s", None, interrupted),
    }
    monkeypatch.setattr("benchmarks.suite.ROWS", rows)
    with contextlib.suppress(KeyboardInterrupt):
        assert command.main(["first", "second"]) != 0
    assert "first" in capsys.readouterr().out


def test_works_take_turns_and_the_best_counts():
    turns = []

    def work(name, units):
        def run():
            turns.append(name)
            return units

        return run

    found = clock.race(work("a", 3), work("b", 1), 0.0)
    assert turns == ["a", "b"] * (len(turns) // 2)
    assert found.ratio == found.value / found.peer_value > 0


# --- peers that do the same job --------------------------------------------------------------------------------------

CANDIDATES, TRIALS = 64, 16_000  # a multiple of 16, after which the scores come again


def law_of_the_trials():
    scores = peers.fresh_scores(peers.base_scores(CANDIDATES), np.arange(16)[:, None])
    return softmax(peers.RATE * scores.astype(np.float64), axis=1).mean(axis=0)


def numpy_choices(draw):
    draws, base = peers.generator(), peers.base_scores(CANDIDATES)
    if draw is peers.inverse_cdf:
        return [draw(peers.fresh_scores(base, trial), draws) for trial in range(TRIALS)]
    return draw(peers.fresh_scores(base, np.arange(TRIALS, dtype=np.int32)[:, None]), draws)


@pytest.mark.statistical
@pytest.mark.parametrize("draw", [peers.inverse_cdf, peers.inverse_cdf_in_chunks, peers.race_in_chunks])
def test_numpy_draws_from_the_law(stats, draw):
    stats.chi_square(np.bincount(numpy_choices(draw), minlength=CANDIDATES), law_of_the_trials())


@pytest.mark.statistical
@pytest.mark.parametrize("draw", [selection.by_sample, selection.by_race, peers.jax_categorical])
def test_jax_draws_from_the_same_law(stats, draw):
    drawn = np.asarray(selection.choices(draw, CANDIDATES, TRIALS)(jnp.uint32(0)))
    stats.chi_square(np.bincount(drawn, minlength=CANDIDATES), law_of_the_trials())


def test_threshold_errors_are_those_of_the_definition():
    draws = peers.generator()
    x = draws.integers(0, peers.THRESHOLDS, peers.ROWS)
    labels = draws.random(peers.ROWS) < 0.5
    predicted = x <= np.arange(peers.THRESHOLDS)[:, None]
    np.testing.assert_array_equal(peers.threshold_errors(x, labels), np.sum(predicted != labels, axis=1))


@pytest.mark.statistical
@pytest.mark.parametrize("peer", [peers.thresholds, peers.thresholds_by_intervals])
def test_learners_of_thresholds_learn_alike(stats, peer):
    """The same distribution of the answer over fresh samples: chi-square of two tables of 16 cells, 1e-6."""
    ours = np.asarray(learner.learned(peers.THRESHOLDS, 4096)(jnp.uint32(0)))[:, 0, 1]
    theirs = peer(4096, peers.generator())
    edges = np.quantile(theirs, np.arange(1, 16) / 16)
    tables = [np.bincount(np.searchsorted(edges, answers), minlength=16) for answers in (ours, theirs)]
    assert chi2_contingency(tables).pvalue >= stats.false_alarm


def test_the_tile_is_small_whatever_the_domain():
    drawn = jax.eval_shape(learner.learned(1 << 60, 32), jnp.uint32(0))
    assert drawn.shape == (32, 1, 2) and drawn.dtype == jnp.uint32


def test_numpy_solves_the_same_equations():
    left, right = parity.systems(2)
    mine, consistent = parity.solved(*parity.ours(2))
    assert consistent.all()
    for trial, subsample in np.ndindex(2, parity.SUBSAMPLES):
        theirs, solvable = peers.eliminated(left[trial, subsample], right[trial, subsample], parity.DIMENSION)
        words = np.ascontiguousarray(mine[trial, :, :, subsample]).view("<u8")
        assert solvable and (theirs == words).all()
    wrong = right[0, 0].copy()
    wrong[0] ^= np.uint64(1)
    assert not peers.eliminated(left[0, 0], wrong, parity.DIMENSION)[1]
