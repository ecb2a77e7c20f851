"""`dpjax list`: names that a study can use, and mechanisms, with their guarantees."""

import inspect
from typing import Any

from rich.padding import Padding
from rich.text import Text

from dpjax import mechanisms
from dpjax.cli.arguments.tables import ListCommand
from dpjax.cli.output import Answer, console
from dpjax.experiments.config import builder
from dpjax.experiments.config.builder import public_names

_KINDS = {"learner": builder.LEARNERS, "class": builder.CONCEPTS, "distribution": builder.DISTRIBUTIONS}
_KINDS |= {"task": builder.TASKS, "sanitizer": builder.SANITIZERS, "maker of lists": builder.LISTS}
_KINDS |= {"representation": builder.REPRESENTATIONS, "fingerprinting code": builder.CODES}


def run(command: ListCommand) -> Answer:
    """Names with their arguments, their first line, and the Privacy line of their docstrings."""
    rows: list[dict[str, str]] = []
    for kind, made in _KINDS.items():
        for name, member in sorted(public_names(made).items()):
            if name not in {row["name"] for row in rows}:
                rows.append(_row(kind, name, member))
    for name, member in inspect.getmembers(mechanisms, inspect.isfunction):
        if _privacy_line(member):
            rows.append(_row("mechanism", name, member))

    def show() -> None:
        out, kind = console(), ""
        for row in rows:
            if row["kind"] != kind:
                kind = row["kind"]
                out.print(f"\n{kind}", style="bold")
            out.print(
                Padding(Text(row["name"] + row["arguments"], "bold"), (0, 0, 0, 2), expand=False), soft_wrap=False
            )
            for text in (row["what"], f"Privacy: {row['guarantee']}" * bool(row["guarantee"])):
                if text:
                    out.print(Padding(Text(text), (0, 0, 0, 6), expand=False), soft_wrap=False)

    return {"entries": rows}, show


def _row(kind: str, name: str, found: Any) -> dict[str, str]:
    text = inspect.getdoc(found) or ""
    first = text.split("\n\n")[0].replace("\n", " ")
    arguments = "" if kind == "mechanism" else _arguments(found)
    return {"kind": kind, "name": name, "arguments": arguments, "what": first, "guarantee": _privacy_line(found)}


def _arguments(found: Any) -> str:
    hidden = () if builder.CONCEPTS.made_by(found) or builder.LEARNERS.made_by(found) else ("concepts", "domain", "k")
    sig = [
        key if arg.default is arg.empty else f"{key}=..."
        for key, arg in inspect.signature(found).parameters.items()
        if key not in hidden
    ]
    return f"({', '.join(sig)})"


def _privacy_line(found: Any) -> str:
    lines = (inspect.getdoc(found) or "").splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith("Privacy:")), None)
    if start is None:
        return ""
    text = [lines[start].removeprefix("Privacy:").strip()]
    for line in lines[start + 1 :]:
        if not line.startswith(" "):
            break
        text.append(line.strip())
    return " ".join(text)
