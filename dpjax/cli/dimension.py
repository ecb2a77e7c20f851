"""`dpjax dimension`: the dimensions of a finite class."""

import dataclasses
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dpjax.cli import Answer
from dpjax.cli.classes import DimensionCommand
from dpjax.cli.printing import Table, console
from dpjax.concepts import Multiclass
from dpjax.concepts.listing import matrix_of
from dpjax.core import checks
from dpjax.core.matrices import class_matrix
from dpjax.core.types import Accuracy, Privacy
from dpjax.dimensions.families import bit
from dpjax.dimensions.summary import summary
from dpjax.experiments.build import CONCEPTS, MATRICES, Builder, public_names
from dpjax.learners import BitReduction
from dpjax.tables.matrices import read_matrix
from dpjax.theory import kln


def run(command: DimensionCommand) -> Answer:
    """All dimensions, their witnesses and times, and sample sizes."""
    table = class_matrix(_matrix(command), command.labels)
    if command.bit is not None:
        table = bit(table, command.bit)
    sizes = _sample_sizes(table, command)
    found = list(summary(table, command.seconds))
    labels = int(table.max(initial=0)) + 1
    answer = {
        "concepts": len(table), "elements": table.shape[1], "labels": labels,
        "dimensions": [_record(one) for one in found],
        "sample sizes": sizes,
    }  # fmt: skip

    def show() -> None:
        out = console()
        out.print(f"{len(table)} concepts on {table.shape[1]} elements, labels 0..{labels - 1}", highlight=False)
        grid = Table("dimension", "value", "seconds", "witness")
        for one in found:
            value = str(one.lower) if one.exact else f"{one.lower} to {one.upper}, stopped"
            grid.add_row(one.name, value, f"{one.seconds:.2f}", str(one.witness))
        out.print(grid)
        at = f"at epsilon = {command.epsilon:g}, alpha = {command.alpha:g}, beta = {command.beta:g}"
        out.print(f"rows that learners need {at}", highlight=False)
        for name, rows in sizes.items():
            out.print(f"    {name}: {rows}", highlight=False)

    return answer, show


def _sample_sizes(table: np.ndarray, command: DimensionCommand) -> dict[str, int]:
    """Of the private learners of any finite class."""
    numbers = command.epsilon, command.alpha, command.beta
    found = {"KLN": kln.realizable(len(table), *numbers), "KLN, agnostic": kln.agnostic(len(table), *numbers)}
    if table.max(initial=0) > 1:
        learner = BitReduction(Multiclass.of(table))
        found["BitReduction, improper"] = learner.sample_size(Privacy(numbers[0]), Accuracy(*numbers[1:]))
    return found


def _matrix(command: DimensionCommand) -> Any:
    """The class as a matrix, from a file, a function, or a concept class."""
    text = command.matrix
    head = text.partition("(")[0].strip()
    if Path(text).suffix in (".csv", ".npy", ".txt", ".tsv") or Path(text).is_file():
        return read_matrix(Path(text))
    if ":" not in head:
        checks.choice("class", head.partition(".")[0], [*public_names(MATRICES), *public_names(CONCEPTS)])
    made = Builder(imports=command.imports).build(
        "class", text, MATRICES if head in public_names(MATRICES) else CONCEPTS
    )
    return matrix_of(made) if hasattr(made, "predict") else made  # anything else has to be a table


def _record(found: Any) -> dict[str, Any]:
    bounds = {"lower": _number(found.lower), "upper": _number(found.upper)}
    return {"name": found.name, **bounds, "seconds": found.seconds, "witness": _plain(found.witness)}


def _number(value: int | Fraction) -> int | str:
    return str(value) if isinstance(value, Fraction) else value


def _plain(value: Any) -> Any:
    """A witness as data."""
    if dataclasses.is_dataclass(value):
        return {key: _plain(one) for key, one in vars(value).items() if one is not None}
    if isinstance(value, frozenset):
        return sorted(value)
    return [_plain(one) for one in value] if isinstance(value, tuple) else value
