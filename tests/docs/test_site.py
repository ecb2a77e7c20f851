"""The site is built without a warning, without executing tutorials, and none of its links is broken."""

import os
import subprocess
import sys

import check_site
import pytest


@pytest.fixture(scope="module")
def built(root, tmp_path_factory):
    pytest.importorskip("sphinx", reason="the site needs `pip install dpjax[docs]`")
    out = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-D", "nb_execution_mode=off"]
    done = subprocess.run(
        [*words, "-d", str(out / "doctrees"), str(root / "docs"), str(out / "html")],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return out / "html"


def test_no_link_is_broken_and_nothing_is_loaded_from_elsewhere(built):
    assert check_site.broken_links(built) == []


def test_a_broken_link_is_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">b</a><a href="c.html">c</a><script src="https://x.org/y.js">'
    )
    (tmp_path / "b.html").write_text('<p id="there">')
    found = check_site.broken_links(tmp_path)
    assert found == ["a.html: loads https://x.org/y.js", "a.html: no anchor b.html#here", "a.html: c.html"]


def test_figures_open_at_full_size(built):
    page = (built / "gallery/dp-sgd.html").read_text()
    assert '<a class="dpjax-figure large reference internal" href="../_images/dp-sgd.png"><img alt="Error' in page


def test_each_page_of_the_reference_says_what_is_promised(built):
    page = (built / "reference/api/dpjax.KLN.html").read_text()
    for words in ("Privacy", "Utility", "Reference", "sample_size", "_modules/dpjax/learners/kln.html"):
        assert words in page
