"""`dpjax compact`: all trials of a store in one Parquet file."""

from dpjax.cli.arguments.results import CompactCommand
from dpjax.cli.output import Answer, console
from dpjax.core.checks import InputError
from dpjax.experiments.store.store import Store


def run(command: CompactCommand) -> Answer:
    """Writes one row per trial; returns the numbers of rows and cells, and the bytes before and after."""
    out = command.out or command.store / "trials.parquet"
    if out.suffix != ".parquet":
        raise InputError("out", "a name that ends in .parquet", repr(str(out)), "give for example trials.parquet")
    with Store(command.store, read_only=True) as store:
        cells = store.status().cells
        rows = store.compact(out)
    before = sum(path.stat().st_size for path in (command.store / "cells").rglob("*") if path.is_file())
    after = out.stat().st_size
    answer = {"file": str(out), "rows": rows, "cells": cells, "bytes_of_cells": before, "bytes": after}

    def show() -> None:
        screen = console()
        screen.print(f"written: {out}, {rows} trials of {cells} cells")
        screen.print(f"{before / 1e6:.3g} MB in cells, {after / 1e6:.3g} MB in one file")

    return answer, show
