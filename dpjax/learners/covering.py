"""What the learners by private set cover share: all rounds, their plans and guarantees, pairs that stress them."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.plans import Spends
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners.base import OfClass, Pairs, database, single_column
from dpjax.mechanisms.cover.family import Family
from dpjax.mechanisms.cover.lines.halfplanes import Planar
from dpjax.mechanisms.cover.plan import CoverPlan, cover_guarantee, cover_plan
from dpjax.mechanisms.cover.rounds import set_cover
from dpjax.theory import set_cover as theory

_USUAL_ALPHA = 0.1


class Covering(OfClass, ABC):
    """Base of frozen dataclasses with these fields; a subclass says what is covered with what.

    Args:
      rounds: None for the planner's.
      noisy: publish noisy counts, where otherwise exact ones are kept.
    """

    concepts: Any
    rounds: int | None
    neighboring: Neighboring
    noisy: bool
    what: ClassVar[str]
    """What the rows are covered with, a format of the concepts."""
    spends: ClassVar[Spends] = "approximate"
    runs: ClassVar[tuple[str, ...]] = ("dpjax.mechanisms.cover.set_cover", "dpjax.mechanisms.cover.cover_guarantee")

    @property
    @abstractmethod
    def members(self) -> int:
        """k of the score: the most members of the family that the theorem's targets are made of."""

    @property
    @abstractmethod
    def functions(self) -> Any:
        """The family that is chosen from."""

    @abstractmethod
    def concept_of(self, chosen: Any) -> Array:
        """The words of the concept made of the functions chosen."""

    @abstractmethod
    def log_sizes(self, rounds: int) -> tuple[float, float]:
        """(functions, log_hypotheses) of `theory.set_cover.realizable`."""

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

    def learn(self, key: Array, sample: Sample, plan: CoverPlan) -> Hypothesis:
        """One concept, of words for each round; an empty sample gives functions at random."""
        label = single_column(sample, type(self).__name__)
        target, other = sample.mask & (label == self.concepts.label), sample.mask & (label != self.concepts.label)
        chosen, _ = set_cover(key, self.functions, self.rows(sample.x), target, other, plan)
        return Hypothesis.of(self.concept_of(chosen)[None])

    def rows(self, x: Array) -> Array:
        """The elements as the family takes them."""
        return x

    def guarantee(self, plan: CoverPlan) -> Guarantee:
        """All rounds together, over what one spends."""
        return cover_guarantee(plan, self.neighboring, f"set cover, {plan.rounds} {self.what.format(self.concepts)}")

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.set_cover.realizable` with the numbers of the plan; InputError where the rounds are too few."""
        plan = self.plan(privacy, accuracy)
        numbers = plan.coefficient, accuracy.alpha, accuracy.beta, plan.scale, plan.offset
        return theory.realizable(*self.log_sizes(plan.rounds), plan.k, plan.rounds, *map(float, numbers))

    def related(self, pairs: Pairs, rows: int) -> Pairs:
        """Pairs that differ in the last of ``rows`` rows; under ADD_OR_REMOVE_ONE each of them against none."""
        if self.neighboring is Neighboring.REPLACE_ONE:
            return pairs
        present = jnp.arange(rows) < rows - 1
        return [(one, Sample(one.x, one.y, present)) for pair in pairs for one in pair]


class CoveringPlane(Covering):
    """Base of those over a grid, whose families are cuts of the plane; ``family`` replaces the default one."""

    k: int | None
    family: Family | None

    def check(self, kind: type, edges: int, usual: bool, names: str) -> None:
        """Refuses other concepts, numbers below 1, and a family beside numbers of its own or not of ``edges`` cuts."""
        checks.instance("concepts", self.concepts, kind, "use another learner for other classes")
        checks.whole_or_none("rounds", self.rounds, 1)
        checks.whole_or_none("k", self.k, 1)
        if self.family is not None and not usual:
            raise InputError("family", f"no {names} beside it", "both", "say it in the family")
        family, d = self.functions, self.concepts.domain.coarse.d
        if not isinstance(family, Planar) or (family.edges, family.planes.d) != (edges, d):
            raise InputError(
                "family", f"one whose functions are {edges} cut(s) each on the lattice of HalfPlanes({d})",
                repr(family), f"give it the members of {Planar.__module__}.Planar, or run it by {self.runs[0]}",
            )  # fmt: skip

    def concept_of(self, chosen: Any) -> Array:
        """``uint32[5 rounds]``, or three times as many for triangles."""
        return self.concepts.of_cuts(chosen)

    def rows(self, x: Array) -> Array:
        """Elements of the coarse grid, ``int32[..., 2]``."""
        return self.concepts.domain.rounded(x)

    def hard_neighbors(self, rows: int) -> Pairs:
        """All rows alike, one moved or relabelled; and rows on both sides of a line, one of them relabelled."""
        checks.integer("rows", rows, 1)
        domain = self.concepts.domain
        values = [(0, 0) if i % 2 else (domain.d, domain.d) for i in range(rows)]
        labels = np.array([i % 2 for i in range(rows)])
        other = labels.copy()
        other[-1] = 1 - other[-1]
        sides = database(domain, values, labels), database(domain, values, other)
        return self.related([*super().hard_neighbors(rows), sides], rows)
