"""`dpjax report`: a result or an audit as one HTML file."""

from pathlib import Path
from typing import Any

from dpjax.cli.arguments.results import ReportCommand
from dpjax.cli.output import Answer, console
from dpjax.core.checks import InputError
from dpjax.core.documents import parse_json
from dpjax.core.files import read_bytes, replace_file
from dpjax.experiments.results.result import Result
from dpjax.reports import audit_page


def run(command: ReportCommand) -> Answer:
    """Writes the report of a study or of an audit, and returns its path and size."""
    path = command.result
    folder = path if path.is_dir() else path.parent
    out = command.out or folder / "report.html"
    if out.suffix not in (".html", ".htm"):
        raise InputError("out", "a name that ends in .html", repr(str(out)), "give for example report.html")
    if (audit := _audit(path)) is not None:
        replace_file(out, audit_page(audit).encode())
    else:
        Result.load(path).report(out)
    size = out.stat().st_size

    def show() -> None:
        console().print(f"report: {out}, {size / 1e6:.2f} MB")

    return {"report": str(out), "bytes": size}, show


def _audit(path: Path) -> dict[str, Any] | None:
    """The content of an audit.json, given it or its folder; None if it is a study's result, or nothing readable.

    In a folder with both, the study is reported.
    """
    if path.is_dir():
        if (path / "result.json").exists():
            return None
        path = path / "audit.json"
    try:
        content = parse_json(read_bytes(path))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) and {"reports", "witness"} & content.keys() else None
