"""`dpjax status`: the requested curves and the content of a result directory."""

import json
from pathlib import Path
from typing import Any

from dpjax.cli import Answer
from dpjax.cli.arguments import StatusCommand
from dpjax.cli.printing import console as screen
from dpjax.experiments.store import Store


def run(command: StatusCommand) -> Answer:
    """Counts requested, measured and failed curves, and cells and trials of the store, and lists broken files."""
    with Store(command.out, read_only=True) as store:
        found = store.status()
    answer: dict[str, Any] = {"cells": found.cells, "trials": found.trials, "broken": list(found.broken)}
    if (asked := _read(command.out / "study.json")) is not None:
        lines = len(asked["learners"]) * len(asked["sweep"]["k"]) * len(asked["sweep"]["epsilon"])
        result = _read(command.out / "result.json") or {}
        same = result.get("config") == asked
        failures = result.get("failures", []) if same else []
        answer |= {"curves": lines, "measured": lines - result["left"] if same else 0, "failures": failures}

    def show() -> None:
        console = screen()
        if "curves" in answer:
            failed = len(answer["failures"])
            console.print(f"{answer['measured']} of {answer['curves']} curves measured, {failed} points failed")
        console.print(f"{found.cells} cells, {found.trials} trials")
        for failure in answer.get("failures", ()):
            where = "search" if failure["n"] is None else f"n = {failure['n']}"
            named = f"{failure['learner']}, k = {failure['k']}, epsilon = {failure['epsilon']:g}, {where}"
            console.print(f"failed: {named}: {failure['error']}", markup=False, soft_wrap=True)
        for path in found.broken:
            console.print(f"broken: {path} (move it away or delete it; the next run computes it again)")

    return answer, show


def _read(path: Path) -> dict[str, Any] | None:
    """A JSON object, or None if the file does not exist yet."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None
