"""Writes docs/vc1-height.md: examples that the improper learner needs, by the height of the tree, for three medians.

Run: python scripts/vc1_height.py [--out FOLDER] [--seed SEED] [--trials TRIALS]
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from median_plans import plan_near

from dpjax.concepts import Domain, Thresholds
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.cells import Cells, Setting
from dpjax.experiments.hard import hard_thresholds
from dpjax.experiments.n_star import cells_in, guess, rate
from dpjax.experiments.reports import about, figure_path, options, table, write_page
from dpjax.experiments.search import geometric_grid
from dpjax.learners import ImproperVC1
from dpjax.learners.vc1_improper import subsamples_and_median
from dpjax.mechanisms.median import MedianDesign, MedianPlan
from dpjax.plots.lines import Line, Panel, plot_lines
from dpjax.theory import vc1 as theory
from dpjax.theory.search import smallest

EPSILON, DELTA, ALPHA, BETA = 1.0, 1e-6, 0.1, 0.1
TRIED = {  # subsamples t by median and bits of a depth
    "exponential": {4: (85, 100), 8: (85, 100), 16: (85, 100), 32: (145, 170), 48: (220, 260), 64: (290, 340)},
    "recprefix": {bits: (440, 480) for bits in (4, 8, 16, 32, 64)},
    "treelog": {4: (1150,), 64: (1150,)},
}
PLANNED = (4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 2000)
NAMES = {"exponential": "exponential", "recprefix": "RecPrefix", "treelog": "TreeLog"}
WANTED, RATIO = 0.92, 2 ** (1 / 16)  # rate of the selection, and step of n there
HEAD = f"""# The improper learner by the height of the tree

Written by `scripts/vc1_height.py`: thresholds, which are paths, of height 2^bits - 1; epsilon = {EPSILON:g}, delta =
{DELTA:g}, alpha = {ALPHA:g}, beta = {BETA:g}, on a distribution with only one good threshold. Measured: for each
listed t the least n, on a grid of ratio 2^(1/16), with success of at least {WANTED:g} in {{selected}} trials or
more; of these the least n. Success at this n: in new trials, with the exact interval at confidence 0.95. Planned:
the plan of `ImproperVC1`, proved for every distribution.

"""
TAIL = """
![n against the height](figures/vc1-height.png)

Measured: {measured}

Planned: {planned}

Plans in practice are those of `scripts/median_plans.py`; on this distribution most subsamples agree; other
distributions may need more examples. The planned numbers hold for all.
"""


def main(out: Path, seed: int, trials: int, tried: Mapping[str, Mapping[int, Sequence[int]]] = TRIED,
         store: Path | None = None) -> None:  # fmt: skip
    """Selects t and n, measures success, writes page and figure."""
    found = []
    with cells_in(store, seed) as cells:
        for method, table_of_t in tried.items():
            for bits, counts in table_of_t.items():
                found.append(_case(method, bits, counts, trials, cells))
                print(*found[-1].values(), flush=True)
    planned = {
        method: {bits: planned_rows(method, bits, Privacy(EPSILON, DELTA), Accuracy(ALPHA, BETA)) for bits in PLANNED}
        for method in NAMES
    }
    rows = [
        (row["bits"], NAMES[row["method"]], row["t"], row["n"], row["success"], _product(row))
        for row in sorted(found, key=lambda row: row["bits"])
    ]  # fmt: skip
    header = ("bits", "median", "t", "n measured", "success", "planned t x m = n")
    words = {"measured": _measured_words(found), "planned": _planned_words(planned)}
    page = HEAD.format(selected=max(1, trials // 4)) + table(header, rows)
    page += "\nPlanned beyond 2^64, by the same formulas:\n\n" + table(
        ("bits", *NAMES.values()), [(bits, *(planned[method][bits][1] for method in NAMES)) for bits in PLANNED[6:]]
    )
    write_page(out / "vc1-height.md", page + TAIL.format(**words))
    points = {f"{NAMES[row['method']]}, {row['bits']} bits": row["point"] for row in found if row["n"] is not None}
    lines = [line for method in NAMES for line in _lines(method, found, planned)]
    panel = Panel("", "bits of the height", "examples $n$", lines, ticks=(4, 8, 16, 32, 64, 128, 256, 512, 1024, 2000))
    carried = about({"script": "vc1_height", "trials": trials, "alpha": ALPHA, "beta": BETA, "epsilon": EPSILON,
                     "delta": DELTA, "wanted": WANTED, "ratio": RATIO}, seed, points)  # fmt: skip
    plot_lines([panel], figure_path(out, "vc1-height"), carried, "The improper learner by the height of the tree")


def planned_rows(method: str, bits: int, privacy: Privacy, accuracy: Accuracy) -> tuple[int, int]:
    """(subsamples t, rows n) of the learner planned for depths of ``bits`` bits, a tree of height 2**bits - 1.

    Equal to those of ``ImproperVC1(Thresholds(Domain(2**bits)), method, "fewest")`` up to 64 bits.
    """
    t, _ = subsamples_and_median(method, bits, privacy, accuracy)
    return t, theory.improper(t, float(accuracy.alpha), float(accuracy.beta))


@dataclass(frozen=True)
class PracticalVC1(ImproperVC1):
    """An `ImproperVC1` with the median of `median_plans.plan_near` for 2 t / 3 rows: as private, without a proof."""

    def median(self, design: MedianDesign) -> MedianPlan:
        """At the design's budget."""
        return plan_near(
            self.method, design.bits, design.epsilon, design.delta, 2 * int(self.subsamples or 1) // 3
        ).plan()


def _case(method: str, bits: int, counts: Sequence[int], trials: int, cells: Cells) -> dict[str, Any]:
    """The best of the t, and success there."""
    concepts = Thresholds(Domain(2**bits))
    best = None
    for t in counts:
        learner = PracticalVC1(concepts, method, t)
        setting = Setting(learner, hard_thresholds(concepts, ALPHA), 1, 1, EPSILON, DELTA, ALPHA, BETA)
        n = guess(setting, cells, geometric_grid(6 * t, 24 * t, RATIO), max(1, trials // 4), WANTED)
        if n is not None and (best is None or n < best.n):
            best = replace(setting, n=n)
    if best is None:
        return {"method": method, "bits": bits, "t": None, "n": None, "success": None, "point": None}
    return {"method": method, "bits": bits, "t": best.learner.subsamples, "n": best.n,  # type: ignore[attr-defined]
            "success": str(rate(best, cells, trials)), "point": best}  # fmt: skip


def _product(row: Mapping[str, Any]) -> str:
    t, n = planned_rows(row["method"], row["bits"], Privacy(EPSILON, DELTA), Accuracy(ALPHA, BETA))
    return f"{t} x {n // t} = {n}"


def _lines(method: str, found: Sequence[Mapping[str, Any]], planned: Mapping[str, Mapping[int, tuple]]) -> list[Line]:
    own = [row for row in found if row["method"] == method and row["n"] is not None]
    lines = [
        Line(f"{NAMES[method]}, planned", method, PLANNED, [planned[method][b][1] for b in PLANNED], kind="theorem")
    ]
    if own:
        lines.append(
            Line(f"{NAMES[method]}, measured", method, [row["bits"] for row in own], [row["n"] for row in own])
        )
    return lines


def _measured_words(found: Sequence[Mapping[str, Any]]) -> str:
    own = {name: {row["bits"]: row["n"] for row in found if row["method"] == name and row["n"]} for name in NAMES}
    exponential, flat = own["exponential"], own["recprefix"]
    if len(exponential) < 2 or not flat:
        return "too few points to compare."
    (b, low), (c, high) = sorted(exponential.items())[-2:]
    slope = (high - low) / ((c - b) * math.log(2))
    spread = max(flat.values()) / min(flat.values()) - 1
    crossing = c - (high - max(flat.values())) / (slope * math.log(2))
    return (
        f"the exponential median pays {slope:.0f} examples for each unit of ln(height) between {b} and {c} bits,\nand "
        "hardly any at small heights, where choosing the node decides.\n"
        f"RecPrefix changes by {spread:.0%} between {min(flat)} and {max(flat)} bits. The line through the last two\n"
        f"exponential points meets RecPrefix at about {crossing:.0f} bits."
    )


def _planned_words(planned: Mapping[str, Mapping[int, tuple[int, int]]]) -> str:
    privacy, accuracy = Privacy(EPSILON, DELTA), Accuracy(ALPHA, BETA)

    def crossing(method: str) -> int:
        return smallest(
            lambda bits: (
                planned_rows(method, bits, privacy, accuracy)[1]
                < planned_rows("exponential", bits, privacy, accuracy)[1]
            )
        )

    flat, (low, high) = planned["recprefix"], (planned["exponential"][bits][1] for bits in (1024, 2000))
    spread = flat[64][1] / flat[4][1] - 1
    slope = (high - low) / ((2000 - 1024) * math.log(2))
    return (
        f"the exponential median pays {slope:.0f} examples for each unit of ln(height) once the median decides;\n"
        f"RecPrefix grows by {spread:.0%} from 4 to 64 bits. RecPrefix is planned with fewer examples than the\n"
        f"exponential median from {crossing('recprefix')} bits on, TreeLog from {crossing('treelog')} bits on."
    )


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=2000)
    main(given.out, given.seed, given.trials, store=given.store)
