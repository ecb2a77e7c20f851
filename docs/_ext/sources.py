"""Pages of source: the tests and scripts that the index of theorems cites, each with the items that cite it."""

from collections import defaultdict
from pathlib import PurePosixPath

import audits

from dpjax.papers.theorems import papers


def pages() -> dict[str, str]:
    """Path relative to docs -> Markdown."""
    cited: dict[str, list[str]] = defaultdict(list)
    for paper in papers().values():
        for item in paper.items.values():
            for file in item.simulation:
                up = _up(file)
                cited[file].append(f"[{item.key}]({up}theorems/{paper.key}.md#{audits.anchor(item.heading)})")
    return {page_of(file): _page(file, links) for file, links in sorted(cited.items())}


def page_of(file: str) -> str:
    """The page of a file of the repository, relative to docs."""
    return f"reference/sources/{PurePosixPath(file).with_suffix('.md')}"


def _up(file: str) -> str:
    """From the page of a file to docs/reference."""
    return "../" * (file.count("/") + 1)


def _page(file: str, links: list[str]) -> str:
    return f"""---
orphan: true
nosearch: true
---

# {PurePosixPath(file).name}

`{file}`, cited by {", ".join(links)}.

```{{literalinclude}} {_up(file)}../../{file}
:language: python
:linenos:
```
"""
