"""The package's logger, and text from files and people made safe to print."""

import logging
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager

LOG = logging.getLogger("dpjax")
"""Progress (INFO) and warnings. ``logging.getLogger("dpjax").setLevel("WARNING")`` silences progress."""
_HIDDEN = ("Cc", "Cs", "Zl", "Zp")  # controls, halves of surrogate pairs, line and paragraph separators
_DIRECTIONS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


class _Standard(logging.Handler):
    """Standard error, unless the program has handlers of its own; commands always write there."""

    always = False

    def emit(self, record: logging.LogRecord) -> None:
        """Prints one line."""
        if self.always or (not logging.getLogger().handlers and LOG.handlers == [self]):
            say(f"dpjax: {self.format(record)}")


if LOG.level == logging.NOTSET:
    LOG.setLevel(logging.INFO)
_STANDARD = _Standard()
LOG.addHandler(_STANDARD)


@contextmanager
def of_a_command() -> Iterator[None]:
    """Within, lines go to standard error whatever the program configures."""
    before, _STANDARD.always = _STANDARD.always, True
    try:
        yield
    finally:
        _STANDARD.always = before


def say(text: str) -> None:
    """A line on standard error, without control characters."""
    print(plain(text), file=sys.stderr, flush=True)


def plain(text: str) -> str:
    r"""Text without control characters but line breaks and tabs: others, and marks of direction, are written \x1b."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(letter if letter in "\n\t" or not _is_hidden(letter) else _written(letter) for letter in text)


def _is_hidden(letter: str) -> bool:
    return unicodedata.category(letter) in _HIDDEN or unicodedata.bidirectional(letter) in _DIRECTIONS


def _written(letter: str) -> str:
    return letter.encode("unicode_escape", "surrogatepass").decode("ascii")
