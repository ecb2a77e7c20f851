"""`dpjax check`: the conformance suite on a user's object."""

import inspect
from dataclasses import asdict
from typing import Any

from rich.table import Table as Printed
from rich.text import Text

from dpjax.cli.arguments.tables import CheckCommand
from dpjax.cli.commands.audit_target import load
from dpjax.cli.exit_status import Status
from dpjax.cli.output import Answer, console
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.logs import say
from dpjax.core.user_code import UserCodeError
from dpjax.experiments.config.builder import Builder
from dpjax.experiments.run.progress import Progress
from dpjax.experiments.study.toml import TaskTable, task_of
from dpjax.testing import Finding, Written, check_concepts, check_law, check_learner, check_mechanism
from dpjax.testing.objects import kind_of

_MARKS = {"passed": "green", "failed": "bold red", "skipped": "dim", "error": "bold red"}
_VERDICTS = ("passed", "failed", "skipped", "error")


def run(command: CheckCommand) -> Answer:
    """Findings for an object; ``status`` 0 if all passed, 1 if one failed, 2 if its code raised."""
    checks.number("seconds", command.seconds)
    k = 1 if command.k is None else command.k
    written = Written(command.object, command.imports, command.concepts, k)
    try:
        subject = written.build()
    except InputError as error:
        named = ":" in command.object and "(" not in command.object and not isinstance(error, UserCodeError)
        if not named or not inspect.isfunction(load("object", command.object)):
            raise
        advice = f"{error.advice}; a mechanism that is a plain function: dpjax audit {command.object} --epsilon E"
        raise InputError(error.name, error.expected, error.given, advice) from error
    kind = kind_of(subject)
    if command.small is not None and kind != "learner":
        raise InputError("small", f"none for a {kind}", command.small, "leave it out: it is for learners")
    if command.distribution is not None and kind not in ("learner", "class"):
        raise InputError("distribution", f"none for a {kind}", command.distribution, "leave it out")
    with Progress() as progress:
        how: dict[str, Any] = {"quick": command.quick, "tell": progress.step}
        if kind in ("learner", "class") and command.distribution is not None:
            how["task"] = _task(subject if kind == "class" else subject.concepts, command)
        if kind == "learner":
            small = None if command.small is None else Written(command.small, command.imports, k=k).build()
            how |= {"source": written, "seconds": command.seconds, "small": small}
            findings = check_learner(subject, command.k, **how)
        elif kind == "class":
            findings = check_concepts(subject, **how)
        elif kind == "law":
            findings = check_law(subject, **how)
        else:
            findings = check_mechanism(subject, seconds=command.seconds, **how)
    for finding in findings:
        if finding.verdict == "error":
            say(f"{finding.check}:\n{finding.trace}")
    counts = {verdict: sum(finding.verdict == verdict for finding in findings) for verdict in _VERDICTS}
    status = Status.INVALID if counts["error"] else Status.REFUTED if counts["failed"] else Status.DONE
    answer = {
        "object": command.object,
        "kind": kind,
        "counts": counts,
        "status": status,
        "findings": [asdict(finding) for finding in findings],
    }
    return answer, lambda: _show(command.object, kind, counts, findings)


def _task(concepts: Any, command: CheckCommand) -> Any:
    modules = Written(command.distribution or "", command.imports).modules()
    return task_of(TaskTable(concepts=concepts, distribution=command.distribution), Builder(modules))


def _show(name: str, kind: str, counts: dict[str, int], findings: list[Finding]) -> None:
    out, printed = console(), Printed("check", "verdict", "result", "seconds", title=f"{name}: a {kind}")
    printed.columns[3].justify = "right"
    for finding in findings:
        seen = (
            finding.given if finding.passed else f"expected {finding.expected}, got {finding.given}; {finding.advice}"
        )
        printed.add_row(finding.check, Text(finding.verdict, _MARKS[finding.verdict]), seen, f"{finding.seconds:.1f}")
    out.print(printed)
    told = [f"{count} {'errors' if verdict == 'error' else verdict}" for verdict, count in counts.items() if count]
    out.print(", ".join(told))
