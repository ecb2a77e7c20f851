"""The script of docs/multiclass.md on few labels and trials."""

import pytest


@pytest.mark.slow
def test_the_page_of_many_labels(scripts, tmp_path):
    module = scripts("multiclass")
    rows = module.main(tmp_path, 3, 100, (1, 2, 3))
    assert len(rows) == 6 and all(row["high"] is None or row["high"] <= row["planner"] for row in rows)
    page = (tmp_path / "multiclass.md").read_text()
    assert "| direct | 1 | 2 |" in page and "| bit by bit | 3 | 8 |" in page
    assert (tmp_path / "figures" / "multiclass.png").exists()
