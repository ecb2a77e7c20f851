"""`dpjax dimension`: the dimensions of a finite class."""

import dataclasses
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from dpjax.cli.arguments.privacy import DimensionCommand
from dpjax.cli.commands.dimension_structure import by_structure
from dpjax.cli.named import builder_of, class_of
from dpjax.cli.output import Answer, console
from dpjax.concepts import Finite, Multiclass
from dpjax.concepts.base import ConceptClass
from dpjax.concepts.multiclass import MOST_LABELS
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.matrices import class_matrix, first_rows
from dpjax.core.types import Accuracy, Privacy
from dpjax.dimensions.summary import summary
from dpjax.dimensions.witnesses import ShatteredTree
from dpjax.learners import BitReduction, SparseAggregate
from dpjax.lists import VersionSpace
from dpjax.lists.base import MOST_NAMED
from dpjax.lists.version_spaces import MOST_CONCEPTS, MOST_ELEMENTS
from dpjax.theory import global_stability, irreducibility, kln

_MANY = "more than 2^62"
_SMALL = f" (a theorem only: it runs for at most {MOST_CONCEPTS} concepts on {MOST_ELEMENTS} elements)"
_NAMED = f" (a theorem only: it runs for at most {MOST_NAMED} elements)"


def run(command: DimensionCommand) -> Answer:
    """All dimensions, their witnesses and times, and sample sizes."""
    if checks.number("seconds", command.seconds) <= 0:
        raise InputError("seconds", "a number > 0", repr(command.seconds), "give a time limit, for example 60")
    builder_of(command)
    made = class_of(command.matrix, command.imports)
    Privacy(command.epsilon, command.delta), Accuracy(command.alpha, command.beta)  # wrong numbers stop here
    if structural := by_structure(made, command):
        return structural
    table, rows, labels = _class(made, command)
    if command.bit is not None:
        table, rows, labels = _bit(table, rows, labels, command.bit)
    kln.agnostic(len(table), command.epsilon, command.alpha, command.beta)
    dimensions = summary(table, command.seconds)  # an iterator: what is known is printed at once
    answer: dict[str, Any] = {"concepts": len(table), "elements": table.shape[1], "labels": labels}
    if command.json:
        known = [*dimensions]
        answer |= {"rows": rows.tolist(), "dimensions": [_record(dimension) for dimension in known]}
        answer["sample sizes"] = _sample_sizes(table, labels, known[0], command)

    def show() -> None:
        out = console()

        def say(words: str) -> None:
            out.print(words)

        say(f"{len(table)} concepts on {table.shape[1]} elements, labels 0..{labels - 1}")
        if (moved := np.flatnonzero(rows != np.arange(len(rows)))).size:
            first = moved[0]
            say(
                f"equal rows count once: row {first} of a witness is row {rows[first]} of the class (all: --json, rows)"
            )
        say(f"{'dimension':38}{'value':12}{'seconds':>8}  witness")
        first = None
        for dimension in dimensions:
            first = first or dimension
            value = (
                _short(dimension.lower)
                if dimension.exact
                else f"{_short(dimension.lower)} to {_short(dimension.upper)}"
            )
            stopped = "" if dimension.exact else "stopped; "
            say(f"{dimension.name:37} {value:11} {dimension.seconds:8.2f}  {stopped}{dimension.witness}")
        at = f"at epsilon = {command.epsilon:g}, alpha = {command.alpha:g}, beta = {command.beta:g}"
        say(f"rows that private learners need by their theorems {at}; delta = {command.delta:g} where one is spent")
        for name, size in _sample_sizes(table, labels, first, command).items():
            say(f"    {name}: {_MANY if size is None else size}")

    return answer, show


def _bit(table: np.ndarray, rows: np.ndarray, labels: int, number: int) -> tuple[np.ndarray, np.ndarray, int]:
    """The class of a bit, the numbers of its rows, and 2."""
    most = max(1, (labels - 1).bit_length())
    if not 0 <= number < most:
        expected = f"a whole number in 0..{most - 1}, a bit of the labels 0..{labels - 1}"
        raise InputError("bit", expected, str(number), "choose another bit, 0 is the least significant one")
    part = table >> number & 1
    kept = first_rows(part)
    return part[kept], rows[kept], 2


def _sample_sizes(table: np.ndarray, labels: int, littlestone: Any, command: DimensionCommand) -> dict[str, int | None]:
    """Of the private learners of any finite class; None above 2^62. The first dimension of a class is Littlestone's."""
    numbers = command.epsilon, command.alpha, command.beta
    sizes: dict[str, int | None] = {
        "KLN, pure": kln.realizable(len(table), *numbers),
        "KLN, pure, agnostic": kln.agnostic(len(table), *numbers),
    }
    if labels == 2 and table.shape[1]:
        d, rest = int(littlestone.upper), (command.epsilon, command.delta, command.alpha, command.beta)
        small = "" if len(table) <= MOST_CONCEPTS and table.shape[1] <= MOST_ELEMENTS else _SMALL
        shape = len(table), table.shape[1]
        if command.delta > 0:  # all spend some of it
            listed = SparseAggregate(VersionSpace(Finite.of(table)))
            goal = Privacy(command.epsilon, command.delta), Accuracy(command.alpha, command.beta)
            sizes["SparseAggregate(VersionSpace)"] = _or_none(lambda: listed.sample_size(*goal))
            stable = _or_none(lambda: global_stability.rows(d, *rest))
            sizes[f"SparseAggregate(GloballyStable), improper{small}"] = stable
            irreducible = _or_none(lambda: irreducibility.rows(d, *shape, *rest))
            small = "" if table.shape[1] <= MOST_NAMED else _NAMED
            sizes[f"SparseAggregate(Irreducibility), improper{small}"] = irreducible
    if 2 < labels <= MOST_LABELS and table.shape[1]:
        learner = BitReduction(Multiclass.of(table, labels))
        sizes["BitReduction, pure, improper"] = learner.sample_size(Privacy(numbers[0]), Accuracy(*numbers[1:]))
    return sizes


def _or_none(size: Callable[[], int]) -> int | None:
    try:
        rows = size()
    except InputError:  # more than 2^62
        return None
    return rows if rows <= 2**62 else None


def _class(made: Any, command: DimensionCommand) -> tuple[np.ndarray, np.ndarray, int]:
    """The distinct rows of the class, their numbers in it, and the number of labels."""
    labels = command.labels
    if isinstance(made, ConceptClass):
        every = made.matrix()
        rows = first_rows(every)
        table = class_matrix(every[rows], labels)
        labels = labels or made.labels
    else:  # anything else has to be a table
        table = class_matrix(made, labels)
        rows = np.arange(len(table))
    return table, rows, labels or int(table.max(initial=0)) + 1


def _record(found: Any) -> dict[str, Any]:
    bounds = {"lower": _number(found.lower), "upper": _number(found.upper)}
    return {"name": found.name, **bounds, "seconds": found.seconds, "witness": _plain(found.witness)}


def _number(value: int | Fraction) -> int | str:
    return str(value) if isinstance(value, Fraction) else value


def _short(value: int | Fraction) -> str:
    """In full if that is short, else rounded."""
    short = max(abs(value.numerator), value.denominator) < 10**7
    return str(value) if short else f"{float(value):.6f}"


def _plain(value: Any) -> Any:
    """A witness as data; a tree as the list of its nodes."""
    if isinstance(value, ShatteredTree):
        return {"nodes": [_plain_node(node) for node in value.nodes()]}
    if dataclasses.is_dataclass(value):
        return {key: _plain(item) for key, item in vars(value).items() if item is not None}
    if isinstance(value, frozenset):
        return sorted(value)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _plain_node(node: tuple[ShatteredTree, tuple[int, ...]]) -> dict[str, Any]:
    tree, children = node
    return {"point": tree.point, "map": _plain(tree.map), "children": [*children]} if children else {"row": tree.row}
