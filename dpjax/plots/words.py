"""Text of figures: numbers as mathematics, names unchanged, and line breaks at the page width."""

import functools
import re
from collections.abc import Iterable
from typing import Any

import matplotlib
from matplotlib import font_manager
from matplotlib.font_manager import FontProperties
from matplotlib.mathtext import MathTextParser
from matplotlib.textpath import TextToPath

from dpjax.plots.page import Page

N_STAR = r"$n^{\ast}$"
_MATHEMATICS = re.compile(r"(?<!\\)\$(?=\S)(?:\\.|[^$\\])*(?<=\S)\$(?!\d)")
_DOLLAR = re.compile(r"(?<!\\)\$")
_PARTS = re.compile(r"(?:\\\$|(?<!\\)\$(?:\\.|[^$\\])*\$|[^ \n\t$]|(?<!\\)\$)+")  # no line break at a no-break space


def number(value: float) -> str:
    """A number as short mathematics, without dollar signs: 0.5, 10^{-6}, 2.5 \\cdot 10^{7}."""
    factor, _, power = f"{value:.4g}".partition("e")
    if not power:
        return factor
    tens = f"10^{{{int(power)}}}"
    return tens if factor == "1" else rf"{factor} \cdot {tens}"


def typeset(text: str) -> str:
    """Text with mathematics between dollar signs; unchanged if matplotlib cannot parse it.

    No space follows the first of two dollar signs or precedes the second, and no digit follows the second: $5 and $6
    are prices.
    """
    if "$" not in text:
        return text
    plain = _DOLLAR.sub(r"\\$", text)
    if _DOLLAR.search(_MATHEMATICS.sub("", text)):
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
    return _width(text, page, tuple(matplotlib.rcParams["font.family"]), size, weight)


@functools.lru_cache(maxsize=4096)
def _width(text: str, page: Page, families: tuple[str, ...], size: float, weight: str) -> float:
    properties: Any = FontProperties(family=list(families), size=size, weight=weight)
    mathematics = len(_DOLLAR.findall(text)) >= 2
    plain = text if mathematics else text.replace(r"\$", "$")
    extent = TextToPath().get_text_width_height_descent(plain, properties, mathematics)
    return float(extent[0]) / 72


def missing(texts: Iterable[str]) -> set[str]:
    """The letters that the style's fonts do not have."""
    families = [FontProperties(family=[name]) for name in matplotlib.rcParams["font.family"]]
    fonts = [font_manager.get_font(font_manager.findfont(family)) for family in families]
    letters = {letter for letter in "".join(texts) if letter.isprintable()}
    return {letter for letter in letters if not any(font.get_char_index(ord(letter)) for font in fonts)}


def families_with(letters: set[str]) -> list[str]:
    """Installed families that together have as many of the letters as there are in any; those with bold come first."""
    entries = [entry for entry in font_manager.fontManager.ttflist if not entry.name.startswith("Last Resort")]
    bold = {entry.name for entry in entries if entry.weight in (700, "bold")}
    coverage: dict[str, set[str]] = {}
    for entry in entries if letters else ():
        if entry.style == "normal":
            font = font_manager.get_font(entry.fname)
            coverage.setdefault(entry.name, {letter for letter in letters if font.get_char_index(ord(letter))})
    chosen: list[str] = []
    for name, has in sorted(coverage.items(), key=lambda item: (-len(item[1]), item[0] not in bold, item[0])):
        if has & letters:
            chosen.append(name)
            letters = letters - has
    return chosen
