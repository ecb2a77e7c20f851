"""The script of docs/gallery/multiclass.md: its crossings, and its page on few bits and trials."""

from math import ceil, log

import pytest

from dpjax.experiments.sweep.hard_tasks import hard_bits, hard_label
from dpjax.theory import kln


def test_crossings_are_where_the_direct_learner_needs_more_rows(scripts):
    module = scripts("multiclass")
    found = list(module._crossings())
    assert len(found) == 6
    for name, bits, rows, depth in found:
        accuracy = module.Accuracy(module.ALPHA / bits, module.BETA / bits)
        assert rows == bits * module.BINARY[name](depth, accuracy)
        direct = [ceil((bits * deep * log(2) - log(module.BETA)) / module.RATE) for deep in (depth - 1, depth)]
        assert direct[0] <= bits * module.BINARY[name](depth - 1, accuracy) and rows <= direct[1]
    assert pytest.approx((64 * log(2) - log(0.1)) / kln.realizable(2**64, 1.0, 0.1, 0.1), rel=1e-3) == module.RATE


@pytest.mark.slow
def test_the_page_of_many_labels(scripts, tmp_path):
    module = scripts("multiclass")
    works = [
        module.Workload("one label", "a free label", lambda bits: hard_label(bits, 0.1), (1, 2, 3)),
        module.Workload("separate bits", "own elements", lambda bits: hard_bits(bits, 0.1), (2,)),
    ]
    rows = module.main(tmp_path, 3, 400, works)
    assert len(rows) == 8 and all(row["low"] < row["high"] <= row["theorem"] for row in rows)
    page = (tmp_path / "multiclass.md").read_text()
    assert "| one label | direct | 1 | 2 |" in page and "| separate bits | bit by bit | 2 | 4 |" in page
    assert "fewer rows in 3 of 3 pairs" in " ".join(page.split())
    fits = [line for line in page.splitlines() if line.startswith("| one label |") and "[" in line]
    assert len(fits) == 2 and (tmp_path / "figures" / "multiclass.png").stat().st_size > 1000
