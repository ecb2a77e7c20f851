"""The page of the generic learners, with few trials."""

import runpy

import pytest


@pytest.mark.slow
def test_the_page_of_generic_learners(root, tmp_path):
    run = runpy.run_path(str(root / "scripts" / "generic_learners.py"), run_name="script")
    run["main"].__globals__["LARGEST"] = 100
    assert run["main"](["--trials", "7", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "generic-learners.md").read_text()
    assert page.count("| GloballyStable |") == 12 and "0.028 |" in page and "2.206e+13" in page
    assert "| 1 | 4.309e+06 | 1336 | 3232 |" in page and "| 2^1000 legs of 2^4 steps | 4 | 1500 |" in page
    assert (tmp_path / "figures" / "generic-learners.png").stat().st_size > 10_000


def test_sizes_of_its_table(root):
    run = runpy.run_path(str(root / "scripts" / "generic_learners.py"), run_name="script")
    table = {(row[0], row[1]): row[-1] for d in (1, 2) for row in run["sizes"](d)}
    assert table["GloballyStable", 1] == 76728 and table["GloballyStable", 2] == 2799104
    assert table["Irreducibility", 1] > 5 * table["GloballyStable", 1]
