"""``python -m benchmarks [ROW ...] [--quick] [--json]``: prints the rows."""

import json
import sys

from benchmarks import run
from dpjax.core.checks import InputError


def main(arguments: list[str]) -> int:
    """Exit status: 0 if every goal is met, 1 if one is missed, 2 if the rows cannot run."""
    names = [argument for argument in arguments if not argument.startswith("--")]
    try:
        rows = run(names or None, quick="--quick" in arguments)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    if "--json" in arguments:
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
