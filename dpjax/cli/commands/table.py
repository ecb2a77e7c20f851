"""`dpjax table`: a paper's table of sample complexities, measured."""

import json
from collections.abc import Sequence
from typing import Any

from dpjax.cli.arguments.studies import TableCommand
from dpjax.cli.output import Answer
from dpjax.cli.output import console as screen
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.files import replace_file
from dpjax.core.plain import plain
from dpjax.core.screen import Table as Printed
from dpjax.experiments.run import engine
from dpjax.experiments.run.cells import Cells
from dpjax.experiments.run.n_star import end_of
from dpjax.experiments.run.progress import Progress
from dpjax.experiments.store.capacity import CAPACITY_LIMIT
from dpjax.experiments.store.store import Store
from dpjax.experiments.sweep.setting import Setting
from dpjax.papers import bns_table as multi_table
from dpjax.papers.pages import about, table
from dpjax.plots.files import check_formats
from dpjax.plots.table import plot_table

TABLES = {"bns-multi": multi_table}
_HEADINGS = ("problem", "claimed", "axis", "exponent claimed", "measured", "interval", "claim inside", "claim within")
_ENDS = ("n* from", "to")
_BEFORE, _AFTER = ("value", "n_low", "n_high"), ("theorem", "bound", "trials")


def run(command: TableCommand) -> Answer:
    """Measures every row, writes table.json, table.md and the figure after each, and returns the result."""
    paper = TABLES[checks.choice("table", command.name, TABLES)]
    checks.integer("limit", command.limit, 16, CAPACITY_LIMIT)
    checks.integer("trials", command.trials, 64, 2**32)
    checks.probability("confidence", command.confidence)
    checks.integer("seed", command.seed, 0, 2**32 - 1)
    rows = [row for row in paper.rows() if not command.rows or any(part in row.title for part in command.rows)]
    if not rows:
        titles = "; ".join(row.title for row in paper.rows())
        raise InputError("rows", f"parts of: {titles}", repr(command.rows), "name a part of a title")
    formats = check_formats(command.formats)
    if command.devices is not None:
        checks.integer("devices", command.devices, 1, 1024)
    engine.host_devices(command.devices)
    measured: list[dict[str, Any]] = []
    answer: dict[str, Any] = {}
    config = {"limit": command.limit, "trials": command.trials, "confidence": command.confidence, "rows": command.rows}
    with Store(command.out) as store, engine.Engine() as machine, Progress() as progress:
        cells = Cells(store, machine, command.seed, progress.trials)
        for row in rows:

            def say(text: str, title: str = row.title) -> None:
                progress.step(f"{title}: {text}", len(measured), len(rows))

            options = {"limit": command.limit, "trials": command.trials, "error": 1 - command.confidence}
            measured.append(paper.measure(row, cells, say, **options))
            answer = {"table": command.name, "rows": measured, "left": len(rows) - len(measured)}
            answer |= about(config, command.seed, _points(rows, measured))
            replace_file(command.out / "table.json", json.dumps(plain(answer), indent=1, allow_nan=False).encode())
            replace_file(command.out / "table.md", markdown(answer).encode())
    drawn = plot_table(answer, command.out / "table", formats) if formats else []
    answer["figures"] = [str(path) for path in drawn]

    def show() -> None:
        console, printed = screen(), Printed(*_HEADINGS, *_ENDS, title=f"{command.name}, measured")
        for entry in measured:
            printed.add_row(*map(str, _cells(entry)))
        console.print(printed)
        for path in answer["figures"]:
            console.print(f"figure: {path}")

    return answer, show


def _points(rows: Sequence[Any], measured: Sequence[dict[str, Any]]) -> dict[str, Setting]:
    """The upper ends of all brackets, by name."""
    return {
        f"{row.title} = {point['value']}": end_of(row.setting(point["value"]), point["n_high"])
        for row, entry in zip(rows, measured, strict=False)
        for point in entry["points"]
        if point["n_high"] is not None
    }


def markdown(answer: dict[str, Any]) -> str:
    """The table, and below it a section for each row: its learner and every bracket."""
    text = table((*_HEADINGS, *_ENDS), [_cells(row) for row in answer["rows"]])
    heading = ("n* above", "at most", "curve of the claim", "planner", "no private learner below", "trials")
    for row in answer["rows"]:
        fit = row["fit"]
        curve = {} if fit is None else dict(zip(fit["values"], fit["claim"]["values"], strict=True))
        points = [
            [*map(point.get, _BEFORE), _short(curve.get(point["value"])), *map(point.get, _AFTER)]
            for point in row["points"]
        ]
        parts = "" if fit is None else _of_choices(fit["parts"])
        text += f"\n## {heading_of(row['title'])}\n\n"
        text += f"Learner: `{row['learner']}`. Claimed in {row['source']}{parts}.\n\n"
        text += table((row["axis"], *heading), points)
    return text


def heading_of(title: str) -> str:
    """The heading of a row's section in `markdown`."""
    return title[:1].upper() + title[1:]


def _of_choices(parts: Sequence[Sequence[float]]) -> str:
    """The choices' parts of the budget, if a sanitizer has the others."""
    shared = any(part < 1 for both in parts for part in both)
    return "; the choices' parts of epsilon: " + ", ".join(f"{part:.2f}" for _, part in parts) if shared else ""


def inside(fit: dict[str, Any], claimed: float) -> bool:
    """Whether the interval of a row has the claimed exponent."""
    return fit["low"] is not None and fit["low"] <= claimed <= fit["high"]


def _short(n: float | None) -> str | None:
    return None if n is None else f"{n:.1f}" if n < 100 else f"{n:.0f}"


def _cells(row: dict[str, Any]) -> list[Any]:
    fit, ends = row["fit"], [point["n_high"] for point in row["points"] if point["n_high"] is not None]
    numbers = ["-"] * 4
    if fit is not None:
        interval = "none" if fit["low"] is None else f"[{fit['low']:z.3f}, {fit['high']:z.3f}]"
        near = "yes" if inside(fit, row["claimed"]) else "no"
        numbers = [f"{fit['exponent']:z.3f}", interval, near, f"{max(1.0, fit['claim']['miss']):.3f}"]
    return [row["title"], row["claim"], row["axis"], row["claimed"], *numbers, *(ends[:1] + ends[-1:] or ["-", "-"])]
