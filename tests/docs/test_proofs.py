"""Docstrings and pages of proofs name each other, and the proofs in docstrings are short."""

import re

import pytest

LONGEST = 10  # lines of a proof in a docstring; a longer one is a page


@pytest.fixture(scope="module")
def sources(root):
    return {path.relative_to(root).as_posix(): path.read_text() for path in sorted((root / "dpjax").rglob("*.py"))}


@pytest.fixture(scope="module")
def pages(root):
    return {path.stem: path.read_text() for path in sorted((root / "docs/proofs").glob("*.md"))}


def slug(heading):
    """The anchor of a heading, as on the site and on code hosts."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(text):
    headings = re.findall(r"^#{1,3} (.+)$", text, re.MULTILINE)
    return {slug(heading) for heading in headings} | set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE))


def named(text):
    return re.findall(r"docs/proofs/([\w-]+)\.md(?:#([\w-]+))?", text)


def test_what_docstrings_name_is_there(sources, pages):
    found = [(path, page, anchor) for path, text in sources.items() for page, anchor in named(text)]
    assert len(found) > 40
    for path, page, anchor in found:
        assert page in pages, (path, page)
        assert not anchor or anchor in anchors(pages[page]), (path, page, anchor)


def test_docstrings_name_sections(sources):
    found = [anchor for text in sources.values() for _, anchor in named(text)]
    assert sum(map(bool, found)) > 25


def test_every_page_is_named_by_a_docstring(sources, pages):
    used = {page for text in sources.values() for page, _ in named(text)}
    assert pages.keys() - {"index"} == used


def test_the_index_has_every_page_with_a_statement(pages):
    index = pages["index"]
    rows = dict(re.findall(r"^\| \[([\w-]+)\]\(\1\.md\) \| (.{20,}?) \| `", index, re.MULTILINE))
    listed = index.partition(":hidden:")[2].split()
    assert {*rows} == pages.keys() - {"index"} == {*listed} - {"```"}


def test_links_between_proofs_have_anchors(pages):
    for page, text in pages.items():
        for other, anchor in re.findall(r"\]\(([\w-]+)\.md(?:#([\w-]+))?\)", text):
            assert other in pages and (not anchor or anchor in anchors(pages[other])), (page, other, anchor)


def test_no_proof_in_a_docstring_is_long(sources):
    for path, text in sources.items():
        for proof in re.findall(r"^ *(?:# )?Proof\b.*(?:\n(?!\s*\"\"\"|\s*$).+)*", text, re.MULTILINE):
            assert len(proof.splitlines()) <= LONGEST, (path, proof)


def test_used_by_names_exist(pages, sources):
    code = "\n".join(sources.values())
    for cell in re.findall(r"\| ([^|]+) \|$", pages["index"], re.MULTILINE):
        for name in re.findall(r"`([\w.]+)`", cell):
            last = name.rpartition(".")[2]
            assert re.search(rf"\b(class|def) {last}\b", code) or any(f"{last}.py" in path for path in sources), name
