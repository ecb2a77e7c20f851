"""The answer of `dpjax ask` and `dp.ask` in text: both learners, the bound, and a table of all that compete."""

import io
from typing import TYPE_CHECKING, Any

from rich.console import Console

from dpjax.experiments.printed import WIDE, Table
from dpjax.experiments.racing import Entry

if TYPE_CHECKING:
    from dpjax.experiments.asking import Asked


def text(found: "Asked") -> str:
    """What `show` prints, without the last line break."""
    out = io.StringIO()
    screen = Console(
        file=out, width=WIDE, soft_wrap=True, no_color=True, force_terminal=False, force_jupyter=False,
        force_interactive=False,
    )  # fmt: skip
    show(found, screen, rest="not listed, see entries and refused")
    return out.getvalue().rstrip("\n")


def show(found: "Asked", out: Console, *, verbose: bool = False, rest: str) -> None:
    """Prints the answer.

    Args:
      verbose: also the learners that do not compete, and all compositions.
      rest: what the number of those that are left out is called.
    """

    def say(line: str) -> None:
        out.print(line, markup=False, highlight=False, soft_wrap=True)

    theorem, best, how = found.by_theorem, found.by_measurement, found.measure
    none = "no learner that runs has a theorem for these numbers"
    say(f"smallest provable n       {none if theorem is None else f'{theorem.theorem}  {theorem.name}'}")
    if how is not None:
        none = f"no learner was found to succeed up to n = {how.n_max}"
        say(f"smallest measured n*      {none if best is None else f'{best.star}  {best.name}'}")
        if others := [name for name in found.as_good if best is not None and name != best.name]:
            say(f"maybe as small            {', '.join(others)}")
    say(f"no private learner below  {found.below}")
    rows = Table()
    for heading in ("learner", "guarantee", "provable n", *(() if how is None else ("n*", "on"))):
        rows.add_column(heading, justify="right" if heading in ("provable n", "n*") else "left")
    shown = found.entries if verbose else _first_of_each(found.entries)
    notes: list[str] = []
    for one in shown:
        rows.add_row(*_cells(one, notes, how is None))
    if shown:
        out.print(rows)
    for number, reason in enumerate(notes, 1):
        say(f"[{number}] {reason}")
    if how is not None:
        beta = float(found.goal.accuracy.beta)
        ends = f"success is below {1 - beta:g} at n_low and at least {1 - beta:g} at n_high"
        say(f"n*: brackets (n_low, n_high], with confidence {how.confidence:g} each: {ends}; "
            f"the largest over {', '.join(found.tasks)}")  # fmt: skip
        if found.caution is not None:
            say(f"caution: {found.caution}")
    hidden = len(found.entries) - len(shown)
    if verbose:
        for name, why in found.refused.items():
            say(f"does not compete: {name}: {why}")
    elif found.refused or hidden:
        say(f"{rest}: {len(found.refused)} that do not compete, {hidden} that differ in the composition only")


def _cells(one: Entry, notes: list[str], theorems: bool) -> tuple[str, ...]:
    """The cells of a row; reasons are appended to the notes."""

    def note(text: str | None) -> str:
        if text is None:
            return "-"
        if text not in notes:
            notes.append(text)
        return f"- [{notes.index(text) + 1}]"

    size = note(one.no_theorem) if one.theorem is None else str(one.theorem)
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
    for one in entries:
        if one.family not in first or not first[one.family].runs:
            first[one.family] = one
    return tuple(first.values())
