"""Every public name has a page, and every name of the README and the tutorials leads to one."""

import ast
import importlib
import json
import re
from pathlib import Path

import pytest

import dpjax as dp


@pytest.fixture(scope="module")
def names(site):
    return site("names")


def test_every_noun_and_every_export_has_a_page_of_its_own(names, site):
    api = site("api")
    pages = api.pages()
    for name in dp.__all__:
        found = names.find(name)
        assert found in names.modules() or api.page_of(names.names()[found]) in pages, name
    exported = [one for one in names.names().values() if one.exported and one.kind != "module"]
    assert len(exported) > 300
    assert all(pages[f"reference/api/{one.path}.rst"].startswith(one.path) for one in exported)


def test_every_public_definition_is_on_a_page(names, site):
    """Functions and classes of all modules, read from the sources."""
    pages = site("api").pages()
    count = 0
    for path, module in names.modules().items():
        for node in ast.parse(Path(module.__file__).read_text()).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
                documented = names.homes()[f"{path}.{node.name}"]
                one = names.names()[documented]
                text = pages[site("api").page_of(one)]
                assert re.search(rf"^\.\. auto(class|function):: {re.escape(documented)}$|^.. py:data:: ", text, re.M)
                count += 1
    assert count > 1500


def test_a_name_is_found_as_people_write_it(names):
    assert names.find("KLN") == names.find("dp.KLN") == names.find("dpjax.learners.kln.KLN") == "dpjax.KLN"
    assert names.find("Study.run") == "dpjax.Study.run" and names.find("Privacy.epsilon") == "dpjax.Privacy.epsilon"
    assert names.find("theory.kln.realizable") == "dpjax.theory.kln.realizable"
    assert names.find("audit.exact") == "dpjax.audit.exact" and names.find("audit") == "dpjax.audit"
    assert names.find("Gain", "dpjax.learners.polygons") == "dpjax.mechanisms.cover.Gain"
    for wrong in ("KLM", "Study.ran", "theory.kln.unreal", "dpjax.learners._kln", "Study._table"):
        assert names.find(wrong) is None


def test_a_word_in_lower_case_is_a_link_only_with_a_dot(names, root):
    """`database` is a line of a report of an audit, `uniform` a function of `dpjax.core.random`: both are nouns too."""
    for word in ("uniform", "database", "ask", "trial_key"):
        assert word in dp.__all__ and names.written(word) is None
        assert names.written(f"dp.{word}") == names.written(f"dpjax.{word}()") == f"dpjax.{word}"
    assert names.written("core.random.uniform") == "dpjax.core.random.uniform"
    assert names.written("KLN") == "dpjax.KLN" and names.written("noise_and_step") is None
    assert "| `database`, `neighbor` |" in (root / "docs/guide/audits.md").read_text()


def test_what_learners_and_tables_are_written_with_has_a_page_of_its_own(names, site):
    pages = site("api").pages()
    for name in ("Number", "STATIC", "Spends", "down", "plan_type", "up"):
        assert names.find(f"dpjax.core.plans.{name}") == f"dpjax.learners.{name}"
    for name in ("Learned", "held_out", "learn_all", "load", "on_cube", "on_lines", "on_plane", "read"):
        assert f"reference/api/dpjax.tables.{name}.rst" in pages
    assert ".. py:data:: dpjax.learners.Number\n\n   A leaf" in pages["reference/api/dpjax.learners.Number.rst"]


ELSEWHERE = {"LocalCluster": "distributed"}
"""Names of other libraries, by the module that has them."""


def tutorials(root):
    return sorted((root / "notebooks").glob("*.ipynb"))


def code_of(root):
    """(page, code) of the README and of the tutorials."""
    text = (root / "README.md").read_text()
    yield from (("README.md", code) for code in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    for path in tutorials(root):
        cells = json.loads(path.read_text())["cells"]
        yield from ((path.name, "".join(one["source"])) for one in cells if one["cell_type"] == "code")


def words_of(root):
    """(page, inline code) of the README and of the tutorials."""
    pages = {"README.md": (root / "README.md").read_text()}
    for path in tutorials(root):
        cells = json.loads(path.read_text())["cells"]
        pages[path.name] = "\n".join("".join(one["source"]) for one in cells if one["cell_type"] == "markdown")
    for page, text in pages.items():
        text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
        yield from ((page, word) for word in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text))


def used(code):
    """Dotted names of dpjax that a program imports or reaches through what it imported."""
    tree = ast.parse(re.sub(r"^[%!].*$", "", code, flags=re.MULTILINE))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dpjax":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "dpjax")
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "dp":
            yield f"dpjax.{node.attr}"


def test_every_name_in_code_leads_to_the_reference(root, names):
    found = {(page, name) for page, code in code_of(root) for name in used(code)} - {("README.md", "dpjax")}
    assert len(found) > 100
    lost = {(page, name) for page, name in found if name != "dpjax.__version__" and names.find(name) is None}
    assert not lost


def test_every_name_in_the_text_leads_to_the_reference(root, names):
    """Inline code that is written as a name of dpjax: `dp.KLN`, `dpjax.audit`, `KLN`, `Study.run`."""
    words = {(page, word) for page, word in words_of(root)}
    dotted = {(page, word) for page, word in words if re.fullmatch(r"(dp|dpjax)\.[\w.]+(\(\))?", word)}
    assert not {one for one in dotted if names.find(one[1]) is None}
    camel = {(page, word) for page, word in words if re.fullmatch(r"[A-Z]\w*[a-z]\w*(\.\w+)?(\(\))?", word)}
    assert camel
    own = {}  # what a page defines itself, or imports from elsewhere
    for page, code in code_of(root):
        tree = ast.parse(re.sub(r"^[%!].*$", "", code, flags=re.MULTILINE))
        imported = {a.asname or a.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names}
        own.setdefault(page, set()).update(imported | set(re.findall(r"class (\w+)", code)))
    lost = {one for one in camel if names.find(one[1]) is None and one[1].split(".")[0] not in own.get(one[0], ())}
    assert {name for _, name in lost} <= ELSEWHERE.keys()
    assert all(hasattr(importlib.import_module(ELSEWHERE[name]), name) for _, name in lost)
