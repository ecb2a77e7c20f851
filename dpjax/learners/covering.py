"""What the learners by private set cover share: plans and guarantees of all rounds, pairs that stress them."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.plane import Plane
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.plans import Spends
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners.base import database, flipped_label_pairs
from dpjax.mechanisms.cover.family import Family
from dpjax.mechanisms.cover.lines.halfplanes import Planar
from dpjax.mechanisms.cover.plan import CoverPlan, cover_guarantee, cover_plan
from dpjax.theory import set_cover as theory

Pairs = list[tuple[Sample, Sample]]
_USUAL_ALPHA = 0.1


class Covering:
    """Base of frozen dataclasses with these fields; a subclass says how many members of the family a target needs."""

    concepts: Any
    rounds: int | None
    neighboring: Neighboring
    noisy: bool
    spends: ClassVar[Spends] = "approximate"
    runs: ClassVar[tuple[str, ...]] = ("dpjax.mechanisms.cover.set_cover", "dpjax.mechanisms.cover.cover_guarantee")

    @property
    def members(self) -> int:
        """k of the score: the most members of the family that the theorem's targets are made of."""
        raise NotImplementedError

    @property
    def likely_rounds(self) -> int:
        """The rounds, or those for alpha = 0.1 where the planner chooses them."""
        return self.rounds or theory.rounds_for(self.members, _USUAL_ALPHA)

    def plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> CoverPlan:
        """`theory.set_cover.rounds_for` rounds, if none are given, and the largest coefficient that they may have.

        The rounds depend on alpha alone, so that a sweep of epsilon or delta has one program; n does not matter.
        """
        rounds = theory.rounds_for(self.members, float(accuracy.alpha)) if self.rounds is None else self.rounds
        variant = "noisy" if self.noisy else "noise_free"
        return cover_plan(privacy, rounds, self.members, self.neighboring, variant, self.offset(rounds, accuracy))

    def offset(self, rounds: int, accuracy: Accuracy) -> float:
        """What is taken off noisy counts, in scales of their noise."""
        return 0.5

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[..., 1]``."""
        return self.concepts.predict(hypothesis, x)

    def promised(self, plan: CoverPlan, what: str) -> Guarantee:
        """All rounds together, over what one spends; ``what`` is covered with."""
        return cover_guarantee(plan, self.neighboring, f"set cover, {plan.rounds} {what}")

    def rows_needed(self, plan: CoverPlan, accuracy: Accuracy, functions: float, log_hypotheses: float) -> int:
        """`theory.set_cover.realizable` with the numbers of the plan; InputError where the rounds are too few."""
        coefficient, scale, offset = (float(number) for number in (plan.coefficient, plan.scale, plan.offset))
        return theory.realizable(
            functions, log_hypotheses, plan.k, plan.rounds, coefficient, float(accuracy.alpha), float(accuracy.beta),
            scale, offset,
        )  # fmt: skip

    def related(self, pairs: Pairs, rows: int) -> Pairs:
        """Pairs that differ in the last of ``rows`` rows; under ADD_OR_REMOVE_ONE each of them against none."""
        if self.neighboring is Neighboring.REPLACE_ONE:
            return pairs
        present = jnp.arange(rows) < rows - 1
        return [(one, Sample(one.x, one.y, present)) for pair in pairs for one in pair]

    def pairs_on_plane(self, domain: Plane, rows: int) -> Pairs:
        """All rows alike, one moved or relabelled; and rows on both sides of a line, one of them relabelled."""
        checks.integer("rows", rows, 1)
        values = [(0, 0) if i % 2 else (domain.d, domain.d) for i in range(rows)]
        labels = np.array([i % 2 for i in range(rows)])
        other = labels.copy()
        other[-1] = 1 - other[-1]
        sides = database(domain, values, labels), database(domain, values, other)
        return self.related([*flipped_label_pairs(domain, rows), sides], rows)


def check_numbers(rounds: int | None, k: int | None) -> None:
    """Refuses numbers below 1; None leaves them to the planner."""
    for name, value in (("rounds", rounds), ("k", k)):
        if value is not None:
            checks.integer(name, value, 1)


def check_planar(family: Family, domain: Plane, edges: int) -> None:
    """Refuses families whose functions are not ``edges`` cuts each on the lattice that a domain's concepts are on."""
    d = domain.coarse.d
    if not isinstance(family, Planar) or (family.edges, family.planes.d) != (edges, d):
        raise InputError(
            "family", f"one whose functions are {edges} cut(s) each on the lattice of HalfPlanes({d})", repr(family),
            "give it the members of mechanisms.cover.lines.halfplanes.Planar, or run it by mechanisms.cover.set_cover",
        )  # fmt: skip
