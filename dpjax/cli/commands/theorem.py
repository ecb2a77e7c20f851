"""`dpjax theorem`: what a numbered item of a paper states, and the code, audits and pages that are about it."""

from dataclasses import asdict
from typing import Any

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dpjax.cli.arguments.privacy import TheoremCommand
from dpjax.cli.output import Answer, console
from dpjax.core.screen import Table as Wide
from dpjax.papers.theorems import FAULTS, RULES, STATUSES, Item, Paper, papers, search
from dpjax.papers.theorems.references import code_of


def run(command: TheoremCommand) -> Answer:
    """One item, all items of a paper, or the papers with the numbers of their items."""
    if command.key is None:
        return {"papers": [_paper(entry) for entry in papers().values()], "items": []}, _show_papers
    match = search(command.key)
    if isinstance(match, Paper):
        items = [*match.items.values()]
        return {"papers": [_paper(match)], "items": [_item(entry) for entry in items]}, lambda: _show_paper(match)
    paper = papers()[match.key.partition(":")[0]]
    return {"papers": [_paper(paper)], "items": [_item(match)]}, lambda: _show_item(match, paper)


def _paper(paper: Paper) -> dict[str, Any]:
    names = ("key", "authors", "year", "title", "note", "names", "venue", "arxiv", "doi", "citation")
    return {name: getattr(paper, name) for name in names} | paper.counts


def _item(item: Item) -> dict[str, Any]:
    return asdict(item) | {"code": [asdict(place) for place in code_of(item)]}


def _show_papers() -> None:
    out = console()
    table = Wide("paper", *STATUSES, "title")
    for paper in papers().values():
        counts = [str(count) for count in paper.counts.values()]
        table.add_row(paper.key, *counts, f"{paper.authors} {paper.year}, {paper.title}")
    out.print(table)
    for status, meaning in RULES.items():
        out.print(f"{status}: {meaning}")
    for fault, meaning in FAULTS.items():
        out.print(f"corrected ({fault}): {meaning}")
    out.print("`dpjax theorem PAPER` lists its items, `dpjax theorem PAPER:NUMBER` shows one")


def _show_paper(paper: Paper) -> None:
    out = console()
    out.print(Text(f"{paper.authors} {paper.year}, {paper.title}", "bold"), soft_wrap=False)
    out.print(Text(paper.citation), soft_wrap=False)
    out.print(Text(paper.note), soft_wrap=False)
    for item in paper.items.values():
        out.print(Text(f"\n{item.key}  {item.title}: {item.verdict}", "bold"), soft_wrap=False)
        out.print(Padding(Text(item.says), (0, 0, 0, 4), expand=False), soft_wrap=False)


def _show_item(item: Item, paper: Paper) -> None:
    out = console()
    out.print(
        Text(f"{item.key}  {item.title} of {paper.authors} {paper.year}: {item.verdict}", "bold"), soft_wrap=False
    )
    fault = f"{item.fault}: {FAULTS[item.fault]}" if item.fault else ""
    rows = [("says", [item.says]), ("fault", [fault]), ("printed", [item.printed]), ("right", [item.right])]
    rows += [("remark" if item.status != "missing" else "why", [item.why]), ("first version", [item.first])]
    rows += [("code", [f"{place.name} ({place.file}:{place.line})" for place in code_of(item)])]
    rows += [("audit", [f"dpjax audit {_quoted(name)}" for name in item.audit])]
    rows += [("simulation", [*item.simulation])]
    rows += [(name, [f"docs/{file}" for file in getattr(item, name)]) for name in ("figure", "page", "proof")]
    rows += [("paper", [paper.citation])]
    table = Table.grid(padding=(0, 2))
    for name, lines in rows:
        for line in filter(None, lines):
            table.add_row(Text(name if line == lines[0] else ""), Text(line, no_wrap=False, overflow="fold"))
    out.print(table, soft_wrap=False)


def _quoted(name: str) -> str:
    return name if name.replace("-", "").replace("_", "").isalnum() else f'"{name}"'
