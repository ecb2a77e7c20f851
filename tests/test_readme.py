"""The Python samples of README.md and of docs/guide run, in order, one namespace a page."""

import importlib
import re
import sys

import pytest

from dpjax import cli
from dpjax.cli.arguments import COMMANDS

pytestmark = pytest.mark.site

SHORT = (
    "n-star",
    "distributions",
    "compare",
    "choose",
    "figures",
    "export",
    "stores",
    "gpu",
    "reproduce",
    "compose",
    "python",
    "lower-bounds",
)
"""Pages whose samples tests/docs/test_guide.py runs."""


def python(root, page):
    return re.findall(r"^```python\n(.*?)^```", (root / page).read_text(), re.MULTILINE | re.DOTALL)


def run(root, page, capsys):
    """The namespace, and what each sample prints."""
    space, printed = {"__name__": "__main__"}, []
    for number, block in enumerate(python(root, page)):
        exec(compile(block, f"{page}, sample {number}", "exec"), space)
        printed.append(capsys.readouterr().out)
    return space, printed


def test_the_readme_runs(root, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    space, (_, study) = run(root, "README.md", capsys)
    assert space["curve"].shape == (4, 200, 1)
    assert "success" in study and "not private" in study and "1 iff x <= " in study
    assert (tmp_path / "figure.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("page", "says"),
    [
        ("vc1", [r"(?s)\(1, 1e-06\)-DP.*\(1, 1e-06\)-DP"]),
        ("many-concepts", ["^32 136\n"]),
        ("tables", [r"^1 iff mean radius < 15\.2283\n0\.120, not private\n$"]),
        ("boosting", [r"(?s)^28 328 78090\n28 rounds of boosting: \(1, 0\)-DP, replace-one"]),
        ("geometry", [r"(?s)set cover.*set cover"]),
        ("dimensions", []),
        ("many-labels", [r"(?m)^125 .*\n1157 "]),
        ("littlestone", [r"(?m)^True ", r"\(1, 1e-06\)-DP"]),
        ("representations", [r"(?m)^127 367$", r"\(1, 0\)-DP", r"by hash function \d"]),
        ("audit-elsewhere", [r"^(consistent with the claim\n){3}$"]),
        ("audits", [r"(?s)consistent with the claim.*consistent with the claim", "2 outcomes", "\nTrue\n"]),
        pytest.param("own-code", ["passed"], marks=pytest.mark.slow),
    ],
)
def test_pages_run(page, says, root, monkeypatch, capsys):
    monkeypatch.chdir(root)
    printed = "".join(run(root, f"docs/guide/{page}.md", capsys)[1])
    for pattern in says:
        assert re.search(pattern, printed), printed


def test_every_page_with_samples_is_tested(root):
    pages = {path.stem for path in (root / "docs/guide").glob("*.md") if python(root, path.relative_to(root))}
    here = "vc1 many-concepts geometry audits own-code dimensions many-labels littlestone representations "
    tested = here + "boosting audit-elsewhere tables"  # others: tests/docs/test_guide.py
    assert pages == {*tested.split(), *SHORT}


def test_the_module_of_one_s_own_stands_alone(root, capsys):
    space = {"__name__": "my_module"}
    exec(compile(python(root, "docs/guide/audits.md")[0], "my_module.py", "exec"), space)
    assert space["mine"].name == "winner" and not capsys.readouterr().out


def test_the_function_from_elsewhere_is_audited(root, tmp_path, monkeypatch, capsys):
    page = (root / "docs/guide/audit-elsewhere.md").read_text()
    (command,) = re.findall(r"`dpjax (audit my_sums:noisy_sum [^`]*)`", page)
    (tmp_path / "my_sums.py").write_text(python(root, "docs/guide/audit-elsewhere.md")[0])
    monkeypatch.syspath_prepend(tmp_path)
    words = [*command.split(), "--trials", "20000"]
    assert cli.main(words) == 0 and "consistent" in capsys.readouterr().out
    assert cli.main([*words, "--epsilon", "0.5"]) == 1
    assert cli.main([*words, "--histograms", "4,2"]) == 2
    words = [word for word in words if word not in ("--pairs", "my_sums:pairs")]
    assert cli.main([*words, "--histograms", "4,2"]) == 0
    sys.modules.pop("my_sums")


def test_all_commands_are_named(root):
    pages = [(root / page).read_text() for page in ("docs/guide/commands.md", "README.md")]
    named, some = (set(re.findall(r"^dpjax ([\w-]+)", page, re.MULTILINE)) for page in pages)
    assert named == COMMANDS.keys() and some <= named


PAGES = ["README.md", "CONTRIBUTING.md", "configs/README.md"]


def test_files_named_there_exist(root):
    for page in (*PAGES, *(str(path.relative_to(root)) for path in (root / "docs").rglob("*.md"))):
        text = (root / page).read_text()
        named = re.findall(r"`((?:docs|notebooks|tests|scripts|configs|dpjax|benchmarks)/[\w./-]*)`", text)
        assert not [name for name in named if "mine" not in name and not (root / name).exists()], page


def generated(root):
    """The pages that the site's generators write."""
    modules = [path for path in sorted((root / "docs/_ext").glob("*.py")) if "def pages()" in path.read_text()]
    return {root / "docs" / page for path in modules for page in importlib.import_module(path.stem).pages()}


def test_links_lead_to_files(root):
    pages = [root / "README.md", *(root / "docs").rglob("*.md")]
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([^)#]+)\)", page.read_text())]
    assert len(links) > 30
    missing = [(page, link) for page, link in links if "://" not in link and not (page.parent / link).exists()]
    made = generated(root) if missing else set()
    assert not [(page, link) for page, link in missing if (page.parent / link).resolve() not in made]


def test_the_readme_is_a_screen_and_a_half_and_has_the_warning(root):
    text = (root / "README.md").read_text()
    assert len(text.splitlines()) <= 80 and max(map(len, text.splitlines())) <= 160
    assert "do not use dpjax to release sensitive data" in text and "CITATION.cff" in text and "Apache-2.0" in text
    for part in ("learn", "guide", "explain", "reference", "gallery"):
        assert f"(docs/{part}/index.md)" in text
