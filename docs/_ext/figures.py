"""Figures of pages link to their files, to open them at full size, and say how wide they are in print, for phones."""

import re
import struct
from pathlib import Path
from posixpath import join
from urllib.parse import quote

from docutils import nodes
from sphinx.util.osutil import relative_uri

SMALL, MEDIUM = 5.5, 8.5
"""Inches up to which a figure is small, and medium; letters of a figure have 8 to 10 points at its own width."""
_DRAWN = "figure drawn by the code above"


def setup(app):
    """Registers the links."""
    app.connect("doctree-resolved", _link)


def _link(app, page, docname):
    if app.builder.format != "html":
        return
    images = relative_uri(app.builder.get_target_uri(docname), app.builder.imagedir)
    for image in list(page.findall(nodes.image)):
        uri = image["uri"]
        if uri not in app.env.images or isinstance(image.parent, nodes.reference):
            continue
        image.setdefault("alt", _DRAWN)
        target = join(images, quote(app.env.images[uri][1]))
        link = nodes.reference("", "", refuri=target, internal=True, classes=["dpjax-figure", size(app.srcdir / uri)])
        image.replace_self(link)
        link += image


def size(path: Path) -> str:
    """ "small", "medium" or "large", by the width in inches."""
    inches = width(path.read_bytes())
    return "small" if inches <= SMALL else "medium" if inches <= MEDIUM else "large"


def width(data: bytes) -> float:
    """The width of a PNG or SVG file in inches; 96 pixels are one, unless a PNG says otherwise."""
    if data.startswith(b"\x89PNG"):
        pixels = struct.unpack(">I", data[16:20])[0]
        place = data.find(b"pHYs", 0, data.find(b"IDAT"))
        if place < 0 or data[place + 12] != 1:
            return pixels / 96
        return pixels / (0.0254 * struct.unpack(">I", data[place + 4 : place + 8])[0])
    found = re.search(rb"<svg[^>]*?\swidth=\"([\d.]+)(pt)?\"", data)
    return 8.0 if found is None else float(found[1]) / (72 if found[2] else 96)
