"""Docstrings of dpjax as reStructuredText: sections such as ``Privacy:`` become fields, arguments a list.

A docstring is paragraphs. One that begins with a section (``Args:``, ``Privacy:`` ...) is a list of fields. One that
begins with the names of parameters or fields (``n_min, n_max: the sizes considered. gamma: ...``) is a list of these.
Lists with dashes and indented blocks stay as they are; in other paragraphs indentation means nothing.
"""

import dataclasses
import inspect
import re
from collections.abc import Collection
from typing import Any

import cites

SECTIONS = frozenset(
    [
        "Args",
        "Attributes",
        "Returns",
        "Raises",
        "Privacy",
        "Utility",
        "Reference",
        "Example",
        "Proof",
        "Corrected",
        "Printed",
        "Columns",
        "Soundness",
        "Completeness",
        "Stability",
    ]
)
_SECTION = re.compile(r"([A-Z][a-z]+):(?: (.*)|)")
_ITEM = re.compile(r"((?:\\\*)*[A-Za-z_]\w*(?:, (?:\\\*)*[A-Za-z_]\w*)*):(?: (.*)|)")
_UNREADABLE = re.compile(r"<function (?:\w+\.)*(\w+)[^<>]*>|<class '(?:\w+\.)*(\w+)'>|<[^<>]*>")
_INNER = re.compile(r"(?:^|(?<=[.;] ))((?:\\\*)*[A-Za-z_]\w*(?:, (?:\\\*)*[A-Za-z_]\w*)*): ")
_LITERAL = re.compile(r"(``.+?``|`[^`\n]+?`|(?<!\w)\*\*[^*\s][^*]*?\*\*(?!\w))", re.DOTALL)
_PAGE = re.compile(r"`?\b(docs/(?:gallery|guide|explain|proofs|project|reference)/[\w./-]+?\.md(?:#[\w-]+)?)`?")
_MARKUP = re.compile(r"(?<!\\)[|*]")


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Handler of autodoc-process-docstring."""
    lines[:] = as_restructured("\n".join(lines), parameters(obj))


def signature(
    app: Any, what: str, name: str, obj: Any, options: Any, text: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Handler of autodoc-process-signature: defaults that are no Python, such as ``<factory>``, by name or as dots."""
    return text and _UNREADABLE.sub(lambda match: match[1] or match[2] or "...", text), returns


def parameters(obj: Any) -> frozenset[str]:
    """Names of the parameters of a function, or of the fields of a class."""
    if inspect.isclass(obj):
        fields = {name for base in obj.__mro__ for name in vars(base).get("__annotations__", ())}
        return frozenset(
            fields | ({one.name for one in dataclasses.fields(obj)} if dataclasses.is_dataclass(obj) else set())
        )
    try:
        return frozenset(inspect.signature(obj).parameters)
    except (TypeError, ValueError):
        return frozenset()


def as_restructured(text: str, names: Collection[str] = ()) -> list[str]:
    """The lines of a docstring in reStructuredText. names: parameters or fields of its object."""
    found: list[str] = []
    code = listing = False
    for paragraph in _paragraphs(_escaped(text)):
        first = paragraph[0]
        if first.startswith("  ") and (code or not listing):
            shown = [line.replace("\\|", "|").replace("\\*", "*") for line in paragraph]
            found += [*([] if code else [".. code-block:: text", ""]), *shown, ""]
            code = False
            continue
        listing = any(line.startswith("- ") for line in paragraph)
        section = _SECTION.fullmatch(first)
        item = _ITEM.fullmatch(first)
        if section and section[1] in SECTIONS:
            found += [*_fields(paragraph, names), ""]
        elif item and _all_in(item[1], names):
            found += [*_listed(paragraph, names), ""]
        elif listing or first.startswith((" ", ">>>", "..")):
            found += [*_bullets(paragraph), ""]
        else:
            found += [*(line.strip() for line in paragraph), ""]
        code = paragraph[-1].endswith("::")
    return found


def _paragraphs(text: str) -> list[list[str]]:
    """Blocks between blank lines; indented ones after a section belong to it."""
    found: list[list[str]] = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        lines = [line.rstrip() for line in block.splitlines()]
        if not lines:
            continue
        last = found[-1] if found else None
        if last and lines[0].startswith("  ") and _SECTION.fullmatch(last[0]) and not last[-1].endswith("::"):
            last += lines
        else:
            found.append(lines)
    return found


def _escaped(text: str) -> str:
    text = _PAGE.sub(r":page:`\1`", text)
    parts = _LITERAL.split(text)
    return "".join(part if place % 2 else _MARKUP.sub(r"\\\g<0>", part) for place, part in enumerate(parts))


def _fields(lines: list[str], names: Collection[str]) -> list[str]:
    """A list of fields; what precedes a section in a paragraph belongs to the section above it."""
    found: list[str] = []
    name, body = "", []
    for line in lines:
        match = _SECTION.fullmatch(line)
        if match and match[1] in SECTIONS:
            found += _field(name, body, names) if name else []
            name, body = match[1], [match[2]] if match[2] else []
        else:
            body.append(line)
    return found + _field(name, body, names)


def _field(name: str, body: list[str], names: Collection[str]) -> list[str]:
    if name == "Example":
        return [f":{name}: ::", "", *(f"      {line.strip()}" for line in body), ""]
    if name in ("Args", "Attributes") or (name == "Raises" and body and body[0].startswith(" ")):
        return [f":{name}:", *(f"   {line}" for item in _items(body) for line in _listed(item, names))]
    first, *rest = body or [""]
    more = cites.fields("\n".join(body)) if name == "Reference" else []
    return [f":{name}: {first.strip()}", *(f"   {line.strip()}" for line in rest), *more]


def _items(body: list[str]) -> list[list[str]]:
    """The lines of each item; those that are indented further continue it."""
    indent = min((len(line) - len(line.lstrip()) for line in body if line.startswith(" ")), default=0)
    found: list[list[str]] = []
    for line in body:
        if found and not _ITEM.fullmatch(line[indent:]):
            found[-1].append(line)
        else:
            found.append([line])
    return found


def _listed(lines: list[str], names: Collection[str]) -> list[str]:
    """Items ``name: text`` of one paragraph: what it begins with, and parameters wherever they begin."""
    text = " ".join(line.strip() for line in lines)
    starts = [match.start() for match in _INNER.finditer(text) if not match.start() or _all_in(match[1], names)]
    ends = [*starts[1:], len(text)]
    found = [text[start:end].strip() for start, end in zip(starts, ends, strict=True)] or [text]
    pairs = [one.partition(": ") for one in found]
    return [f"- **{name}**: {rest}" if rest else f"- {name}" for name, _, rest in pairs]


def _bullets(lines: list[str]) -> list[str]:
    """A list as it is, with a blank line before it if a sentence introduces it."""
    found: list[str] = []
    for line in lines:
        if line.startswith("- ") and found and not found[-1].startswith(("- ", " ")) and found[-1]:
            found.append("")
        found.append(line)
    return found


def _all_in(words: str, names: Collection[str]) -> bool:
    return all(word in names for word in words.split(", "))
