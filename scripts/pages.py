"""Helpers of the scripts that write docs/: their options, Markdown pages and paths of figures."""

import argparse
import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from dpjax.core import checks
from dpjax.papers.pages import about as about
from dpjax.papers.pages import table as table

_WIDTH = 120
_FENCE = "`" * 3
_KEPT = re.compile(r"[|# >]|[-*+]\s|!\[|\d+[.)] |\$\$|~~~|<|\[[^]]+\]:|[=-]+$|.*(  |\\)$")
_SIGN = re.compile(r"\s+([-+*>]|#+)(?=\s)")

sys.path.append(str(Path(__file__).resolve().parent.parent))  # benchmarks is beside scripts


def options(
    text: str | None,
    seed: int,
    trials: int,
    arguments: Sequence[str] | None = None,
    files: Sequence[str] = (),
    flags: Mapping[str, str] = MappingProxyType({}),
) -> argparse.Namespace:
    """--out (a folder, by default docs/gallery), --seed, --trials and --store of a script with description ``text``.

    files: further options, each a file path, None by default. flags: further options without a value, with their help.
    """
    parser = _parser(text)
    parser.add_argument("--seed", type=int, default=seed, help="root of every random number, in [0, 2**32)")
    parser.add_argument("--trials", type=int, default=trials, help="trials of each reported success rate")
    parser.add_argument("--store", type=Path, help="folder where trials are stored and reused by later runs")
    for name in files:
        parser.add_argument(f"--{name}", type=Path)
    for name, what in flags.items():
        parser.add_argument(f"--{name}", action="store_true", help=what)
    namespace = parser.parse_args(arguments)
    checks.integer("--seed", namespace.seed, 0, 2**32 - 1)
    checks.integer("--trials", namespace.trials, 1)
    namespace.out.mkdir(parents=True, exist_ok=True)  # fails before anything is computed
    return namespace


def folder(text: str | None, arguments: Sequence[str] | None = None) -> Path:
    """--out alone, of a script with description ``text`` whose numbers are fixed; the folder is made."""
    out: Path = _parser(text).parse_args(arguments).out
    out.mkdir(parents=True, exist_ok=True)
    return out


def _parser(text: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(text or "").partition("\n")[0])
    parser.add_argument(
        "--out", type=Path, default=Path("docs/gallery"), help="folder of the page; figures go into figures/"
    )
    return parser


def write_page(path: Path, text: str) -> None:
    """Writes Markdown with its paragraphs wrapped; tables, lists, headings, images and code stay as they are. Folders
    that are missing are made."""
    blocks, fenced = [], False
    for block in text.strip("\n").split("\n\n"):
        fences = sum(line.startswith(_FENCE) for line in block.splitlines())
        kept = fenced or fences or any(_KEPT.match(line) for line in block.splitlines())
        blocks.append(block if kept else _wrapped(block))
        fenced ^= fences % 2 == 1
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


def _wrapped(paragraph: str) -> str:
    """With no sign at the start of a line, where it would begin a list, a quotation or a heading."""
    text = _SIGN.sub("\0\\1", " ".join(paragraph.split()))
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False).replace("\0", " ")


def figure_path(out: Path, name: str) -> Path:
    """``out``/figures/``name``, without a suffix; creates the folder."""
    folder = out / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name
