"""Counts of what docs/gallery/optimum.md checks: certificates, learners found, and comparisons."""

from dataclasses import dataclass, field

from dpjax.attacks.optimum import Optimum
from dpjax.attacks.optimum.best import success_of
from dpjax.attacks.optimum.private_table import is_private


@dataclass
class Tally:
    """How many of how many. bad: the first few that failed, in words."""

    failed: int = 0
    count: int = 0
    bad: list[str] = field(default_factory=list)

    def add(self, fine: bool, what: str) -> None:
        """Counts one."""
        self.count, self.failed = self.count + 1, self.failed + (not fine)
        self.bad += [what][fine:] if len(self.bad) < 5 else []

    def __str__(self) -> str:
        return f"{self.failed} of {self.count}" + f" ({'; '.join(self.bad)})" * bool(self.bad)


@dataclass
class Checked:
    """All counts of the page."""

    certificates: Tally = field(default_factory=Tally)
    private: Tally = field(default_factory=Tally)
    kln: Tally = field(default_factory=Tally)
    others: Tally = field(default_factory=Tally)
    bounds: Tally = field(default_factory=Tally)
    more: int = 0

    def optimum(self, found: Optimum, what: str) -> None:
        """Verifies the certificate and the learner of one program."""
        proof = found.certificate
        named = proof.goal, proof.rows, proof.neighboring, proof.epsilon, proof.delta
        databases, budget = found.databases, (float(found.privacy.epsilon), float(found.privacy.delta))
        worst = min(success_of(found.table, databases, case) for case in found.cases)
        same = named == (found.goal, databases.rows, databases.neighboring, *budget) and proof.cases == found.cases
        self.certificates.add(same and proof.bound() == found.value >= worst == found.achieved, what)
        self.private.add(is_private(found.table, databases, *budget), what)
