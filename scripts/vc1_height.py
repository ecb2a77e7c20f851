"""Writes vc1-height.md: examples that the improper learner needs, by the height of the tree, for four medians.

Run: python scripts/vc1_height.py [--out FOLDER] [--seed SEED] [--trials TRIALS]
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pages import about, figure_path, options, table, write_page

from dpjax.concepts import Domain, Thresholds
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.run.cells import Cells
from dpjax.experiments.run.n_star import bracket, cells_in, guess, rate
from dpjax.experiments.statistics.sequential_search import Bracket, geometric_grid
from dpjax.experiments.sweep.hard_tasks import gapped_thresholds, hard_thresholds
from dpjax.experiments.sweep.setting import Setting
from dpjax.learners import ImproperVC1
from dpjax.learners.vc1_design import of_rows
from dpjax.learners.vc1_improper import subsamples_and_median
from dpjax.plots.lines import Line, Panel, plot_lines
from dpjax.theory import vc1 as theory
from dpjax.theory.search import smallest

EPSILON, DELTA, ALPHA, BETA = 1.0, 1e-6, 0.1, 0.1
PRIVACY, ACCURACY = Privacy(EPSILON, DELTA), Accuracy(ALPHA, BETA)
MEASURED = {
    "exponential": (4, 8, 16, 32, 48, 64, 128),
    "majority": (4, 16, 64, 128),
    "recprefix": (4, 16, 64),
    "treelog": (),
}
PLANNED = (4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 2000)
NAMES = {"exponential": "exponential", "majority": "majority", "recprefix": "RecPrefix", "treelog": "TreeLog"}
PLANS = """
The measured rows, and the first four columns below, are of the default, which takes no subsamples. Algorithm 2 as the
paper has it, `subsamples="fewest"`, is planned only, each time with the median that needs the fewest rows. Its rows are
the number of subsamples times the examples of each, both whole numbers: {few} at 32 bits and {more} at 48. More
subsamples may have more that miss, so that fewer examples in each are enough, and the product may fall where the height
grows.

"""
RATIO = 2 ** (1 / 16)
HEAD = f"""# The improper learner by the height of the tree

Thresholds on larger and larger domains are learned by the improper learner of classes of VC dimension 1. With the
exponential median the number of rows grows with the logarithm of the height; with the other medians it hardly grows, so
that the majority median needs fewer rows on high trees. The planned numbers are close to what the hardest distribution
needs.

Written by `scripts/vc1_height.py`: thresholds, which are paths, of height 2^bits - 1; epsilon = {EPSILON:g}, delta =
{DELTA:g}, alpha = {ALPHA:g}, beta = {BETA:g}. Planned: `ImproperVC1(method=...)`, proved for every distribution
(docs/proofs/deepest-rows.md). Bracket: (n_low, n_high] of n*; with confidence 0.95 success is below {1 - BETA:g} at
n_low and at least {1 - BETA:g} at n_high ([what a
bracket says](../explain/bracket.md)). It is measured on two distributions: with only one good threshold, and
`hard_tasks.gapped_thresholds`, the hardest for the proof. Success at the planned n: there, in {{trials}} trials,
with the exact interval at confidence 0.95. Slack: planned n over the upper end of the larger bracket.

"""
TAIL = """
![n against the height](figures/vc1-height.png)

Measured: {measured}

Planned: {planned}
"""


def main(
    out: Path, seed: int, trials: int, measured: Mapping[str, Sequence[int]] = MEASURED, store: Path | None = None
) -> None:
    """Measures n* and success, writes page and figure."""
    with cells_in(store, seed) as cells:
        found = [_case(method, bits, trials, cells) for method, own in measured.items() for bits in own]
    planned = {method: {bits: planned_rows(method, bits) for bits in PLANNED} for method in NAMES}
    header = ("bits", "median", "planned n", "success there", "bracket, one good", "bracket, gapped", "slack")
    rows = [
        (row["bits"], NAMES[row["method"]], row["planned"], row["success"], *map(_words, row["stars"]), row["slack"])
        for row in sorted(found, key=lambda row: row["bits"])
    ]
    page = HEAD.format(trials=trials) + table(header, rows)
    page += PLANS.format(few=_product(32), more=_product(48)) + table(
        ("bits", *NAMES.values(), "Algorithm 2"),
        [(bits, *(planned[method][bits] for method in NAMES), subsampled_rows(bits)) for bits in PLANNED],
    )
    words = {"measured": _measured_words(found), "planned": _planned_words(planned)}
    write_page(out / "vc1-height.md", page + TAIL.format(**words))
    points = {f"{NAMES[row['method']]}, {row['bits']} bits": row["point"] for row in found}
    lines = [line for method in NAMES for line in _lines(method, found, planned)]
    panel = Panel("", "bits of the height", "examples $n$", lines, ticks=(4, 8, 16, 32, 64, 128, 256, 512, 1024, 2000))
    carried = about(
        {
            "script": "vc1_height",
            "trials": trials,
            "alpha": ALPHA,
            "beta": BETA,
            "epsilon": EPSILON,
            "delta": DELTA,
            "ratio": RATIO,
        },
        seed,
        points,
    )
    plot_lines([panel], figure_path(out, "vc1-height"), carried, "The improper learner by the height of the tree")


def planned_rows(method: str, bits: int) -> int:
    """Rows for a tree of height 2**bits - 1: those of ``ImproperVC1(Thresholds(Domain(2**bits)), method)``, but for
    any number of bits."""
    return of_rows(method, bits, 2**bits, EPSILON, DELTA, ALPHA, BETA).rows


def subsampled_rows(bits: int) -> int:
    """The same for Algorithm 2 with the median for which it needs the fewest rows."""
    return theory.improper(_fewest(bits), ALPHA, BETA)


def _fewest(bits: int) -> int:
    """The number of subsamples with which Algorithm 2 needs the fewest rows."""
    counts = (subsamples_and_median(method, bits, PRIVACY, ACCURACY)[0] for method in NAMES)
    return min(counts, key=lambda count: theory.improper(count, ALPHA, BETA))


def _product(bits: int) -> str:
    return f"{_fewest(bits)} x {subsampled_rows(bits) // _fewest(bits)}"


def _case(method: str, bits: int, trials: int, cells: Cells) -> dict[str, Any]:
    """n* on both distributions, and success at the planned n on the second."""
    concepts = Thresholds(Domain(2**bits))
    learner, planned = ImproperVC1(concepts, method), planned_rows(method, bits)
    tasks = hard_thresholds(concepts, ALPHA), gapped_thresholds(concepts, ALPHA, min(1024, 2**bits // 4))
    at = [Setting(learner, task, 1, planned, EPSILON, DELTA, ALPHA, BETA, "height") for task in tasks]
    success = rate(at[1], cells, trials)
    stars = [_star(setting, planned, trials, cells) for setting in at]
    high = [star.n_high for star in stars if star.n_high]
    row = {
        "method": method,
        "bits": bits,
        "planned": planned,
        "success": str(success),
        "stars": stars,
        "slack": f"{planned / max(high):.2f}" if len(high) == 2 else None,
        "point": at[1],
    }
    print(method, bits, planned, success, *map(_words, stars), row["slack"], flush=True)
    return row


def _star(setting: Setting, planned: int, trials: int, cells: Cells) -> Bracket:
    grid = geometric_grid(planned // 4, 2 * planned, RATIO)
    start = guess(setting, cells, grid, max(1, trials // 8), 1 - BETA)
    return bracket(replace(setting, n=planned), cells, grid, start=start, trials=8 * trials)


def _words(star: Bracket) -> str:
    return f"({star.n_low or 0}, {star.n_high or 'more'}]"


def _lines(method: str, found: Sequence[Mapping[str, Any]], planned: Mapping[str, Mapping[int, int]]) -> list[Line]:
    own = [row for row in found if row["method"] == method and row["stars"][1].n_high]
    lines = [Line(f"{NAMES[method]}, planned", method, PLANNED, [planned[method][b] for b in PLANNED], kind="theorem")]
    if own:
        bits, high = [row["bits"] for row in own], [row["stars"][1].n_high for row in own]
        lines.append(Line(f"{NAMES[method]}, measured", method, bits, high))
    return lines


def _measured_words(found: Sequence[Mapping[str, Any]]) -> str:
    high = {
        name: {row["bits"]: row["stars"][1].n_high for row in found if row["method"] == name and row["stars"][1].n_high}
        for name in NAMES
    }
    exponential, flat = high["exponential"], high["majority"]
    if len(exponential) < 2 or not flat:
        return "too few points to compare."
    (b, low), (c, top) = sorted(exponential.items())[-2:]
    slope = (top - low) / ((c - b) * math.log(2))
    spread = max(flat.values()) / min(flat.values()) - 1
    fewer = [bits for bits in sorted(flat) if bits in exponential and flat[bits] < exponential[bits]]
    return (
        f"the exponential median pays {slope:.0f} examples for each unit of ln(height) between {b} and {c} bits.\n"
        f"Majority changes by {spread:.0%} between {min(flat)} and {max(flat)} bits, and needs fewer than the\n"
        f"exponential median at {' and '.join(map(str, fewer)) or 'none of these'} bits."
    )


def _planned_words(planned: Mapping[str, Mapping[int, int]]) -> str:
    def crossing(method: str) -> int:
        return smallest(lambda bits: planned_rows(method, bits) < planned_rows("exponential", bits))

    (low, high) = (planned["exponential"][bits] for bits in (1024, 2000))
    slope = (high - low) / ((2000 - 1024) * math.log(2))
    growth = ", ".join(
        f"{NAMES[method]} by {planned[method][2000] / planned[method][4] - 1:.0%}"
        for method in ("majority", "recprefix")
    )
    first = ", ".join(f"{NAMES[method]} from {crossing(method)}" for method in ("majority", "recprefix", "treelog"))
    return (
        f"the exponential median pays {slope:.0f} examples for each unit of ln(height) once the median decides;\n"
        f"from 4 to 2000 bits the others grow, {growth}. Fewer planned examples than with\n"
        f"the exponential median, by bits: {first}."
    )


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=2000)
    main(given.out, given.seed, given.trials, store=given.store)
