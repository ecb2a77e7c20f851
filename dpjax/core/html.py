"""HTML elements as text, for reports and notebooks. Strings are escaped; what an element returns is not."""

import html
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from dpjax.core.checks import InputError

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_VOID = {"meta", "br"}


class Markup(str):
    """Text that is HTML already."""


class Column(NamedTuple):
    """A column of a table. kind: "text", which is wrapped, "short", "number", or "code"."""

    heading: str
    kind: str = "number"


def escaped(text: str) -> Markup:
    """Text as HTML; what is HTML already stays as it is."""
    if isinstance(text, Markup):
        return text
    return Markup(html.escape(printable(text), quote=True))


def printable(text: str) -> str:
    """Text in which the characters that no HTML and no XML file may contain are written as escapes of Python."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def element(name: str, /, *content: str, **attributes: str | bool | None) -> Markup:
    """One element. Attributes that are None or False are left out; a trailing underscore of a name is dropped."""
    words = "".join(_attribute(key, value) for key, value in attributes.items())
    inner = "".join(map(escaped, content))
    return Markup(f"<{name}{words}>" if name in _VOID else f"<{name}{words}>{inner}</{name}>")


def together(parts: Iterable[str], between: str = "") -> Markup:
    """The parts one after the other, escaped where they are plain text."""
    return Markup(escaped(between).join(map(escaped, parts)))


def table(
    columns: Sequence[Column], rows: Iterable[Sequence[Any]], caption: str, marked: Iterable[bool] = ()
) -> Markup:
    """A table in a box that scrolls sideways by itself. The first cell of a row is its heading.

    marked: of each row, whether it stands out; by default none does.
    """
    named = list(columns)
    listed = [list(row) for row in rows]
    if any(len(row) != len(named) for row in listed):
        raise InputError("rows", f"{len(named)} cells each", "another number", "give a cell for each column")
    stands_out = [*marked] or [False] * len(listed)
    head = element("tr", *(element("th", column.heading, scope="col", class_=column.kind) for column in named))
    body = [
        element(
            "tr",
            *(_cell(place, named[place], value) for place, value in enumerate(row)),
            class_="marked" if mark else None,
        )
        for row, mark in zip(listed, stands_out, strict=True)
    ]
    inside = element(
        "table",
        element("caption", element("span", caption)),
        element("thead", head),
        element("tbody", together(body, "\n")),
    )
    return element("div", inside, class_="scroll", role="region", tabindex="0", aria_label=caption)


def details(summary: str, *content: str, opened: bool = False, paper: str = "summary") -> Markup:
    """Content that is shown after a click on its summary, without scripts.

    paper: what is printed, "summary" (all if it is open), "printed" (all), or "unprinted" (nothing).
    """
    return element("details", element("summary", summary), *content, open=opened, class_=paper)


def terms(pairs: Iterable[tuple[str, str]]) -> Markup:
    """A list of names and their values."""
    return element("dl", *(element("div", element("dt", name), element("dd", value)) for name, value in pairs))


def code(text: str) -> Markup:
    """Program text within a line."""
    return element("code", text)


def block(text: str, label: str) -> Markup:
    """Program text of several lines, in a box that scrolls sideways by itself."""
    return element("pre", code(text), tabindex="0", role="region", aria_label=label)


def number(value: Any) -> str:
    """A number as text: four significant digits of a float, all digits of a whole number, a dash for none."""
    if value is None:
        return "\N{EN DASH}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _cell(place: int, column: Column, value: Any) -> Markup:
    shown = value if isinstance(value, Markup) else number(value)
    if column.kind == "code":
        shown = code(shown)
    if place == 0:
        return element("th", shown, scope="row", class_=column.kind, dir="auto")
    return element("td", shown, class_=column.kind, dir="auto" if column.kind == "text" else None)


def _attribute(name: str, value: str | bool | None) -> str:
    if value is None or value is False:
        return ""
    plain = name.rstrip("_").replace("_", "-")
    return f" {plain}" if value is True else f' {plain}="{escaped(value)}"'
