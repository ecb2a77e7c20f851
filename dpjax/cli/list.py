"""`dpjax list`: learners and mechanisms, with what they guarantee."""

import inspect
from collections.abc import Callable

from rich.console import Console
from rich.table import Table as Printed

from dpjax import mechanisms
from dpjax.cli import Answer
from dpjax.cli.arguments import ListCommand
from dpjax.concepts import Domain
from dpjax.experiments import catalog


def run(command: ListCommand) -> Answer:
    """Learners at epsilon 1, delta 1e-6 and 100 concepts; mechanisms with the Privacy line of their docstrings."""
    rows = []
    for name in catalog.learner_names():
        kind, k = catalog.fitting(name)
        learner = catalog.learner(name, catalog.CLASSES[kind](Domain(2**10)), k)
        guarantee = learner.guarantee(learner.plan(*catalog.REFERENCE))
        text = "none" if guarantee is None else f"(epsilon, delta), {guarantee.neighboring.value}: {guarantee.why}"
        if guarantee is not None and guarantee.delta == 0:
            text = text.replace("(epsilon, delta)", "(epsilon, 0)")
        rows.append({"kind": "learner", "name": name, "guarantee": text})
    for name, function in inspect.getmembers(mechanisms, inspect.isfunction):
        if line := _privacy_line(function):
            rows.append({"kind": "mechanism", "name": name, "guarantee": line})

    def show() -> None:
        printed = Printed("kind", "name", "guarantee")
        for row in rows:
            printed.add_row(*row.values())
        Console().print(printed)

    return {"entries": rows}, show


def _privacy_line(function: Callable) -> str:
    lines = (inspect.getdoc(function) or "").splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith("Privacy:")), None)
    if start is None:
        return ""
    text = [lines[start].removeprefix("Privacy:").strip()]
    for line in lines[start + 1 :]:
        if not line.startswith(" "):
            break
        text.append(line.strip())
    return " ".join(text)
