"""docs/glossary.md: in order, short, and with every term that a page refers to."""

import json
import re

from tests.conftest import ROOT

DOCS = ROOT / "docs"
PAGE = (DOCS / "glossary.md").read_text()
ENTRIES = {name.replace("\\*", "*"): words for name, words in re.findall(r"^\*\*(.+)\*\*\n  (.+)$", PAGE, re.MULTILINE)}
ROLE = re.compile(r"\{term\}`([^`<]*?)(?: ?<([^`>]+)>)?`")


def texts():
    for path in sorted(DOCS.rglob("*.md")):
        yield path, path.read_text()
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text())["cells"]
        yield path, "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def test_every_line_is_an_entry():
    inside = PAGE.split(":::{glossary}\n")[1].removesuffix(":::\n")
    assert len(ENTRIES) > 90 and inside.count("\n**") == len(ENTRIES) == len(re.findall(r"^  \S", inside, re.MULTILINE))


def test_entries_are_in_order():
    keys = [(re.sub(r"[^a-z0-9]", "", name.lower()), name) for name in ENTRIES]
    assert keys == sorted(keys)


def test_entries_are_short():
    for name, words in ENTRIES.items():
        assert words.endswith((".", ").")) and len(words) < 330, name


def test_every_term_of_a_page_is_defined():
    used = {(path.name, match[2] or match[1]) for path, text in texts() for match in ROLE.finditer(text)}
    assert len(used) > 30 and not [one for one in used if one[1] not in ENTRIES]


def test_notebooks_have_links_that_every_reader_of_notebooks_shows():
    """A role of the site, such as {term}, is raw text in Jupyter and on GitHub."""
    pages = [(path.name, text) for path, text in texts() if path.suffix == ".ipynb"]
    assert not [(name, found) for name, text in pages for found in re.findall(r"\{[\w:-]+\}`[^`]*`", text)]
    assert sum(text.count("](../docs/glossary.md)") for _, text in pages) > 60


def test_explain_pages_refer_to_the_glossary():
    for path, text in texts():
        if path.parent.name == "explain" and path.name not in ("index.md", "precision.md"):
            assert len(ROLE.findall(text)) >= 3, path
