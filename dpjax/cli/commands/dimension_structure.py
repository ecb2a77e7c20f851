"""What `dpjax dimension` says of a class that is too large to list, by its structure."""

import shlex
import time
from itertools import chain
from typing import Any

from dpjax.cli.arguments.privacy import DimensionCommand
from dpjax.cli.output import Answer, console
from dpjax.concepts.base import ConceptClass
from dpjax.concepts.listing import LARGEST
from dpjax.core.checks import InputError
from dpjax.core.members import implements
from dpjax.core.types import Accuracy, Privacy
from dpjax.learners import SparseAggregate
from dpjax.lists import Irreducibility
from dpjax.lists.versions import versions_of
from dpjax.theory import kln

_QUERIES = (1, 8, 64)


def by_structure(made: Any, command: DimensionCommand) -> Answer | None:
    """The Littlestone dimension, and what trees of queries leave of it; None for a class that can be listed, or that
    does not tell (`ConceptClass.versions`), and where --bit or --labels ask for the list."""
    if not isinstance(made, ConceptClass) or not implements(made, ConceptClass.versions):
        return None
    size, elements, listed = made.size, made.domain.size, implements(made, ConceptClass.pieces)
    if (listed and size * elements <= LARGEST) or command.bit is not None or command.labels is not None:
        return None
    start, versions = time.monotonic(), versions_of(made)
    dimension = versions.dimension(versions.whole)
    left = {str(depth): versions.reduced(versions.whole, depth) for depth in _QUERIES}
    seconds = time.monotonic() - start
    numbers = command.epsilon, command.alpha, command.beta
    only = "" if listed else " (a theorem only)"
    rows = {
        f"KLN, pure{only}": kln.realizable(size, *numbers),
        f"KLN, pure, agnostic{only}": kln.agnostic(size, *numbers),
    }
    rows |= _by_lists(made, command)
    found = {
        "name": "Littlestone dimension",
        "lower": dimension,
        "upper": dimension,
        "seconds": seconds,
        "witness": None,
    }
    head = {"concepts": size, "elements": elements, "labels": 2, "dimensions": [found]}

    def show() -> None:
        out = console()
        why = "too many to list" if listed else "the class has no list"
        out.print(f"{size} concepts on {elements} elements, labels 0..1: {why}")
        out.print(f"Littlestone dimension {dimension}, by the structure of the class")
        for depth, least in left.items():
            out.print(f"    at most {least} after {depth} {'query' if depth == '1' else 'queries'}, the best ones")
        at = f"at epsilon = {command.epsilon:g}, alpha = {command.alpha:g}, beta = {command.beta:g}"
        out.print(
            f"rows that private learners need by their theorems {at}; delta = {command.delta:g} where one is spent"
        )
        for name, least in rows.items():
            out.print(f"    {name}: {least}")
        flags = [(f"--{name}", repr(getattr(command, name))) for name in ("epsilon", "delta", "alpha", "beta")]
        modules = ["--import", *command.imports] if command.imports else []
        words = ["dpjax", "ask", command.matrix, "--theorems", *chain(*flags), *modules]
        out.print(f"learners that run on it: {shlex.join(words)}")

    return head | {"dimensions after queries": left, "sample sizes": rows}, show


def _by_lists(made: ConceptClass, command: DimensionCommand) -> dict[str, int]:
    """The rows of lists of optimal predictions; none where delta is 0, or functions of the class have no names."""
    budget, goal = Privacy(command.epsilon, command.delta), Accuracy(command.alpha, command.beta)
    try:
        learner = SparseAggregate(Irreducibility(made))
        least, name = learner.sample_size(budget, goal), "SparseAggregate(Irreducibility), improper"
    except InputError:
        return {}
    try:
        learner.plan(budget, goal)
    except InputError:
        return {f"{name} (a theorem only: its lists may be too long)": least}
    return {name: least}
