"""Links from docstrings to the index of theorems."""

import re

from dpjax.papers.theorems import Item, cited, papers


def anchor(item: Item) -> str:
    """The anchor of an item on its paper's page: that of its title alone, which stays if its description changes."""
    return re.sub(r"[^a-z0-9]+", "-", item.title.lower()).strip("-")


def fields(text: str) -> list[str]:
    """Fields for a docstring that cites items: links to these, and to the pages of measurements that they name.

    text: what is behind "Reference:".
    """
    found = (papers()[paper].find(kind, number) for paper, kind, number in cited(text))
    items = list({item.key: item for item in found if item is not None}.values())
    measured = dict.fromkeys(page for item in items for page in item.page if page.startswith("gallery/"))
    lists = {
        "Theorems": "; ".join(f":item:`{item.key}`" for item in items),
        "Measured": ", ".join(f":titled:`{page}`" for page in measured),
    }
    return [f":{name}: {links}" for name, links in lists.items() if links]
