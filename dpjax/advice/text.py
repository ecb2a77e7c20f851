"""The answer of `dpjax ask` and `dp.ask` in text: both learners, the bound, and a table of all that compete."""

import io
from typing import TYPE_CHECKING, Any

from dpjax.advice.race import Entry
from dpjax.core import html
from dpjax.core.screen import WIDE, Screen, Table

if TYPE_CHECKING:
    from dpjax.advice.answer import Advice


def text(found: "Advice") -> str:
    """What `show` prints, without the last line break."""
    out = io.StringIO()
    screen = Screen(
        file=out, width=WIDE, no_color=True, force_terminal=False, force_jupyter=False, force_interactive=False
    )
    show(found, screen, rest="not listed, see entries and refused")
    return out.getvalue().rstrip("\n")


def show(found: "Advice", out: Screen, *, verbose: bool = False, rest: str) -> None:
    """Prints the answer.

    Args:
      verbose: also the learners that do not compete, and all compositions.
      rest: what the number of those that are left out is called.
    """
    before, (headings, cells), after = _parts(found, verbose, rest)
    rows = Table()
    for heading in headings:
        rows.add_column(heading, justify="right" if heading in _NUMBERS else "left")
    for row in cells:
        rows.add_row(*row)
    for part in (*before, *([rows] * bool(cells)), *after):
        out.print(part)


def as_html(found: "Advice") -> str:
    """The answer for a notebook."""
    before, (headings, cells), after = _parts(found, False, "not listed, see entries and refused")
    columns = [html.Column(heading, "number" if heading in _NUMBERS else "text") for heading in headings]
    lines = [html.element("pre", "\n".join(part)) for part in (before, after)]
    return html.together([lines[0], html.table(columns, cells, "Learners that compete"), lines[1]])


_NUMBERS = ("provable n", "n*")


def _parts(found: "Advice", verbose: bool, rest: str) -> tuple[list[str], tuple[list[str], list[Any]], list[str]]:
    """Lines above the table, its headings and rows, and lines below it."""
    theorem, best, how = found.by_theorem, found.by_measurement, found.measure
    none = "no learner that runs has a theorem for these numbers"
    before = [f"smallest provable n       {none if theorem is None else f'{theorem.theorem}  {theorem.name}'}"]
    if how is not None:
        none = f"no learner was found to succeed up to n = {how.n_max}"
        before.append(f"smallest measured n*      {none if best is None else f'{best.star}  {best.name}'}")
        if others := [name for name in found.as_good if best is not None and name != best.name]:
            before.append(f"maybe as small            {', '.join(others)}")
    before.append(f"no private learner below  {found.below}")
    headings = ["learner", "guarantee", "provable n", *([] if how is None else ["n*", "on"])]
    shown = found.entries if verbose else _first_of_each(found.entries)
    notes: list[str] = []
    cells = [_cells(entry, notes, how is None) for entry in shown]
    after = [f"[{number}] {reason}" for number, reason in enumerate(notes, 1)]
    if how is not None:
        beta = float(found.goal.accuracy.beta)
        ends = f"success is below {1 - beta:g} at n_low and at least {1 - beta:g} at n_high"
        after.append(
            f"n*: brackets (n_low, n_high], with confidence {how.confidence:g} each: {ends}; "
            f"the largest over {', '.join(found.tasks)}"
        )
        if found.caution is not None:
            after.append(f"caution: {found.caution}")
    if found.failed:
        why = {entry.name: entry.not_measured for entry in found.entries} | found.refused
        after.append(f"{len(found.failed)} failed: {'; '.join(f'{name}: {why[name]}' for name in found.failed)}")
    hidden = len(found.entries) - len(shown)
    if verbose:
        after += [f"does not compete: {name}: {why}" for name, why in found.refused.items()]
    elif found.refused or hidden:
        differ = f"{hidden} that differ in the composition only"
        after.append(f"{rest}: {len(found.refused)} that do not compete, {differ}")
    return before, (headings, cells), after


def _cells(one: Entry, notes: list[str], theorems: bool) -> tuple[str, ...]:
    """The cells of a row; reasons are appended to the notes."""

    def note(text: str | None) -> str:
        if text is None:
            return "-"
        if text not in notes:
            notes.append(text)
        return f"- [{notes.index(text) + 1}]"

    size = note(one.no_theorem) if one.theorem is None else str(one.theorem)
    if one.theorem is not None and (assumes := one.learner.assumes):
        size += note(f"for {assumes}").removeprefix("-")
    if not one.runs:
        size += f", does not run {note(one.not_measured).removeprefix('- ')}"
    cells = one.name, "pure" if one.pure else "approximate", size
    if theorems:
        return cells
    star = note(one.not_measured) if one.star is None else str(one.star)
    return *cells, star, "" if one.star is None else one.star.task


def _first_of_each(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Of learners that differ in the composition only, the one with the smallest theorem."""
    first: dict[Any, Entry] = {}
    for entry in entries:
        if entry.family not in first or not first[entry.family].runs:
            first[entry.family] = entry
    return tuple(first.values())
