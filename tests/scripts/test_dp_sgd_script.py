"""The script that compares DP-SGD with a set cover, at tiny size: what it chooses, its page, its figure."""

import re
from dataclasses import replace

import numpy as np
import pytest

from dpjax.plots import read_metadata


@pytest.fixture(scope="module")
def script(scripts):
    return scripts("dp_sgd")


@pytest.mark.slow
def test_the_page(script, tmp_path):
    good = replace(script.PRIVATE[0], optimizer="adam", widths=(8,), steps=20, expected=64, learning_rate=0.1)
    bad = replace(good, learning_rate=1e-6)
    script.main(tmp_path, 3, 6, (60, 400), (bad, good), (good,), (2, 1, 2))
    page = (tmp_path / "dp-sgd.md").read_text()
    assert "`scripts/dp_sgd.py`" in page and not re.search(r"\bnan\b|[{}]", page.replace("{0, ..., 1024}", ""))
    for suffix in ("png", "svg"):
        found = read_metadata(tmp_path / "figures" / f"dp-sgd.{suffix}")
        assert found["config"]["rows"] == [60, 400] and found["seed"] == 3 and found["versions"]["dpjax"]
    first, second = ([line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith(f"| {n} |")]
                     for n in (60, 400))  # fmt: skip
    assert all(len(row) == 11 and row[3].endswith("of 6") for row in (first[0], second[0]))
    chosen = [line for line in page.splitlines() if line.startswith("| DP-SGD | 400 | adam | 8 | 20 | 64 |")]
    assert len(chosen) == 1 and "| 1e-06 |" not in chosen[0]


def test_all_configurations_differ(script):
    for choices in (script.PRIVATE, script.FREE):
        assert len(set(choices)) == len(choices)
    assert {choice.optimizer for choice in script.PRIVATE} == {"adam", "momentum"}


def test_more_rows_are_a_lower_rate_and_less_noise_a_step(script):
    choice = script.PRIVATE[0]
    rates = [choice.rate(n) for n in script.ROWS]
    assert np.all(np.diff(rates) <= 0) and rates[-1] == choice.expected / script.ROWS[-1]
    noise = [choice.multiplier(n, True) for n in (400, 12_800)]
    assert noise[0] > noise[1] > 0 and choice.multiplier(400, False) == 0
