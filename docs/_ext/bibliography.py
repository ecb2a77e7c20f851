"""The page of papers: the four whose theorems are indexed, and every work that docstrings cite, with what cites it."""

import theorems

from dpjax.papers.theorems import papers, works

_HEAD = """\
# Papers

How to cite dpjax: {download}`CITATION.cff <../../CITATION.cff>`. Cite the papers whose algorithms you ran, too.

## Indexed

Every numbered item of these has a place in the [index of theorems](theorems/index.md).
"""
_CITED = """
## Cited

All works that the docstrings of dpjax cite under *Reference* by authors and year, and the code that cites each. What is
taken from a work, and what is not, is said there.
"""


def pages() -> dict[str, str]:
    """The page by its path."""
    indexed = [
        f"- [`{paper.key}`](theorems/{paper.key}.md): {theorems.cited(paper)} The docstrings call it "
        f"{paper.authors} {paper.year}."
        for paper in papers().values()
    ]
    known = {f"{paper.authors} {paper.year}" for paper in papers().values()}
    cited = [
        f"- {work}: " + ", ".join(dict.fromkeys(f"`{place.name}`" for place in where)) + "."
        for work, where in works().items()
        if work not in known
    ]
    return {"reference/papers.md": "\n".join([_HEAD, *indexed, _CITED, *cited]) + "\n"}
