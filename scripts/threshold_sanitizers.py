"""Writes threshold-sanitizers.md: rows that are proved to be enough, and rows that are enough in practice.

Run: python scripts/threshold_sanitizers.py [--out FOLDER]
"""

import importlib.util
import math
import time
from functools import partial
from pathlib import Path

import jax
import numpy as np
from pages import folder, table, write_page

from dpjax.core import keys
from dpjax.core.bit_strings import encode
from dpjax.core.intervals import clopper_pearson
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.sweep.hard_tasks import hard_splits
from dpjax.sanitizers import Hierarchy, Sanitizer, WindowHierarchy, candidates, worst_gap

EPSILON, DELTA, BETA = 1.0, 1e-6, 0.1
ALPHAS, BITS = (0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.003), (16, 32, 64, 128, 256, 1024)
TRIED = ((0.3, 16), (0.3, 32), (0.3, 64), (0.1, 32))
LARGE = ((0.3, 256), (0.3, 1024))  # for those that compete on large domains
DATABASES, RUNS, MOST_FAILURES = 4, 5, 2  # of a family at one n
TEMPTING = "tempting medians"
Rows = dict[tuple[int, float], dict[str, int]]
"""By bits and alpha, of each sanitizer."""
STEPS = ((0.1, 0.02), (0.02, 0.003))
SMALL, FEW, COARSE, FINE = 16, 40, 0.2, 0.02  # bits, runs of a family, two alphas, where powers are measured
NAMES = {
    "blocks": "S-basic",
    "slices": "S-RSC",
    "hierarchy": "S-hier",
    "majority": "S-maj",
    "independent": "independent quantiles",
    "recursive": "recursive quantiles",
    "joint": "joint quantiles",
}
SHORT = NAMES | {"recprefix": "S-rec"}
HEAD = f"""# Sanitizers for thresholds, by domain and accuracy

A sanitizer for thresholds releases a synthetic table on which every threshold counts about as many rows as on the data.
Which one needs the fewest rows depends on the domain and on the accuracy: the hierarchy mostly, a few independent
quantiles on some small domains, and on very large ones the hierarchy with medians by majority, whose rows hardly grow
with the domain.

Written by `scripts/threshold_sanitizers.py`: epsilon = {EPSILON:g}, delta = {DELTA:g}, failure probability {BETA:g},
replace-one. A sanitizer releases a synthetic database; its error is the
largest difference, over all thresholds, between the fractions of rows in it and in the data. A value has as many bits
as the first column says. In the columns of the sanitizers: the number of rows from which the error is proved to be at
most alpha, for every database (recursive and joint quantiles: if no value occurs more than 2^ties times, see
`RecursiveQuantiles`).

S-basic is `RankBlocks`, S-RSC is `Slices`, S-hier is `Hierarchy`, S-maj is `WindowHierarchy`; the others are
`IndependentQuantiles`, `RecursiveQuantiles` and `JointQuantiles`, all of `dpjax.sanitizers`. Bold: the choice of
`dpjax.sanitizers.default`, which is the smallest number without recursive and joint quantiles, whose proofs need few
equal rows.

| bits | alpha | {" | ".join(NAMES.values())} |
|---|---|{"---|" * len(NAMES)}
"""
MIDDLE = f"""
"works from": the smallest n, on a grid of ratio 2^(1/4) below the proved number, at which at most {MOST_FAILURES} of
{DATABASES * RUNS} runs fail in each of 16 families of databases (`hard_tasks.hard_splits`, uniform, constant,
adjacent values, nested, clusters, ...); "then fails on": the family that failed at the next smaller n; "ms": the time
of one run at this n (one core, after compilation). At 256 and 1024 bits only those that compete there.

| bits | alpha | sanitizer | proved | works from | then fails on | ms |
|---|---|---|---|---|---|---|
"""
EXPONENTS = """
## How rows grow with accuracy and domain

The power of 1 / alpha with which the proved rows grow, between two values of alpha; S-rec is S-maj with RecPrefix for
its interior points, the medians of Bun, Nissim, Stemmer 2016, Proposition 2.21:

"""
TAIL = """
For L levels, about log2(1 / alpha), the excess of a part is about (L + log |X|) / epsilon (S-hier) or (L + log log |X|
+ log(1 / delta)) / epsilon (S-maj) rows; alpha n has to exceed that and the noise of sums of the counts, sqrt(2^L) /
epsilon with one tier of counts and L^1.5 / epsilon with about L / 4 tiers, up to 3 here (`theory.hierarchy.fanouts`,
[proof](../proofs/hierarchy.md#tiers)): so the power is 1 in the end, up to logarithms, which still make {least} to
{most} of it here. The bound of Proposition 2.21, log(1 / alpha)^2.5 / alpha, has {printed} between the last two values
of alpha. With one tier, which plans have where it needs fewer rows, the power would be 1.5 in the end. Blocks (S-basic)
pay for 1 / alpha medians, whose budgets add up: 1.5 and more. S-rec asks for {recprefix} times the rows of S-maj in
all settings of the first table.

Measured at {bits} bits, on two hard families (tempting medians, nested): (n_low, n_high], where success is below and at
least .9 with exact intervals of confidence .95 each, and the power between the two values of alpha, from all pairs of
ends:

{measured}

Best sanitizers: the hierarchy, whose cost grows with log2(1 / alpha) levels instead of 1 / alpha parts, and which
needs no delta; in small domains a handful of independent quantiles, each of all rows, for some alpha; for large domains
the hierarchy by majority: from 256 to 1024 bits its rows grow by {majority}, those of S-hier to {hierarchy} times as
many. Slices of random length (S-RSC) have large constants in their theorem and are never the best here. Recursive and
joint quantiles need a bound on equal rows, or additional bits that distinguish them, which the hierarchy avoids by
counting a median's value as a leaf. The bound for joint quantiles, by a union over all tuples, is far from their
performance: at 32 bits and alpha = 0.1 about as few rows are enough for them as for S-hier.
"""


def main(path: Path) -> None:
    """Plans, simulates, writes both tables."""
    privacy = Privacy(EPSILON, DELTA)
    plans = {(bits, alpha): candidates(alpha, bits, privacy, BETA) for bits in BITS for alpha in ALPHAS}
    proved = [_proved(bits, alpha, plan) for (bits, alpha), plan in plans.items()]
    tried = [
        _tried(bits, alpha, name, *plans[bits, alpha][name])
        for alpha, bits in TRIED
        for name in NAMES
        if name != "slices" or (alpha, bits) == (0.3, 32)
    ]
    tried += [
        _tried(bits, alpha, name, *plans[bits, alpha][name])
        for alpha, bits in LARGE
        for name in ("blocks", "hierarchy", "majority")
    ]
    rows = {key: {name: many for name, (_, many) in plan.items()} for key, plan in plans.items()}
    for (bits, alpha), each in rows.items():
        each["recprefix"] = WindowHierarchy(bits, median="recprefix").sample_size(privacy, Accuracy(alpha, BETA))
    growth = _exponents(rows) + _growth(rows, _measured())
    page = HEAD + "\n".join(proved) + "\n" + MIDDLE + "\n".join(tried) + "\n" + growth
    write_page(path, page)


def _exponents(rows: Rows) -> str:
    names = ("blocks", "hierarchy", "majority", "recprefix")
    lines = [
        (bits, f"{high:g}", f"{low:g}", *(f"{_power(rows, bits, name, high, low):.2f}" for name in names))
        for bits in (32, 128, 1024)
        for high, low in STEPS
    ]
    return EXPONENTS + table(("bits", "from alpha", "to", *(SHORT[name] for name in names)), lines)


def _power(rows: Rows, bits: int, name: str, high: float, low: float) -> float:
    return math.log(rows[bits, low][name] / rows[bits, high][name]) / math.log(high / low)


def _growth(rows: Rows, measured: str) -> str:
    powers = [
        _power(rows, bits, name, high, low)
        for bits in (32, 128, 1024)
        for name in ("hierarchy", "majority", "recprefix")
        for high, low in STEPS
    ]
    ratios = {name: [rows[1024, a][name] / rows[256, a][name] for a in ALPHAS] for name in ("majority", "hierarchy")}
    small, large = ((min(ratios[name]), max(ratios[name])) for name in ("majority", "hierarchy"))
    others = [each["recprefix"] / each["majority"] for each in rows.values()]
    high, low = STEPS[-1]
    return TAIL.format(
        printed=f"{1 + 2.5 * math.log(math.log(1 / low) / math.log(1 / high)) / math.log(high / low):.2f}",
        recprefix=f"{min(others):.1f} to {max(others):.1f}",
        bits=SMALL,
        measured=measured,
        least=f"{min(powers):.2f}",
        most=f"{max(powers):.2f}",
        majority=f"{small[0] - 1:.0%} to {small[1] - 1:.0%}",
        hierarchy=f"{large[0]:.1f} to {large[1]:.1f}",
    )


def _measured() -> str:
    lines = []
    for name, made in (("hierarchy", Hierarchy), ("majority", WindowHierarchy)):
        coarse, fine = (_bracket(made(SMALL), alpha) for alpha in (COARSE, FINE))
        between = math.log(COARSE / FINE)
        powers = [math.log(fine[end] / coarse[1 - end]) / between for end in (0, 1)]
        cells = (f"({low}, {high}]" for low, high in (coarse, fine))
        lines.append((NAMES[name], *cells, f"{powers[0]:.2f} to {powers[1]:.2f}"))
    return table(("sanitizer", f"alpha = {COARSE:g}", f"alpha = {FINE:g}", "power"), lines)


def _bracket(sanitizer: Sanitizer, alpha: float) -> tuple[int, int]:
    """(n_low, n_high] on a grid of ratio 2^(1/4), from 0.7 of the proved rows down; these are enough by the theorem."""
    proved = sanitizer.sample_size(Privacy(EPSILON, DELTA), Accuracy(alpha, BETA))
    high = proved
    for step in range(2, 24):
        n = round(proved * 2 ** (-step / 4))
        rates = [_failures(sanitizer, n, alpha, family) for family in (TEMPTING, "nested")]
        low, up = clopper_pearson([FEW - failures for failures in rates], [FEW, FEW])
        if np.all(low >= 1 - BETA):
            high = n
        if np.any(up < 1 - BETA):
            return n, high
    raise RuntimeError("success does not fall below the goal")


def _failures(sanitizer: Sanitizer, n: int, alpha: float, family: str) -> int:
    """Of ``FEW`` runs, ``RUNS`` on each of different databases."""
    capacity, bits = 1 << (n - 1).bit_length(), sanitizer.bits
    plan = sanitizer.plan(Privacy(EPSILON, DELTA), Accuracy(alpha, BETA))
    gaps, failures = _compiled(sanitizer, capacity), 0
    for number in range(FEW // RUNS):
        x = np.zeros((capacity, -(-bits // 32)), np.uint32)
        x[:n] = _drawn(family, number, n, bits, alpha)
        over, under = (np.asarray(part) for part in gaps(keys.root(100 + number), x, np.arange(capacity) < n, plan))
        failures += int(np.sum(over > alpha * under))
    return failures


def _proved(bits: int, alpha: float, plans: dict[str, tuple[Sanitizer, int]]) -> str:
    best = min((rows, name) for name, (_, rows) in plans.items() if name not in ("recursive", "joint"))[1]
    rows = {name: f"{plans[name][1]}" if name in plans else "-" for name in NAMES}
    cells = [f"**{rows[name]}**" if name == best else rows[name] for name in NAMES]
    return f"| {bits} | {alpha:g} | " + " | ".join(cells) + " |"


def _tried(bits: int, alpha: float, name: str, sanitizer: Sanitizer, proved: int) -> str:
    family, step, milliseconds = None, 0, 0.0
    while family is None and step < 24:
        n = round(proved * 2 ** (-step / 4))
        capacity = 1 << (n - 1).bit_length()
        family, spent = _failing(sanitizer, n, capacity, alpha)
        milliseconds, step = (spent, step + 1) if family is None else (milliseconds, step)
    works = round(proved * 2 ** (-(step - 1) / 4)) if step else "more"
    return f"| {bits} | {alpha:g} | {NAMES[name]} | {proved} | {works} | {family or '-'} | {milliseconds:.2g} |"


def _failing(sanitizer: Sanitizer, n: int, capacity: int, alpha: float) -> tuple[str | None, float]:
    """The first family with too many failures, and the time of a run."""
    gaps, bits = _compiled(sanitizer, capacity), sanitizer.bits
    plan = sanitizer.plan(Privacy(EPSILON, DELTA), Accuracy(alpha, BETA))
    spent, runs = 0.0, 0
    for family in (TEMPTING, *FAMILIES.FAMILIES):
        failures = 0
        for number in range(DATABASES):
            x = np.zeros((capacity, -(-bits // 32)), np.uint32)
            x[:n] = _drawn(family, number, n, bits, alpha)
            begin = time.perf_counter()
            over, under = (np.asarray(part) for part in gaps(keys.root(number), x, np.arange(capacity) < n, plan))
            spent, runs = (spent + time.perf_counter() - begin, runs + RUNS) if number else (spent, runs)
            failures += int(np.sum(over > alpha * under))
            if failures > MOST_FAILURES:
                return family, 1e3 * spent / max(runs, 1)
    return None, 1e3 * spent / runs


def _drawn(family: str, number: int, n: int, bits: int, alpha: float) -> np.ndarray:
    if family == TEMPTING:
        medians = Hierarchy(bits).plan(Privacy(EPSILON, DELTA), Accuracy(alpha, BETA)).medians
        return encode(hard_splits(n, bits, [float(one) for one in medians]), bits)
    return FAMILIES.draw(family, np.random.default_rng([number, n, bits]), n, bits)


_cache: dict = {}


def _compiled(sanitizer: Sanitizer, capacity: int):
    if (sanitizer, capacity) not in _cache:
        _cache.clear()
        _cache[sanitizer, capacity] = jax.jit(partial(_gaps, sanitizer))
    return _cache[sanitizer, capacity]


def _gaps(sanitizer: Sanitizer, key: jax.Array, x: jax.Array, mask: jax.Array, plan) -> tuple[jax.Array, jax.Array]:
    one = lambda own: worst_gap(sanitizer.sanitize(own, x, mask, plan), x, mask)  # noqa: E731
    return jax.lax.map(one, keys.per_index(key, RUNS))


def _families():
    place = Path(__file__).resolve().parent.parent / "tests" / "mechanisms" / "median" / "families.py"
    spec = importlib.util.spec_from_file_location("families", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FAMILIES = _families()

if __name__ == "__main__":
    main(folder(__doc__) / "threshold-sanitizers.md")
