"""Where lines may break: printed text wraps in its box, code and tables do not; names in titles break at their dots and
underscores."""

import re

from docutils import nodes

_TEXT = frozenset(["default", "text", "none", "console", "bash", "sh", "myst-ansi"])
_FRAME = re.compile(r"[┏┌]")
_NAME = re.compile(r"\w+(\.\w+)+")
_PART = re.compile(r"(?<=[._])")
_COMMENT = re.compile(r"\S {2,}# ")
_GAP = re.compile(r"\S {2,}(?=\S)")


def setup(app):
    """Registers the classes."""
    app.connect("doctree-resolved", _mark)


def _mark(app, page, docname):
    for block in page.findall(nodes.literal_block):
        if block.get("language", "default") in _TEXT and not is_table(block.astext()):
            block["classes"].append("dpjax-listing" if is_listing(block.astext()) else "dpjax-wrapped")
    for title in page.findall(nodes.title):
        if app.builder.format == "html" and _NAME.fullmatch(title.astext()):
            first, *others = _PART.split(title.astext())
            breaks = [one for part in others for one in (nodes.raw("", "<wbr>", format="html"), nodes.Text(part))]
            title.children.clear()
            title.extend([nodes.Text(first), *breaks])


def is_table(text: str) -> bool:
    """Whether a text has a frame, or two lines with three columns or more: gaps of two spaces or more separate them."""
    lines = text.splitlines()
    return bool(_FRAME.search(text)) or sum(len(_GAP.findall(line)) >= 2 for line in lines) >= 2


def is_listing(text: str) -> bool:
    """Whether a text lists commands with comments in a column of their own; it wraps in wide windows alone."""
    return sum(bool(_COMMENT.search(line)) for line in text.splitlines()) >= 2
