"""The page of papers: the four whose theorems are indexed, and every work that docstrings cite, with what cites it."""

import ast
import re
from collections.abc import Iterable, Mapping
from functools import cache

import theorems

from dpjax.papers.theorems import Place, papers
from dpjax.papers.theorems.references import ROOT, texts

_AUTHOR = r"[A-Z][\w'\-]+"
_WORK = re.compile(rf"\b({_AUTHOR}(?:(?:,? and |, ){_AUTHOR})*(?: et al\.)?),? ((?:19|20)\d\d)\b")

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


@cache
def works() -> Mapping[str, tuple[Place, ...]]:
    """The works that docstrings cite by authors and year, "Blum, Ligett, Roth 2013", and the places that cite each.

    "Blum et al. 2013" is the same work.
    """
    by_work: dict[str, list[Place]] = {}
    for path in sorted(ROOT.rglob("*.py")):
        if "Reference:" in (text := path.read_text("utf-8")):
            for place, part in texts(path, ast.parse(text)):
                for work in _named(part):
                    if place not in by_work.setdefault(work, []):
                        by_work[work].append(place)
    for work in [work for work in by_work if " et al. " in work]:
        if (whole := _whole(work, by_work)) is not None:
            by_work[whole] += [place for place in by_work.pop(work) if place not in by_work[whole]]
    return {work: tuple(where) for work, where in sorted(by_work.items())}


def _whole(work: str, known: Iterable[str]) -> str | None:
    """The work whose authors and year "First et al. 2011" shortens, if one that is known begins so."""
    first, year = work.split(" et al. ")
    whole = [candidate for candidate in known if candidate.startswith(f"{first}, ") and candidate.endswith(f" {year}")]
    return whole[0] if len(whole) == 1 else None


def _named(text: str) -> list[str]:
    """Works in a text, authors separated by commas."""
    names = []
    for match in _WORK.finditer(" ".join(text.split())):
        authors = re.sub(r",? and ", ", ", match[1])
        names.append(f"{authors} {match[2]}")
    return [*dict.fromkeys(names)]
