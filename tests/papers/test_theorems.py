"""The index of theorems: every numbered item of the four papers, with code, and every name in it exists."""

import ast
import importlib
import json
import re
import tomllib
from pathlib import Path

import pytest

from dpjax import cli, evidence
from dpjax.cli.arguments.privacy import TheoremCommand
from dpjax.cli.commands import theorem
from dpjax.core.checks import InputError
from dpjax.papers.theorems import FAULTS, STATUSES, Paper, cited, code, papers, places, search
from dpjax.papers.theorems.references import code_of

pytestmark = pytest.mark.site

NUMBERS = tomllib.loads((Path(__file__).parent / "numbers.toml").read_text())
ITEMS = [item for paper in papers().values() for item in paper.items.values()]
WRONG_PRINT = {"bgs:A.3", "bns:3.12", "yan:fact-1"}  # of items without code, or with code of a weaker form
OTHERS = {"Figure", "Extension"}  # a caption, and sentences of a section without numbers
SEEDS = {"bgs": "bgs-multiclass", "bns": "bns-multi", "kmms": "kmms-geometric", "yan": "yan-vc1-proper"}


def numbers(paper):
    return {(kind, number) for kind, text in NUMBERS[paper].items() for number in text.split()}


@pytest.mark.parametrize("key", papers())
def test_every_numbered_item_is_there(key):
    found = [(item.kind, item.number or item.name) for item in papers()[key].items.values()]
    assert len(found) == len(set(found)) and set(found) == numbers(key)


@pytest.mark.parametrize("key", papers())
def test_the_numbers_are_those_of_the_text(key, root):
    text = root.parent / "shared" / "seeds" / f"{SEEDS[key]}.txt"
    if not text.exists():
        pytest.skip("the text of the paper is not at hand")
    kinds = "|".join(sorted({kind for paper in NUMBERS.values() for kind in paper} - OTHERS))
    pattern = rf"^(?:\\fname@algorithm|({kinds}))\s((?:[A-Z]\.)?\d+(?:\.\d+)*|(?<=algorithm\s)\w+)(?=[\s.(:])"
    found = re.findall(pattern, text.read_text(errors="replace"), re.MULTILINE)
    assert {(kind or "Algorithm", number) for kind, number in found} == {
        item for item in numbers(key) if item[0] not in OTHERS
    }


def test_the_status_says_whether_there_is_code():
    for item in ITEMS:
        assert item.status in STATUSES and (item.status == "missing") != bool(code_of(item)), item.key
        assert item.says.endswith("."), item.key
        if item.status == "missing":
            assert item.why and not (item.audit or item.simulation or item.figure or item.proof), item.key
        assert item.why or item.status != "partly", item.key
        assert bool(item.printed) == bool(item.right) == (item.status == "corrected" or item.key in WRONG_PRINT), (
            item.key
        )


def test_every_wrong_print_says_what_is_wrong():
    for item in ITEMS:
        assert (item.fault in FAULTS) == bool(item.printed) and (item.fault or item.fault == ""), item.key
        assert (f"({item.fault})" in item.verdict) == (item.status == "corrected"), item.key
    assert {item.fault for item in ITEMS} == {"", *FAULTS}


def test_an_item_of_code_names_its_evidence():
    assert not [item.key for item in ITEMS if item.status != "missing" and not item.simulation]


def test_no_reference_leads_nowhere():
    assert len(places()) > 250
    for one in places():
        paper = papers()[one.paper]
        if one.kind in ("Section", "Appendix"):
            assert one.number in paper.sections, one
        elif one.kind == "Figure":
            assert int(one.number) <= paper.figures, one
        else:
            assert paper.find(one.kind, one.number) is not None, one


def test_the_code_exists(root):
    lines = {}
    for found in code().values():
        for place in found:
            if place.file not in lines:
                lines[place.file] = (root / place.file).read_text().splitlines()
            last = place.name.rpartition(".")[2]
            assert place.line == 1 or re.search(rf"(class|def) {last}\b", lines[place.file][place.line - 1]), place
            thing, names = "dpjax", place.name.split(".")[1:]
            made = importlib.import_module(thing)
            for name in names:
                thing = f"{thing}.{name}"
                made = getattr(made, name) if hasattr(made, name) else importlib.import_module(thing)
            assert ast.get_docstring(ast.parse((root / place.file).read_text())) if place.line == 1 else made.__doc__


def test_files_exist(root):
    for item in ITEMS:
        for file in item.simulation:
            assert file.startswith(("tests/", "scripts/")) and (root / file).is_file(), (item.key, file)
        for file in (*item.figure, *item.page, *item.proof):
            name, _, anchor = file.partition("#")
            assert (root / "docs" / name).is_file(), (item.key, file)
            if anchor:
                heads = re.findall(r"^#+ (.*)$", (root / "docs" / name).read_text(), re.MULTILINE)
                assert anchor in {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}, file


def test_audits_exist():
    known = {*evidence.mechanism_names(), *evidence.median_names(), *evidence.sanitizer_names()}
    known |= {*evidence.learner_names(), *(target.name for target in evidence.accounting_targets())}
    assert {name for item in ITEMS for name in item.audit} <= known


def test_numbers_are_those_of_the_pages(root):
    """Measured numbers of the table, with three digits or more, are on a page or in a proof that the item names."""
    for item in ITEMS:
        files = [file.partition("#")[0] for file in (*item.page, *item.proof)]
        text = "\n".join((root / "docs" / file).read_text() for file in files)
        for number in re.findall(
            r"(?<![\w.^/-])(\d+\.\d{3,}|\d{3,}|\d\.\d+e\d+)(?!\w)", f"{item.printed} {item.right}"
        ):
            shown = rf"(?<![\d.]){re.escape(number).replace('e11', 'e[+]?11')}(?!\d)"
            assert re.search(shown, text), (item.key, number)


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.key)
def test_the_command_prints_every_item(item, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    answer, show = theorem.run(TheoremCommand(item.key))
    show()
    printed = " ".join(capsys.readouterr().out.split())
    assert item.key in printed and item.verdict in printed and item.says in printed
    assert not item.fault or f"{item.fault}: {FAULTS[item.fault]}" in printed
    assert all(text in printed for text in (item.printed, item.right, item.why, *item.audit, *item.simulation))
    assert all(place.name in printed for place in code_of(item))
    (row,) = answer["items"]
    assert (
        row["key"] == item.key
        and row["fault"] == item.fault
        and len(row["code"]) == len(code_of(item))
        and json.dumps(answer)
    )


def test_a_paper_and_all_papers(capsys):
    for key, paper in papers().items():
        assert isinstance(search(key), Paper) and cli.main(["theorem", key]) == 0
        printed = capsys.readouterr().out
        assert all(f"{item.key}  {item.title}: {item.verdict}\n" in printed for item in paper.items.values())
        assert sum(paper.counts.values()) == len(paper.items)
    assert cli.main(["theorem", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [paper["key"] for paper in answer["papers"]] == list(papers())
    assert all(
        paper[status] == papers()[paper["key"]].counts[status] for paper in answer["papers"] for status in STATUSES
    )
    assert cli.main(["theorem"]) == 0 and "missing" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("bns:3.12", "bns:3.12"),
        ("BNS:Theorem 3.12", "bns:3.12"),
        ("bns:algorithm-2", "bns:algorithm-2"),
        ("bns 3.11", "bns:3.11"),
        (" bns  Theorem 3.12", "bns:3.12"),
        ("bns: 3.12", "bns:3.12"),
        ("yan claim 2", "yan:claim-2"),
        ("yan:theorem-11", "yan:theorem-11"),
        ("kmms:selecthalfplane", "kmms:SelectHalfplane"),
        ("bgs:a.1", "bgs:A.1"),
    ],
)
def test_keys(key, found):
    assert search(key).key == found


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("yan:7", "yan:theorem-7"),
        ("bns:3.21", "bns:3.2"),
        ("bns:lemma-3.12", "bns:3.12"),
        ("xyz:1", "kmms"),
        ("bns 3.99", "bns:3.9"),
        ("", "yan"),
        ("bgs:", "dpjax theorem bgs"),
        ("kmms:SelectHalfplanes", "kmms:SelectHalfplane"),
    ],
)
def test_unknown_keys_are_answered_by_near_ones(key, near, capsys):
    with pytest.raises(InputError, match=near):
        search(key)
    assert cli.main(["theorem", key]) == 2 and near in capsys.readouterr().err


def test_the_command_needs_no_jax(fresh):
    program = (
        "import contextlib, io, json, sys\nfrom dpjax import cli\n"
        "with contextlib.redirect_stdout(io.StringIO()) as out:\n    status = cli.main(['theorem', 'bns:3.12'])\n"
        "print()\nprint(json.dumps([status, 'ParityLearner' in out.getvalue(), 'jax' in sys.modules]))"
    )
    assert fresh(program) == [0, True, False]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "Bun, Nissim, Stemmer 2016, Algorithm 2, Lemmas 3.6 and 3.7, Theorems 1.1, 2.23, and 3.1; Lemma 9.9.",
            ["Algorithm 2", "Lemma 3.6", "Lemma 3.7", "Theorem 1.1", "Theorem 2.23", "Theorem 3.1"],
        ),
        ('Bun, Nissim and Stemmer, "Simultaneous ...", Theorem 2.16(1). Theorem 9.9 is another.', ["Theorem 2.16"]),
        ("Bun, Nissim, Stemmer, Vadhan 2015, Theorem 9.9.", []),
        ("Yan 2025, Claims 2 to 5 and Corollary 2.", ["Claim 2", "Claim 3", "Claim 4", "Claim 5", "Corollary 2"]),
        (
            "Bun, Gaboardi, Sivakumar 2021, Definitions 2.10 to 2.12, Claim A.2, Appendix A (Others 2019, Lemma 9.9).",
            ["Definition 2.10", "Definition 2.11", "Definition 2.12", "Claim A.2", "Appendix A"],
        ),
        (
            "Kaplan, Mansour, Matias and Stemmer 2019, Section 4 (SelectHalfplane); the sampler is ours.",
            ["Section 4", "Algorithm SelectHalfplane"],
        ),
    ],
)
def test_citations_are_read(text, found):
    assert [f"{kind} {number}" for _, kind, number in cited(text)] == found
