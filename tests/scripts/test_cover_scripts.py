"""The scripts on private set covers, at small size."""

import pytest

from dpjax.plots import read_metadata


def cells(page, start):
    return [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith(f"| {start}")]


def bracket(cell):
    low, high = cell.strip("(]").split(", ")
    return int(low), int(high)


@pytest.mark.slow
def test_what_a_round_may_spend(scripts, tmp_path, monkeypatch):
    monkeypatch.setattr(scripts("cover_rules"), "_EPSILONS", 4)
    scripts("set_cover_figures").main(tmp_path, 3, 500, (2, 4), 4)
    page = (tmp_path / "set-cover.md").read_text()
    games = cells(page, "stopping game, exact counts kept")
    assert len(games) == 2 and all(float(row[1]) > float(row[2]) > 0 for row in games)
    law = [row for row in cells(page, "") if row[0].isdigit()]
    assert len(law) == 6 and all(abs(float(row[3]) - float(row[4])) < 0.1 for row in law)
    assert read_metadata(tmp_path / "figures" / "arrangement.png")["seed"] == 3


@pytest.mark.slow
def test_conjunctions(scripts, tmp_path):
    rules = ("naive: zCDP", "stopping game, exact counts, few rounds")
    scripts("conjunctions").main(tmp_path, 3, 40, (2,), rules)
    page = (tmp_path / "conjunctions.md").read_text()
    found = {row[0]: row[1] for row in cells(page, "")[:3]}
    naive, ours = (bracket(found[rule]) for rule in rules)
    assert ours[1] < naive[0]


@pytest.mark.slow
def test_polygons(scripts, tmp_path):
    script = scripts("polygons")
    first = list(script.four_edges()[:1])
    script.main(tmp_path, 3, 10, first, (4,), {first[0].measure: first})
    page = (tmp_path / "polygons.md").read_text()
    low, high = bracket(cells(page, "kinematic")[0][4])
    assert 600 < high < 3000 and low < high
    other = bracket(cells(page, "4")[0][2])  # the same case on a longer grid
    assert other[0] < high and low < other[1]
    assert cells(page, "kinematic")[1][:3] == ["kinematic", "2^10", f"({low}, {high}]"]
    assert read_metadata(tmp_path / "figures" / "polygon.png")["seed"] == 3
