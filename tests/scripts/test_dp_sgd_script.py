"""The script that compares DP-SGD with a set cover, at tiny size: workloads, the store, intervals, its page."""

import json
import re
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import binom

from dpjax.concepts import Hypothesis
from dpjax.core import keys
from dpjax.plots import read_metadata


@pytest.fixture(scope="module")
def runs(scripts):
    return scripts("dp_sgd_runs")


@pytest.fixture(scope="module")
def script(scripts, runs):
    return scripts("dp_sgd")


@pytest.fixture(scope="module")
def tiny(runs):
    return replace(
        runs.private_choices(runs.WORKLOADS[0])[0],
        optimizer="adam",
        widths=(8,),
        steps=20,
        expected=64,
        learning_rate=0.1,
    )


@pytest.mark.slow
def test_the_page(script, runs, tiny, tmp_path):
    bad, store = replace(tiny, learning_rate=1e-6), tmp_path / "store"
    given = (tmp_path, 3, 8, store, runs.WORKLOADS[:2], (60, 400), lambda w: (bad, tiny), lambda w: (tiny,), (2, 1, 2))
    script.main(*given)
    page = (tmp_path / "dp-sgd.md").read_text()
    plain = page.replace("{0, ..., 1024}", "").replace("{0, ..., 65536}", "")
    assert "`scripts/dp_sgd.py`" in page and not re.search(r"\bnan\b|[{}]", plain)
    for suffix in ("png", "svg"):
        found = read_metadata(tmp_path / "figures" / f"dp-sgd.{suffix}")
        assert found["config"]["rows"] == [60, 400] and found["seed"] == 3 and found["versions"]["dpjax"]
    lines = [line.strip("| ").split(" | ") for line in page.splitlines()]
    assert sum(len(line) == 12 and line[0] in ("60", "400") and line[3].endswith("of 8") for line in lines) == 4
    chosen = [line for line in lines if line[1:4] == ["DP-SGD", "400", "adam"]]
    assert len(chosen) == 2 and all("1e-06" not in line for line in chosen)
    files = sorted(store.iterdir())
    before = [file.stat().st_mtime_ns for file in files]
    assert len(files) == 12
    script.main(*given)  # from the store
    assert (tmp_path / "dp-sgd.md").read_text() == page
    assert [file.stat().st_mtime_ns for file in sorted(store.iterdir())] == before
    next(file for file in files if file.name.startswith("small-quadrilaterals-cover-400")).unlink()
    script.main(*given, finished=True)
    assert len([*store.iterdir()]) == 11 and "Not measured: n = 400." in (tmp_path / "dp-sgd.md").read_text()


def test_results_are_found_again_by_what_makes_them(runs, tiny, tmp_path, monkeypatch):
    case = runs.Case(runs.WORKLOADS[0], "dp-sgd", 60, 60, 3, 4, (tiny,), (2, 1, 2))
    found = case.result(tmp_path)
    assert found.errors.shape == (4,) and np.all((found.errors > 0) & (found.errors < 1))
    entry = json.loads(case.path(tmp_path).read_text())
    monkeypatch.setattr(runs.Case, "measure", lambda self: pytest.fail("measured again"))
    again = case.result(tmp_path)
    assert again.choice == tiny and entry["seconds"] == again.seconds
    np.testing.assert_array_equal(again.errors, found.errors)
    others = [
        replace(case, n=61),
        replace(case, seed=4),
        replace(case, trials=5),
        replace(case, method="free"),
        replace(case, stages=(2, 1, 3)),
        replace(case, choices=(replace(tiny, clip=2.0),)),
        replace(case, workload=replace(case.workload, d=2**11)),
    ]
    assert not any(other.path(tmp_path).exists() for other in others)
    monkeypatch.setattr(runs, "_sources", lambda method: "other code")
    assert not case.path(tmp_path).exists()


def test_small_polygons_lie_in_their_squares(runs):
    small = runs.WORKLOADS[1]
    targets, corners = small.targets(5)
    assert small.side * 64 == small.d and len(np.unique(np.asarray(corners), axis=0)) == 64
    whole = np.asarray(runs.ConvexPolygons(small.side, small.edges).targets(64, 5))
    points = jnp.asarray(runs.UniformPlane(small.side).points())
    for i in range(3):
        moved = small.concepts.predict(Hypothesis.of(targets[i][None]), points + corners[i])
        own = runs.ConvexPolygons(small.side, small.edges).predict(Hypothesis.of(jnp.asarray(whole[i])[None]), points)
        assert np.mean(np.asarray(moved) != np.asarray(own)) < 1e-3
    sample, probes, truth = jax.jit(lambda key: small.drawn((targets, corners), key, jnp.int32(200), 256))(keys.root(2))
    x, mask = np.asarray(sample.x).astype(int), np.asarray(sample.mask)
    assert (
        mask.sum() == 200 and np.ptp(x, axis=0).max() <= small.side and np.ptp(np.asarray(probes), axis=0).max() > 1000
    )
    assert 0.1 < np.asarray(sample.y)[mask].mean() < 0.8 and 0.25 < np.asarray(truth).mean() < 0.65


def test_all_configurations_differ(runs):
    for workload in runs.WORKLOADS:
        for choices in (runs.private_choices(workload), runs.free_choices(workload)):
            assert len(set(choices)) == len(choices)
        assert {choice.optimizer for choice in runs.private_choices(workload)} == {"adam", "momentum"}


def test_more_rows_are_a_lower_rate_and_less_noise_a_step(script, runs):
    choice = runs.private_choices(runs.WORKLOADS[0])[0]
    rates = [choice.rate(n) for n in script.ROWS]
    assert np.all(np.diff(rates) <= 0) and rates[-1] == choice.expected / script.ROWS[-1]
    noise = [choice.multiplier(n, True) for n in (400, 12_800)]
    assert noise[0] > noise[1] > 0 and choice.multiplier(400, False) == 0


def test_paired_intervals(script):
    """Against the tail of a fair coin: no more than 2.5% of samples have the true median beyond an end."""
    generator = np.random.default_rng(0)
    first, second = generator.random(80), generator.random(80)
    (share, low, high), (middle, least, most) = script.paired(first, second)
    assert low < share < high and share == np.mean(first < second)
    ordered = np.sort(first - second)
    below = int(np.searchsorted(ordered, least))  # the end is the order statistic of this rank
    assert ordered[below] == least and ordered[-1 - below] == most and least < middle < most
    assert binom.cdf(below, 80, 0.5) <= 0.025 < binom.cdf(below + 1, 80, 0.5)
    assert script.paired(first, first)[0] == (0.5, 0.0, 1.0)
    assert script.paired(first[:3], second[:3])[1][1:] == (-np.inf, np.inf)
    assert script.paired(first - 1, second)[0][1] > 0.9
