"""Privacy of a learner or mechanism: exactly over a small universe if its law is finite, else by a test."""

import time
from typing import Any

from dpjax import audit, evidence
from dpjax.audit import Report, Target
from dpjax.audit.report import VACUOUS
from dpjax.concepts.domain import Domain
from dpjax.core.types import Privacy
from dpjax.testing.findings import Skipped, require
from dpjax.testing.samples import with_domain
from dpjax.testing.success import FALSE_ALARM
from dpjax.testing.under_test import LearnerUnderTest

BUDGETS = (Privacy(1.0, 1e-6), Privacy(4.0, 0.3))
"""At the second budget samples of a few rows come close to a claim."""
_SHARP = Privacy(4.0, 1e-3)
_MOST_DATABASES = 1 << 11
_MOST_ROWS_OF_A_WORLD = 3
_ELEMENTS = 4
_PILOT, _MOST_TRIALS = 2000, 1 << 20


def no_guarantee_is_exceeded(subject: LearnerUnderTest) -> str:
    """Over all samples of a few rows of a small domain, or by a test on its hard neighbors."""
    if subject.learner.guarantee(subject.plan()) is None:
        raise Skipped("it claims no privacy")
    small = subject.small if subject.small is not None else shrunk(subject.learner, subject.k)
    if small is None:
        why = "no smaller world is known: give small, the same learner over a domain of two to four elements"
        target = evidence.learner_target(subject.learner, "the learner", subject.k, unlisted=why)
        return f"{why}; {statistically(target, subject)}"
    target = evidence.learner_target(small, "the learner", subject.k, rows=_rows(small, subject))
    return audited(target, subject)


def audited(target: Target, subject: Any) -> str:
    """Reports of a target at `BUDGETS`, exact if its law is finite; subject: with ``quick`` and ``seconds``."""
    if target.table is None:
        return statistically(target, subject)
    begin = time.perf_counter()
    told: list[str] = []
    for budget in BUDGETS:
        if told and time.perf_counter() - begin > subject.seconds:
            told.append(f"({budget.epsilon:g}, {budget.delta:g}) left out: time limit")
            continue
        try:
            report = audit.exact(target, budget)
        except audit.NotListable as error:
            return f"not finite ({error.expected}, got {error.given}); {statistically(target, subject)}"
        told.append(_told(report))
    return "; ".join(told)


def statistically(target: Target, subject: Any) -> str:
    """A report of a test at confidence 1 - 1e-6, with the number of trials that the subject's time allows."""

    def run(trials: int) -> Report:
        return audit.statistical(target, _SHARP, trials=trials, confidence=1 - FALSE_ALARM)

    if not target.pairs():
        raise Skipped("no neighbors with so many label columns; give small, over a domain of two to four elements")
    run(_PILOT)
    begin = time.perf_counter()
    run(_PILOT)
    pilot = max(time.perf_counter() - begin, 1e-3)
    seconds = subject.seconds / (4 if subject.quick else 1)
    return _told(run(int(min(_MOST_TRIALS, max(_PILOT, _PILOT * seconds / pilot)))))


def _told(report: Report) -> str:
    claim = report.claim
    budget = f"({claim.epsilon:.6g}, {claim.delta:.6g})"
    beyond = f" (excess: {report.details['excess']})" if "excess" in report.details else ""
    loss = f"epsilon {report.epsilon_found:.6g} at that delta{beyond} on {report.witness}"
    correct = report.details.get("rounding", "correct the plan or the guarantee")
    advice = f"dpjax audit prints the report ({report.method}); {correct}"
    require(not report.violated, f"at most the claim {budget}", loss, advice)
    if report.verdict == VACUOUS:
        raise Skipped(f"{report.method} at {budget}: {report.verdict}; give small, or more rows")
    many = "" if report.method == "exact" else f" on {report.details['trials']} trials"
    return f"{report.method} at {budget}: epsilon {report.epsilon_found:.6g} found{many}"


def shrunk(learner: Any, k: int = 1) -> Any:
    """The learner over a domain of at most four elements: itself, or with its `Domain` replaced; None if unknown.

    If ``concepts`` (or ``learner``) is a frozen dataclass with a `Domain` field, the learner is rebuilt with a smaller
    domain.
    """
    size = 3 if k == 1 else 2
    if learner.concepts.domain.size <= _ELEMENTS:
        return learner
    return with_domain(learner, Domain(size))


def _rows(small: Any, subject: LearnerUnderTest) -> int:
    """The number of rows for which the number of samples stays small."""
    kinds = small.concepts.domain.size << subject.k * small.concepts.columns
    rows = min(subject.rows, _MOST_ROWS_OF_A_WORLD)
    while rows > 1 and kinds**rows > _MOST_DATABASES // (8 if subject.quick else 1):
        rows -= 1
    return rows
