"""`dpjax bench`: speed relative to other libraries."""

import importlib
from typing import Any

from dpjax.cli.arguments.bench import BenchCommand
from dpjax.cli.output import Answer
from dpjax.cli.output import console as screen
from dpjax.core.checks import InputError
from dpjax.core.screen import Table as Printed
from dpjax.experiments.config.builder import import_from_here


def run(command: BenchCommand) -> Answer:
    """Speed ratios, from the package ``benchmarks`` of a checkout, which is not installed."""
    import_from_here()
    try:
        benchmarks, roofline = (importlib.import_module(name) for name in ("benchmarks", "benchmarks.roofline"))
    except ImportError as error:
        raise InputError(
            "bench",
            "a checkout of the repository as the working directory",
            str(error),
            "clone it, run there, and install dpjax[bench]",
        ) from error

    if command.roofline:
        measurement = roofline.measured(command.rows or None, command.quick, command.beside)
        return measurement, lambda: _show_roofline(roofline.heading(measurement), *roofline.lines(measurement))
    roofline.only(command.beside)
    rows: list[dict[str, Any]] = []

    def show() -> None:
        printed = Printed("row", "dpjax", "peer", "its value", "ratio", "goal")
        for row in rows:
            goal = "" if row["goal"] is None else f"{row['goal']:g}"
            printed.add_row(
                row["name"], f"{row['value']:.3g}", row["peer"], f"{row['peer_value']:.3g}", f"{row['ratio']:.2f}", goal
            )
        screen().print(printed)

    try:
        benchmarks.run(command.rows or None, command.quick, rows.append)
    except KeyboardInterrupt:
        show()  # what is measured is not lost
        raise
    return {"rows": rows}, show


def _show_roofline(heading: str, heads: list[str], cells: list[list[str]]) -> None:
    printed, console = Printed(*heads), screen()
    for row in cells:
        printed.add_row(*row)
    console.print(heading)
    console.print(printed)
