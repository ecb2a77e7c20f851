"""The page of audits: for each row of `dpjax audit` its code, what is claimed and what was found, and the theorems."""

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import site_text

from dpjax.cli.commands.audit import everything
from dpjax.core.types import Privacy
from dpjax.papers.theorems import papers

_TABLE = Path(__file__).resolve().parents[1] / "gallery/audits.md"
_KINDS = {
    "Mechanisms": "dpjax.mechanisms",
    "Learners": "dpjax.learners",
    "Sanitizers": "dpjax.sanitizers",
    "Accounting rules": "dpjax.accounting",
}
_BASES = ("dpjax.learners.Learner",)  # classes that many learners extend: they have no claim of their own
_HEAD = """\
# Audits

Every row of `dpjax audit --all`: what it runs, what is claimed, and what its exact audit found, as the
[table of the gallery](../gallery/audits.md) has it, with the databases. `dpjax audit ROW` repeats a row.
[What an audit proves](../explain/audit.md) says how to read it; [the guide](../guide/audits.md) has the options.
"""


def pages() -> dict[str, str]:
    """The page by its path."""
    covered: dict[str, tuple[str, ...]] = {}
    for target, _ in everything(Privacy(1.0, 1e-6)):
        covered.setdefault(target.name, tuple(name for name in target.covers if name not in _BASES))
    groups: dict[str, list[str]] = defaultdict(list)
    for name, names in covered.items():
        groups[_kind(name, names)].append(name)
    parts = [_HEAD]
    for kind in _KINDS:
        parts += [f"## {kind}\n", *(_row(name, covered[name]) for name in groups[kind])]
    return {"reference/audits.md": "\n".join(parts)}


def anchor(name: str) -> str:
    """The anchor of a row on the page: the slug of its heading."""
    return re.sub(r"[^\w -]", "", name.lower()).replace(" ", "-")


def _kind(name: str, names: tuple[str, ...]) -> str:
    if name.startswith("accounting: "):
        return "Accounting rules"
    return next((kind for kind, package in _KINDS.items() if names and names[0].startswith(package)), "Learners")


def _row(name: str, names: tuple[str, ...]) -> str:
    lines = [f"### {name}", "", f"`dpjax audit {_quoted(name)}`", ""]
    lines += ["Code: " + ", ".join(f"`{one}`" for one in names if not one.startswith("dpjax.evidence.")), ""]
    theorems = _theorems().get(name, [])
    if theorems:
        lines += ["Theorems: " + ", ".join(theorems), ""]
    header, rows = _found()
    return "\n".join([*lines, site_text.table(header, rows[name])])


@cache
def _found() -> tuple[list[str], dict[str, list[list[str]]]]:
    """The columns of the stored table but for the first and the last, and its rows by name."""
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in _TABLE.read_text(encoding="utf-8").splitlines()
        if line.startswith("|")
    ]
    found: dict[str, list[list[str]]] = defaultdict(list)
    for name, *rest, how in cells[2:]:
        found[name].append([*rest, how.partition(",")[0] if how.startswith("exact") else how])
    return [*cells[0][1:-1], "method"], found


@cache
def _theorems() -> dict[str, list[str]]:
    """Links to the items of the index of theorems that name a row."""
    found: dict[str, list[str]] = defaultdict(list)
    for paper in papers().values():
        for item in paper.items.values():
            for name in item.audit:
                found[name].append(f"[{item.key}](theorems/{paper.key}.md#{anchor(item.heading)})")
    return found


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[\w-]+", name) else f'"{name}"'
