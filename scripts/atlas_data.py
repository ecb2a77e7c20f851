"""Classes on a few points, as records: dimensions, brackets of n*, and what proves their ends."""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pages import table

from dpjax.advice.atlas import MOST_POINTS
from dpjax.advice.collection import Program
from dpjax.advice.derived import derived
from dpjax.attacks.optimum.tiny import Matrix, code_of, name_of
from dpjax.dimensions import dual_vc_dimension, threshold_dimension
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
OF_LABELS = {"VC*": dual_vc_dimension, "threshold": threshold_dimension}
EPSILONS = (None, 0.5, 1.0, 2.0)
ALPHA, BETA, DELTA = 0.3, 0.1, 0.01
LICENSE = "Apache-2.0, as dpjax"
ABOUT = (
    "Rows that the best private learner of every class on at most 4 points, and of some on 5 to 8 points, needs; see "
    "docs/gallery/atlas.md of dpjax"
)


def record(matrix: Matrix, programs: Iterable[Program]) -> dict[str, Any]:
    """A class: its dimensions by the names of the table, and under each epsilon what is known of n*."""
    values = {one.name: int(one.lower) for one in summary(np.array(matrix), 60.0) if one.name in DIMENSIONS.values()}
    numbers = {short: values[name] for short, name in DIMENSIONS.items()}
    numbers |= {short: _largest(np.array(matrix), of) for short, of in OF_LABELS.items()}
    programs = list(programs)
    of_delta = {
        delta: {epsilon: derived(matrix, epsilon, ALPHA, round(1 - BETA, 12), programs, delta) for epsilon in some}
        for delta, some in ((0.0, EPSILONS), (DELTA, EPSILONS[1:]))
    }
    size, brackets = round(math.log2(len(matrix)), 4), {"brackets": of_delta[0.0], "approximate": of_delta[DELTA]}
    name = name_of(matrix) if len(matrix[0]) <= MOST_POINTS else code_of(matrix)
    head = {"points": len(matrix[0]), "class": name, "repeated": repeated(matrix), "log2 size": size}
    return head | numbers | brackets


def repeated(matrix: Matrix) -> bool:
    """Whether the concepts are the same, or opposite, at two points: the class is one on fewer points, then."""
    columns = [tuple(label ^ column[0] for label in column) for column in zip(*matrix, strict=True)]
    return len(set(columns)) < len(columns)


def _largest(matrix: np.ndarray, dimension: Callable[..., Any]) -> int:
    """The dimension, the largest over exchanges of labels at points, which n* does not depend on."""
    flips = product((0, 1), repeat=matrix.shape[1])
    return max(int(dimension(matrix ^ np.array(flip), 60.0).lower) for flip in flips)


def ends(one: dict[str, Any], epsilon: float | None, delta: float = 0.0) -> tuple[int, int | None]:
    """(No learner with fewer rows than this, a learner with this or None); delta: 0 or `DELTA`.

    A record may have "planned", for each epsilon the rows of a learner with delta = 0 and its name.
    """
    below, enough = one["approximate" if delta else "brackets"][epsilon]
    planned = one.get("planned", {}).get(epsilon)
    high = min([end for end in (enough and enough.n, planned and planned[0]) if end], default=None)
    return 1 if below is None else below.n + 1, high


def shown(one: dict[str, Any], epsilon: float | None, delta: float = 0.0) -> str:
    """ "9", "9 to 10", or "at least 9"."""
    low, high = ends(one, epsilon, delta)
    return f"at least {low}" if high is None else str(low) if low == high else f"{low} to {high}"


def approximate_table(records: Iterable[dict[str, Any]], epsilons: Iterable[float]) -> str:
    """n* with delta beside that of pure privacy."""
    some = sorted(epsilons)
    heads = [f"epsilon {epsilon:g}, delta {delta:g}" for epsilon in some for delta in (0.0, DELTA)]
    rows = [[one["class"], *(shown(one, e, delta) for e in some for delta in (0.0, DELTA))] for one in records]
    return table(("class", *heads), rows)


def compared(rows: Sequence[Sequence[Any]], other: Path) -> dict[str, int]:
    """How many exact entries of optimum.md are in the table, and how many of them differ."""
    lines = other.read_text().partition("## Rows for")[2].partition("<details>")[0] if other.exists() else ""
    old = {
        cells[2]: cells[3:6]
        for line in lines.splitlines()
        if len(cells := [part.strip() for part in line.split("|")]) > 6
    }
    pairs = [pair for row in rows for pair in zip(old.get(row[1], ()), row[3:6], strict=False) if "-" not in pair]
    exact = [(a, b) for a, b in pairs if a.isdigit() and b.isdigit()]
    return {"same": len(exact), "differ": sum(a != b for a, b in exact)}


def write_parquet(records: list[dict[str, Any]], path: Path) -> None:
    """One line for each class, epsilon and delta; null is no privacy, or no bound."""
    rows = []
    for one in records:
        head = {"family": None} | {name: value for name, value in one.items() if not isinstance(value, dict)}
        for delta, brackets in ((0.0, one["brackets"]), (DELTA, one["approximate"])):
            for epsilon, (below, enough) in brackets.items():
                low, high = ends(one, epsilon, delta)
                row = {"epsilon": epsilon, "delta": delta, "alpha": ALPHA, "beta": BETA, "low": low, "high": high}
                if enough is None or enough.n != high:
                    row["high_by"], enough = high and f"plan of {one['planned'][epsilon][1]}", None
                else:
                    row["high_by"] = enough.step or "table"
                row |= {"low_by": below and (below.step or "certificate"), "table": enough and enough.program.table}
                row["certificate"] = below and below.program.certificate
                rows.append(head | row)
    about = {"description": ABOUT, "license": LICENSE}
    data = pa.Table.from_pylist(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(data.replace_schema_metadata(about), path, compression="zstd")
