"""Links from docstrings to the index of theorems."""

import re

import cites
import pytest

from dpjax.papers.theorems import code, papers

nodes = pytest.importorskip("docutils.nodes", reason="the site needs `pip install dpjax[docs]`")


def test_anchors_are_those_of_titles():
    for paper in papers().values():
        found = [cites.anchor(item) for item in paper.items.values()]
        assert found == [nodes.make_id(item.title) for item in paper.items.values()]
        assert len(set(found)) == len(found)
    assert cites.anchor(papers()["bns"].items["2.22"]) == "theorem-2-22"


def test_every_item_says_what_it_is_about_in_a_few_words():
    for paper in papers().values():
        for item in paper.items.values():
            assert 4 < len(item.about) < 60 and not item.about.endswith("."), item.key
            assert item.heading.startswith(f"{item.title}: ")


def test_a_reference_links_the_items_that_it_cites_once():
    theorems, measured = cites.fields("Bun, Nissim, Stemmer 2016, Theorem 2.22 and Definition 2.5; again Theorem 2.22.")
    assert theorems == ":Theorems: :item:`bns:2.22`; :item:`bns:2.5`"
    assert measured == ":Measured: :titled:`gallery/exponents.md`; :titled:`gallery/generated/exponents.md`"
    assert cites.fields("Kasiviswanathan et al. 2011, Theorem 3.4.") == []


def test_a_reference_links_the_measurements_and_figures_of_its_items(root):
    theorems, measured = cites.fields("Bun, Nissim, Stemmer 2016, Theorem 1.1.")
    assert theorems == ":Theorems: :item:`bns:1.1`" and measured == ":Measured: :titled:`gallery/multi-learners.md`"
    assert (root / "docs" / re.search("`(.*)`", measured)[1]).exists() and "bns:1.1" in code()
    measured = cites.fields("Kaplan, Mansour, Matias, Stemmer 2019, Theorem 1.2.")[1]
    assert measured == ":Measured: :titled:`gallery/conjunctions.md`; :titled:`gallery/generated/conjunctions.md`"
