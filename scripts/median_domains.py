"""Writes median-domains.md: how many rows a private median needs for an interior point, by the domain's size.

Run: python scripts/median_domains.py [--out FOLDER] [--seed SEED] [--trials TRIALS]
"""

import importlib.util
import math
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from median_plans import plan_near
from pages import about, figure_path, options, table, write_page

from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.intervals import clopper_pearson
from dpjax.experiments.statistics.sequential_search import geometric_grid
from dpjax.mechanisms.median import MedianDesign, MedianPlan, RecPrefixDesign, plan_for, private_median, rank_quality
from dpjax.plots.lines import Line, Panel, plot_lines
from dpjax.theory.search import smallest

EPSILON, DELTA, BETA = 1.0, 1e-6, 0.1
CASES = (
    *(("exponential", bits) for bits in (16, 32, 64, 1024)),
    *(("majority", bits) for bits in (16, 32, 64, 256, 1024)),
    *(("recprefix", bits) for bits in (16, 32, 64, 256, 1024)),
    *(("treelog", bits) for bits in (16, 32, 64, 256, 1024)),
    ("rsc", 64),
)
NAMES = {
    "exponential": "exponential",
    "majority": "majority",
    "recprefix": "RecPrefix",
    "treelog": "TreeLog",
    "rsc": "TreeLog by RSC",
}
RATIOS = {"exponential": 1.01, "majority": 1.03, "recprefix": 1.03, "treelog": 1.03, "rsc": 1.08}  # of the grids of n
FROM = {
    "exponential": 0.95,
    "majority": 0.5,
    "recprefix": 0.3,
    "treelog": 0.6,
    "rsc": 0.6,
}  # of the proved n: where the grids begin
DEAR = {("rsc", 64): 4, ("exponential", 1024): 8}  # these get a fourth, an eighth of the trials
_BLOCK_CELLS = 1 << 14  # limbs worked on at once
WANTED, RUNS = 0.92, 4  # worst rate of the selection, and runs of one database there
HEAD = """# Private medians by the size of the domain

How many rows does a private median need if values have many bits? The exponential median pays for every bit, the other
methods hardly for any: it is the best choice on small domains, and majority on large ones. What suffices in practice is
close to what is proved for the exponential median, and less than half of it for RecPrefix.

Written by `scripts/median_domains.py`: epsilon = {epsilon:g}, delta = {delta:g}, replace-one. n: the smallest n, on
a grid of ratio 1.03 (exponential 1.01, RSC 1.08), for which an interior point is found at a rate of at least {wanted:g}
in the worst of 15 families of databases (uniform, constant, adjacent values, nested, clusters, borderline for the
method's test, ...). Success: the worst family's rate at this n in new trials, one database each, with the exact
interval at confidence 0.95 (for one given family; it does not account for selecting the worst of 15). Proved: the
planner's
n for success {right:g} on every database.

"""
TAIL = """
![n against the size of the domain](figures/median-domains.png)

The exponential median pays (4/epsilon) ln 2 = 2.8 rows for each bit of the domain; the cost of the others depends on
ln(1/delta), and hardly on the domain. Bits from which others need fewer rows than the exponential median: in practice
{measured}, by proof {proved}. Plans in practice are those of `scripts/median_plans.py`: RecPrefix has no trims there
and a smaller margin than its proof needs, majority follows its planner with a larger beta, TreeLog and RSC with a
smaller slack.
Their privacy guarantee is the same as for proved plans. Other data than these 15 families may need more rows; the
proved n is for all.
"""


def main(out: Path, seed: int, trials: int, cases: Sequence[tuple[str, int]] = CASES) -> None:
    """Selects n and reports it for each case, and writes page and figure."""
    found = []
    for method, bits in cases:
        found.append(_case(method, bits, seed, max(1, trials // DEAR.get((method, bits), 1))))
        print(*found[-1].values(), flush=True)
    header = ("bits", "median", "n", "success, worst family", "worst family", "trials a family", "n proved")
    shown = [
        (row["bits"], NAMES[row["method"]], row["n"], row["success"], row["family"], row["trials"], row["proved"])
        for row in sorted(found, key=lambda row: row["bits"])
    ]
    numbers = {"epsilon": EPSILON, "delta": DELTA, "wanted": WANTED, "right": 1 - BETA}
    crossings = {
        what: ", ".join(f"{NAMES[name]} {crossing(name)}" for name in ("majority", "recprefix"))
        for what, crossing in (("measured", partial(_measured_crossing, found)), ("proved", _proved_crossing))
    }
    page = HEAD.format(**numbers) + table(header, shown) + TAIL.format(**crossings)
    write_page(out / "median-domains.md", page)
    panel = Panel(
        "",
        "bits of the domain",
        "rows $n$",
        [line for name in NAMES for line in _lines(name, found)],
        ticks=sorted({row["bits"] for row in found}),
    )
    carried = about(
        {"script": "median_domains", "cases": [list(case) for case in cases], "trials": trials} | numbers, seed
    )
    title = f"Rows for an interior point, epsilon = {EPSILON:g}, delta = {DELTA:g}"
    plot_lines([panel], figure_path(out, "median-domains"), carried, title)


def _case(method: str, bits: int, seed: int, trials: int) -> dict[str, Any]:
    proved = plan_for(method, bits, EPSILON, DELTA, BETA).required()
    grid = geometric_grid(max(1, round(FROM[method] * proved)), proved, RATIOS[method])
    first, last = -1, len(grid) - 1  # the proved n needs no selection
    while last - first > 1:
        middle = (first + last) // 2
        selected = _successes(method, bits, grid[middle], seed, "select", max(1, trials // RUNS), RUNS)
        enough = min(selected.values()) >= WANTED * max(1, trials // RUNS) * RUNS
        first, last = (first, middle) if enough else (middle, last)
    fresh = _successes(method, bits, grid[last], seed, "report", trials, 1)
    family = min(fresh, key=lambda name: fresh[name])
    low, high = clopper_pearson(fresh[family], trials)
    return {
        "bits": bits,
        "method": method,
        "n": grid[last],
        "family": family,
        "trials": trials,
        "proved": proved,
        "success": f"{fresh[family] / trials:.3f} [{low:.3f}, {high:.3f}]",
    }


def _successes(method: str, bits: int, n: int, seed: int, purpose: str, databases: int, runs: int) -> dict[str, int]:
    """By family: of ``databases`` drawn databases, each run ``runs`` times."""
    design = plan_near(method, bits, EPSILON, DELTA, n)
    plan = design.plan()
    root, capacity, found = keys.stream(keys.root(seed), f"{method} {bits} {n} {purpose}"), -(-n // 128) * 128, {}
    for place, family in enumerate(FAMILIES.FAMILIES):
        generator = np.random.default_rng([seed, bits, n, place, len(purpose + method)])
        rows = np.zeros((databases, capacity, -(-bits // 32)), np.uint32)
        for row in rows:
            row[:n] = FAMILIES.draw(family, generator, n, bits, turning_weight(design))
        answers = interior_points(keys.stream(root, family), np.repeat(rows, runs, 0), n, plan)
        found[family] = int(answers.sum())
    return found


def interior_points(key: Array, rows: np.ndarray, n: int, plan: MedianPlan) -> np.ndarray:
    """Which databases get an element between their least and their largest row, ``bool[trials]``; no answer is none.

    Another n or a plan of the same structure (method, bits, levels) compiles nothing.

    Args:
      key: consumed; trial i has key i of `keys.per_index`, whatever the number of trials.
      rows: ``uint32[trials, capacity, W]``, W limbs of plan.bits bits; the first n >= 1 of each are real.
    """
    rows = np.asarray(rows)
    trials, capacity, width = rows.shape
    checks.integer("n", n, 1, capacity)
    if width != -(-plan.bits // 32):
        raise InputError(
            "rows",
            f"{-(-plan.bits // 32)} limbs for {plan.bits} bits",
            f"{width}",
            "encode them with core.bit_strings.encode",
        )
    block = max(1, min(trials, _BLOCK_CELLS // (capacity * width)))
    return np.asarray(_program(block)(keys.per_index(key, trials), jnp.asarray(rows), np.int32(n), plan))


def turning_weight(design: MedianDesign) -> int:
    """The weight of a light child at which the test turns: half the deepest rows, or RecPrefix's count."""
    step: Any = getattr(design, "steps", (None,))[0]
    if isinstance(design, RecPrefixDesign):
        return design.steps[0].count
    return 40 if step is None else step.deepest // 2


@cache
def _program(block: int) -> Any:
    def run(trial_keys: Array, rows: Array, n: Array, plan: MedianPlan) -> Array:
        mask = jnp.arange(rows.shape[1], dtype=jnp.int32) < n

        def trial(own: tuple[Array, Array]) -> Array:
            key, x = own
            found = private_median(key, x, mask, plan)
            return (found.outcome == 0) & (rank_quality(x, mask, found.element) >= 1)

        return jax.lax.map(trial, (trial_keys, rows), batch_size=block)

    return jax.jit(run)


def _lines(method: str, found: Sequence[dict[str, Any]]) -> list[Line]:
    own = [row for row in found if row["method"] == method]
    if not own:
        return []
    bits, what = [row["bits"] for row in own], {"n": "measured", "proved": "theorem"}
    return [
        Line(f"{NAMES[method]}, {label}", method, bits, [row[name] for row in own], kind=kind)
        for (name, kind), label in zip(what.items(), ("worst of 15 families", "proved"), strict=True)
    ]


def _measured_crossing(found: Sequence[dict[str, Any]], name: str) -> str:
    """Bits where the measured lines meet: a method's as drawn, the exponential one of slope 4 ln 2 / epsilon."""
    own = {name: [(row["bits"], row["n"]) for row in found if row["method"] == name] for name in NAMES}
    if not own["exponential"] or not own[name]:
        return "(not measured)"
    at, n = own["exponential"][0]
    bits = np.arange(1, 1025)
    exponential = n + 4 / EPSILON * math.log(2) * (bits - at)
    below = np.interp(np.log(bits), np.log([b for b, _ in own[name]]), [n for _, n in own[name]])
    return str(int(bits[np.argmax(exponential > below)]))


def _proved_crossing(name: str) -> int:
    """The least number of bits from which a method's proved n is smaller than the exponential median's."""
    return smallest(
        lambda bits: (
            plan_for(name, bits, EPSILON, DELTA, BETA).required()
            < plan_for("exponential", bits, EPSILON, DELTA, BETA).required()
        )
    )


def _families() -> Any:
    place = Path(__file__).resolve().parent.parent / "tests" / "mechanisms" / "median" / "families.py"
    spec = importlib.util.spec_from_file_location("families", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FAMILIES = _families()

if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=600)
    main(given.out, given.seed, given.trials)
