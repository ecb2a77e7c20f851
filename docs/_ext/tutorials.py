"""Shows the notebooks of the repository's folder `notebooks` among the pages of `learn`.

Links are written as they work in the repository: from a notebook `../docs/guide/python.md`, from a page
`../../notebooks/tails.ipynb`. On the site both are beside one another.
"""

import re
from pathlib import Path

_TO_PAGES = re.compile(r"(\]\()\.\./docs/")
_TO_NOTEBOOKS = re.compile(r"(\]\()((?:\.\./)*)\.\./notebooks/")


def setup(app):
    """Copies before anything looks for pages."""
    app.connect("builder-inited", _copy, priority=100)
    app.connect("source-read", _link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _copy(app):
    learn = Path(app.srcdir) / "learn"
    wanted = {path.name: on_the_site(path.read_text(encoding="utf-8")) for path in _notebooks(app)}
    for path in learn.glob("*.ipynb"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = learn / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def on_the_site(text: str) -> str:
    """A notebook with its links to pages as they are from `learn`."""
    return _TO_PAGES.sub(r"\1../", text)


def _link(app, docname, source):
    source[0] = _TO_NOTEBOOKS.sub(lambda found: f"{found[1]}{found[2]}learn/", source[0])


def _notebooks(app):
    return sorted((Path(app.srcdir).parent / "notebooks").glob("*.ipynb"))
