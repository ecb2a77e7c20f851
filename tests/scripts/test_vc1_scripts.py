"""The scripts of the VC-1 chapter, at tiny size, into a folder of their own: page, figure, what the figure carries."""

import re

import pytest

from dpjax.plots import read_metadata


def check(out, name, script, seed=3):
    """The figure is there in both formats and says what made it; returns the page."""
    for suffix in ("png", "svg"):
        found = read_metadata(out / "figures" / f"{name}.{suffix}")
        assert found["config"]["script"] == script and found["seed"] == seed and found["versions"]["dpjax"]
    page = (out / f"{name}.md").read_text()
    assert f"figures/{name}.png" in page and f"`scripts/{script}.py`" in page
    assert not re.search(r"\bnan\b|[{}]", page)
    return page


def rows(page, start):
    return [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith(f"| {start}")]


@pytest.mark.slow
def test_median_domains(scripts, tmp_path):
    scripts("median_domains").main(tmp_path, 3, 16, (("exponential", 16),))
    page = check(tmp_path, "median-domains", "median_domains")
    (row,) = rows(page, "16 |")
    assert row[1] == "exponential" and 40 <= int(row[2]) <= int(row[6]) == 54 and row[5] == "16"


@pytest.mark.slow
def test_median_domains_recursive(scripts, tmp_path):
    scripts("median_domains").main(tmp_path, 3, 40, (("exponential", 16), ("recprefix", 16), ("treelog", 16)))
    found = {row[1]: int(row[2]) for row in rows(check(tmp_path, "median-domains", "median_domains"), "16 |")}
    assert found["exponential"] < found["RecPrefix"] < found["TreeLog"]


@pytest.mark.slow
def test_domains(scripts, tmp_path):
    scripts("domains").main(tmp_path, 3, 64, {1.0: (64,)}, ("kln", "majority"), (64,))
    page = check(tmp_path, "domains", "domains")
    kln, majority = rows(page, "64 | 1 |")
    assert kln[2:4] == ["KLN", "1163"] and majority[2:4] == ["majority", "1715"]
    assert all(float(row[4].split()[0]) >= 0.9 for row in (kln, majority))
    assert "Fewer planned rows than `KLN`, by bits: at epsilon 1 majority from 100," in " ".join(page.split())
    nested = rows(page.split("Brackets of")[1], "64 |")
    assert [row[1] for row in nested] == ["KLN", "majority"] and all("]" in cell for row in nested for cell in row[2:])


@pytest.mark.slow
def test_vc1_height(scripts, tmp_path):
    scripts("vc1_height").main(tmp_path, 3, 64, {"exponential": (4,)})
    measured, planned = rows(check(tmp_path, "vc1-height", "vc1_height"), "4 |")
    assert measured[1:3] == ["exponential", "1369"] and 0.9 <= float(measured[6]) <= 2.0
    assert planned == ["4", "1369", "3109", "6433", "6900", "8284"]


@pytest.mark.slow
def test_vc1_subsample_size(scripts, tmp_path):
    scripts("vc1_subsample_size").main(tmp_path, 3, 8, (64,))
    page = check(tmp_path, "vc1-subsample-size", "vc1_subsample_size")
    assert rows(page, "0.1 |") == [["0.1", "39583", "20", "1979"]]
    (row,) = rows(page, "2^6 |")
    assert int(row[2]) >= 0.95 * int(row[1])


@pytest.mark.slow
def test_vc1_proper(scripts, tmp_path, monkeypatch):
    script = scripts("vc1_proper")
    monkeypatch.setattr(script, "LEARNERS", {"proper": script.LEARNERS["proper"]})
    script.main(tmp_path, 3, 8, (), ("caterpillar(6, 2), improper",))
    (row,) = rows((tmp_path / "vc1-proper.md").read_text(), "caterpillar")
    assert row[2] == "proper" and row[5] == "8 of 8"


@pytest.mark.slow
def test_vc1_proper_measured(scripts, tmp_path):
    scripts("vc1_proper").main(tmp_path, 3, 8, (0.3, 0.15), ("caterpillar(6, 2), improper",))
    page = check(tmp_path, "vc1-proper", "vc1_proper")
    planned = {row[2]: int(row[3]) for row in rows(page, "caterpillar")}
    assert planned["proper"] > planned["improper"]
    assert [row[2] for row in rows(page, "prefixes(2, 3)")] == ["improper", "proper"]
    assert [row[2] for row in rows(page, "caterpillar(6, 1)")] == ["improper", "proper"]
    found = re.findall(r"(?:improper|proper), (?:wide|long) trees, ([0-9.]+) \[", " ".join(page.split()))
    assert len(found) == 4 and all(0.5 < float(exponent) < 2.5 for exponent in found)


@pytest.mark.slow
def test_figure_one(scripts, tmp_path, capsys):
    target, found = scripts("figure_one").main(tmp_path, 3, 4200)
    assert target == found == 4
    for suffix in ("png", "svg"):
        assert read_metadata(tmp_path / "figures" / f"vc1-figure-one.{suffix}")["config"]["n"] == 4200
    assert "found node 4 at depth 3" in capsys.readouterr().out
