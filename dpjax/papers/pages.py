"""Markdown tables, and the metadata of figures."""

import shlex
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dpjax.core.checks import InputError
from dpjax.experiments.config.to_spec import setting_spec
from dpjax.experiments.run.engine import device_kind
from dpjax.experiments.store.canonical import versions
from dpjax.experiments.sweep.setting import Setting

_BEGIN = time.monotonic()
_FOLDERS = ("--out", "--store")


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table, with a final line break; numbers formatted by %g, None as a dash, bars escaped."""
    cells = [[_cell(value) for value in row] for row in rows]
    if any(len(row) != len(header) for row in cells):
        raise InputError("rows", f"{len(header)} cells each", "another number", "give a cell for each column")
    lines = ["| " + " | ".join(map(_cell, header)) + " |", "|---" * len(header) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in cells)]) + "\n"


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


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace("|", r"\|")
