"""The frame of a report: head, heading, list of sections, sections."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from dpjax.core.html import Markup, element, escaped, terms, together
from dpjax.reports.style import style_sheet


class Section(NamedTuple):
    """A part of a report. name: of its anchor. content: elements."""

    name: str
    heading: str
    content: Sequence[str]


def page(title: str, about: str, notices: Iterable[str], sections: Iterable[Section]) -> str:
    """A whole HTML file. Equal arguments give equal text; it names no other file and no address."""
    shown = [section for section in sections if section.content]
    links = [element("li", element("a", section.heading, href=f"#{section.name}")) for section in shown]
    bodies = [
        element(
            "section",
            element("h2", section.heading, id=f"{section.name}-heading"),
            together(section.content, "\n"),
            id=section.name,
            aria_labelledby=f"{section.name}-heading",
        )
        for section in shown
    ]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("style", Markup(style_sheet())),
    )
    body = element(
        "body",
        element("header", element("h1", title, dir="auto"), element("p", about, class_="about"), *notices),
        element("nav", element("ul", *links), aria_label="Sections"),
        element("main", together(bodies, "\n")),
        element("footer", element("p", "This file is complete: it loads nothing and runs no scripts.")),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def notice(text: str, bad: bool = False) -> Markup:
    """A paragraph that stands out."""
    return element("p", text, class_="bad" if bad else "notice", role="note")


def origin(versions: Mapping[str, Any], others: Iterable[tuple[str, Any]]) -> Markup:
    """Versions and further facts by name."""
    named = [*((name, f"version {value}") for name, value in versions.items()), *others]
    return terms((escaped(name), escaped(str(value))) for name, value in named if value is not None)
