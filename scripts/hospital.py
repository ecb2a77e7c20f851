"""Writes hospital.md: thresholds of age for several findings at once, learned privately from a health study.

Run: python scripts/hospital.py [--out FOLDER] [--seed SEED] [--trials TRIALS] [--table FILE]

The table is the RAND Health Insurance Experiment as the package statsmodels brings it (datasets/randhie/src), which is
in the public domain. Without --table it is taken from there: pip install statsmodels.
"""

import csv
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from pages import options, table, write_page

from dpjax.baselines import ERM
from dpjax.concepts import Domain, Thresholds
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.learners import KLN, GenericLearner, Independent, Learner
from dpjax.sanitizers import Hierarchy
from dpjax.tables.columns import Table, held_out
from dpjax.tables.grids import Grid

DELTA, ACCURACY, BITS, SHARE = 1e-6, Accuracy(0.05, 0.1), 16, 0.3
EPSILONS = (0.1, 0.3, 1.0, 3.0)
FINDINGS = {  # 1 where the column says so; all of them grow with age
    "chronic diseases": lambda row: float(row["disea"]) >= 12,
    "a physical limitation": lambda row: float(row["physlm"]) > 0,
    "health not excellent": lambda row: any(float(row[name]) == 1 for name in ("hlthg", "hlthf", "hlthp")),
    "health fair or poor": lambda row: any(float(row[name]) == 1 for name in ("hlthf", "hlthp")),
    "saw a doctor": lambda row: float(row["mdvis"]) >= 1,
    "saw a doctor five times": lambda row: float(row["mdvis"]) >= 5,
    "paid for drugs": lambda row: float(row["drugdol"]) > 0,
    "was in hospital": lambda row: float(row["totadm"]) >= 1,
    "saw a psychotherapist": lambda row: float(row["mentvis"]) >= 1,
    "an adult": lambda row: float(row["child"]) == 0,
}
HEAD = """# Findings by age, learned from a table of persons

Several findings about a person are learned privately from the age, each as a threshold, on the table of a health
insurance experiment. From a moderate budget on, private thresholds err hardly more than those that are learned without
privacy. Learning one finding after the other is the better choice here, since there are few findings.

Written by `scripts/hospital.py`: the RAND Health Insurance Experiment (public domain, from the package statsmodels),
one row per person, with data of the first year: {rows} persons. From age, {k} findings are learned at once, each as a
threshold: 1 from some age on. One person is one row, so the guarantee protects persons; delta = {delta:g}. Errors are
means over the findings of held-out errors on {test} persons, over {trials} random splits, with their standard deviation
over the splits; the labels are not thresholds of age, so the best threshold has errors, too.

"""
TAIL = """
Below, the mean held-out error of each finding at epsilon = {epsilon:g}.

{each}
The sanitizer processes the ages once for all findings, and each threshold is then chosen among a few dozen. Choosing
each threshold among all 2^{bits} ages needs no sanitizer, and a choice costs {extra} times as much, by the
logarithm. {verdict} Held-out errors are for study: they are not private.
"""


def persons(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Age ``float64[n]`` and findings ``bool[n, k]`` of everyone's first year with a full record."""
    seen: dict[str, tuple[float, list[bool]]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["zper"] in seen:
                continue
            try:
                seen[row["zper"]] = float(row["xage"]), [bool(finding(row)) for finding in FINDINGS.values()]
            except ValueError:  # a field is empty
                continue
    if len(seen) < 100:
        raise InputError("table", "at least 100 persons", str(len(seen)), "give randhie.csv with all its columns")
    ages, labels = zip(*seen.values(), strict=True)
    return np.array(ages), np.array(labels)


def bundled() -> Path:
    """The table inside statsmodels."""
    found = importlib.util.find_spec("statsmodels")
    if found is None or not found.submodule_search_locations:
        raise InputError("table", "statsmodels installed, or --table", "neither", "pip install statsmodels")
    return Path(next(iter(found.submodule_search_locations))) / "datasets/randhie/src/randhie.csv"


def learners(k: int) -> Mapping[str, Learner]:
    """What is compared."""
    concepts = Thresholds(Domain(2**BITS))
    return {
        "GenericLearner, zCDP": GenericLearner(concepts, k, Hierarchy(levels=5, bits=BITS), "zcdp", 0.4),
        "KLN one by one, zCDP": Independent(KLN(concepts), k, "zcdp"),
        "KLN one by one, basic": Independent(KLN(concepts), k, "basic"),
        "not private": ERM(concepts),
    }


def main(path: Path, out: Path, seed: int, trials: int, epsilons: Sequence[float] = EPSILONS) -> None:
    """Learns at each epsilon and writes the page."""
    ages, labels = persons(path)
    rows, k = labels.shape
    grid = Grid(0.0, 100.0, BITS, flip=True)  # declared, not read from the table
    x = wide.encode(grid.place("age", ages, clip=True), 1)
    data = Table(x, labels, tuple(FINDINGS), (grid,) * k)
    test = round(SHARE * rows)
    found = {
        epsilon: held_out(dict(learners(k)), data, Privacy(epsilon, DELTA), ACCURACY, seed, trials, test)
        for epsilon in epsilons
    }
    means = {e: {name: part.mean(axis=1) / test for name, part in by_name.items()} for e, by_name in found.items()}
    names = list(learners(k))
    summary = [(e, *(f"{means[e][n].mean():.4f} +- {means[e][n].std():.4f}" for n in names)) for e in epsilons]
    shown = 1.0 if 1.0 in epsilons else epsilons[0]
    each = [(name, *(float(found[shown][n][:, j].mean() / test) for n in names)) for j, name in enumerate(FINDINGS)]
    page = HEAD.format(rows=rows, k=k, delta=DELTA, test=test, trials=trials) + table(("epsilon", *names), summary)
    extra = f"{np.log(2.0**BITS) / np.log(96):.1f}"
    page += TAIL.format(
        epsilon=shown, each=table(("finding", *names), each), bits=BITS, extra=extra, verdict=_verdict(means, names[:2])
    )
    write_page(out / "hospital.md", page)


def _verdict(means: Mapping[float, Mapping[str, np.ndarray]], names: Sequence[str]) -> str:
    """Where the first of two learners errs less."""
    first, second = names
    wins = [f"{epsilon:g}" for epsilon, by_name in means.items() if by_name[first].mean() < by_name[second].mean()]
    if not wins:
        return f"Here, with so few findings, {second}, errs less at every epsilon."
    return f"Here {first}, errs less at epsilon = {', '.join(wins)}."


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=200, files=["table"])
    main(given.table or bundled(), given.out, given.seed, given.trials)
