"""Links from docstrings to the index of theorems."""

import re
from pathlib import Path, PurePosixPath

from dpjax.papers.theorems import Item, cited, papers

_DOCS = Path(__file__).resolve().parents[1]


def anchor(item: Item) -> str:
    """The anchor of an item on its paper's page: that of its title alone, which stays if its description changes."""
    return re.sub(r"[^a-z0-9]+", "-", item.title.lower()).strip("-")


def fields(text: str) -> list[str]:
    """Fields for a docstring that cites items: links to these, and to the measurements and figures that they name.

    text: what is behind "Reference:".
    """
    found = (papers()[paper].find(kind, number) for paper, kind, number in cited(text))
    items = list({item.key: item for item in found if item is not None}.values())
    measured = dict.fromkeys(page for item in items for page in item.page if page.startswith("gallery/"))
    measured |= dict.fromkeys(made for item in items for file in item.figure if (made := _made(file)))
    lists = {
        "Theorems": "; ".join(f":item:`{item.key}`" for item in items),
        "Measured": "; ".join(f":titled:`{page}`" for page in measured),
    }
    return [f":{name}: {links}" for name, links in lists.items() if links]


def _made(file: str) -> str:
    """The page on how a figure was made; empty if it has none."""
    figure = PurePosixPath(file)
    known = (_DOCS / figure.with_suffix(".png")).exists() and figure.parts[:2] == ("gallery", "figures")
    return f"gallery/generated/{figure.stem}.md" if known else ""
