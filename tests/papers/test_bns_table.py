"""The table of Bun, Nissim and Stemmer: rows that are what they say, brackets that are kept, a page and a figure."""

import json
from dataclasses import replace

import pytest

from dpjax.baselines import ERM
from dpjax.cli.commands.table import markdown
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.run.cells import Cells
from dpjax.experiments.run.engine import Engine
from dpjax.experiments.statistics.sequential_search import geometric_grid
from dpjax.experiments.store.store import Store
from dpjax.experiments.sweep.task import Task
from dpjax.learners import Independent, StablePoints
from dpjax.papers import bns_table as multi_table
from dpjax.papers.pages import about
from dpjax.plots.table import plot_table
from dpjax.theory.kln import agnostic

ROWS = multi_table.rows()


def test_all_upper_bounds_of_both_tables_are_there():
    assert len({row.title for row in ROWS}) == len(ROWS)
    for privacy, names in {
        "pure": ("points, proper", "points, improper", "thresholds", "a class of", "parities"),
        "approximate": (
            "points, PAC",
            "points, agnostic",
            "thresholds",
            "a class of",
            "parities, PAC",
            "parities, agn",
        ),
    }.items():
        titles = [row.title for row in ROWS if row.privacy == privacy]
        assert all(any(f": {name}" in title for title in titles) for name in names)


@pytest.mark.parametrize(
    "row", [pytest.param(row, marks=pytest.mark.slow if i % 3 else (), id=row.title) for i, row in enumerate(ROWS)]
)
def test_rows_keep_their_budget_and_their_bounds(row):
    setting = row.setting(row.values[0])
    guarantee = setting.learner.guarantee(setting.plan())
    assert 0.999 * setting.epsilon <= guarantee.epsilon <= setting.epsilon and guarantee.delta <= setting.delta
    assert (guarantee.delta == 0) == (row.privacy == "pure")
    assert row.factor(row.values[-1]) > 0
    bounds = [row.below(value).n for value in row.values]
    assert bounds == sorted(bounds) and bounds[0] >= 1


def test_flipped_labels_are_planned_by_the_agnostic_theorem_or_by_none():
    """The realizable number is not enough where labels are flipped, so it is not printed there."""
    by_title = {row.title: row.setting(row.values[0]) for row in ROWS}
    for name in ("a class of 256", "parities"):
        setting = by_title[f"pure: {name}, agnostic, in k"]
        numbers = Privacy(setting.epsilon, setting.delta), Accuracy(setting.alpha, setting.beta)
        theorem = multi_table._theorem(setting)
        assert theorem == setting.learner.agnostic_sample_size(*numbers) > 10 * setting.learner.sample_size(*numbers)
        assert theorem == agnostic(256, 16.0, 0.2, 0.1)
        task = Task(setting.task.concepts, setting.task.distribution, setting.task.targets)
        plain = replace(setting, task=task)
        assert multi_table._theorem(plain) == setting.learner.sample_size(*numbers)
    right, flipped = (by_title[f"pure: points, improper, {kind}, in k"] for kind in ("PAC", "agnostic"))
    assert 0 < multi_table._theorem(right) < multi_table._theorem(flipped)
    stable = replace(flipped, learner=StablePoints(flipped.task.concepts))
    assert multi_table._theorem(replace(stable, delta=1e-6)) is None
    parities = by_title["pure: parities, agnostic, in k"]
    plain = ERM(parities.task.concepts)
    erm = replace(parities, learner=Independent(plain, 1))
    assert multi_table._theorem(erm) == plain.agnostic_sample_size(*numbers) > plain.sample_size(*numbers)


def test_n_is_guessed_near_the_power_law_of_earlier_guesses():
    grid = geometric_grid(4, 1 << 12, multi_table.STEP)
    near = [multi_table._near(grid, found, 16, 1.0) for found in ((), ((4, 100),), ((1, 90), (4, 100)))]
    assert near[0] == grid and 4 * near[1][0] == pytest.approx(near[1][-1], rel=0.1)
    middles = [(one[0] * one[-1]) ** 0.5 for one in near[1:]]
    assert middles == pytest.approx([400, 100 * 100 / 90], rel=0.1)
    assert multi_table._near(grid, ((4, 4096),), 4096, 1.0) == grid  # nothing of the grid is near


def test_parts_of_the_budget_that_follow_k_are_divided_out():
    row = next(row for row in ROWS if row.title == "pure: points, proper, PAC, in k")
    parts = [row.parts(row.setting(k)) for k in row.values]
    assert all(one + other == pytest.approx(1, rel=1e-5) for one, other in parts)
    assert sorted(parts, reverse=True) == parts and parts[0][0] > 2 * parts[-1][0]
    sizes = [0.6 * row.factor(k) * k / part for k, (_, part) in zip(row.values, parts, strict=True)]
    points = [{"value": k, "n_low": n / 1.04, "n_high": 1.04 * n} for k, n in zip(row.values, sizes, strict=True)]
    found, without = multi_table.fit(row, points, 0.01), multi_table.fit(replace(row, parts=ROWS[0].parts), points, 0)
    assert found["low"] <= 1 <= found["high"] and found["claim"]["miss"] < 1 and found["confidence"] == 0.94
    assert found["claim"]["values"] == pytest.approx(sizes, rel=0.08) and without["claim"]["miss"] > 1.2


def test_brackets_that_are_not_closed_keep_their_share_of_the_error():
    """Which ones are closed follows the trials, so the others' errors count: the union is over all."""
    row = next(row for row in ROWS if row.title == "pure: a class of 256, agnostic, in k")
    points = [{"value": k, "n_low": 90 * k, "n_high": 99 * k} for k in (1, 4, 16, 64, 256)]
    points[-1]["n_high"] = None
    assert multi_table.fit(row, points, 0.01)["confidence"] == pytest.approx(0.95)
    assert multi_table.fit(row, points[:2], 0.01) is None


@pytest.mark.slow
def test_a_row_is_measured_kept_and_shown(tmp_path):
    whole = next(row for row in ROWS if row.title == "approximate: points, PAC, in k")
    row = replace(whole, values=(1, 2, 4))
    how = {"limit": 512, "trials": 1000, "error": 0.05}
    said = []
    with Store(tmp_path / "store") as store:
        with Engine() as machine:
            found = multi_table.measure(row, Cells(store, machine, 0), said.append, **how)
            assert machine.trials > 0
        with Engine() as machine:
            assert multi_table.measure(row, Cells(store, machine, 0), **how) == found
            assert machine.trials == 0
    assert said == ["k = 1", "k = 2", "k = 4"]
    assert all(10 < one["n_low"] < one["n_high"] < 512 for one in found["points"])
    assert found["fit"]["low"] <= 0.2 and found["fit"]["high"] >= -0.2
    answer = {"table": "bns-multi", "rows": [found], "left": 0} | about(how, 0)
    json.dumps(answer, allow_nan=False)
    page = markdown(answer)
    assert f"## Approximate: points, PAC, in k\n\nLearner: `PointLearner`. Claimed in {whole.source}." in page
    assert f"| {found['points'][0]['n_high']} |" in page
    paths = plot_table(answer, tmp_path / "table", ("png",))
    assert [path.stat().st_size > 1000 for path in paths] == [True]
