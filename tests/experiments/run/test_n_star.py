"""Brackets of n* through the engine and a store."""

import itertools

import numpy as np
import pytest

import dpjax as dp
from dpjax.experiments.results.result import Result
from dpjax.experiments.run.cells import Cells
from dpjax.experiments.run.engine import Engine
from dpjax.experiments.run.n_star import PROVED, bracket, cells_in, guess, proved
from dpjax.experiments.statistics.sequential_search import Bracket, geometric_grid
from dpjax.experiments.store.store import Store
from dpjax.experiments.sweep.setting import Setting

CONCEPTS = dp.Points(dp.Domain(2**16))
TASK = dp.Task(CONCEPTS, dp.heavy(CONCEPTS.domain, 4, 0.23))
GRID = geometric_grid(2, 64)
ENOUGH = next(n for n in GRID if 1 - 0.77**n >= 0.9)  # ERM fails where it has not seen its target's atom


def setting(beta=0.1):
    return Setting(dp.ERM(CONCEPTS), TASK, 1, 1, 1.0, 0.0, 0.2, beta)


def test_a_search_counts_the_trials_that_it_asks_for_whatever_the_block(tmp_path, monkeypatch):
    """Equal results for blocks of different sizes: the next n follows from counts, and counts are of asked trials."""
    found = []
    for most in (32, 1024):
        with Store(tmp_path / str(most)) as store, Engine() as engine:
            cells = Cells(store, engine, 3)
            assert cells.config(setting())["block"] >= 1
            monkeypatch.setattr(Cells, "outcomes", _rounded(Cells.outcomes, most))
            found.append(bracket(setting(), cells, GRID, start=8, trials=2000))
        monkeypatch.undo()
    assert found[0] == found[1] and found[0].trials_total <= 2000
    assert found[0].n_low < ENOUGH <= found[0].n_high


def _rounded(outcomes, block):
    """`Cells.outcomes` that computes whole blocks of another size."""

    def run(self, where, trials):
        return outcomes(self, where, -(-trials // block) * block)[:trials]

    return run


class Halves:
    """Cells in which all trials succeed above an n, half of them at it, and none below."""

    def __init__(self, at):
        self.at = at

    def counts(self, where, trials):
        assert where.purpose == "guess"
        share = 0 if where.n < self.at else 1 if where.n > self.at else 0.5
        return {"successes": int(share * trials), "trials": trials, "no_answers": 0}


def test_a_guess_is_the_first_n_of_the_grid_with_the_wanted_successes():
    for n, following in itertools.pairwise((*GRID, None)):
        assert guess(setting(), Halves(n), GRID, 8, 0.5) == n
        assert guess(setting(), Halves(n), GRID, 8, 0.6) == following
    assert guess(setting(), Halves(1), GRID, 8, 0.5) == GRID[0]


@pytest.mark.slow
def test_brackets_of_equal_laws_overlap_and_contain_n_star():
    """40 searches with different keys, in pairs; the error of 0.05 allows two wrong brackets on average."""
    stars = []
    for seed in range(40):
        with cells_in(None, seed) as cells:
            stars.append(bracket(setting(), cells, GRID, start=8, trials=3000))
    assert sum(not star.n_low < ENOUGH <= star.n_high for star in stars) <= 2
    pairs = zip(stars[::2], stars[1::2], strict=True)
    assert sum(max(a.n_low, b.n_low) >= min(a.n_high, b.n_high) for a, b in pairs) <= 2
    assert np.mean([star.trials_total for star in stars]) <= 3000


def test_a_look_within_gamma_is_in_a_table_of_its_own(tmp_path):
    how = {"n_min": 2, "n_max": 64, "steps_per_doubling": 2, "most_trials": 1000}
    study = dp.Study(
        TASK,
        {"erm": dp.ERM(CONCEPTS)},
        accuracy=dp.Accuracy(0.2, 0.1),
        points=1,
        trials=64,
        search=dp.Search(gamma=0.3, **how),
    )
    result = study.run(tmp_path, quiet=True)
    assert result.n_star.num_rows == 0
    (row,) = result.n_within.to_pylist()
    assert row["gamma"] == 0.3 and row["fails_at"] < row["passes_at"] and row["ended"] == "one step"
    assert "passes_at" in str(result) and "n_high" not in str(result)


def test_brackets_of_earlier_versions_are_no_brackets_of_n_star():
    """They were within a gamma of 0.05 by default, and are read as such."""
    place = {"learner": "erm", "k": 1, "epsilon": 1.0, "delta": 0.0, "alpha": 0.2, "beta": 0.1}
    old = place | {"n_low": 6, "n_high": 7, "gamma": 0.05, "confidence": 0.95, "trials": 900, "cells": {}}
    data = {
        "config": {},
        "seed": 0,
        "versions": {},
        "points": [],
        "n_star": [old],
        "exponents": [{"learner": "a", "epsilon": 1.0, "slope": 1.0}],
    }
    result = Result(data)
    assert result.n_star.num_rows == result.exponents.num_rows == 0
    (row,) = result.n_within.to_pylist()
    assert (row["fails_at"], row["passes_at"], row["gamma"], row["ended"]) == (6, 7, 0.05, None)


@pytest.mark.parametrize(
    ("ends", "theorem", "then"),
    [
        ((100, None), 143, 143),
        ((100, 200), 143, 143),
        ((None, None), 1, 1),
        ((100, 120), 143, 120),
        ((100, 143), 143, 143),
        ((100, None), None, None),
        ((100, None), 100, None),
    ],
)
def test_a_theorem_is_an_upper_end_unless_a_smaller_one_is_found_or_trials_contradict_it(ends, theorem, then):
    star = Bracket(*ends, 0.95, 0.1, 0.0, "trials spent", (), 2000)
    end = proved(star, theorem)
    assert (end.n_low, end.n_high) == (ends[0], then) and (end.ended == PROVED) == (then != ends[1])
