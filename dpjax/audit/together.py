"""Simultaneous audits: a seed for each, and their joint error probability."""

import hashlib
from collections.abc import Iterable

from dpjax.audit.report import Report
from dpjax.core import checks


def seed_of(name: str, seed: int) -> int:
    """The seed of row ``name`` in a table of audits: a digest of both arguments, in [0, 2**32).

    Rows are independent, and the seed of a row does not depend on the other rows.
    """
    checks.integer("seed", seed, 0, 2**32 - 1)
    return int.from_bytes(hashlib.sha256(f"{seed} {name}".encode()).digest()[:4], "big")


def confidence_of_each(confidence: float, rows: int) -> float:
    """The confidence of each of ``rows`` audits for which all together have confidence ``confidence``.

    By the union bound: with probability at least ``confidence`` no correct claim among them is refuted.
    """
    checks.integer("rows", rows, 1)
    return 1 - (1 - checks.probability("confidence", confidence)) / rows


def false_alarm(reports: Iterable[Report]) -> float:
    """Upper bound on the probability that a correct claim among these reports was refuted; exact audits add nothing."""
    return min(1.0, sum(1 - report.confidence for report in reports))
