"""`dpjax atlas`: a tiny class's row of the atlas."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpjax.advice.atlas import Bracket, rows_of_class, tiny_class
from dpjax.advice.collection import Collection, Program, packaged
from dpjax.attacks.optimum.tiny import code_of, matrix_of_code, name_of, representative
from dpjax.cli.arguments.privacy import AtlasCommand
from dpjax.cli.named import builder_of, class_of
from dpjax.cli.output import Answer, console
from dpjax.concepts.base import ConceptClass
from dpjax.concepts.listing import matrix_of
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.screen import Table
from dpjax.core.types import Accuracy
from dpjax.dimensions.summary import summary


def run(command: AtlasCommand) -> Answer:
    """Dimensions, brackets with what proves each end, and lower bounds by name."""
    builder_of(command)
    if not command.epsilon:
        raise InputError("epsilon", "at least one epsilon", "none", "give some, for example --epsilon 1 2")
    epsilons = [checks.epsilon(epsilon) for epsilon in command.epsilon]
    concepts = tiny_class(_matrix(command))
    matrix = representative(concepts)
    accuracy = Accuracy(command.alpha, command.beta)
    stored = _stored(command.store)
    delta = checks.delta(command.delta)
    brackets = rows_of_class(matrix, [None, *epsilons], accuracy, command.seconds, [*packaged(), *stored], delta)
    dimensions = list(summary(np.array(concepts), command.seconds))
    answer = {
        "class": name_of(matrix),
        "code": code_of(concepts),
        "renamed": code_of(concepts) != code_of(matrix),
        "concepts": len(matrix),
        "points": len(matrix[0]),
        "delta": delta,
        "dimensions": [
            {"name": one.name, "lower": str(one.lower), "upper": str(one.upper), "witness": str(one.witness)}
            for one in dimensions
        ],
        "rows": [_record(one, command.store, stored) for one in brackets],
    }
    return answer, lambda: _show(command, answer)


def _matrix(command: AtlasCommand) -> Any:
    """Of a class by its name or file, or by its concepts."""
    words = command.matrix.split()
    if not words or not all(word.isdecimal() for word in words):
        made = class_of(command.matrix, command.imports)
        return np.asarray(matrix_of(made) if isinstance(made, ConceptClass) else made)
    if len(lengths := set(map(len, words))) > 1:
        raise InputError("class", "concepts with as many labels each", f"{sorted(lengths)}", "give each point a label")
    return np.array(matrix_of_code(command.matrix))


def _stored(store: Path | None) -> list[Program]:
    if store is None:
        return []
    if not store.is_dir():
        raise InputError("store", "a folder of solved programs", str(store), "make it with scripts/atlas.py")
    return [program for program in Collection(store).programs() if program.proved]


def _record(one: Bracket, store: Path | None, stored: list[Program]) -> dict[str, Any]:
    best = max(one.bounds, key=lambda bound: bound.n, default=None)
    below, enough = one.needed.below, one.needed.enough
    proofs = [end.program for end in (one.below, one.enough) if end and end.program in stored]
    if store is not None:
        _require_proofs(Collection(store), proofs)
    return {
        "epsilon": one.epsilon,
        "n": str(one),
        "low": one.low,
        "high": one.needed.high,
        "out_of_time": one.out_of_time,
        "source": one.source,
        "no_learner": below and {"n": below.n, "success_at_most": below.upper},
        "no_learner_from": one.below.step if one.below else "",
        "certificate": one.below.program.certificate if one.below else "",
        "learner": enough and {"n": enough.n, "success_at_least": enough.lower},
        "learner_from": one.enough.step if one.enough else "",
        "table": one.enough.program.table if one.enough else "",
        "proofs_verified": store is not None and bool(proofs),
        "largest_lower_bound": best and best.n,
        "lower_bounds": {bound.name: bound.n for bound in one.bounds},
    }


def _show(command: AtlasCommand, answer: dict[str, Any]) -> None:
    out = console()
    out.print(f"{answer['code']}: {answer['concepts']} concepts on {answer['points']} points")
    for one in answer["dimensions"]:
        value = one["lower"] if one["lower"] == one["upper"] else f"{one['lower']} to {one['upper']}"
        out.print(f"{one['name']:37} {value:8} {one['witness']}")
    level = 1 - command.beta
    goal = f"error {command.alpha:g} with probability {level:g}, delta = {command.delta:g}"
    same = f" of {answer['class']}, the same up to names of points and labels" if answer["renamed"] else ""
    out.print(f"rows n* of the best learner{same} for {goal}:")
    table = Table("epsilon", "n*", "no learner", "learner found", "by formulas", "from")
    for row in answer["rows"]:
        below, enough = row["no_learner"], row["learner"]
        table.add_row(
            "no privacy" if row["epsilon"] is None else f"{row['epsilon']:g}",
            row["n"],
            f"n = {below['n']}: at most {below['success_at_most']:.6f}" if below else "",
            f"n = {enough['n']}: at least {enough['success_at_least']:.6f}" if enough else "",
            "" if row["largest_lower_bound"] is None else str(row["largest_lower_bound"]),
            row["source"] + _proofs(row),
        )
    out.print(table)
    for row in answer["rows"]:
        which = "without privacy" if row["epsilon"] is None else f"at epsilon = {row['epsilon']:g}"
        for words, end in (("no learner", row["no_learner_from"]), ("a learner", row["learner_from"])):
            if end:
                out.print(f"{words} {which}: by {end}")
    for row in answer["rows"]:
        if row["high"] is None or row["out_of_time"]:
            which = "without privacy" if row["epsilon"] is None else f"for epsilon = {row['epsilon']:g}"
            what = "no learner was found" if row["high"] is None else "the bracket was not closed"
            why = "give more --seconds" if row["out_of_time"] else "it needs more rows, or more memory, than are tried"
            out.print(f"{what} {which} within {command.seconds:g} seconds: {why}")
    for row in answer["rows"]:
        if names := [f"{n} ({name})" for name, n in row["lower_bounds"].items()]:
            out.print(f"lower bounds at epsilon = {row['epsilon']:g}: {'; '.join(names)}")


def _proofs(row: dict[str, Any]) -> str:
    names = [f"{kind} {row[kind][:12]}" for kind in ("certificate", "table") if row[kind]]
    return f" ({', '.join(names)}{', verified' if row['proofs_verified'] else ''})" if names else ""


def _require_proofs(collection: Collection, programs: Sequence[Program | None]) -> None:
    for program in programs:
        if program and not collection.verify(program):
            actual = f"others for n = {program.n}, epsilon = {program.epsilon}, delta = {program.delta}"
            raise InputError(
                "store", "proofs of the bounds that are stored", actual, "solve it again, or omit the store"
            )
