"""All classes on at most 4 points, as records: dimensions, brackets of n*, and what proves their ends."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpjax.advice.collection import Program
from dpjax.advice.derived import derived
from dpjax.attacks.optimum.tiny import Matrix, name_of
from dpjax.dimensions.summary import summary

DIMENSIONS = {
    "VC": "VC dimension",
    "VC*": "dual VC dimension",
    "LD": "Littlestone dimension",
    "threshold": "threshold dimension",
    "star": "star number",
    "TD": "teaching dimension",
    "RTD": "recursive teaching dimension",
}
EPSILONS = (None, 0.5, 1.0, 2.0)
ALPHA, BETA = 0.3, 0.1
LICENSE = "Apache-2.0, as dpjax"
ABOUT = (
    "Rows that the best private learner of every class on at most 4 points needs; see docs/gallery/atlas.md of dpjax"
)


def record(matrix: Matrix, programs: Iterable[Program]) -> dict[str, Any]:
    """A class: its dimensions by the names of the table, and under each epsilon what is known of n*."""
    values = {one.name: int(one.lower) for one in summary(np.array(matrix), 60.0) if one.name in DIMENSIONS.values()}
    numbers = {short: values[name] for short, name in DIMENSIONS.items()}
    programs = list(programs)
    brackets = {epsilon: derived(matrix, epsilon, ALPHA, round(1 - BETA, 12), programs) for epsilon in EPSILONS}
    size = round(math.log2(len(matrix)), 4)
    return {"points": len(matrix[0]), "class": name_of(matrix), "log2 size": size, **numbers, "brackets": brackets}


def ends(one: dict[str, Any], epsilon: float | None) -> tuple[int, int | None]:
    """(No learner with fewer rows than this, a learner with this or None)."""
    below, enough = one["brackets"][epsilon]
    return 1 if below is None else below.n + 1, enough and enough.n


def shown(one: dict[str, Any], epsilon: float | None) -> str:
    """ "9", "9 to 10", or "at least 9"."""
    low, high = ends(one, epsilon)
    return f"at least {low}" if high is None else str(low) if low == high else f"{low} to {high}"


def write_parquet(records: list[dict[str, Any]], path: Path) -> None:
    """One line for each class and epsilon; null is no privacy, or no bound."""
    rows = []
    for one in records:
        head = {name: value for name, value in one.items() if name != "brackets"}
        for epsilon, (below, enough) in one["brackets"].items():
            low, high = ends(one, epsilon)
            row = head | {"epsilon": epsilon, "delta": 0.0, "alpha": ALPHA, "beta": BETA, "low": low, "high": high}
            row |= {"low_by": below and (below.step or "certificate"), "high_by": enough and (enough.step or "table")}
            row |= {"certificate": below and below.program.certificate, "table": enough and enough.program.table}
            rows.append(row)
    about = {"description": ABOUT, "license": LICENSE}
    table = pa.Table.from_pylist(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.replace_schema_metadata(about), path, compression="zstd")
