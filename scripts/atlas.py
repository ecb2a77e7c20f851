"""Computes how many rows the best private learner of every tiny class needs, and writes atlas.md.

Run: python scripts/atlas.py compute --store FOLDER [--points 3] [--epsilons 2 1 0.5] [--seconds 1800]
Run again with the same folder, it continues. python scripts/atlas.py page --store FOLDER writes the page.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from dpjax.attacks.optimum import goal_of, optimum
from dpjax.attacks.optimum.collection import GRID, Collection, Program
from dpjax.attacks.optimum.rows import Needed, Tried, rows_needed
from dpjax.attacks.optimum.tiny import Matrix, code_of, tiny_classes
from dpjax.core.checks import InputError
from dpjax.core.types import Privacy

ALPHA, GOOD = 0.3, 0.9
ROUNDS, GAP = 20, 2e-3


def needed(matrix: Matrix, epsilon: float, store: Collection, start: int, seconds: float) -> Needed:
    """The bracket of a class, from stored programs and new ones."""
    code, goal = code_of(matrix), goal_of(matrix, ALPHA)
    known = {one.key: one for one in store.programs()}

    def solve(n: int) -> Tried | None:
        key = code, n, epsilon, ALPHA, GOOD
        if key not in known:
            near = sorted(
                (one for one in known.values() if one.concepts == code and one.distributions),
                key=lambda one: (abs(one.n - n), one.epsilon != epsilon),
            )
            how = {"distributions": near[0].distributions if near else (), "level": GOOD if near else None}
            how |= {"grid": GRID, "rounds": ROUNDS, "tolerance": GAP, "seconds": seconds}
            try:
                found = optimum(goal, n, Privacy(epsilon), method="first-order", **how)
            except InputError as error:
                print(error, flush=True)
                return None
            known[key] = one = store.add(code, GOOD, found)
            print(f"{code}, epsilon {epsilon:g}: {_line(one)}", flush=True)
        return known[key].tried()

    return rows_needed(solve, GOOD, start=start)


def _line(one: Program) -> str:
    return f"n = {one.n}: [{one.lower:.4f}, {one.upper:.4f}] in {one.seconds:.0f} s"


def compute(store: Collection, points: int, epsilons: Sequence[float], seconds: float) -> None:
    """All classes, the larger epsilons first."""
    start = dict[Matrix, int]()
    for epsilon in epsilons:
        for matrix in tiny_classes(points):
            found = needed(matrix, epsilon, store, start.get(matrix, 4), seconds)
            start[matrix] = max(1, round(1.9 * (found.high or found.low)) - 1)
            print(f"{code_of(matrix)}, epsilon {epsilon:g}: n* is {found}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("compute",))
    parser.add_argument("--store", type=Path, required=True, help="folder of solved programs and their proofs")
    parser.add_argument("--points", type=int, default=3)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[2.0, 1.0, 0.5])
    parser.add_argument("--seconds", type=float, default=1800.0, help="of one program")
    given = parser.parse_args(arguments)
    compute(Collection(given.store), given.points, given.epsilons, given.seconds)


if __name__ == "__main__":
    main()
