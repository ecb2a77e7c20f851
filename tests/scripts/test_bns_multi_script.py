"""The page of the paper's table: what is in table.json, and how many exponents are near their claims."""

import json

import pytest

from dpjax.experiments.reports import about
from dpjax.papers import bns_table as multi_table


def answer(exponents):
    """A finished table with these exponents, all of them claimed to be 1 but for the last, which has no fit."""
    points = [
        {"value": k, "n_low": 90 * k, "n_high": 100 * k, "theorem": None, "bound": k, "trials": 64} for k in (1, 2, 4)
    ]
    rows = []
    for number, exponent in enumerate([*exponents, None]):
        fit = exponent and {"exponent": exponent, "low": exponent - 0.01, "high": exponent + 0.01, "widened": 1.0}
        rows.append({
            "title": f"pure: points {number}, in log2 |X|", "privacy": "pure", "claim": "log |C|", "axis": "log2 |X|",
            "claimed": 1, "source": "Theorem 3.1", "points": points, "fit": fit,
        })  # fmt: skip
    return {"table": "bns-multi", "rows": rows, "left": 0} | about({"gamma": 0.1, "confidence": 0.95}, 0)


@pytest.mark.parametrize(
    ("exponents", "near", "outside", "farthest"),
    [((1.02, 0.93), 2, 2, "0.070"), ((1.25, 1.0), 1, 1, "0.250"), ((1.005, 1.0), 2, 0, "0.005")],
)
def test_bns_multi_page(exponents, near, outside, farthest, scripts, tmp_path):
    written = tmp_path / "table.json"
    written.write_text(json.dumps(answer(exponents)))
    scripts("bns_multi").main(written, tmp_path)
    page = (tmp_path / "bns-multi.md").read_text()
    prose = " ".join(page.split())
    near_enough = (
        f"**{near} of 3 measured exponents are within 0.1 of the claim, and {outside} of the 2 intervals exclude"
    )
    assert near_enough in prose
    assert f"(0 of these {outside} had to be widened). The farthest exponent, {farthest} away" in prose
    assert f"alpha = {multi_table.ALPHA:g}" in prose and "wrong with probability at most 0.05" in prose
    bars = [line.replace(r"\|", "").count("|") for line in page.splitlines() if line.startswith("|")]
    assert set(bars) == {10, 7}  # bars inside of cells do not end them
    assert (tmp_path / "figures" / "bns-multi.png").stat().st_size > 1000
