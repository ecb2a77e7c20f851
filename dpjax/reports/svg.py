"""A figure's SVG file as an element of a page: its colors are the page's, and its names are its own."""

import re
import xml.etree.ElementTree as ET

from dpjax.core.html import Markup, escaped
from dpjax.reports.style import names_of_colors

_COLOR = re.compile("#[0-9a-f]{6}")
_HREF = "{http://www.w3.org/1999/xlink}href"
_DROPPED = {"metadata", "style", "title"}
_FAMILY = "'DejaVu Sans'"
_WIDE = "'DejaVu Sans', Verdana, sans-serif"  # Verdana has the widths of DejaVu Sans
_LINES = "stroke-linejoin: round; stroke-linecap: butt"  # of the file's own style sheet, which is for all elements


def inlined(file: bytes, prefix: str, label: str) -> Markup:
    """The figure as an element ``svg``.

    Colors of the light style become the page's variables, so that it follows light and dark. Ids get the prefix. The
    metadata, comments, the title and the style sheet are left out. label: what the figure shows, for who hears it.
    """
    root = ET.fromstring(file)
    _, _, width, height = root.attrib["viewBox"].split()
    colors = names_of_colors()
    parts = [f'<svg role="img" aria-label="{escaped(label)}" viewBox="0 0 {width} {height}" style="{_LINES}">']
    for child in root:
        _write(child, prefix, colors, parts)
    return Markup("".join([*parts, "</svg>"]))


def _write(node: ET.Element, prefix: str, colors: dict[str, str], parts: list[str]) -> None:
    name = node.tag.rpartition("}")[2]
    if name in _DROPPED:
        return
    parts.append(f"<{name}")
    for key, value in node.attrib.items():
        plain = "href" if key == _HREF else key
        if plain == "id":
            value = prefix + value
        elif plain == "href":
            value = value.replace("#", f"#{prefix}", 1)
        elif plain in ("style", "clip-path", "fill", "stroke"):
            value = _COLOR.sub(lambda match: colors.get(match[0], match[0]), value.replace("url(#", f"url(#{prefix}"))
            value = value.replace(_WIDE, _FAMILY).replace(f"{_FAMILY}, sans-serif", _FAMILY).replace(_FAMILY, _WIDE)
        parts.append(f' {plain}="{escaped(value)}"')
    parts.append(">")
    if node.text and node.text.strip():
        parts.append(escaped(node.text))
    for child in node:
        _write(child, prefix, colors, parts)
        if child.tail and child.tail.strip():
            parts.append(escaped(child.tail))
    parts.append(f"</{name}>")
