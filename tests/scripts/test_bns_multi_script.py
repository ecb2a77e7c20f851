"""The page of the paper's table: what is in table.json, how many claims are inside, and why the others are not."""

import json
import re
from dataclasses import replace

import pytest

from dpjax.papers import bns_table as multi_table
from dpjax.papers.pages import about


def answer(claims):
    """A finished table of n* = 95 k with these claims, and a last row without a fit."""
    row = replace(next(row for row in multi_table.rows() if row.axis == "k"), factor=lambda k: 1.0)
    points = [
        {"value": k, "n_low": 91 * k, "n_high": 99 * k, "theorem": None, "bound": k, "trials": 64}
        for k in (1, 4, 16, 64)
    ]
    rows = []
    for number, claimed in enumerate([*claims, None]):
        rows.append(
            {
                "title": f"pure: points {number}, in log2 |X|",
                "privacy": "pure",
                "claim": "log |C|",
                "axis": "log2 |X|",
                "claimed": 1 if claimed is None else claimed,
                "source": "Theorem 3.1",
                "learner": "Independent(KLN)",
                "points": points,
                "fit": None if claimed is None else multi_table.fit(replace(row, claimed=claimed), points, 0.0125),
            }
        )
    return {"table": "bns-multi", "rows": rows, "left": 0} | about({"confidence": 0.95}, 0)


@pytest.mark.parametrize(
    ("claims", "inside", "exact", "alone"),
    [((1, 1), 2, 2, 2), ((1, 0.9), 1, 1, 1), ((1.07, 1), 2, 1, 0), ((0.5, 0.5), 0, 0, 0)],
)
def test_bns_multi_page(claims, inside, exact, alone, scripts, tmp_path):
    written = tmp_path / "table.json"
    written.write_text(json.dumps(answer(claims)))
    scripts("bns_multi").main(written, tmp_path)
    page = (tmp_path / "bns-multi.md").read_text()
    prose = " ".join(page.split())
    assert f"**{inside} of 3 intervals have the claimed exponent; for {exact} of them a curve" in prose
    others = ", ".join(map(str, sorted({*claims})))
    assert f"{alone} have it and no other of the exponents {others}." in prose
    assert prose.count("is outside: the nearest curve") == page.count("| no |") == 2 - inside
    if claims[0] == 0.5:  # a x^0.5 with a = 95 sqrt(8): too high by sqrt(8) at 1, too low at 64, less half a bracket
        assert "misses brackets by a factor 2.71" in prose and "for (91, 99] at log2 |X| = 1" in prose
    assert f"alpha = {multi_table.ALPHA:g}" in prose and "together with probability 0.95" in prose
    sections = re.findall(r"\n## (Pure: .*)\n\nLearner: `(.*)`\. Claimed in Theorem 3.1\.\n\n\| log2", page)
    assert sections == [(f"Pure: points {i}, in log2 |X|", "Independent(KLN)") for i in range(3)]
    bars = [line.replace(r"\|", "").count("|") for line in page.splitlines() if line.startswith("|")]
    assert set(bars) == {11, 8}  # bars inside of cells do not end them
    assert (tmp_path / "figures" / "bns-multi.png").stat().st_size > 1000


def test_the_page_says_what_parts_of_the_budget_explain(scripts, tmp_path):
    """n = 10 k / part, with parts that go up and down: without them nothing is near to exponent 1."""
    written, part = answer((1,)), {1: 0.9, 4: 0.3, 16: 0.9, 64: 0.3}
    row = replace(
        next(row for row in multi_table.rows() if row.title == "pure: thresholds, agnostic, in k"),
        factor=lambda k: 1.0,
        parts=lambda setting: (1 - part[setting.k], part[setting.k]),
    )
    points = [
        one | {"n_low": 9.6 * one["value"] / part[one["value"]], "n_high": 10.4 * one["value"] / part[one["value"]]}
        for one in written["rows"][0]["points"]
    ]
    written["rows"] = [
        written["rows"][0] | {"title": row.title, "points": points, "fit": multi_table.fit(row, points, 0.01)}
    ]
    (tmp_path / "table.json").write_text(json.dumps(written))
    scripts("bns_multi").main(tmp_path / "table.json", tmp_path)
    prose = " ".join((tmp_path / "bns-multi.md").read_text().split())
    assert "**1 of 1 intervals have the claimed exponent" in prose
    assert "the choices' parts of epsilon: 0.90, 0.30, 0.90, 0.30." in prose
    said = re.search(r"Without the parts of epsilon these claims would be within ([\d.]+) \(", prose)
    assert float(said[1]) > 1.1
