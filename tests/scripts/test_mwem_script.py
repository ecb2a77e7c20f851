"""The script that compares MWEM with noise on every query, at small size."""

import pytest


@pytest.mark.slow
def test_mwem_page(scripts, tmp_path):
    module = scripts("mwem")
    module.main(tmp_path, 3, 3, (16,), (64,), (100, 300), ((4, 0), (3, 2)))
    page = (tmp_path / "mwem.md").read_text()
    assert "`scripts/mwem.py`" in page and "median of 3 runs" in page and "nan" not in page
    assert "MWEM, T = 4 |" in page and "MWEM, T = 3, 2 replays |" in page
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| 16")]
    assert [row[:3] for row in rows] == [["16", "64", "100"], ["16", "64", "300"]]
    for row in rows:
        assert all(0 <= float(cell) <= 1 for cell in row[3:])
