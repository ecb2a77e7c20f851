"""The measurements as one table, with another machine's beside them."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.roofline import suite
from dpjax.core.checks import InputError

_HEADS = ("row", "dpjax", "unit", "bound", "its limit", "fraction", "goal", "passed", "explained")


def measured(names: Iterable[str] | None, quick: bool, other: Path | None) -> dict[str, Any]:
    """`suite.run`, with the file ``other``, if any, `beside` it; the file is read before anything runs."""
    known = None if other is None else _earlier(other)
    found = suite.run(names, quick)
    return found if known is None else beside(found, *known)


def only(other: Path | None) -> None:
    """InputError if a file is given without the ceilings that it belongs to."""
    if other is not None:
        raise InputError("beside", "--roofline with it", "--beside alone", "add --roofline")


def beside(found: dict[str, Any], about: str, known: Mapping[tuple[str, str], float]) -> dict[str, Any]:
    """The measurements, with those of another machine in "beside" of each ceiling and row (None if it has none)."""

    def with_other(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [row | {"beside": known.get((row["name"], row["unit"]))} for row in rows]

    own = {part: with_other(found[part]) for part in ("ceilings", "rows")}
    return found | own | {"beside": about}


def _earlier(path: Path) -> tuple[str, dict[tuple[str, str], float]]:
    """The machine, and its rates by name and unit. InputError unless ``--roofline --json`` printed the file."""
    try:
        earlier = json.loads(path.read_text())
        rows = [*earlier["ceilings"], *earlier["rows"]]
        known = {(row["name"], row["unit"]): float(row["value"]) for row in rows}
        about = earlier["device"]
        where = about["processor"] if about["platform"] == "cpu" else about["device"]
        return f"{where}, {earlier['clock']}", known
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            "beside",
            "a file with the output of `python -m benchmarks --roofline --json`",
            f"{path} ({error!r})",
            "run it on the other machine and keep what it prints",
        ) from error


def heading(found: dict[str, Any]) -> str:
    """Device, versions and date, in one line."""
    about = found["device"]
    device = "" if about["platform"] == "cpu" else f"{about['device']}, driver {about['driver']}; "
    versions = f"jax {about['jax']}, jaxlib {about['jaxlib']}, NumPy {about['numpy']}"
    line = f"{device}{about['processor']}; {versions}; {about['date']}; seconds of {found['clock']}"
    return f"{line}; beside: {found['beside']}" if "beside" in found else line


def lines(found: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Headings and cells: the ceilings with NumPy as their bound, then the rows."""
    cells = [
        [
            f"ceiling {row['name']}",
            _number(row["value"]),
            row["unit"],
            row["peer"],
            _number(row["peer_value"]),
            _number(row["value"] / row["peer_value"]),
            "",
            "",
            "",
            _number(row.get("beside")),
        ]
        for row in found["ceilings"]
    ]
    cells += [
        [
            row["name"],
            _number(row["value"]),
            row["unit"],
            row["bound"],
            _number(row["limit"]),
            _number(row["ratio"]),
            _number(row["goal"]),
            _word(row["passed"]),
            _number(row["explained"]),
            _number(row.get("beside")),
        ]
        for row in found["rows"]
    ]
    heads = [*_HEADS, "beside"]
    if "beside" not in found:
        heads, cells = heads[:-1], [row[:-1] for row in cells]
    return heads, cells


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _word(passed: bool | None) -> str:
    return "" if passed is None else "yes" if passed else "no"
