"""The script that writes the page on representations, on one domain, two of them and few trials."""

import pytest


@pytest.mark.slow
def test_representations_page(scripts, tmp_path):
    module = scripts("representations")
    entries = module.entries()
    assert len({entry.name for entry in entries}) == len(entries)
    stars = module.main(tmp_path, 3, 64, [entries[0], entries[-3]], (8,), 64)
    page = (tmp_path / "representations.md").read_text()
    assert (tmp_path / "figures/representations.png").stat().st_size > 10_000
    assert stars[8]["hash"].n_high < 127 and "| 2^8 | (" in page and "N = 241 and n = 367; ours has n = 80" in page
    rows = [
        line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith(("| points of 2^8", "| thr"))
    ]
    assert float(rows[0][6]) >= 0.9
