"""Helpers of the scripts that write docs/: options, Markdown tables, and figure metadata."""

import argparse
import re
import shlex
import sys
import textwrap
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.experiments.config.to_spec import setting_spec
from dpjax.experiments.run.engine import device_kind
from dpjax.experiments.store.canonical import versions
from dpjax.experiments.sweep.setting import Setting

_BEGIN = time.monotonic()
_FOLDERS = ("--out", "--store")
_WIDTH = 120
_FENCE = "`" * 3
_KEPT = re.compile(r"[|# >]|[-*+]\s|!\[|\d+[.)] |\$\$|~~~|<|\[[^]]+\]:|[=-]+$|.*(  |\\)$")
_SIGN = re.compile(r"\s+([-+*>]|#+)(?=\s)")


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


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table, with a final line break; numbers formatted by %g, None as a dash, bars escaped."""
    cells = [[_cell(value) for value in row] for row in rows]
    if any(len(row) != len(header) for row in cells):
        raise InputError("rows", f"{len(header)} cells each", "another number", "give a cell for each column")
    lines = ["| " + " | ".join(map(_cell, header)) + " |", "|---" * len(header) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in cells)]) + "\n"


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


def about(config: Mapping[str, Any], seed: int, points: Mapping[str, Setting] | None = None) -> dict[str, Any]:
    """The metadata of a figure: configuration, seed, versions and kind of device.

    In the process of the script that ``config`` names, also `command_of`, and a function that gives the seconds from
    its beginning, which is called when the figure is written, see `plots.files.save`.
    points: by name, points of the figure of which `dpjax trial` reruns trials.
    """
    configuration = dict(config)
    if points is not None:
        configuration |= {"seed": seed, "settings": {name: setting_spec(setting) for name, setting in points.items()}}
    metadata = {"config": configuration, "seed": seed, "versions": versions(), "device": device_kind()}
    if Path(sys.argv[0]).stem == config.get("script"):
        metadata |= {"command": command_of(sys.argv), "seconds": lambda: round(time.monotonic() - _BEGIN, 1)}
    return metadata


def command_of(words: Sequence[str]) -> str:
    """The command of a script without its folders, --out and --store, which affect no number."""
    kept, left = ["python", f"scripts/{Path(words[0]).name}"], iter(words[1:])
    for word in left:
        if word in _FOLDERS:
            next(left, None)
        elif not word.startswith(tuple(f"{flag}=" for flag in _FOLDERS)):
            kept.append(word)
    return shlex.join(kept)


def figure_path(out: Path, name: str) -> Path:
    """``out``/figures/``name``, without a suffix; creates the folder."""
    folder = out / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace("|", r"\|")
