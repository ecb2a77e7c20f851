"""Base classes of the learners by private set cover: rounds, plans, guarantees and pairs of neighbors."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.core import checks
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.plans import Spends
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners.base import Learner
from dpjax.learners.samples import Pairs, database, single_column
from dpjax.mechanisms.cover.family import Family
from dpjax.mechanisms.cover.lines.cuts import LARGEST
from dpjax.mechanisms.cover.lines.halfplanes import Planar
from dpjax.mechanisms.cover.lines.measures import Grid
from dpjax.mechanisms.cover.plan import CoverPlan, cover_guarantee, cover_plan
from dpjax.mechanisms.cover.rounds import set_cover
from dpjax.theory import set_cover as theory

_USUAL_ALPHA = 0.1


class Covering(Learner, ABC):
    """Base of frozen dataclasses with these fields; a subclass defines the examples and the covering family.

    Args:
      rounds: number of rounds; None if the planner chooses it.
      noisy: use noisy counts instead of exact ones. Neither are published.
    """

    concepts: Any
    rounds: int | None
    neighboring: Neighboring
    noisy: bool
    what: ClassVar[str]
    """Format string that names the covering family, filled with the concepts."""
    spends: ClassVar[Spends] = "approximate"
    runs: ClassVar[tuple[str, ...]] = ("dpjax.mechanisms.cover.set_cover", "dpjax.mechanisms.cover.cover_guarantee")

    @property
    @abstractmethod
    def members(self) -> int:
        """k in the score: the largest number of members of the family in a target of the theorem."""

    @property
    @abstractmethod
    def functions(self) -> Any:
        """The base family of the exponential mechanism."""

    @abstractmethod
    def concept_of(self, chosen: Any) -> Array:
        """The encoded concept for the selected functions."""

    @property
    def cost(self) -> tuple[float, float]:
        """``functions`` and ``missed`` of `theory.set_cover.realizable`: without more, for every distribution."""
        return float(self.functions.size), 0.0

    @property
    def likely_rounds(self) -> int:
        """The number of rounds, or the planner's number for alpha = 0.1."""
        return self.rounds or theory.rounds_for(self.members, _USUAL_ALPHA)

    @property
    def variant(self) -> str:
        """The rule of `cover_plan`."""
        return "hidden" if self.noisy else "noise_free"

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> CoverPlan:
        """`theory.set_cover.rounds_for` rounds, unless given, and the largest coefficient that the budget allows.

        The rounds depend on alpha only, so a sweep over epsilon or delta compiles one program; n is not used.
        """
        rounds = theory.rounds_for(self.members, float(accuracy.alpha)) if self.rounds is None else self.rounds
        return cover_plan(privacy, rounds, self.members, self.neighboring, self.variant, self.offset(rounds, accuracy))

    def offset(self, rounds: int, accuracy: Accuracy) -> float:
        """The offset subtracted from noisy counts, in scales of the noise."""
        return 0.5

    def _learn(self, key: Array, sample: Sample, plan: CoverPlan) -> Hypothesis:
        """One concept, encoded with one function per round; an empty sample gives random functions."""
        label = single_column(sample, type(self).__name__)
        target, other = sample.mask & (label == self.concepts.label), sample.mask & (label != self.concepts.label)
        chosen, _ = set_cover(key, self.functions, self.rows(sample.x), target, other, plan)
        return Hypothesis.of(self.concept_of(chosen)[None])

    def rows(self, x: Array) -> Array:
        """The elements in the encoding that the family expects."""
        return x

    def _guarantee(self, plan: CoverPlan) -> Guarantee:
        """The guarantee of all rounds together, with the cost of one round below it; counts are not published."""
        what = f"set cover, {plan.rounds} {self.what.format(self.concepts)}"
        return cover_guarantee(plan, self.neighboring, what, published=False)

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.set_cover.realizable` with the plan's numbers; NoTheoremError if there are too few rounds."""
        plan = self.plan(privacy, accuracy)
        return self.theorem(plan, accuracy)

    def theorem(self, plan: CoverPlan, accuracy: Accuracy) -> int:
        """`theory.set_cover.realizable` with the numbers of a plan."""
        (functions, missed), alpha, beta = self.cost, float(accuracy.alpha), float(accuracy.beta)
        coefficient, scale, offset = float(plan.coefficient), float(plan.scale), float(plan.offset)
        numbers = coefficient, alpha, beta, scale, offset, missed
        return theory.realizable(functions, plan.k, plan.rounds, *numbers, plan.scoring.nats)

    def related(self, pairs: Pairs, rows: int) -> Pairs:
        """Pairs that differ in the last of ``rows`` rows; under ADD_OR_REMOVE_ONE that row is removed instead."""
        if self.neighboring is Neighboring.REPLACE_ONE:
            return pairs
        present = jnp.arange(rows) < rows - 1
        return [(sample, Sample(sample.x, sample.y, present)) for pair in pairs for sample in pair]


class CoveringPlane(Covering):
    """Base of set cover over a grid with families of halfplanes or triangles; ``family`` replaces the default one."""

    k: int | None
    family: Family | None
    targets: ClassVar[str]
    """What targets are made of, in the plural."""

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`Covering.sample_size`; NoTheoremError for a family that is not ``complete``, see `Planar`."""
        self.require_complete()
        return super()._sample_size(privacy, accuracy)

    @property
    def passes(self) -> int:
        """Those of all rounds."""
        return self.functions.passes * self.likely_rounds

    def require_complete(self) -> None:
        """NoTheoremError for a family without the pieces of every target: rows may all lie where its lines miss."""
        if not self.functions.complete:
            expected = f"a complete one, with a member for each way in which {self.targets} divide the rows"
            advice = "measure its error, or search for n: on rows that are all beside an edge it may err at any n"
            raise NoTheoremError("family", expected, repr(self.functions), advice)

    def most_rows(self, plan: CoverPlan) -> int:
        """Those of the family."""
        return self.functions.most_rows

    def theorem(self, plan: CoverPlan, accuracy: Accuracy) -> int:
        """`Covering.theorem` at the coefficient that runs: families of cuts clip it."""
        runs = min(plan.coefficient, np.float32(LARGEST))
        return super().theorem(replace(plan, coefficient=runs), accuracy)

    def check(self, kind: type, edges: int, usual: bool = True, names: str = "") -> None:
        """Validates the concepts, the positive integers, and a given family: ``edges`` cuts, no other sizes."""
        checks.instance("concepts", self.concepts, kind, "use another learner for other classes")
        checks.whole_or_none("rounds", self.rounds, 1)
        checks.whole_or_none("k", self.k, 1)
        if self.family is not None and not usual:
            raise InputError("family", f"no {names} beside it", "both", "set it in the family")
        family, grid = self.functions, Grid.fine(self.concepts.d)
        if not isinstance(family, Planar) or (family.edges, family.planes.grid) != (edges, grid):
            expected = f"one whose functions are {edges} cut(s) each on the lattice of HalfPlanes({grid.d})"
            advice = f"inherit from {Planar.__module__}.Planar, or run it by {self.runs[0]}"
            raise InputError("family", expected, repr(family), advice)

    def concept_of(self, chosen: Any) -> Array:
        """``uint32[words rounds]``."""
        return self.concepts.of_cuts(chosen)

    def hard_neighbors(self, rows: int) -> Pairs:
        """Identical rows, one moved or relabeled; and rows on both sides of a line, one of them relabeled."""
        checks.integer("rows", rows, 1)
        domain = self.concepts.domain
        values = [(0, 0) if i % 2 else (domain.d, domain.d) for i in range(rows)]
        labels = np.array([i % 2 for i in range(rows)])
        other = labels.copy()
        other[-1] = 1 - other[-1]
        sides = database(domain, values, labels), database(domain, values, other)
        return self.related([*super().hard_neighbors(rows), sides], rows)
