"""The page of audits has every row of `dpjax audit --all`, and its numbers are what audits find today."""

import re
import runpy

import audits
import pytest

from dpjax.cli.commands.audit import everything, find
from dpjax.core.types import Neighboring, Privacy
from dpjax.papers.theorems import papers

SMALL, LARGE = Privacy(1.0, 1e-6), Privacy(4.0, 0.3)
QUICK = (
    ("randomized_response", SMALL),
    ("exponential", SMALL),
    ("laplace_mechanism", SMALL),
    ("gaussian_mechanism", SMALL),
    ("kln-points", SMALL),
    ("kln-points", LARGE),
    ("stable-points", SMALL),
    ("parity-two", SMALL),
    ("accounting: basic", SMALL),
    ("accounting: advanced", SMALL),
    ("accounting: group", SMALL),
)


@pytest.fixture(scope="module")
def script(root):
    return runpy.run_path(str(root / "scripts" / "audit_rows.py"), run_name="script")


@pytest.fixture(scope="module")
def stored(root):
    lines = [line for line in (root / "docs/gallery/audits.md").read_text().splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_table_has_every_row_in_order(stored, script):
    asked = []
    for target, budget in everything(SMALL):
        epsilon, delta = float(budget.epsilon), float(budget.delta)
        claim = target.claim(epsilon, delta)
        kind = "exact" if target.table is not None else "statistical"
        asked.append([target.name, claim.neighboring.value, f"({epsilon:g}, {delta:g})", kind])
    assert [[*row[:3], re.split("[,:]", row[-1])[0]] for row in stored] == asked
    assert all(len(row) == len(script["HEADER"]) for row in stored)


@pytest.mark.parametrize(("name", "budget"), QUICK)
def test_a_row_is_what_its_audit_finds(name, budget, stored, script):
    target = find(name, Neighboring.REPLACE_ONE, "corrected")
    assert [str(cell) for cell in script["row"](target, budget)] in stored


@pytest.mark.slow
def test_all_rows_are_what_audits_find(script, root, tmp_path):
    script["main"](tmp_path / "audits.md")
    assert (tmp_path / "audits.md").read_text() == (root / "docs/gallery/audits.md").read_text()


def test_nothing_found_is_above_its_claim(stored):
    exact = [row for row in stored if row[-1].startswith("exact")]
    assert len(exact) > 200
    for row in exact:
        epsilon, delta = map(float, row[3].strip("()").split(", "))
        assert float(row[4]) <= epsilon * (1 + 1e-3) and float(row[5]) <= delta * (1 + 1e-2) + 1e-13, row


def test_the_page_has_a_heading_for_every_row_that_a_theorem_names(stored):
    (text,) = audits.pages().values()
    heads = re.findall(r"^### (.*)$", text, re.MULTILINE)
    assert sorted(heads) == sorted({row[0] for row in stored})
    assert len({audits.anchor(head) for head in heads}) == len(heads)
    named = {name for paper in papers().values() for item in paper.items.values() for name in item.audit}
    assert named <= set(heads) and len(named) > 50
    assert audits.pages() == audits.pages() and "Code: \n" not in text
