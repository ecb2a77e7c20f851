"""Coefficients of set cover over a grid of epsilons, for programs whose epsilon and delta are traced."""

from dataclasses import dataclass
from functools import lru_cache

from dpjax.accounting.cover import values as known
from dpjax.accounting.cover.calibration import searched
from dpjax.accounting.cover.guarantee import score_range
from dpjax.accounting.cover.states import largest_loss
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring


@dataclass(frozen=True)
class CoverTable:
    """What `mechanisms.cover.coefficient.coefficient_at` looks up. Static, equal by value; made by ``cover_table``.

    Args:
      rounds, k, neighboring: what the coefficients hold for.
      share: of epsilon, for the noisy counts; 0: exact counts, of which nothing is published.
      offset: taken off every count, in units of the counts' scale.
      delta: of all entries.
      epsilons: ascending.
      coefficients: for a budget (epsilon, delta) and counts of scale rounds / (share epsilon), each.
      losses: `largest_loss` of all rounds at coefficient 1, without counts.
      span: `score_range`.
    """

    rounds: int
    k: int
    neighboring: Neighboring
    share: float
    offset: float
    delta: float
    epsilons: tuple[float, ...]
    coefficients: tuple[float, ...]
    losses: float
    span: int


@lru_cache(maxsize=256)
def cover_table(
    rounds: int,
    k: int,
    neighboring: Neighboring,
    delta: float = known.DELTA,
    epsilons: tuple[float, ...] = known.EPSILONS,
    noisy: bool = False,
    share: float = known.SHARE,
    offset: float = 0.5,
) -> CoverTable:
    """The table of one set cover, from what is shipped, else by search: a quarter of a second an entry at 24 rounds.

    Args:
      rounds: m >= 1.
      k: >= 1, of the quality function.
      neighboring: the relation.
      delta: in (0, 1). Smaller ones that a program meets are served by closed forms, so choose the smallest of a sweep.
      epsilons: any positive numbers; those in between are rounded down to one of them.
      noisy: publish noisy counts, instead of keeping exact ones to oneself.
      share: in (0, 1), of epsilon for the counts, if they are noisy.
      offset: of noisy counts, in units of their scale.
    """
    checks.integer("rounds", rounds, 1)
    checks.integer("k", k, 1)
    checks.delta(delta, positive_for="a table")
    grid = tuple(sorted({checks.epsilon(epsilon) for epsilon in epsilons}))
    if not grid:
        raise InputError("epsilons", "at least one epsilon", "none", "give the epsilons that you will run at")
    if noisy and not 0 < checks.number("share", share) < 1:
        raise InputError("share", "a number in (0, 1)", repr(share), "for example 0.2")
    exact, share = None if noisy else k, share if noisy else 0.0
    rows = [known.lookup(epsilon, delta, rounds, exact, neighboring, share) for epsilon in grid]
    coefficients = [
        searched(epsilon, delta, rounds, exact, neighboring, share, fine=False) if row is None else row
        for epsilon, row in zip(grid, rows, strict=True)
    ]
    return CoverTable(
        rounds, k, neighboring, share, checks.number("offset", offset) if noisy else 0.0, delta, grid,
        tuple(coefficients), largest_loss(neighboring, exact, rounds), score_range(neighboring),
    )  # fmt: skip


def regenerate(rows: tuple[known.Row, ...] = known.ROWS) -> str:
    """The text of ``COEFFICIENTS`` in `set_cover_values`, computed anew: about a second an entry."""
    lines = ["COEFFICIENTS: dict[Row, tuple[float, ...]] = {"]
    for rounds, k, neighboring in rows:
        share = known.SHARE if k is None else 0.0
        entries = [searched(epsilon, known.DELTA, rounds, k, neighboring, share) for epsilon in known.EPSILONS]
        lines.append(f"    ({rounds}, {k}, {neighboring}): (")
        for start in range(0, len(entries), 9):
            lines.append("        " + " ".join(f"{entry!r}," for entry in entries[start : start + 9]))
        lines.append("    ),")
    return "\n".join([*lines, "}  # fmt: skip"])
