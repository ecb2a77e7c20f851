"""Reads a report as a browser does, and says what is wrong with it."""

import re
from html.parser import HTMLParser

INLINE = {"code", "span", "a"}
VOID = {"meta", "br"}
LOADING = {"src", "srcset", "poster", "data", "action", "formaction", "ping", "background", "cite", "manifest"}
FORBIDDEN = {"script", "link", "iframe", "object", "embed", "img", "image", "base", "audio", "video", "source", "form"}


class Page(HTMLParser):
    """The elements of a page: ``tags`` as (name, attributes), ``text`` outside of style, and ``wrong``."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.wrong, self._open = [], [], [], []
        self.feed(text)
        self.close()
        self.wrong += [f"open: {name}" for name in self._open]
        ids = [own["id"] for _, own in self.tags if "id" in own]
        self.wrong += [f"id twice: {name}" for name in {one for one in ids if ids.count(one) > 1}]
        self.wrong += [
            f"no target: {own['href']}" for _, own in self.tags if own.get("href", "#")[1:] not in {"", *ids}
        ]

    @property
    def text(self):
        return " ".join("".join(self.words).split())

    def named(self, name):
        return [own for tag, own in self.tags if tag == name]

    def handle_starttag(self, tag, attrs):
        own = dict(attrs)
        self.tags.append((tag, own))
        if tag in FORBIDDEN:
            self.wrong.append(f"element {tag}")
        for name, value in own.items():
            if name in LOADING or name.startswith("on"):
                self.wrong.append(f"attribute {name} of {tag}")
            if name.endswith("href") and not (value or "").startswith("#"):
                self.wrong.append(f"link to {value}")
            self._style(value or "" if name in ("style", "clip-path", "fill", "mask", "filter") else "")
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        self.words += [] if tag in INLINE else [" "]
        if not self._open or self._open.pop() != tag:
            self.wrong.append(f"closed without being open: {tag}")

    def handle_data(self, data):
        if self._open and self._open[-1] == "style":
            self._style(data)
        else:
            self.words.append(data)

    def handle_comment(self, data):
        self.wrong.append(f"comment {data[:20]}")

    def _style(self, text):
        self.wrong += [f"style: {found}" for found in re.findall(r"url\((?!#)[^)]*\)|@import|expression", text)]
