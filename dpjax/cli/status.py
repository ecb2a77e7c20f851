"""`dpjax status`: the requested curves and the content of a result directory."""

import json
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from dpjax.cli import Answer
from dpjax.cli.arguments import StatusCommand
from dpjax.cli.printing import console as screen
from dpjax.experiments.store import Store

_PLACES = ("learner", "k", "epsilon")
_MOST = 6


def run(command: StatusCommand) -> Answer:
    """Lists requested, measured and failed curves, counts cells and trials of the store, and lists broken files."""
    with Store(command.out, read_only=True) as store:
        found = store.status()
    answer: dict[str, Any] = {"cells": found.cells, "trials": found.trials, "broken": list(found.broken)}
    if (asked := _read(command.out / "study.json")) is not None:
        result = _read(command.out / "result.json") or {}
        same = result.get("config") == asked
        rows = {name: result.get(name, []) if same else [] for name in ("points", "n_star", "failures")}
        seen = {tuple(row[at] for at in _PLACES) for name in ("points", "n_star") for row in rows[name]}
        sweep = asked["sweep"]
        lines = [dict(zip(_PLACES, line, strict=True)) | {"measured": line in seen}
                 for line in product(asked["learners"], sweep["k"], sweep["epsilon"])]  # fmt: skip
        measured = sum(line["measured"] for line in lines)
        answer |= {"curves": len(lines), "measured": measured, "lines": lines, "failures": rows["failures"]}

    def show() -> None:
        console = screen()

        def say(text: str) -> None:
            console.print(text, markup=False, highlight=False, soft_wrap=True)

        if "curves" in answer:
            say(f"{answer['measured']} of {answer['curves']} curves measured, {len(answer['failures'])} points failed")
            for name in asked["learners"] if asked else ():
                say(f"  {name}: {_where(answer['lines'], name)}")
        say(f"{found.cells} cells, {found.trials} trials")
        for failure in answer.get("failures", ()):
            where = "search" if failure["n"] is None else f"n = {failure['n']}"
            named = f"{failure['learner']}, k = {failure['k']}, epsilon = {failure['epsilon']:g}, {where}"
            say(f"failed: {named}: {failure['error']}")
        for path in found.broken:
            say(f"broken: {path} (move it away or delete it; the next run computes it again)")

    return answer, show


def _where(lines: Sequence[Mapping[str, Any]], name: str) -> str:
    """Which k and epsilon of a learner are measured."""
    own = [line for line in lines if line["learner"] == name]
    missing = [f"k = {line['k']}, epsilon = {line['epsilon']:g}" for line in own if not line["measured"]]
    several = f"k = {_listed(own, 'k')}; epsilon = {_listed(own, 'epsilon')}"
    if not missing:
        return several
    more = f" and {len(missing) - _MOST} others" if len(missing) > _MOST else ""
    return f"{several}; not measured: {'; '.join(missing[:_MOST])}{more}" if len(missing) < len(own) else "not measured"


def _listed(lines: Sequence[Mapping[str, Any]], name: str) -> str:
    return ", ".join(f"{value:g}" for value in dict.fromkeys(line[name] for line in lines))


def _read(path: Path) -> dict[str, Any] | None:
    """A JSON object, or None if the file does not exist yet."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None
