"""Time and memory of the two solvers of the best private learner, each program in a process of its own.

Run: python scripts/atlas_speed.py METHOD N prints one measurement as JSON; METHOD none only imports.
"""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pages import table

from dpjax.attacks.optimum import Databases, goal_of, optimum
from dpjax.attacks.optimum.relaxed import distances, relaxed_bound
from dpjax.core.types import Privacy
from dpjax.dimensions import families

SIZES: dict[Any, tuple[int, ...]] = {"highs": (4, 6, 8), "first-order": (4, 6, 8, 10, 12, 14, 16, 18, 20)}
EVERYWHERE = "first-order, all distributions"
WITHIN = "first-order, within"
RELAXED = (0, 2, 4)
DELTA = 0.01
OF_DELTA = ", delta 0.01"
SIZES_OF_DELTA = {"highs" + OF_DELTA: (4, 6), "first-order" + OF_DELTA: (4, 6, 8, 10)}
_TOLERANCE = 2e-3


def speed(store: Path | None, short: bool) -> list[list[Any]]:
    """The measurements of both solvers, kept in the folder of a store."""
    path = store and store / "speed.json"
    if path and path.exists():
        return json.loads(path.read_text())
    every = {**SIZES, **SIZES_OF_DELTA}.items()
    sizes = [(method, n) for method, some in every for n in (some[:2] if short else some)]
    close = [(f"{WITHIN} {r}", 14) for r in RELAXED]
    rows = [measured(*one) for one in [*sizes, *[*close, (EVERYWHERE, 14)] * (not short)]]
    if path:
        path.write_text(json.dumps(rows))
    return rows


def speed_table(rows: Sequence[Sequence[Any]]) -> str:
    """The table of the page."""
    return table(("n", "databases", "method", "no learner above", "learner found", "seconds", "memory, MiB"), rows)


def measured(method: Any, n: int) -> list[Any]:
    """One row of the table, from a process of its own, without its memory before the program."""
    base, one = (_process(*words) for words in (("none", 0), (method, n)))
    return [
        n,
        one["databases"],
        method,
        one["upper"],
        one["lower"],
        one["seconds"],
        round(one["memory"] - base["memory"]),
    ]


def _process(method: str, n: int) -> dict[str, Any]:
    done = subprocess.run([sys.executable, __file__, method, str(n)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def one(method: Any, n: int) -> dict[str, Any]:
    """Bounds, seconds and the largest memory of this process in MiB."""
    answer: dict[str, Any] = {}
    if method != "none":
        delta = DELTA if method.endswith(OF_DELTA) else 0.0
        clock = time.process_time if delta else time.perf_counter  # the former on a busy machine
        goal, begin, whole = goal_of(families.thresholds(3), 0.3), clock(), method == EVERYWHERE
        how: dict[str, Any] = {"rounds": 20} if whole else {"everywhere": False}
        way: Any = method.partition(",")[0]
        if method.startswith(WITHIN):
            rows = int(method.rpartition(" ")[2])
            bound, _ = relaxed_bound(goal, n, Privacy(1.0), rows, tolerance=_TOLERANCE)
            size = int((distances(goal, Databases(n, goal.cells)) <= rows).sum())
            answer = {"databases": size, "upper": f"{float(bound):.5f}", "lower": "-"}
        else:
            found = optimum(goal, n, Privacy(1.0, delta), tolerance=_TOLERANCE, method=way, **how)
            lower = found.everywhere if whole else float(found.achieved)
            answer = {"databases": found.databases.size, "upper": f"{float(found.value):.5f}", "lower": f"{lower:.5f}"}
        answer["seconds"] = f"{clock() - begin:.1f}"
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return answer | {"memory": int(peak.split()[1]) / 1024}


if __name__ == "__main__":
    print(json.dumps(one(sys.argv[1], int(sys.argv[2]))))
