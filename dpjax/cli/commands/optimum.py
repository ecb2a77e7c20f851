"""`dpjax optimum`: the best success of any private learner of a tiny class."""

from typing import Any

import numpy as np

from dpjax.attacks.optimum import Optimum, databases_of, exact_success, goal_of, optimum
from dpjax.audit.watch import Watch
from dpjax.cli.arguments.privacy import OptimumCommand
from dpjax.cli.exit_status import Status
from dpjax.cli.named import builder_of, class_of, relation_of
from dpjax.cli.output import Answer, console
from dpjax.concepts import Finite
from dpjax.concepts.base import ConceptClass
from dpjax.concepts.listing import matrix_of
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.screen import Table
from dpjax.core.types import Accuracy, Privacy
from dpjax.core.user_code import UserCodeError
from dpjax.experiments.config.builder import LEARNERS, Builder
from dpjax.experiments.run.progress import Estimate
from dpjax.learners import Independent

_NOTHING = "none proved"
_FIRST = ("n", "no private learner above", "learner found", "for all distributions")
_BETA = 0.1  # of the plans of compared learners; KLN's does not depend on it


def run(command: OptimumCommand) -> Answer:
    """For each n the certified bound, the learner found, and other learners on the same cases."""
    builder_of(command)
    if not command.n:
        raise InputError("n", "numbers of rows", "none", "give some, for example --n 2 4 6 8")
    made = class_of(command.matrix, command.imports)
    matrix = np.asarray(matrix_of(made) if isinstance(made, ConceptClass) else made)
    relation = relation_of(command.relation)
    privacy = Privacy(command.epsilon, command.delta)
    goal = goal_of(
        matrix, command.alpha, k=command.k, proper=command.proper, agnostic=command.agnostic, noise=command.noise
    )
    known = Builder(command.imports, {"concepts": Finite.of(goal.table), "k": command.k}, {"neighboring": relation})
    others = {text: _built(known, text, command, goal.k) for text in command.learners}
    tolerance = checks.probability("gap", command.gap)
    method: Any = command.method
    for n in command.n:
        databases_of(goal, n, privacy, relation, method)  # a size that is refused ends the command before any is solved
    rows: list[dict[str, Any]] = []
    errors: dict[int, BaseException] = {}
    for n in command.n:
        try:
            with Estimate() as estimate:
                solution = optimum(
                    goal,
                    n,
                    privacy,
                    neighboring=relation,
                    grid=command.grid,
                    rounds=command.rounds,
                    tolerance=tolerance,
                    method=method,
                    watch=_of_rows(n, estimate),
                )
            rows.append(
                _row(n, solution, {text: _success(learner, solution, command) for text, learner in others.items()})
            )
        except (InputError, MemoryError) as error:  # the other sizes are solved all the same
            errors[n] = error
        except KeyboardInterrupt:  # what is solved is shown all the same
            errors |= dict.fromkeys(command.n[command.n.index(n) :], KeyboardInterrupt("interrupted"))
            break
    if not rows:
        raise next(iter(errors.values()))
    failures = [{"n": n, "error": str(error) or type(error).__name__} for n, error in errors.items()]
    answer: dict[str, Any] = {
        "concepts": len(goal.table),
        "elements": goal.elements,
        "hypotheses": goal.sizes[0],
        "relation": command.relation,
        "rows": rows,
        "failures": failures,
        "failed": len(failures),
    }
    if any(isinstance(error, KeyboardInterrupt) for error in errors.values()):
        answer["status"] = Status.INTERRUPTED
    return answer, lambda: _show(command, answer)


def _of_rows(n: int, watch: Watch) -> Watch:
    return lambda done, total, what: watch(done, total, f"{what} at most for n = {n}")


def _built(known: Builder, text: str, command: OptimumCommand, k: int) -> Any:
    """A learner of k concepts under the relation; an InputError names it, since several are compared."""
    try:
        learner = known.build("learner", text, LEARNERS)
        if learner.neighboring.value != command.relation:
            kind = f"{type(learner).__name__} under {learner.neighboring.value}"
            raise InputError("learners", f"learners under {command.relation}", kind, "leave it out of --learners")
        return Independent(learner, k) if k > 1 and learner.number_of_concepts != k else learner
    except UserCodeError:
        raise
    except InputError as error:
        raise InputError(f"{text}, {error.name}", error.expected, error.given, error.advice) from error


def _success(learner: Any, found: Optimum, command: OptimumCommand) -> float:
    """The exact worst success of a learner on the cases of an optimum."""
    n = found.databases.rows
    plan = learner.plan(found.privacy, Accuracy(command.alpha, _BETA), n)
    return exact_success(learner, plan, found.goal, found.databases, found.cases)


def _row(n: int, found: Optimum, others: dict[str, float]) -> dict[str, Any]:
    return {
        "n": n,
        "no_learner_above": float(found.value),
        "exact": str(found.value),
        "found": float(found.achieved),
        "everywhere": found.everywhere,
        "learners": others,
        "cases": len(found.cases),
        "worst": str(found.worst),
        "databases": found.databases.size,
        "variables": found.variables,
        "constraints": found.constraints,
        "symmetries": found.symmetries,
        "seconds": round(found.seconds, 3),
    }


def _show(command: OptimumCommand, answer: dict[str, Any]) -> None:
    out = console()
    budget = f"({command.epsilon:g}, {command.delta:g})-private under {command.relation}"
    out.print(
        f"{answer['concepts']} concepts on {answer['elements']} elements, {answer['hypotheses']} "
        f"{'proper ' * command.proper}hypotheses; learners that are {budget}; success: {_success_means(command)}"
    )
    names = [*answer["rows"][0]["learners"]]
    gaps = (f"gap of {name}" for name in names)
    table = Table(*_FIRST, *names, *gaps, "program", "seconds")
    for row in answer["rows"]:
        rates = row["learners"]
        table.add_row(
            str(row["n"]),
            _up(row["no_learner_above"]),
            f"{row['found']:.4f}",
            _down(row["everywhere"]),
            *(f"{rates[key]:.4f}" for key in names),
            *(f"{row['no_learner_above'] - rates[key]:.4f}" for key in names),
            f"{row['variables']} variables, {row['constraints']} constraints",
            f"{row['seconds']:.1f}",
        )
    out.print(table)
    for failure in answer["failures"]:
        out.print(f"failed: n = {failure['n']}: {failure['error']}")
    out.print(
        "no private learner above: a bound for every private learner, certified in exact arithmetic. learner found "
        "and others: exact worst success on the program's distributions. for all distributions: a lower bound for the "
        f"learner found; {_NOTHING}: the search over all distributions ended before it had one. "
        "gap: no private learner above, less the learner."
    )


def _up(value: float) -> str:
    """Four digits, rounded up: a bound stays a bound."""
    return f"{np.ceil(value * 1e4 - 1e-6) / 1e4:.4f}"


def _down(value: float) -> str:
    """Four digits, rounded down; a bound of 0 says nothing."""
    return f">= {np.floor(value * 1e4) / 1e4:.4f}" if value > 0 else _NOTHING


def _success_means(command: OptimumCommand) -> str:
    of_all = f" in each of {command.k} columns" * (command.k > 1)
    noise = f", labels flipped with probability {command.noise:g}" * (command.noise > 0)
    excess = "excess error over the best concept" if command.agnostic else "error"
    return f"{excess} at most {command.alpha:g}{of_all}{noise}"
