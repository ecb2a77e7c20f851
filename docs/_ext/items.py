"""The index of theorems within the site: anchors and index entries of its items, and the roles that link to them."""

import audits
from cites import anchor
from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util.index_entries import split_index_msg

from dpjax.papers.theorems import papers

_PAGES = "reference/theorems/"


def item_role(name, rawtext, text, lineno, inliner, options=None, content=()):
    """``:item:`bns:2.22```: a link to an item of the index, with its heading."""
    paper = papers()[text.partition(":")[0]]
    item = paper.items[text.partition(":")[2]]
    target = f"{_PAGES}{paper.key}.md#{anchor(item)}"
    return [nodes.inline(rawtext, item.heading, classes=["dpjax-page"], target=target)], []


def titled_role(name, rawtext, text, lineno, inliner, options=None, content=()):
    """``:titled:`gallery/plans.md```: a link to a page with its title."""
    return [nodes.inline(rawtext, "", classes=["dpjax-page"], target=text)], []


class Entries(SphinxTransform):
    """Items keep the anchors of their titles, and are in the index by key, title and what they are about."""

    default_priority = 800  # before the index of a page is collected

    def apply(self, **kwargs):
        """Called by Sphinx for each page."""
        folder, _, key = self.env.docname.rpartition("/")
        if f"{folder}/" != _PAGES or key not in papers():
            return
        items = {item.heading: item for item in papers()[key].items.values()}
        for section in list(self.document.findall(nodes.section)):
            item = items.get(section[0].astext())
            if item is None:
                continue
            place = anchor(item)
            section["ids"] = [*dict.fromkeys([place, audits.anchor(item.title), *section["ids"]])]
            self.document.ids |= dict.fromkeys(section["ids"], section)
            words = dict.fromkeys([item.key, item.title, f"{item.kind} {item.number}".strip(), item.about])
            entries = [("single", word, place, "main", None) for word in words]
            section.insert(1, addnodes.index(entries=entries))


def _keep(app):
    """Gives the search the entries of pages that are not written again: Sphinx does not read those of its last run."""
    known, titles = app.builder.indexer._index_entries, app.builder.indexer._titles
    for docname, entries in app.env.domaindata["index"]["entries"].items():
        if docname in titles and docname not in known:
            words = [
                (word, target or "", main)
                for kind, value, target, main, _ in entries
                for word in split_index_msg(kind, value)
            ]
            known[docname] = sorted(set(words))
    return ()


def setup(app):
    """Registers the roles and the index entries."""
    app.connect("html-collect-pages", _keep)
    app.add_role("item", item_role)
    app.add_role("titled", titled_role)
    app.add_transform(Entries)
