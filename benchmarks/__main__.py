"""``python -m benchmarks [ROW ...] [--quick] [--json] [--roofline [--beside FILE]]``: prints the rows.

``python -m benchmarks accelerator --out FOLDER`` measures every learner on a GPU.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import ROWS, accelerator, roofline, run
from dpjax.core.checks import InputError
from dpjax.papers.pages import table


def main(arguments: list[str]) -> int:
    """Exit status: 0 if every goal is met, 1 if one is missed, 2 if the rows cannot run."""
    if arguments[:1] == ["accelerator"]:
        return accelerator.main(arguments[1:])
    parser = argparse.ArgumentParser(
        "python -m benchmarks",
        description="dpjax beside what one would use instead, or the machine's ceilings.",
        epilog=f"Rows: {' '.join(ROWS)}. Rows of --roofline: {' '.join(roofline.ROWS)}",
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help="all by default")
    parser.add_argument("--quick", action="store_true", help="a few repetitions of each")
    parser.add_argument("--json", action="store_true", help="rows as one line of JSON")
    parser.add_argument("--roofline", action="store_true", help="fractions of what this device can do")
    parser.add_argument("--beside", type=Path, help="what --roofline --json printed on another machine, as a column")
    asked = parser.parse_args(arguments)
    try:
        if asked.roofline:
            return _roofline(asked)
        roofline.only(asked.beside)
        rows = run(asked.rows or None, asked.quick, (lambda row: None) if asked.json else _show)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    if asked.json:
        print(json.dumps({"rows": rows}))
    else:
        print(rows[0]["processor"])
    return 1 if any(row["passed"] is False for row in rows) else 0


def _show(row: dict[str, Any]) -> None:
    goal = "" if row["goal"] is None else f" (goal {row['goal']:g})"
    rates = f"{row['value']:.3g} against {row['peer_value']:.3g} {row['unit']}"
    print(f"{row['name']:28} {row['ratio']:8.3g}{goal:12}  {rates}, {row['peer']}; {row['note']}", flush=True)


def _roofline(asked: argparse.Namespace) -> int:
    found: dict[str, Any] = roofline.measured(asked.rows or None, asked.quick, asked.beside)
    if asked.json:
        print(json.dumps(found))
    else:
        print(f"{roofline.heading(found)}\n\n{table(*roofline.lines(found))}", end="")
    return 1 if any(row["passed"] is False for row in found["rows"]) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
