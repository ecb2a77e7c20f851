"""Adapts standard output and error: ASCII replacements for missing characters, and closed pipes."""

import codecs
import os
import sys
import unicodedata

_HANDLER = "dpjax.plain"
_C_LOCALES = ("C", "POSIX")
_PLAIN = {"\u00d7": "x", "\u00b7": "*", "\u2264": "<=", "\u2265": ">=", "\u2022": "*", "\u2044": "/", "\u221e": "inf"}
_PLAIN |= {"\u2212": "-", "\u2013": "-", "\u2014": "-", "\u201c": '"', "\u201d": '"', "\u2019": "'"}


def fit_streams() -> None:
    """Replaces characters that the encoding of standard output and error lacks: letters by words, box lines by - | +.

    A locale named C or POSIX is treated as ASCII, whatever encoding Python chooses.
    """
    locale = os.environ.get("LC_ALL") or os.environ.get("LANG")
    codecs.register_error(_HANDLER, _in_ascii)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            ascii_only = {"encoding": "ascii"} if locale in _C_LOCALES and "PYTHONIOENCODING" not in os.environ else {}
            stream.reconfigure(errors=_HANDLER, **ascii_only)


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_letter, error.object[error.start : error.end])), error.end


def _letter(letter: str) -> str:
    if letter in _PLAIN:
        return _PLAIN[letter]
    if "BOX DRAWINGS" in (name := unicodedata.name(letter, "")):
        ends = {word for word in ("LEFT", "RIGHT", "UP", "DOWN", "ARC") if word in name.split()}
        return "-" if "HORIZONTAL" in name and not ends else "|" if "VERTICAL" in name and not ends else "+"
    if name.startswith("GREEK SMALL LETTER"):
        return name.split()[-1].lower()
    parts = [_PLAIN.get(part, part) for part in unicodedata.normalize("NFKD", letter)]
    return "".join(part for part in parts if part.isascii()) or "?"


def give_up_output() -> None:
    """Discards further output after standard output was closed, without an error at exit."""
    try:
        place = sys.stdout.fileno()
    except (OSError, ValueError, AttributeError):  # not a file, as in tests and notebooks
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, place)
    os.close(nowhere)
