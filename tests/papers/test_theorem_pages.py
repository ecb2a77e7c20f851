"""The generated pages of the index of theorems: a heading for every item, and links that lead somewhere."""

import importlib.util
import re

import audits
import bibliography
import pytest
import sources

from dpjax.papers.theorems import FAULTS, RULES, papers

pytestmark = pytest.mark.site


@pytest.fixture(scope="module")
def pages(root):
    made = importlib.util.spec_from_file_location("theorem_pages", root / "docs" / "_ext" / "theorems.py")
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    assert module.pages() == module.pages()
    return module.pages()


def anchors(text):
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return [re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads]


def test_a_page_for_each_paper_and_a_heading_for_each_item(pages):
    assert len(pages) == len(papers()) + 1
    for key, paper in papers().items():
        text = pages[f"reference/theorems/{key}.md"]
        heads = re.findall(r"^### (.*)$", text, re.MULTILINE)
        assert heads == [item.heading for item in paper.items.values()]
        assert len(anchors(text)) == len(set(anchors(text)))
        assert text.count("\n**Missing.**") == paper.counts["missing"]


def test_the_index_lists_every_item_under_its_status(pages):
    text = pages["reference/theorems/index.md"]
    for status in ("partly", "missing", "have"):
        part = text.partition(f"## {status.capitalize()}\n")[2].partition("\n## ")[0]
        listed = [item.key for paper in papers().values() for item in paper.items.values() if item.status == status]
        assert listed == re.findall(r"^- \[([^]]*)\]", part, re.MULTILINE)
    corrected = text.partition("## Corrected")[2].partition("\n## ")[0]
    printed = {item.key for paper in papers().values() for item in paper.items.values() if item.printed}
    assert printed == set(re.findall(r"^- \[([^]]*)\]", corrected, re.MULTILINE))
    assert all(f"- *{status}*: {meaning}" in text for status, meaning in (*RULES.items(), *FAULTS.items()))
    for fault, meaning in FAULTS.items():
        part = corrected.partition(f"\n### {fault.capitalize()}\n")[2].partition("\n### ")[0]
        of = {item.key for paper in papers().values() for item in paper.items.values() if item.fault == fault}
        assert of and meaning in part and of == set(re.findall(r"^- \[([^]]*)\]", part, re.MULTILINE))


def test_links_lead_somewhere(pages, root):
    links, made = 0, pages | audits.pages() | bibliography.pages() | sources.pages()
    for name, text in made.items():
        for target in re.findall(r"(?<!\\)\]\(([^)]+)\)", text):
            if target.startswith("https://"):
                continue
            path, _, anchor = target.partition("#")
            file = ((root / "docs" / name).parent / path).resolve()
            inside = file.relative_to(root / "docs").as_posix()
            assert inside in made or file.exists(), (name, target)
            if anchor:
                assert anchor in anchors(made[inside] if inside in made else file.read_text()), (name, target)
            links += 1
    assert links > 200


def test_each_cited_file_has_its_page_and_no_other_has(pages, root):
    items = [item for paper in papers().values() for item in paper.items.values()]
    found = sources.pages()
    assert found.keys() == {sources.page_of(file) for item in items for file in item.simulation}
    for item in items:
        for file in item.simulation:
            page = sources.page_of(file)
            text = found[page]
            shown = re.search(r"^```\{literalinclude\} (\S+)$", text, re.MULTILINE)[1]
            assert ((root / "docs" / page).parent / shown).resolve() == root / file
            assert f"[{item.key}](" in text and "nosearch: true" in text
            link = f"[{file}](../{page.removeprefix('reference/')})"
            assert link in pages[f"reference/theorems/{item.key.partition(':')[0]}.md"]
