"""Figures as bytes and files. Each contains, as JSON, its configuration, seed and versions.

Location: a PNG's text "Description", an SVG's dc:description, a PDF's "Keywords". Equal figures give equal bytes.
"""

import contextlib
import io
import json
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.style
import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text
from PIL import Image

from dpjax.core.checks import InputError
from dpjax.core.documents import parse_json
from dpjax.core.files import read_bytes, replace_file
from dpjax.core.logs import LOG
from dpjax.plots.page import SCREEN, Page
from dpjax.plots.words import families_with, missing

FORMATS = ("pdf", "png", "svg")
_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}


@contextlib.contextmanager
def house_style(page: Page = SCREEN) -> Iterator[None]:
    """Sets the style of figures on a page; the caller's rcParams are restored at the end."""
    with matplotlib.style.context(["default", page.rc()]):
        yield


def render(
    figure: Figure, format: str, about: Mapping[str, Any], title: str, software: str, dpi: int = SCREEN.dpi
) -> bytes:
    """The bytes of a figure, with ``about`` as its metadata and no date. Call inside ``house_style``."""
    text = _canonical(about)
    metadata = {
        "png": {"Title": title, "Description": text, "Software": software},
        "svg": {"Title": title, "Description": text, "Creator": software, "Date": None},
        "pdf": {"Title": title, "Keywords": text, "Creator": software, "CreationDate": None},
    }[format]
    sink = io.BytesIO()
    figure.savefig(sink, format=format, dpi=dpi, metadata=metadata)
    return sink.getvalue()


def settle(figure: Figure) -> None:
    """Computes the layout of a figure once for all formats, unless that is done.

    Positions are rounded to a millionth of the figure, since the layout solver varies by 1e-14 between runs.
    """
    if isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine):
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for part in figure.subfigs:
            box = part.bbox_relative
            box.p0, box.p1 = np.round(box.p0, 6), np.round(box.p1, 6)
        for axes in figure.axes:
            axes.set_position(tuple(round(end, 6) for end in axes.get_position().bounds))


def check_formats(formats: str | Sequence[str]) -> tuple[str, ...]:
    """The formats as names, none for "none"; InputError for an unknown one."""
    names = (formats,) if isinstance(formats, str) else tuple(formats)
    if names == ("none",):
        return ()
    for name in names:
        if name not in FORMATS:
            raise InputError("formats", f"one of {', '.join(FORMATS)}", repr(name), "choose for example png or pdf")
    return names


def save(
    draw: Callable[[], tuple[Figure, str]],
    base: str | Path,
    formats: str | Sequence[str],
    about: Mapping[str, Any],
    page: Page = SCREEN,
) -> list[Path]:
    """Draws a figure in a page's style and writes one file per format, ``base`` with its suffix; returns the paths.

    draw: returns the figure and its title. about: entries that are functions are called when the files are written.
    Each file is replaced atomically: a reader sees the old or the complete new file. InputError for an unknown format,
    or if a file cannot be written.
    """
    names, place = check_formats(formats), Path(base)
    with house_style(page), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # said in one sentence
        figure, title = draw()
        if lacking := missing(_texts(figure)):  # names in other scripts
            matplotlib.rcParams["font.family"] += families_with(lacking)
            figure, title = draw()
            if left := missing(_texts(figure)):
                boxes = f"no installed font has {' '.join(sorted(left))}: the figure has boxes instead"
                LOG.warning(f"{boxes}; install one, such as Noto Sans CJK, or give another label")
        settle(figure)
        about = {name: value() if callable(value) else value for name, value in about.items()}
        software = f"dpjax {about.get('versions', {}).get('dpjax', '')}".strip()
        files = {
            place.with_name(f"{place.name}.{name}"): render(figure, name, about, title, software, page.dpi)
            for name in names
        }
    for path, data in files.items():
        try:
            replace_file(path, data)
        except InputError as error:
            advice = "choose another directory, correct its permissions, or make room"
            raise InputError("figure", "a place where the figure can be written", error.given, advice) from error
    return list(files)


def _texts(figure: Figure) -> list[str]:
    return [artist.get_text() for artist in figure.findobj(Text)]


def read_metadata(path: str | Path) -> dict[str, Any]:
    """The configuration, seed, versions, device and title in a figure's file; InputError if it has none."""
    try:
        data = read_bytes(path)
        if data.startswith(b"\x89PNG"):
            text = Image.open(io.BytesIO(data), formats=["PNG"]).info["Description"]
        elif data.startswith(b"%PDF"):
            text = _pdf_keywords(data)
        else:
            text = next(ET.fromstring(data).iter("{http://purl.org/dc/elements/1.1/}description")).text
        about = parse_json(text)
        if not isinstance(about, dict):
            raise ValueError("not a mapping")
        return about
    except OSError as error:
        message = f"{path}: {error.strerror or type(error).__name__}"
        raise InputError("figure", "a png, svg or pdf file that dpjax wrote", message, "check the path") from error
    except (ValueError, LookupError, TypeError, AttributeError, StopIteration, ET.ParseError) as error:
        expected = "a png, svg or pdf file that dpjax wrote"
        advice = "give the path of a figure as it was written; other programs drop its metadata when they save it"
        raise InputError("figure", expected, f"{path}: {error or type(error).__name__}", advice) from error


def _canonical(about: Mapping[str, Any]) -> str:
    """Canonical ASCII JSON with sorted keys, equal for equal values."""
    try:
        return json.dumps(about, sort_keys=True, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        advice = "use None, bools, finite numbers, strings, lists, and mappings with str keys"
        raise InputError("result", "a configuration of JSON values", str(error), advice) from error


def _pdf_keywords(data: bytes) -> str:
    """The Keywords of the information dictionary of the last trailer."""
    number = re.findall(rb"/Info\s+(\d+)\s+0\s+R", data)[-1]
    position = [match.end() for match in re.finditer(rb"(?<!\d)" + number + rb"\s+0\s+obj\b", data)][-1]
    while match := re.compile(rb"(?:(?!endobj)[^(])*?/(\w+)\s*\(").match(data, position):
        value, position = _pdf_string(data, match.end())
        if match[1] == b"Keywords":
            return value.decode("utf-16") if value.startswith(b"\xfe\xff") else value.decode("latin-1")
    raise ValueError("no Keywords")


def _pdf_string(data: bytes, position: int) -> tuple[bytes, int]:
    """The literal string whose opening parenthesis ends before ``position``, and the position after its end."""
    depth, parts = 1, list[bytes]()
    for match in re.compile(rb"\\([0-7]{1,3}|\r\n|.)|[()]|[^\\()]+", re.DOTALL).finditer(data, position):
        token, escaped = match[0], match[1]
        depth += (token == b"(") - (token == b")")
        if depth == 0:
            return b"".join(parts), match.end()
        if escaped is None:
            parts.append(token)
        elif escaped.isdigit() and escaped[:1] < b"8":
            parts.append(bytes([int(escaped, 8) & 255]))
        elif escaped not in (b"\n", b"\r", b"\r\n"):
            parts.append(_ESCAPES.get(escaped, escaped))
    raise ValueError("a string without an end")
