"""Figures of pages link to their files, to open them at full size, and say how wide they are, for phones."""

from posixpath import join
from urllib.parse import quote

from docutils import nodes
from sphinx.util.osutil import relative_uri
from widths import size

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
