"""`dpjax audit`: a target by name, or everything."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from textwrap import indent
from typing import Any

from dpjax import audit, evidence
from dpjax.audit import Report, Target
from dpjax.audit.target.neighbors import KINDS
from dpjax.audit.watch import Watch, unwatched
from dpjax.cli.arguments.privacy import AuditCommand
from dpjax.cli.commands.audit_target import blamed, own_target
from dpjax.cli.commands.audit_tracing import traced
from dpjax.cli.exit_status import Status
from dpjax.cli.named import relation_of
from dpjax.cli.output import Answer, console
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.files import failure, replace_file
from dpjax.core.plain import plain
from dpjax.core.screen import Table
from dpjax.core.types import Neighboring, Privacy
from dpjax.experiments.config.builder import LEARNERS, SANITIZERS, Builder, public_names
from dpjax.experiments.run.progress import Estimate, Progress
from dpjax.learners.base import require_learner

_SURE = ("exact", "replay")  # methods without false alarms
METHODS = ("auto", "exact", "statistical", "sequential", "bitwise", "replay", "one-run", "tracing")
_SHARP = Privacy(4.0, 0.3)
_TRIALS, _TRIALS_OF_ALL = 1_000_000, 100_000


def run(command: AuditCommand) -> Answer:
    """The report of one target, or of everything exported; ``violated`` says whether a claim was refuted."""
    checks.choice("method", command.method, METHODS)
    checks.probability("confidence", command.confidence)
    checks.integer("seed", command.seed, 0, 2**32 - 1)
    checks.choice("data", command.data, KINDS)
    privacy = Privacy(checks.epsilon(1.0 if command.epsilon is None else command.epsilon), checks.delta(command.delta))
    if command.trials is not None:
        checks.integer("trials", command.trials, 1)
    relation = relation_of(command.relation)
    name, chosen, tracing = command.target, set[str](), command.method == "tracing"
    for option in ("k", "rows"):
        if (got := getattr(command, option)) is not None and not tracing:
            raise InputError(option, f"none for method {command.method}", str(got), "leave it out, or --method tracing")
    if tracing and (name is None or command.all):
        raise InputError("target", "one learner for method tracing", "--all" if command.all else "none", "name it")
    if not tracing and name is not None and name.isidentifier() and len(rows := _rows_of(name)) > 1:
        chosen, command = rows, replace(command, all=True, target=None)
    if command.all == (command.target is not None):
        raise InputError(
            "target", "a name, module:object, or --all", repr(command.target), "see `dpjax list` for the names"
        )
    checks.choice("calibration", command.calibration, ("corrected", "printed"))
    if command.out is not None:
        _require_writable(command.out)
    if command.target is not None:
        name = command.target

        def audited() -> Report:
            if tracing:
                with Estimate() as estimate:
                    return traced(name, command, privacy, estimate)
            target = find(name, relation, command.calibration, command)
            with Estimate() as estimate:
                return _run(target, privacy, command, estimate)

        modules = [*command.imports, *([name.partition(":")[0]] if _in_module(name) else [])]
        reports = [blamed(name, modules, audited)]
        answer = reports[0].to_dict()
    else:
        _plain(name or "--all", relation, command.calibration)
        _no_databases(name or "--all", command)
        reports, todo = [], [row for row in everything(privacy) if not chosen or row[0].name in chosen]
        tests = sum(_method(target, command) not in _SURE for target, _ in todo)
        of_row = audit.confidence_of_each(command.confidence, max(1, tests))
        print(f"dpjax: {len(todo)} claims, {tests} of them by a statistical test", file=sys.stderr, flush=True)
        with Progress() as progress:
            alive: Watch = lambda done, total, what: progress.trials(0)  # noqa: E731
            for target, budget in todo:
                progress.step(f"{target.name} at ({budget.epsilon:g}, {budget.delta:g})", len(reports), len(todo))
                seed = audit.seed_of(name_of_row(target, budget), command.seed)
                try:
                    reports.append(_run(target, budget, replace(command, confidence=of_row, seed=seed), alive))
                except KeyboardInterrupt:  # what is audited is shown all the same
                    if not reports:
                        raise
                    answer["status"] = Status.INTERRUPTED
                    break
                answer = {
                    "reports": [report.to_dict() for report in reports],
                    "left": len(todo) - len(reports),
                    "confidence": command.confidence,
                    "asked": _asked(command, name, privacy),
                }
                _write(answer, reports, command)  # an interruption loses the current row only
    answer["violated"] = any(report.violated for report in reports)
    answer["vacuous"] = all(report.vacuous for report in reports)
    _write(answer, reports, command)
    if command.out is not None:
        from dpjax.plots import plot_laws, plot_privacy

        drawn = (
            {}
            if command.all
            else {"audit": (reports[0].curve, plot_privacy), "laws": (reports[0].details.get("laws"), plot_laws)}
        )
        shown = plain(answer)
        answer["figures"] = [
            str(path) for name, (has, plot) in drawn.items() if has for path in plot(shown, command.out / name)
        ]

    def show() -> None:
        out = console()
        if command.all:
            printed = Table(*_HEADINGS)
            for report in reports:
                printed.add_row(*_row(report))
            out.print(printed)
            if answer["left"]:
                out.print(f"interrupted: {answer['left']} of {len(todo)} claims are not audited")
            out.print(together(command.confidence), highlight=False)
        else:
            out.print(str(reports[0]), markup=False, highlight=False)

    return answer, show


def name_of_row(target: Target, privacy: Privacy) -> str:
    """The identity of a row of --all, from which its seed is derived."""
    epsilon, delta = float(privacy.epsilon), float(privacy.delta)
    relation = target.claim(epsilon, delta).neighboring.value
    return "|".join([target.name, target.calibration, relation, epsilon.hex(), delta.hex()])


def together(confidence: float) -> str:
    """The joint confidence of the statistical rows of --all."""
    return f"all rows together: a correct claim is refuted with probability at most {1 - confidence:.3g}"


def _asked(command: AuditCommand, name: str | None, privacy: Privacy) -> dict[str, Any]:
    """The settings that decide the numbers of an audit of several rows. name: whose rows they are, None for --all."""
    budget = {"target": name, "epsilon": float(privacy.epsilon), "delta": float(privacy.delta)}
    how = {"method": command.method, "trials": command.trials or _TRIALS_OF_ALL}
    return budget | how | {"confidence": command.confidence, "seed": command.seed}


def _write(answer: dict[str, Any], reports: list[Report], command: AuditCommand) -> None:
    if command.out is not None:
        replace_file(command.out / "audit.json", json.dumps(plain(answer), indent=1, allow_nan=False).encode())
        page = markdown(reports) + f"\n{together(command.confidence)}\n" * command.all
        replace_file(command.out / "audit.md", page.encode())


def _require_writable(folder: Path) -> None:
    """Makes the folder; InputError, before the work, if nothing can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise failure(error, folder / "audit.json") from error


def find(name: str, relation: Neighboring, calibration: str, command: AuditCommand | None = None) -> Target:
    """A mechanism, a sanitizer, a learner's world by the name of `dpjax.evidence`, ``module:object``, or a learner that
    is written as in a study, over a domain of two to four elements: KLN(Thresholds(3)).

    The object is a `dpjax.audit.Target`, a function that returns one, a Learner, a function (concepts, k) -> Learner,
    or a function of key and data, see `own.own_target`.
    """
    rules = {target.name: target for target in evidence.accounting_targets()}
    command = command or AuditCommand()
    if name.endswith(")") and name not in rules:
        _no_databases(name, command)
        _plain(name, relation, calibration)
        learner = Builder(imports=command.imports).build("target", name, LEARNERS)
        require_learner(learner)
        return evidence.learner_target(learner, name, learner.number_of_concepts)
    if _in_module(name) and name not in rules:
        target, takes_relation = own_target(name, command, relation)
        _plain(name, Neighboring.REPLACE_ONE if takes_relation else relation, calibration)
        return target
    _no_databases(name, command)
    if name in evidence.mechanism_names():
        return evidence.mechanism_target(name, relation, calibration)
    if name in evidence.median_names():
        checks.choice("calibration", calibration, ("corrected",))
        return evidence.median_target(name, relation)
    known = {
        *evidence.mechanism_names(),
        *evidence.median_names(),
        *evidence.sanitizer_names(),
        *evidence.learner_names(),
        *rules,
    }
    if name not in known and (rows := sorted(known & _rows_that_cover(name))):
        if len(rows) == 1:
            return find(rows[0], relation, calibration, command)
        raise InputError("target", f"a row that covers {name}: {', '.join(rows)}", repr(name), "name one of these")
    checks.choice("target", name, known, "take one of these, or name your own as module:function")
    _plain(name, relation, calibration)
    if name in evidence.sanitizer_names():
        return evidence.sanitizer_target(name)
    return rules[name] if name in rules else evidence.learner_world(name).target(name)


def _in_module(name: str) -> bool:
    """Whether it is written module:object."""
    return ":" in name.partition("(")[0]


def _rows_of(name: str) -> set[str]:
    """The rows of --all for the name of a learner or sanitizer that is not itself the name of a row."""
    if name not in public_names(LEARNERS) | public_names(SANITIZERS):
        return set()
    return set() if name in {*evidence.learner_names(), *evidence.sanitizer_names()} else _rows_that_cover(name)


def _rows_that_cover(name: str) -> set[str]:
    """The rows of --all for a name of `dpjax list`; none for any other name."""
    things = {f"dpjax.mechanisms.{name}"}
    if (kind := (public_names(LEARNERS) | public_names(SANITIZERS)).get(name)) is not None:
        things = {f"{kind.__module__.rsplit('.', 1)[0]}.{kind.__name__}"}
    names = {target.name for target, _ in everything(Privacy(1.0, 1e-6)) if things & set(target.covers)}
    if kind is not None and not names:
        advice = "audit another one: see `dpjax list`"
        raise InputError("target", "a learner that claims privacy", f"{name}, which is not private", advice)
    return names


def _plain(name: str, relation: Neighboring, calibration: str) -> None:
    """Refuses options that only single mechanisms support: other constants, and a choice of relation."""
    if calibration != "corrected":
        raise InputError("calibration", f"corrected for {name}", calibration, "name a mechanism that a paper prints")
    if relation is not Neighboring.REPLACE_ONE:
        advice = "leave it out: the claim has its own relation"
        raise InputError("relation", f"{Neighboring.REPLACE_ONE.value} for {name}", relation.value, advice)


def _no_databases(name: str, command: AuditCommand) -> None:
    """Refuses options that are only for a user's function."""
    for field in ("pairs", "histograms", "kind"):
        if (got := getattr(command, field)) is not None:
            advice = "leave it out, or name a function module:function of your own"
            raise InputError(field, f"none for {name}", repr(got), advice)


def everything(privacy: Privacy) -> list[tuple[Target, Privacy]]:
    """Everything exported with a claim, under each relation of the claim, and the budget to audit it at.

    Learners, medians and sanitizers are also audited at a second budget, since on so few rows they come close to their
    claim only there.
    """
    medians = [
        evidence.median_target(name, relation)
        for name in evidence.median_names()
        for relation in evidence.median_relations(name)
    ]
    worlds = {name: evidence.learner_world(name) for name in evidence.learner_names()}
    learners = {name: world.target(name) for name, world in worlds.items()}
    sanitizers = [evidence.sanitizer_target(name) for name in evidence.sanitizer_names()]
    usual = [
        *evidence.mechanism_configurations(),
        *medians,
        *learners.values(),
        *sanitizers,
        *evidence.accounting_targets(),
    ]
    sharp = {id(entry) for entry in (*(learners[name] for name in worlds if worlds[name].sharp), *medians, *sanitizers)}
    # the rows of a target are consecutive: the second reuses its compiled programs
    return [(target, budget) for target in usual for budget in (privacy, _SHARP)[: 1 + (id(target) in sharp)]]


def markdown(reports: list[Report]) -> str:
    """A Markdown table with one row per claim; below, a single report, or those of refuted claims, as it is printed."""
    lines = ["# Privacy audit", "", "| " + " | ".join(_HEADINGS) + " | evidence |", "|---" * (len(_HEADINGS) + 1) + "|"]
    lines += ["| " + " | ".join([*_row(report), report.grounds]) + " |" for report in reports]
    lines += [f"\n{indent(str(report), '    ')}" for report in reports if report.violated or len(reports) == 1]
    return "\n".join(lines) + "\n"


_HEADINGS = ("target", "relation", "claimed", "found: epsilon", "delta", "method", "verdict", "seconds")


def _row(report: Report) -> tuple[str, ...]:
    name = report.target if report.calibration == "corrected" else f"{report.target} ({report.calibration})"
    claim = f"({report.claim.epsilon:g}, {report.claim.delta:g})"
    losses = f"{report.epsilon_found:.6g}", f"{report.delta_found:.6g}"
    method = report.method if report.confidence == 1 else f"{report.method}, {report.confidence:g}"
    seconds = f"{report.details['seconds']:.2f}"
    return name, report.claim.neighboring.value, claim, *losses, method, report.verdict, seconds


def _method(target: Target, command: AuditCommand) -> str:
    auto = "exact" if target.table is not None else "statistical"
    return auto if command.method == "auto" else command.method


def _run(target: Target, privacy: Privacy, command: AuditCommand, watch: Watch = unwatched) -> Report:
    method, why = _method(target, command), target.unlisted
    trials = command.trials or (_TRIALS_OF_ALL if command.all else _TRIALS)
    for option, usual in (("search", 0), ("distance", 1)):
        if method in (*_SURE, "one-run") and not command.all and (got := getattr(command, option)) != usual:
            raise InputError(option, f"{usual} for method {method}", str(got), "leave it out, or --method statistical")
    if method == "exact":
        try:
            return audit.exact(target, privacy, watch=watch)
        except audit.NotListable as error:
            if command.method == "exact" or command.all:  # levels were split by the targets' declared methods
                raise
            why = str(error)
    if method == "replay":
        return audit.replay(target, privacy, seed=command.seed, watch=watch)
    if method == "one-run":
        confidence, seed = command.confidence, command.seed
        return audit.one_run_of(target, privacy, canaries=trials, confidence=confidence, seed=seed)
    how: dict[str, Any] = {name: getattr(command, name) for name in ("confidence", "seed", "distance", "search")}
    how |= {"sequential": method == "sequential", "bitwise": method == "bitwise"}
    report = audit.statistical(target, privacy, trials=trials, watch=watch, **how)
    if why:
        report.details["not_exact"] = why
    return report
