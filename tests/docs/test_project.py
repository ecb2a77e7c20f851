"""The page of compatibility says what pyproject.toml and the tests say."""

import json
import re
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement


@pytest.fixture
def page(root):
    return (root / "docs/project/compatibility.md").read_text()


@pytest.fixture
def project(root):
    return tomllib.loads((root / "pyproject.toml").read_text())["project"]


def rows(page):
    table = page.partition("## Versions of Python")[2].partition("\n## ")[0]
    return {
        cells[0]: cells[1:]
        for cells in (
            [cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"^\|.*\|$", table, re.M)
        )
        if cells[0] and set(cells[0]) != {"-"}
    }


def test_versions_are_those_of_the_project(page, project):
    needed = {
        one.name: {part.operator: part.version for part in one.specifier}
        for one in map(Requirement, project["dependencies"])
    }
    found = rows(page)
    assert {"jax, jaxlib", "numpy", "scipy", "pandas", "matplotlib", "Python"} == found.keys()
    for names, (low, high, _) in found.items():
        if names == "Python":
            assert project["requires-python"] == f">={low}"
            continue
        for name in names.split(", "):
            assert needed[name] == {">=": low, "<": high}, name


def test_pythons_are_those_that_are_tested(page, project):
    tested = rows(page)["Python"][2].split(", ")
    assert tested == re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))


def test_packages_without_a_reference_are_those_that_are_not_public(page, site):
    names = site("names")
    private = re.search(r"Names that begin with an underscore, (.*?) are not public", page, re.DOTALL)[1]
    assert {*re.findall(r"`(dpjax\.\w+)`", private)} == {*names._WITHOUT_PAGES}
    assert not [path for path in names.names() if path.startswith(names._WITHOUT_PAGES)]
    assert names.find("dpjax.evidence.learner_target")  # which tutorials use


def test_the_golden_files_that_it_names_are_there(page, root):
    (folder,) = set(re.findall(r"`(tests/golden/jax-[\d.]+)`", page))
    assert (root / folder / "random.json").is_file()
    same = re.findall(r"^\| (0\.\d+)[\d.]* \| as 0\.10 ", page, re.MULTILINE)
    assert same == ["0.11", "0.12"]
    first, *others = (
        json.loads((root / f"tests/golden/jax-{name}/random.json").read_text()) for name in ["0.10", *same]
    )
    assert all(other == first for other in others)


def test_the_bibtex_entry_has_the_metadata_of_the_citation_file(root):
    cited = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    page = (root / "docs/project/index.md").read_text()
    (block,) = re.findall(r"^```bibtex\n@(\w+)\{dpjax,\n(.*?)^\}\n```", page, re.MULTILINE | re.DOTALL)
    kind, body = block
    entry = dict(re.findall(r"^  (\w+) = \{+(.*?)\}+,$", body, re.MULTILINE))
    expected = {name: cited[name] for name in ("title", "version", "license")}
    expected["author"] = " and ".join(one["name"] for one in cited["authors"])
    if "date-released" in cited:
        expected["year"] = str(cited["date-released"])[:4]
    assert kind == cited["type"] and entry == expected


@pytest.mark.parametrize("name", ["CHANGELOG", "SECURITY", "CONTRIBUTING", "CODE_OF_CONDUCT"])
def test_every_file_of_the_root_is_a_page(root, name):
    pages = [path.read_text() for path in (root / "docs/project").glob("*.md")]
    assert sum(f"{{include}} ../../{name}.md" in text for text in pages) == 1 and (root / f"{name}.md").is_file()
