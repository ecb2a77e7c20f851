"""The Sphinx extension of this site: pages that are generated, docstrings, links from code to the reference, links of
figures to their files, MathML, text that wraps."""

import importlib
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import docstrings
import figures
import items
import links
import mathml
import wrapped

_GENERATORS = (
    "api",
    "commands",
    "configuration",
    "statuses",
    "theorems",
    "sources",
    "audits",
    "bibliography",
    "results",
    "gallery",
)
"""Modules with ``pages() -> dict[str, str]``: path relative to docs -> text."""


def setup(app):
    """Called by Sphinx."""
    app.connect("builder-inited", _write)
    app.connect("autodoc-process-docstring", docstrings.process)
    app.connect("autodoc-process-signature", docstrings.signature)
    links.setup(app)
    figures.setup(app)
    items.setup(app)
    mathml.setup(app)
    wrapped.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write(app):
    """Writes generated pages whose text changed, and removes those that no generator has any more."""
    root = Path(app.srcdir)
    listed = root / "_build" / "generated.txt"
    # a process of its own: Sphinx forks this one later, which JAX's threads do not survive
    with ProcessPoolExecutor(1, get_context("spawn")) as apart:
        found = apart.submit(_pages).result()
    for path, text in found.items():
        page = root / path
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(text, encoding="utf-8")
    for path in listed.read_text(encoding="utf-8").split() if listed.exists() else []:
        if path not in found:
            (root / path).unlink(missing_ok=True)
    listed.parent.mkdir(exist_ok=True)
    listed.write_text("\n".join(sorted(found)), encoding="utf-8")


def _pages() -> dict[str, str]:
    """All generated pages, by path."""
    found: dict[str, str] = {}
    for name in _GENERATORS:
        found |= importlib.import_module(name).pages()
    return found
