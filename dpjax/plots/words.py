"""Text of figures: numbers as mathematics, names unchanged, and line breaks at the page width."""

import functools
import re
from typing import Any

from matplotlib.font_manager import FontProperties
from matplotlib.mathtext import MathTextParser
from matplotlib.textpath import TextToPath

from dpjax.plots.page import Page

N_STAR = r"$n^{\ast}$"
_PARTS = re.compile(r"(?:\\\$|(?<!\\)\$(?:\\.|[^$\\])*\$|[^ \n\t$]|(?<!\\)\$)+")  # no line break at a no-break space


def number(value: float) -> str:
    """A number as short mathematics, without dollar signs: 0.5, 10^{-6}, 2.5 \\cdot 10^{7}."""
    factor, _, power = f"{value:.4g}".partition("e")
    if not power:
        return factor
    tens = f"10^{{{int(power)}}}"
    return tens if factor == "1" else rf"{factor} \cdot {tens}"


def typeset(text: str) -> str:
    """Text with mathematics between dollar signs; unchanged if matplotlib cannot parse it."""
    plain = re.sub(r"(?<!\\)\$", r"\\$", text)
    if len(re.findall(r"(?<!\\)\$", text)) % 2:
        return plain
    try:
        MathTextParser("path").parse(text, 72)
    except ValueError:
        return plain
    return text


def wrapped(text: str, inches: float, page: Page, size: float, weight: str = "normal") -> list[str]:
    """The lines of a text on this page; only words longer than a line are split."""
    lines: list[str] = []
    for word in _PARTS.findall(text):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width(longer, page, size, weight) <= inches:
            lines[-1] = longer
            continue
        while "$" not in word and len(word) > 1 and width(word, page, size, weight) > inches:
            fits = next((i for i in range(len(word) - 1, 1, -1) if width(word[:i], page, size, weight) <= inches), 1)
            lines.append(word[:fits])
            word = word[fits:]
        lines.append(word)
    return lines or [""]


def width(text: str, page: Page, size: float, weight: str = "normal") -> float:
    """The width of a line of text in inches. Call inside `files.house_style`."""
    return _width(text, page, size, weight)


@functools.lru_cache(maxsize=4096)
def _width(text: str, page: Page, size: float, weight: str) -> float:
    properties: Any = FontProperties(family=page.rc()["font.family"], size=size, weight=weight)
    mathematics = len(re.findall(r"(?<!\\)\$", text)) >= 2
    plain = text if mathematics else text.replace(r"\$", "$")
    found = TextToPath().get_text_width_height_descent(plain, properties, mathematics)
    return float(found[0]) / 72
