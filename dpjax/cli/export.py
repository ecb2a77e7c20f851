"""`dpjax export`: a result's tables as CSV or Parquet, at any moment of a run."""

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from dpjax.cli import Answer
from dpjax.cli.arguments import ExportCommand
from dpjax.cli.printing import console as screen
from dpjax.core import checks
from dpjax.core.files import replace_file
from dpjax.experiments.results import Result

TABLES = ("curves", "n_star", "errors", "exponents", "failures")
_WRITERS = {"csv": pyarrow.csv.write_csv, "parquet": pyarrow.parquet.write_table}


def run(command: ExportCommand) -> Answer:
    """Writes one file per table; columns have the study's names and units, without digests."""
    write = _WRITERS[checks.choice("format", command.format, _WRITERS)]
    chosen = [checks.choice("tables", name, TABLES) for name in command.tables or TABLES]
    result = Result.load(command.result)
    folder = command.out or (command.result if command.result.is_dir() else command.result.parent)
    tables = {name: getattr(result, name) for name in chosen}
    if command.between is not None:
        tables["differences"] = result.differences(command.between)
    if command.alphas:
        tables["n_star_at"] = result.n_star_at(command.alphas)
    written: list[Path] = []
    for name, table in tables.items():
        sink = pa.BufferOutputStream()
        write(table, sink)
        written.append(folder / f"{name}.{command.format}")
        replace_file(written[-1], sink.getvalue())
    rows = {name: table.num_rows for name, table in tables.items()}
    answer = {"files": [str(path) for path in written], "rows": rows, "left": result.data.get("left", 0)}

    def show() -> None:
        console = screen()
        for path, name in zip(written, tables, strict=True):
            console.print(f"written: {path}, {rows[name]} rows", soft_wrap=True)
        if answer["left"]:
            console.print(f"{answer['left']} curves are not measured yet")

    return answer, show
