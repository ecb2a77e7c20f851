"""`dpjax export`: a result's tables as CSV or Parquet, or its arrays as netCDF, at any moment of a run."""

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from dpjax.cli.arguments.results import ExportCommand
from dpjax.cli.output import Answer
from dpjax.cli.output import console as screen
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.files import replace_file
from dpjax.experiments.results.result import Result

TABLES = ("curves", "n_star", "n_within", "errors", "exponents", "failures")
_WRITERS = {"csv": pyarrow.csv.write_csv, "parquet": pyarrow.parquet.write_table}


def run(command: ExportCommand) -> Answer:
    """Writes one file per table; columns have the study's names and units, without digests."""
    if checks.choice("format", command.format, [*_WRITERS, "netcdf"]) == "netcdf":
        return _arrays(command)
    write = _WRITERS[command.format]
    chosen = [checks.choice("tables", name, TABLES) for name in command.tables or TABLES]
    result = Result.load(command.result)
    folder = _folder(command)
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
    return _answer(written, rows, result)


def _arrays(command: ExportCommand) -> Answer:
    """Writes result.nc: netCDF 3, which SciPy writes and most programs read."""
    for flag in ("tables", "between", "alphas"):
        if (value := getattr(command, flag)) not in ((), None):
            raise InputError(flag, "none for format netcdf", str(value), "leave it out, or choose csv or parquet")
    result = Result.load(command.result)
    arrays = result.to_xarray()
    arrays.attrs["seed"] = str(arrays.attrs["seed"])  # netCDF 3 has no whole numbers of 64 bits
    path = _folder(command) / "result.nc"
    replace_file(path, bytes(arrays.to_netcdf(engine="scipy")))
    return _answer([path], {"result": int(arrays["trials"].count())}, result)


def _folder(command: ExportCommand) -> Path:
    return command.out or (command.result if command.result.is_dir() else command.result.parent)


def _answer(written: list[Path], rows: dict[str, int], result: Result) -> Answer:
    answer = {"files": [str(path) for path in written], "rows": rows, "left": result.data.get("left", 0)}

    def show() -> None:
        console = screen()
        for path, count in zip(written, rows.values(), strict=True):
            console.print(f"written: {path}, {count} rows")
        if answer["left"]:
            console.print(f"{answer['left']} curves are not measured yet")

    return answer, show
