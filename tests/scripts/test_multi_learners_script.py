"""The script that runs every learner of many concepts at its planner's n, on two of them and few trials."""

import pytest

from dpjax.learners import GenericLearner, PointLearner


@pytest.mark.slow
def test_multi_learners_page(scripts, tmp_path):
    module = scripts("multi_learners")
    entries = module.entries()
    assert len({entry.name for entry in entries}) == len(entries)
    chosen = [
        next(entry for entry in entries if isinstance(entry.learner, kind)) for kind in (GenericLearner, PointLearner)
    ]
    module.main(tmp_path, 3, 20, chosen, ("uniform", "zipf"), (0.0, 0.3))
    page = (tmp_path / "multi-learners.md").read_text()
    rows = [
        line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith(("| generic", "| PointLearner"))
    ]
    assert [(row[1], row[2]) for row in rows] == [
        ("16", "uniform"),
        ("16", "zipf"),
        ("256", "uniform"),
        ("256", "zipf"),
        ("16", "zipf"),
        ("16", "zipf"),
    ]
    assert all(float(row[-2]) >= 0.5 for row in rows) and "in 20 trials" in page
