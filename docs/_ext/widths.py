"""How wide a figure is in print."""

import re
import struct
from pathlib import Path

SMALL, MEDIUM = 5.5, 8.5
"""Inches up to which a figure is small, and medium; letters of a figure have 8 to 10 points at its own width."""


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
