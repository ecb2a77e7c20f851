"""`dpjax status`: the requested curves and the content of a result directory."""

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from dpjax.cli.arguments.results import StatusCommand
from dpjax.cli.output import Answer
from dpjax.cli.output import console as screen
from dpjax.core.commands import command as pasteable
from dpjax.experiments.store.file_schemas import read_study
from dpjax.experiments.store.records import Records
from dpjax.experiments.store.standing import Standing, standing
from dpjax.experiments.store.store import Store

_PLACES = ("learner", "k", "epsilon")
_MOST = 6
_SECONDS = 1.0


def run(command: StatusCommand) -> Answer:
    """Lists requested, measured and failed curves, the store's cells and trials, and broken files."""
    with Store(command.out, read_only=True) as store:
        status = store.status(None if command.check else _SECONDS)
    answer: dict[str, Any] = {"cells": status.cells, "trials": status.trials, "broken": list(status.broken)}
    if (now := standing(command.out)) is not None:
        answer |= _told(now)
    failures: dict[str, dict[str, Any]] = {}
    if (study := read_study(command.out)) is not None:
        from dpjax.experiments.results.result import Result  # imports JAX

        result = Result.load(command.out).data if os.path.lexists(command.out / "result.json") else {}
        same = result.get("config") == study
        rows = {name: result.get(name, []) if same else [] for name in ("points", "n_star", "failures")}
        seen = {tuple(row[at] for at in _PLACES) for name in ("points", "n_star") for row in rows[name]}
        sweep = study["sweep"]
        lines = [
            dict(zip(_PLACES, line, strict=True)) | {"measured": line in seen}
            for line in product(study["learners"], sweep["k"], sweep["epsilon"])
        ]
        measured = sum(line["measured"] for line in lines)
        answer |= {"curves": len(lines), "measured": measured, "lines": lines}
        failures |= {_item(row): {"error": row["error"]} for row in rows["failures"]}
    failures |= {str(record.get("item")): record for record in Records(command.out).failures()}
    answer["failures"] = [{"item": item} | failures[item] for item in sorted(failures)]

    def show() -> None:
        console = screen()

        def say(text: str) -> None:
            console.print(text)

        if now is not None:
            _say_standing(say, now)
        if "curves" in answer:
            say(f"{answer['measured']} of {answer['curves']} curves measured")
            for name in study["learners"] if study else ():
                say(f"  {name}: {_where(answer['lines'], name)}")
        say(f"{status.cells} cells, {status.trials} trials")
        for failure in answer["failures"]:
            say(f"failed: {failure['item']}: {failure['error']}")
        again = pasteable("curve", command.out, "--out", command.out, config=study)
        if now is not None and not now.left and answer.get("measured", 0) < answer.get("curves", 0):
            say(f"no cell is left; the result and its figure: {again}")
        for path in status.broken:
            say(f"broken: {path} (run again with --repair, or move it away; the next run computes it again)")

    return answer, show


def _item(row: Mapping[str, Any]) -> str:
    """A failure of a result, as its item is called."""
    where = "search" if row["n"] is None else f"n = {row['n']}"
    return f"{row['learner']}, k = {row['k']}, epsilon = {row['epsilon']:g}, {where}"


def _told(now: Standing) -> dict[str, Any]:
    """The standing as an object."""
    counts = {"total": now.total, "done": now.done, "failed_cells": now.failed, "left": now.left}
    return counts | {"waiting": [*now.waiting], "per_hour": now.per_hour, "seconds_left": now.seconds_left}


def _say_standing(say: Callable[[str], None], now: Standing) -> None:
    failed = f", {now.failed} failed" if now.failed else ""
    rate = "" if now.per_hour is None else f"; {now.per_hour:.0f} an hour lately"
    end = "" if not now.seconds_left else f", about {_duration(now.seconds_left)} left"
    say(f"{now.done} of {now.total} cells done{failed}, {now.left} left{rate}{end}")


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"


def _where(lines: Sequence[Mapping[str, Any]], name: str) -> str:
    """Which k and epsilon of a learner are measured."""
    curves = [line for line in lines if line["learner"] == name]
    missing = [f"k = {line['k']}, epsilon = {line['epsilon']:g}" for line in curves if not line["measured"]]
    several = f"k = {_listed(curves, 'k')}; epsilon = {_listed(curves, 'epsilon')}"
    if not missing:
        return several
    more = f" and {len(missing) - _MOST} others" if len(missing) > _MOST else ""
    return (
        f"{several}; not measured: {'; '.join(missing[:_MOST])}{more}" if len(missing) < len(curves) else "not measured"
    )


def _listed(lines: Sequence[Mapping[str, Any]], name: str) -> str:
    return ", ".join(f"{value:g}" for value in dict.fromkeys(line[name] for line in lines))
