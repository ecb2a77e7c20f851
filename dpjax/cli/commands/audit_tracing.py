"""`dpjax audit --method tracing`: the learner that is traced."""

import inspect
from typing import Any

from dpjax.attacks import trace
from dpjax.audit import Report
from dpjax.audit.watch import Watch
from dpjax.cli.arguments.privacy import AuditCommand
from dpjax.cli.commands.audit_target import load
from dpjax.concepts import Domain, Points
from dpjax.core.checks import InputError
from dpjax.core.types import Privacy
from dpjax.core.user_code import calling
from dpjax.experiments.config.builder import LEARNERS, Builder
from dpjax.learners.base import Learner, require_learner

_CONCEPTS, _ROWS, _TRIALS = 100, 16, 10_000
_FOR_OTHERS = ("pairs", "histograms", "kind", "search", "distance", "data", "calibration", "relation")


def traced(name: str, command: AuditCommand, privacy: Privacy, watch: Watch) -> Report:
    """The report of one learner; InputError for anything else, and for options of other methods."""
    for option in _FOR_OTHERS:
        if (got := getattr(command, option)) != (usual := getattr(AuditCommand, option)):
            raise InputError(option, f"{usual or 'none'} for method tracing", str(got), "leave it out")
    learner = _learner(name, command)
    count = learner.number_of_concepts
    k = command.k if command.k is not None else count if count > 1 else _CONCEPTS
    rows = _ROWS if command.rows is None else command.rows
    trials = _TRIALS if command.trials is None else command.trials
    how: dict[str, Any] = {"trials": trials, "confidence": command.confidence, "seed": command.seed}
    return trace(learner, k, rows, privacy, name=name, watch=watch, **how)


def _learner(name: str, command: AuditCommand) -> Any:
    """A learner with its class, by its name alone over the points of three elements; or module:object, without
    arguments a learner or a function (concepts, k)."""
    concepts = Points(Domain(3))
    if name.endswith(")") or ":" not in name:
        known: dict[str, Any] = {} if command.k is None else {"k": command.k}
        if name.isidentifier():
            known = {"concepts": concepts, "domain": concepts.domain, "k": 1}
        return Builder(command.imports, known).build("target of method tracing, a learner", name, LEARNERS)
    learner = load("target", name)
    if callable(learner) and not isinstance(learner, Learner):
        with calling(name):
            parameters = inspect.signature(learner).parameters
            learner = learner(concepts, _CONCEPTS if command.k is None else command.k) if parameters else learner()
    require_learner(learner)
    return learner
