"""Writes domains.md: rows that learners of thresholds need, by bits of the domain, planned and measured.

Run: python scripts/domains.py [--out FOLDER] [--seed SEED] [--trials TRIALS] [--store FOLDER]
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import ceil, floor
from pathlib import Path
from types import MappingProxyType

from pages import about, figure_path, options, table, write_page

from dpjax.concepts import Domain, Thresholds
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.run.cells import Cells
from dpjax.experiments.run.n_star import Rate, bracket, cells_in, guess, rate
from dpjax.experiments.statistics.sequential_search import Bracket, geometric_grid
from dpjax.experiments.sweep.hard_tasks import gapped_thresholds, low_thresholds, nested_thresholds
from dpjax.experiments.sweep.lower_bounds import lower_bound
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.task import Task
from dpjax.learners import KLN, Learner, ThresholdInterior
from dpjax.mechanisms.median import plan_for
from dpjax.plots.lines import Line, Panel, plot_lines
from dpjax.theory.improper_thresholds import least_log_star, log_star
from dpjax.theory.interior_point import log_size
from dpjax.theory.search import smallest

DELTA, ALPHA, BETA = 1e-6, 0.1, 0.1
EPSILONS = (1.0, 4.0)
ACCURACY = Accuracy(ALPHA, BETA)
NAMES = {
    "kln": "KLN",
    "exponential": "exponential",
    "majority": "majority",
    "recprefix": "RecPrefix",
    "treelog": "TreeLog",
    "rsc": "RSC",
}
LEARNERS: Mapping[str, Callable[[Thresholds], Learner]] = MappingProxyType(
    {"kln": KLN} | {name: lambda c, name=name: ThresholdInterior(c, name) for name in NAMES if name != "kln"}
)
ONE_GOOD = "one good"
LAWS: Mapping[str, Callable[[Thresholds], Task]] = MappingProxyType(
    {
        ONE_GOOD: lambda c: low_thresholds(c, ALPHA),
        "gapped": lambda c: gapped_thresholds(c, ALPHA),
        "nested": lambda c: nested_thresholds(c, ALPHA, 1),
        "nested twice": lambda c: nested_thresholds(c, ALPHA, 2),
    }
)
PLANNED = (4, 8, 16, 32, 64, 96, 128, 256, 512, 1024, 2048)
MEASURED = {1.0: (16, 64, 96, 128, 256, 1024), 4.0: (16, 64)}
TEMPTED = (64, 256)  # bits at which there are brackets on each distribution
DEAR = 10_000  # rows from which n* is not searched
RATIO = 2 ** (1 / 16)
HEAD = """# Thresholds by the size of the domain

Who wins when the domain grows? `KLN` and the exponential median pay for every bit. RecPrefix, TreeLog and RSC are
recursions, whose theorems say the iterated logarithm of the domain; majority pays for the logarithm of the number of
bits, with less than half of their rows at every size in the table.

Written by `scripts/domains.py`: `KLN` and `ThresholdInterior` with each of its medians (majority is our own,
[proof](../proofs/majority.md)), over domains of 2^4 to 2^2048 elements; delta = {delta:g}, alpha = {alpha:g}, beta =
{beta:g}, replace-one.

## What the theorems ask for

`sample_size` of each learner, for every distribution. log\\*: how often log2 is taken until 1 or less is left. Below:
the largest lower bound of `lower_bounds`, for every private learner.
"""
BELOW = """
{crossings}

**From below.** Alon, Livni, Malliaris and Moran (2019, Theorem 1) prove that every private learner of thresholds needs
of the order of log\\* of the domain. With constants: at epsilon 1 no learner, proper or not, has error {alpha:g} with
probability {success:g} from n <= 8 rows if log\\* is at least n + {more:g}
([proof](../proofs/interior-point.md#improper-learners)). More is known for the interior point that the learners here
look for among the rows near their target: {towers} ([proof](../proofs/interior-point.md)). The bounds in the table are
those of every class, are larger, and do not grow with the domain: between their {least} rows and the {fewest} of the
best learner at 2^2048 lies what is not known.

## What suffices

The distribution has two adjacent elements of mass {above:g} each, a third of the way up, and the rest on the first and
on the last element: one threshold is good (`hard_tasks.low_thresholds`). The last table has three others beside it:
`hard_tasks.gapped_thresholds`, where 1024 adjacent thresholds are good and no row is near them, and
`hard_tasks.nested_thresholds`, where rows near the target part from it at depths spread evenly over the digits, or at
depths that part from one another at many depths as well, so that each level of a recursion has many candidates.
Success: at the planned n, in {trials} trials, with the exact interval at confidence 0.95. Bracket: (n_low, n_high] of
n\\*, with confidence 0.95 ([what a bracket says](../explain/bracket.md)), searched up to a planned n of {dear}. Slack:
planned n over n_high.

"""
TEMPTING = """
Brackets of n\\* on each distribution, and the lowest success on them at the planned n in as many trials, epsilon = 1:

"""
TAIL = """
![n against bits of the domain](figures/domains.png)

{measured}

The planned rows of `ThresholdInterior` with majority grow by {growth} from 2^16 to 2^2048. What grows is the choice
among bits + 1 lengths; a recursion with log\\* would replace it, and cost more than it saves at any size that can be
written down: for an interior point over 2^(2^20) elements RecPrefix asks for {two} records with one and two levels
(`plan_for`), majority for {one}.
"""


@dataclass(frozen=True)
class Case:
    """One learner on one domain: planned rows, success there and a bracket of n*, None where not searched."""

    name: str
    bits: int
    epsilon: float
    planned: int
    success: Rate
    star: Bracket | None

    @property
    def slack(self) -> str | None:
        """Planned n over the bracket's upper end."""
        return f"{self.planned / self.star.n_high:.2f}" if self.star and self.star.n_high else None


@dataclass(frozen=True)
class OnEachLaw:
    """One learner on one domain with each distribution of `LAWS`: brackets, and the lowest success at the planned n."""

    name: str
    bits: int
    stars: Sequence[Bracket | None]
    lowest: Rate

    @property
    def hardest(self) -> tuple[int, int] | None:
        """The largest of all lower and of all upper ends."""
        ends = [(found.n_low or 0, found.n_high) for found in self.stars if found and found.n_high]
        return (max(low for low, _ in ends), max(high for _, high in ends)) if len(ends) == len(self.stars) else None


@cache
def planned(name: str, bits: int, epsilon: float) -> int:
    """`sample_size` over 2**bits elements."""
    return LEARNERS[name](Thresholds(Domain(2**bits))).sample_size(Privacy(epsilon, DELTA), ACCURACY)


def setting(name: str, bits: int, epsilon: float, law: str = ONE_GOOD) -> Setting:
    """The learner at its planned n on a distribution of `LAWS`."""
    concepts = Thresholds(Domain(2**bits))
    n = planned(name, bits, epsilon)
    return Setting(LEARNERS[name](concepts), LAWS[law](concepts), 1, n, epsilon, DELTA, ALPHA, BETA, "domains")


def star(point: Setting, trials: int, cells: Cells) -> Bracket | None:
    """A bracket of n* near the planned n."""
    if point.n > DEAR:
        return None
    grid = geometric_grid(point.n // 4, 2 * point.n, RATIO)
    start = guess(point, cells, grid, max(1, trials // 16), 1 - BETA)
    return bracket(point, cells, grid, start=start, trials=2 * trials)


def measured(name: str, bits: int, epsilon: float, trials: int, cells: Cells) -> Case:
    """Success at the planned n, and n*."""
    point = setting(name, bits, epsilon)
    case = Case(name, bits, epsilon, point.n, rate(point, cells, trials), star(point, trials, cells))
    print(name, bits, epsilon, case.planned, case.success, words(case.star), flush=True)
    return case


def on_each_law(name: str, bits: int, trials: int, cells: Cells) -> OnEachLaw:
    """Brackets and successes at epsilon 1."""
    settings = [setting(name, bits, 1.0, law) for law in LAWS]
    stars = [star(point, trials, cells) for point in settings]
    lowest = min((rate(point, cells, trials) for point in settings), key=lambda found: found.successes / found.trials)
    return OnEachLaw(name, bits, stars, lowest)


def words(found: Bracket | None) -> str | None:
    """(n_low, n_high]."""
    return found and f"({found.n_low or 0}, {found.n_high or 'more'}]"


def main(
    out: Path,
    seed: int,
    trials: int,
    bits: Mapping[float, Sequence[int]] = MappingProxyType(MEASURED),
    names: Sequence[str] = tuple(NAMES),
    tempted: Sequence[int] = TEMPTED,
    store: Path | None = None,
) -> None:
    """Measures success and n*, writes page and figure."""
    with cells_in(store, seed) as cells:
        order = sorted((b, e, name) for e, own in bits.items() for b in own for name in names)
        cases = [measured(name, b, e, trials, cells) for b, e, name in order]
        on_all = [on_each_law(name, b, trials, cells) for b, name in product(tempted, names)]
    page = HEAD.format(delta=DELTA, alpha=ALPHA, beta=BETA)
    for epsilon in EPSILONS:
        rows = [
            (b, 1 + log_star(b), *(planned(name, b, epsilon) for name in NAMES), _below(b, epsilon)) for b in PLANNED
        ]
        page += f"\nepsilon = {epsilon:g}:\n\n" + table(("bits", "log\\*", *NAMES.values(), "below"), rows)
    fewest = min(planned(name, 2048, 1.0) for name in NAMES)
    page += BELOW.format(
        crossings=_crossings(),
        towers=_towers(),
        alpha=ALPHA,
        success=1 - BETA,
        more=max(least_log_star(n, 1.0, DELTA, ALPHA, BETA) - n for n in range(1, 9)),
        above=1.01 * ALPHA,
        trials=trials,
        dear=DEAR,
        fewest=fewest,
        least=_below(2048, 1.0),
    )
    header = ("bits", "epsilon", "learner", "planned n", "success there", "bracket of n\\*", "slack")
    page += table(
        header,
        [(c.bits, f"{c.epsilon:g}", NAMES[c.name], c.planned, str(c.success), words(c.star), c.slack) for c in cases],
    )
    page += TEMPTING + table(
        ("bits", "learner", *LAWS, "lowest success"),
        [(case.bits, NAMES[case.name], *map(words, case.stars), str(case.lowest)) for case in on_all],
    )
    page += _hardest(on_all)
    growth = planned("majority", 2048, 1.0) / planned("majority", 16, 1.0) - 1
    page += TAIL.format(measured=_measured(cases), growth=f"{growth:.0%}", **_records())
    write_page(out / "domains.md", page)
    _draw(out, seed, trials, cases)


def _below(bits: int, epsilon: float) -> int:
    task = low_thresholds(Thresholds(Domain(2**bits)), ALPHA)
    return lower_bound(task, 1, Privacy(epsilon, DELTA), ACCURACY).n


def _crossings() -> str:
    said = []
    for epsilon in EPSILONS:
        first = {
            name: smallest(lambda b, name=name, e=epsilon: planned(name, b, e) < planned("kln", b, e))
            for name in ("majority", "recprefix", "treelog", "rsc")
        }
        said.append(f"at epsilon {epsilon:g} " + ", ".join(f"{NAMES[name]} from {b}" for name, b in first.items()))
    return "Fewer planned rows than `KLN`, by bits: " + "; ".join(said) + "."


def _towers() -> str:
    said = []
    for epsilon in EPSILONS:
        first = [(n, log_size(n, epsilon, DELTA, 1 - BETA)) for n in (2, 3)]
        few = " or ".join(f"{n} records of 2^{ceil(bits)} elements or more" for n, bits in first if bits < 2048)
        said.append(f"at epsilon {epsilon:g} no private algorithm has success {1 - BETA:g} with {few}")
    return "; ".join(said) + "; more records are excluded only from towers of powers on"


def _records() -> dict[str, str]:
    def records(method: str, levels: int) -> int:
        return plan_for(method, 2**20, 1.0, DELTA, BETA, levels).interior

    return {"two": f"{records('recprefix', 1)} and {records('recprefix', 2)}", "one": f"{records('majority', 1)}"}


def _measured(cases: Sequence[Case]) -> str:
    said = []
    for epsilon in EPSILONS:
        high = {(c.name, c.bits): c.star for c in cases if c.epsilon == epsilon and c.star and c.star.n_high}
        for name in ("majority", "recprefix", "treelog", "rsc"):
            wins = sorted(b for own, b in high if own == name and _ahead(high, name, b))
            if wins:
                best = wins[-1]
                ratio = floor(100 * ((high["kln", best].n_low or 0) + 1) / (high[name, best].n_high or 1)) / 100
                said.append(
                    f"At epsilon {epsilon:g} {NAMES[name]} is ahead of `KLN` at {', '.join(map(str, wins))} bits: the "
                    f"brackets do not meet. At {best} bits KLN needs at least {ratio:.2f} times its rows."
                )
    both = "The following is for one good threshold; two brackets hold together with confidence 0.90. "
    return both + "\n".join(said)


def _hardest(cases: Sequence[OnEachLaw]) -> str:
    said = []
    for bits in dict.fromkeys(case.bits for case in cases):
        ends = {NAMES[c.name]: c.hardest for c in cases if c.bits == bits and c.hardest}
        each = ", ".join(f"{name} ({low}, {high}]" for name, (low, high) in ends.items())
        said.append(f"at {bits} bits {each}")
    return (
        "\nThe hardest of the four for each, by the largest of all lower and of all upper ends (four brackets hold "
        "together with "
        f"confidence 0.80): {'; '.join(said)}.\n"
    )


def _ahead(high: Mapping[tuple[str, int], Bracket], name: str, bits: int) -> bool:
    own, kln = high[name, bits], high.get(("kln", bits))
    return kln is not None and (own.n_high or 0) < (kln.n_low or 0)


def _draw(out: Path, seed: int, trials: int, cases: Sequence[Case]) -> None:
    panels = []
    for epsilon in EPSILONS:
        lines = []
        for name, label in NAMES.items():
            lines.append(
                Line(f"{label}, planned", name, PLANNED, [planned(name, b, epsilon) for b in PLANNED], kind="theorem")
            )
            own = [c for c in cases if c.name == name and c.epsilon == epsilon and c.star and c.star.n_high]
            if own:
                lines.append(
                    Line(f"{label}, measured", name, [c.bits for c in own], [c.star.n_high or 0 for c in own if c.star])
                )
        panels.append(Panel(f"epsilon = {epsilon:g}", "bits of the domain", "rows $n$", lines, ticks=PLANNED[::2]))
    points = {
        f"{NAMES[c.name]}, {c.bits} bits, epsilon {c.epsilon:g}": setting(c.name, c.bits, c.epsilon) for c in cases
    }
    carried = about(
        {"script": "domains", "trials": trials, "alpha": ALPHA, "beta": BETA, "delta": DELTA, "ratio": RATIO},
        seed,
        points,
    )
    plot_lines(panels, figure_path(out, "domains"), carried, "Thresholds by the size of the domain")


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=2000)
    main(given.out, given.seed, given.trials, store=given.store)
