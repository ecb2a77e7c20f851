"""The search's entries of the theorem index, also where pages are not written again."""

import json
import subprocess
import sys

import pytest

from dpjax.papers.theorems import papers

pytest.importorskip("myst_parser", reason="the site needs `pip install dpjax[docs]`")

CONF = """
import sys
sys.path.insert(0, {ext!r})
extensions = ["myst_parser", "items"]
"""


def test_entries_of_pages_that_are_not_written_again(root, tmp_path):
    (tmp_path / "conf.py").write_text(CONF.format(ext=str(root / "docs/_ext")))
    item = papers()["bns"].items["2.22"]
    page = tmp_path / "reference/theorems/bns.md"
    page.parent.mkdir(parents=True)
    page.write_text(f"# Items\n\n## Section\n\n### {item.heading}\n\nIts words.\n")
    (tmp_path / "index.md").write_text("# Index\n\n```{toctree}\nreference/theorems/bns\n```\n")
    build = [sys.executable, "-m", "sphinx", "-q", str(tmp_path), str(tmp_path / "html")]
    found = []
    for text in ("", "Another sentence.\n"):
        with (tmp_path / "index.md").open("a") as file:
            file.write(text)
        subprocess.run(build, check=True, cwd=root)
        index = (tmp_path / "html/searchindex.js").read_text()
        found.append(json.loads(index.removeprefix("Search.setIndex(").removesuffix(")"))["indexentries"])
    assert {"bns:2.22", "theorem 2.22"} <= found[0].keys() and found[0] == found[1]
    assert found[0]["bns:2.22"][0][1] == "theorem-2-22"
