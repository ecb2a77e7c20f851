"""The page of papers: identifiers of the indexed ones, and every work that a docstring cites."""

import re

import bibliography
import pytest
import yaml
from bibliography import _named, _whole, works

from dpjax.papers.theorems import papers


def test_each_paper_is_identified():
    for paper in papers().values():
        assert re.fullmatch(r"\d{4}\.\d{4,5}", paper.arxiv) and paper.venue and paper.names
        last = [name.rpartition(" ")[2] for name in paper.names.split(", ")]
        assert ", ".join(last) == paper.authors
        assert str(paper.year) in paper.citation and f"arXiv:{paper.arxiv}" in paper.citation
        assert not paper.doi or paper.doi.startswith("10.")


def test_the_citation_file_has_the_papers(root):
    cited = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))["references"]
    assert [one["title"] for one in cited] == [paper.title for paper in papers().values()]
    for one, paper in zip(cited, papers().values(), strict=True):
        names = ", ".join(f"{author['given-names']} {author['family-names']}" for author in one["authors"])
        assert (names, one["year"], one.get("doi", "")) == (paper.names, paper.year, paper.doi)
        assert one["identifiers"] == [{"type": "other", "value": f"arXiv:{paper.arxiv}"}]


def test_the_page_lists_papers_and_works():
    (text,) = bibliography.pages().values()
    for key, paper in papers().items():
        assert f"[`{key}`](theorems/{key}.md)" in text and f"(https://arxiv.org/abs/{paper.arxiv})" in text
        assert f"{paper.authors} {paper.year}" in works()
    assert len(works()) > 50
    assert not [work for work in works() if " et al. " in work and _whole(work, works())]
    assert {"dpjax.learners.KLN", "dpjax.theory.kln.realizable_printed"} <= {
        place.name for place in works()["Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith 2011"]
    }
    assert all(
        f"- {work}: `dpjax." in text
        for work in works()
        if not any(work.startswith(p.authors) and work.endswith(str(p.year)) for p in papers().values())
    )
    assert bibliography.pages() == bibliography.pages()


def test_a_short_citation_is_of_the_one_work_that_it_shortens():
    known = ["Roth, Blum 2013", "Roth, Ligett 2014", "Roth et al. 2013", "Roth, Dwork 2014"]
    assert _whole("Roth et al. 2013", known) == "Roth, Blum 2013"
    assert _whole("Roth et al. 2014", known) is None and _whole("Blum et al. 2013", known) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Blum, Ligett, Roth 2013; Dwork and Roth 2014, Theorem 3.6.", ["Blum, Ligett, Roth 2013", "Dwork, Roth 2014"]),
        (
            "as in Bun, Nissim,\n  Stemmer 2016, Lemma 3.7; Ben-David 2015",
            ["Bun, Nissim, Stemmer 2016", "Ben-David 2015"],
        ),
        ("Machado, Oliveira, and Fernandes 2009", ["Machado, Oliveira, Fernandes 2009"]),
        ("Stouffer et al. 1949, and 2 in 100", ["Stouffer et al. 1949"]),
    ],
)
def test_works_are_read(text, found):
    assert _named(text) == found
