"""``python -m benchmarks [ROW ...] [--quick] [--json]``: prints the rows."""

import argparse
import json
import sys

from benchmarks import ROWS, run
from dpjax.core.checks import InputError


def main(arguments: list[str]) -> int:
    """Exit status: 0 if every goal is met, 1 if one is missed, 2 if the rows cannot run."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description="dpjax beside what one would use instead.", epilog=f"Rows: {' '.join(ROWS)}"
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help="all by default")
    parser.add_argument("--quick", action="store_true", help="a few repetitions of each")
    parser.add_argument("--json", action="store_true", help="rows as one line of JSON")
    asked = parser.parse_args(arguments)
    try:
        rows = run(asked.rows or None, quick=asked.quick)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    if asked.json:
        print(json.dumps({"rows": rows}))
    else:
        print(rows[0]["processor"])
        for row in rows:
            goal = "" if row["goal"] is None else f" (goal {row['goal']:g})"
            rates = f"{row['value']:.3g} against {row['peer_value']:.3g} {row['unit']}"
            print(f"{row['name']:28} {row['ratio']:8.3g}{goal:12}  {rates}, {row['peer']}; {row['note']}")
    return 1 if any(row["passed"] is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
