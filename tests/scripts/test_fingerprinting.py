"""The page of codes and tracing: its parts with few trials, and the page."""

import re
from dataclasses import replace

import pytest
from papers import bns_codes, traced

from dpjax.attacks import BonehShaw, Tardos, pirates
from dpjax.core.checks import InputError
from dpjax.papers import bns_table


@pytest.fixture(scope="module")
def module(scripts):
    return scripts("fingerprinting")


def test_the_constant_learner_is_accused_by_the_printed_code_only(module):
    rows = list(module.printed(50, 0))
    assert [row[3].count for row in rows] == [row[4].count for row in rows] == [50, 0] * 2
    assert [row[2] for row in rows] == [489, 425, 5173, 3249] and all(row[-1] == 0 for row in rows)


def test_failures_are_counted_for_each_coalition(module, monkeypatch):
    monkeypatch.setattr(module, "CODES", {"code": BonehShaw(4)})
    monkeypatch.setattr(module, "LEGAL", (pirates.minority,))
    monkeypatch.setattr(module, "ANY", (traced.opposed,))
    rows, words = module.failures(256, 0, legal=True)
    assert rows == [["code", "minority", *["0 (≤ 0.029), 0 (≤ 0.029)"] * 4]]
    assert "8 intervals 0 are above xi and 8 below" in words
    rows, words = module.failures(256, 0, legal=False)
    assert len(rows[0]) == 5 and "3 intervals 0 are above xi and 3 below" in words
    monkeypatch.setattr(module, "CODES", {"code": BonehShaw(4, calibration="printed")})
    monkeypatch.setattr(module, "ANY", (traced.constant,))
    rows, words = module.failures(256, 0, legal=False)  # the printed code accuses user 1, who is a member
    assert rows[0][3].startswith("0 ") and "3 intervals 0 are above xi and 3 below" in words


def test_upper_bounds_are_read_from_the_table(module):
    text = module.MEASURED.read_text()
    found = module.upper_bounds(text, "approximate: points, agnostic, in k")
    row = next(row for row in bns_table.rows() if row.title == "approximate: points, agnostic, in k")
    first = re.search(
        r"^\| 16 \| (\d+) \| (\d+) \|", text[text.index("## Approximate: points, agnostic, in k") :], re.MULTILINE
    )
    assert found[0] == (16, int(first[2])) and [k for k, _ in found] == list(row.values)
    written = text.replace(first[0], f"| 16 | {first[1]} | - |")
    assert module.upper_bounds(written, row.title) == found[1:]


def test_alarms_are_counted(module):
    """At level .05, more than 6 of 10 with probability below 1e-6."""
    assert module.false_alarms(10).count <= 6


def test_the_loop_in_numpy_and_the_codebooks_are_timed(module, monkeypatch):
    calls = []
    monkeypatch.setattr(module.codes, "by_numpy", lambda: lambda: calls.append(1))
    monkeypatch.setattr(module.codes, "traced", lambda first, count, at_once: first + 1)
    ours, theirs = module.speed(64, 3)
    assert len(calls) == 3 and ours > 0 and theirs > 0


def test_rows_of_a_page_are_replaced(module, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("| 1000 | informed | 1 | 2 | 3 |\n| 1000000 | informed | - | - | - |\nend\n")
    module.update(page, [[10**6, "informed", 1.58, 5.57, 331.0]])
    assert page.read_text() == "| 1000 | informed | 1 | 2 | 3 |\n| 1000000 | informed | 1.58 | 5.57 | 331 |\nend\n"
    with pytest.raises(InputError, match="write the page first"):
        module.update(page, [[10**7, "informed", 1.58, 5.57, 331.0]])


def cells(page, start):
    (row,) = [line for line in page.splitlines() if line.startswith(f"| {start} |")]
    return [cell.strip() for cell in row.split("|")[1:-1]]


def test_what_the_written_page_says(root):
    """The numbers of the page in docs/gallery keep what the theorems and the design promise."""
    page = (root / "docs" / "gallery" / "fingerprinting.md").read_text()
    prose = " ".join(page.split())
    for name in ("Tardos, ERM", "Boneh-Shaw, slow", "Boneh-Shaw, every word"):
        _, claimed, measured, *_ = cells(page, name)
        assert abs(float(measured) - float(claimed)) <= 0.05
    few, many = (cells(page, f"{trials} | informed")[3] for trials in (10_000, 1_000_000))
    assert float(few) >= 3.3 and (many == "-" or float(many) >= 5)
    assert prose.count("intervals 0 are above xi") == 2 and "in 4 of 4 cases" in prose
    assert "Of 4 private learners 0 are refuted, of 2 planted leaks 2" in prose
    for users in (4, 8):
        accused = [cells(page, f"{kind} | {users}")[3] for kind in ("printed", "corrected")]
        assert accused[0].startswith("1000 of 1000 ") and accused[1].startswith("0 of 1000 ")


@pytest.mark.slow
def test_the_page(module, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "CODES", {"Boneh-Shaw": BonehShaw(8), "Tardos": Tardos(8)})
    monkeypatch.setattr(module, "FRACTIONS", [replace(one, users=one.users[:2]) for one in module.FRACTIONS])
    monkeypatch.setattr(bns_codes, "SWEEPS", [replace(one, users=one.users[:2]) for one in bns_codes.SWEEPS])
    assert module.main(["--trials", "200", "--out", str(tmp_path)]) == 2  # the planted leaks
    page = " ".join((tmp_path / "fingerprinting.md").read_text().split())
    assert "Of 4 private learners 0 are refuted, of 2 planted leaks 2" in page
    assert "in 3 of 4 cases" in page  # 20 trials of the fourth one show less
    assert "| 1000000 | informed | - | - | - |" in page and page.count("](figures/") == 2
    for name in ("fraction", "crossing"):
        assert (tmp_path / "figures" / f"fingerprinting-{name}.png").stat().st_size > 10_000
