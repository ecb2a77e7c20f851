"""Writes audits.md: every claim that `dpjax audit --all` checks, with what its exact audit finds.

Run: python scripts/audit_rows.py [--out FOLDER]
"""

from collections.abc import Sequence
from pathlib import Path

from pages import folder, table, write_page

from dpjax import audit
from dpjax.audit import Target
from dpjax.cli.commands.audit import everything
from dpjax.core.types import Privacy

HEADER = ("row of `dpjax audit`", "relation", "budget", "claimed", "found: epsilon", "found: delta", "how")
ROUNDING = 1e-13  # deltas below are rounding errors of sums of masses in float64
HEAD = """# Every claim of privacy, and what its audit finds

What is claimed, and what is there: every mechanism, median, learner, sanitizer and accounting rule with a claim, on
worlds so small that every database and every neighbor can be listed. No exact audit refutes a claim. Where what is
found equals what is claimed no smaller number would be right; where it is much less, the few rows of a small world come
nowhere near the worst case, or the claim is larger than it need be.

Written by `scripts/audit_rows.py`: the rows of `dpjax audit --all`, of which those with an exact law are audited here.
Found: the smallest epsilon that holds at the claimed delta for all pairs of neighbors of the world, and the smallest
delta at the claimed epsilon, in float64. A delta of 0 is one below {rounding:g}. Learners, medians and sanitizers come
at a second budget with a large delta, since many release next to nothing on a few rows at a small one, `point` for
example. Statistical: the law cannot be listed, for the reason given; `dpjax audit ROW` tests it with samples.

"""


def main(path: Path) -> None:
    """Audits, and writes the table."""
    rows = [row(*one) for one in everything(Privacy(1.0, 1e-6))]
    write_page(path, HEAD.format(rounding=ROUNDING) + table(HEADER, rows))


def row(target: Target, budget: Privacy) -> Sequence[str]:
    """The cells of one row: an exact audit, or why there is none."""
    claim = target.claim(float(budget.epsilon), float(budget.delta))
    known = (target.name, claim.neighboring.value, *(f"({one.epsilon:g}, {one.delta:g})" for one in (budget, claim)))
    if target.table is None:
        return *known, "-", "-", f"statistical: {target.unlisted or 'a continuous law'}"
    found = audit.exact(target, budget)
    assert not found.violated, target.name
    delta = found.delta_found if found.delta_found >= ROUNDING else 0.0
    return *known, f"{found.epsilon_found:.4g}", f"{delta:.3g}", f"exact, {found.evidence}"


if __name__ == "__main__":
    main(folder(__doc__) / "audits.md")
