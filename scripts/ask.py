"""Writes ask.md: on twelve problems the learner that theorems choose, beside the measured n* of all learners.

Run: python scripts/ask.py [--out FOLDER] [--seed SEED] [--trials TRIALS] [--store FOLDER]
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pages import options, table, write_page

from dpjax.advice.answer import Advice, ask
from dpjax.advice.race import Entry, Measure
from dpjax.concepts import Conjunctions, Domain, Finite, Parities, Points, PointSets, Thresholds, tree_generators
from dpjax.core.types import Accuracy, Privacy
from dpjax.dimensions import families

BETA, DELTA = 0.1, 1e-6
HEAD = """# Which private learner needs the fewest rows?

Each problem is a class, a number of concepts, a budget and an accuracy. All private learners of dpjax that can learn
the class compete, by what their theorems prove and by what suffices when measured. The learner with the smallest proved
sample size is nearly always the best one by measurement, too: the theorems are a good guide to the choice of a learner,
and often ask for more rows than it needs.

Written by `scripts/ask.py`: the answers of `dpjax ask` to {count} problems, beta = {beta:g}, replace-one, at most
{trials} trials for each learner. "provable" is the smallest sample size of a theorem of a learner that runs; (n_low,
n_high] is the bracket of n* on a task that is hard for the class: with confidence 0.95 for each learner success is
below {good:g} at n_low and at least {good:g} at n_high ([what a bracket says](../explain/bracket.md)), which is the
theorem's number if no smaller one was found to be enough. Learners are measured up to twice the best upper end so far:
"> n" means that n rows were found to be too few, and no number tried to be enough. The choice of the theorems is the
best one if its bracket begins below the smallest upper end, so that no learner was found to need fewer rows. With fewer
rows than "below" no private learner of the class succeeds on every distribution. In the tables of the problems,
"guarantee" is pure where delta is 0 for the plan that runs, whatever delta is allowed; `dpjax ask` prints these tables,
and sorts them by "provable".

In {best} of {count} problems the choice of the theorems is the best of all learners by measurement.

"""


@dataclass(frozen=True)
class Problem:
    """A class in words and as made, and the question."""

    words: str
    concepts: Callable[[], Any]
    k: int
    epsilon: float
    delta: float
    alpha: float

    def __str__(self) -> str:
        return f"{self.words}, k = {self.k}, epsilon = {self.epsilon:g}, delta = {self.delta:g}, alpha = {self.alpha:g}"


PROBLEMS = (
    Problem("sets of 2 points of 2^32", lambda: PointSets(Domain(2**32), 2), 1, 2.0, DELTA, 0.2),
    Problem("parities, d = 10", lambda: Parities(10), 1, 1.0, DELTA, 0.2),
    Problem("parities, d = 10", lambda: Parities(10), 16, 1.0, DELTA, 0.2),
    Problem("conjunctions, d = 6", lambda: Conjunctions(6), 1, 1.0, DELTA, 0.1),
    Problem("points of 2^32", lambda: Points(Domain(2**32)), 1, 1.0, DELTA, 0.2),
    Problem("thresholds of 2^10", lambda: Thresholds(Domain(2**10)), 1, 1.0, 0.0, 0.1),
    Problem("tree of prefixes, (2, 9)", lambda: tree_generators.prefixes(2, 9), 1, 4.0, DELTA, 0.2),
    Problem("points of 2^32", lambda: Points(Domain(2**32)), 16, 1.0, DELTA, 0.2),
    Problem("points of 2^32", lambda: Points(Domain(2**32)), 4, 1.0, 0.0, 0.2),
    Problem("thresholds of 2^64", lambda: Thresholds(Domain(2**64)), 1, 0.5, DELTA, 0.2),
    Problem("thresholds of 2^10", lambda: Thresholds(Domain(2**10)), 4, 2.0, DELTA, 0.1),
    Problem("intervals of 12 elements", lambda: Finite.of(families.intervals(12)), 1, 1.0, DELTA, 0.2),
)


def answered(problem: Problem, how: Measure) -> Advice:
    """The answer to a problem."""
    privacy, accuracy = Privacy(problem.epsilon, problem.delta), Accuracy(problem.alpha, BETA)
    return ask(problem.concepts(), problem.k, privacy, accuracy, measure=how, tell=lambda text: print(text, flush=True))


def is_best(found: Advice) -> bool:
    """Whether no learner was found to need fewer rows than the choice of the theorems."""
    return found.by_theorem is not None and found.by_theorem.name in found.as_good


def page(answers: Sequence[tuple[Problem, Advice]], trials: int) -> str:
    """The page of some problems."""
    good = [is_best(found) for _, found in answers]
    head = ("problem", "by theorem", "provable", "its n*", "by measurement", "n*", "best", "below")
    rows = []
    for (problem, found), best in zip(answers, good, strict=True):
        theorem, measured = found.by_theorem, found.by_measurement
        rows.append(
            [
                str(problem),
                *_choice(theorem),
                measured and measured.name,
                measured and measured.star,
                "yes" if best else "no",
                found.below.n,
            ]
        )
    text = HEAD.format(count=len(answers), best=sum(good), beta=BETA, good=1 - BETA, trials=trials) + table(head, rows)
    for problem, found in answers:
        text += f"\n## {str(problem).capitalize()}\n\nOn {', '.join(found.tasks)}. "
        text += f"{found.caution}. " if found.caution else ""
        text += f"No private learner below {found.below.n}: {found.below.name}.\n\n"
        measured = [one for one in found.entries if one.star is not None or (one.theorem is not None and not one.runs)]
        cells = [[one.name, "pure" if one.pure else "approximate", one.theorem, _star(one)] for one in measured]
        text += table(("learner", "guarantee", "provable", "n*"), cells)
    return text


def _choice(entry: Entry | None) -> list[Any]:
    return [None] * 3 if entry is None else [entry.name, entry.theorem, _star(entry)]


def _star(entry: Entry) -> str | None:
    return str(entry.star) if entry.star else None if entry.runs else "does not run"


def main(out: Path, seed: int, trials: int, chosen: Sequence[Problem] = PROBLEMS, store: Path | None = None) -> None:
    """Measures the problems one after the other, and writes the page of those that are done after each."""
    answers: list[tuple[Problem, Advice]] = []
    for problem in chosen:
        print(problem, flush=True)
        answers.append((problem, answered(problem, Measure(trials=trials, seed=seed, store=store))))
        write_page(out / "ask.md", page(answers, trials))


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=1000)
    main(given.out, given.seed, given.trials, store=given.store)
