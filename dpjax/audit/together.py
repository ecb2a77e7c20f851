"""Many audits at once: a seed for each, and what all of them together may get wrong."""

import hashlib
from collections.abc import Iterable

from dpjax.audit.report import Report
from dpjax.core import checks


def seed_of(name: str, seed: int) -> int:
    """The seed of the row ``name`` of a table of audits: a digest of both, in [0, 2**32).

    Rows are independent of each other, and none depends on which others there are.
    """
    checks.integer("seed", seed, 0, 2**32 - 1)
    return int.from_bytes(hashlib.sha256(f"{seed} {name}".encode()).digest()[:4], "big")


def confidence_of_each(confidence: float, rows: int) -> float:
    """The confidence at which each of ``rows`` audits is run so that all of them together have ``confidence``.

    By the union bound: with probability at least ``confidence`` no correct claim among them is refuted.
    """
    checks.integer("rows", rows, 1)
    return 1 - (1 - checks.probability("confidence", confidence)) / rows


def false_alarm(reports: Iterable[Report]) -> float:
    """The most likely that at least one correct claim among these reports was refuted; exact audits add nothing."""
    return min(1.0, sum(1 - report.confidence for report in reports))
