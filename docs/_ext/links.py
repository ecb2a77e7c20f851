"""Links from code in the text to the reference: `KLN` in a page, a type in a signature, a page named in a docstring."""

import re
from pathlib import Path

from docutils import nodes
from names import find, modules, names, written
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

_NAME = re.compile(r"[A-Za-z_][\w.]*(?:\(\))?")
_SKIPPED = (nodes.reference, nodes.title, nodes.literal_block)
_LOG = logging.getLogger(__name__)


class Linked(SphinxPostTransform):
    """Inline code that is a public name becomes a link, except in headings and in links."""

    default_priority = 5

    def run(self, **kwargs):
        """Called by Sphinx for each page."""
        for node in list(self.document.findall(nodes.literal)):
            text = node.astext()
            if not _NAME.fullmatch(text) or _within(node, _SKIPPED) or "xref" in node.get("classes", ()):
                continue
            target = written(text)
            made = target and _reference(self.env, self.app.builder, self.env.docname, target, node)
            if made:
                node.replace_self(made)
        for node in list(self.document.findall(nodes.inline)):
            if "dpjax-page" in node.get("classes", ()):
                node.replace_self(self._page(node))

    def _page(self, node):
        """A link to a page of this site, which a docstring names by its file; without a text, with its title."""
        path, _, anchor = node.get("target", node.astext()).partition("#")
        page = path.removeprefix("docs/").removesuffix(".md")
        if page not in self.env.found_docs:
            _LOG.warning("no page %s", path, location=(self.env.docname, None), type="dpjax", subtype="page")
            return nodes.inline(text=path)
        uri = self.app.builder.get_relative_uri(self.env.docname, page)
        shown = (node.astext() or self.env.titles[page].astext()) if "target" in node else page
        return nodes.reference("", shown, refuri=uri + (f"#{anchor}" if anchor else ""), internal=True)


def page_role(name, rawtext, text, lineno, inliner, options=None, content=()):
    """``:page:`docs/proofs/lines.md#anchor``` in a docstring."""
    return [nodes.inline(rawtext, text, classes=["dpjax-page"])], []


def setup(app):
    """Registers the links."""
    app.add_role("page", page_role)
    app.add_post_transform(Linked)
    app.connect("missing-reference", _missing)
    app.connect("object-description-transform", _anchors)
    app.connect("html-collect-pages", _sources, priority=100)


def _anchors(app, domain, objtype, content):
    """Gives each entry an anchor of the name where it is defined, too, to which pages of source link back."""
    for signature in content.parent.findall(addnodes.desc_signature):
        for path in list(signature["ids"]):
            owner, _, last = path.rpartition(".")
            if path in names():
                signature["ids"].append(names()[path].home)
            elif owner in names():
                signature["ids"].append(f"{names()[owner].home}.{last}")


def _sources(app):
    """Pages of source link back to the names of where things are defined, the anchors above, and not to those of the
    path under which the first of them is documented."""
    known = getattr(app.env, "_viewcode_modules", {})
    for module, entry in list(known.items()):
        if entry:
            known[module] = (*entry[:3], module)
        else:
            del known[module]
    return []


def _missing(app, env, node, contents):
    """A reference that Sphinx does not know: found by import, or code that is no link if it names nothing of dpjax."""
    if node.get("refdomain") != "py":
        return None
    text = node.get("reftarget", "")
    target = find(text, *_scopes(node))
    made = target and _reference(env, app.builder, node["refdoc"], target, contents)
    private = any(part.startswith("_") for part in text.split("."))
    return made or (contents if private or not text.startswith("dpjax.") else None)


def _scopes(node) -> list[str]:
    """The class, the module that defines the documented name, and the module of the page, innermost first."""
    module, kind = node.get("py:module"), node.get("py:class")
    own = Path(node.get("refdoc", "")).name
    found = []
    for path in (f"{module}.{kind}" if kind else None, f"{module}", own):
        if path in names():
            found += [path, names()[path].home.rpartition(".")[0]]
        elif path in modules():
            found.append(path)
    return found


def _reference(env, builder, here, target, contents):
    """A link to a documented name; to its class for a field without an entry of its own."""
    domain = env.domains["py"]
    for path in (target, target.rpartition(".")[0]):
        entry = domain.objects.get(path)
        if entry and (path == target or entry.objtype == "class"):
            return make_refnode(builder, here, entry.docname, entry.node_id, [contents.deepcopy()], target)
    module = domain.modules.get(target)
    if module:
        return make_refnode(builder, here, module.docname, module.node_id, [contents.deepcopy()], target)
    return None


def _within(node, kinds) -> bool:
    while node.parent is not None:
        node = node.parent
        if isinstance(node, kinds):
            return True
    return False
