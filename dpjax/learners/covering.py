"""What the learners by private set cover share: the budget of all rounds, what it promises, pairs that stress it."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.cover.table import CoverTable
from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.plane import Plane
from dpjax.core import checks
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample, at_most
from dpjax.learners.base import database, flipped_label_pairs
from dpjax.mechanisms.cover.coefficient import CoverBudget, coefficient_at, cover_guarantee
from dpjax.theory import set_cover as theory

Pairs = list[tuple[Sample, Sample]]


class Covering:
    """Base of frozen dataclasses with ``concepts`` and a ``table``, in which rounds, k and the relation are."""

    concepts: Any
    table: CoverTable

    @property
    def neighboring(self) -> Neighboring:
        """The relation of the table."""
        return self.table.neighboring

    def budget(self, privacy: Privacy) -> CoverBudget:
        """The numbers of all rounds, traced."""
        return coefficient_at(self.table, privacy)

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[..., 1]``."""
        return self.concepts.predict(hypothesis, x)

    def promised(self, privacy: Privacy, what: str) -> Guarantee:
        """All rounds together, over what one spends; ``what`` is covered with."""
        epsilon, delta = checks.epsilon(float(privacy.epsilon)), checks.delta(float(privacy.delta))
        return cover_guarantee(self.table, epsilon, delta, f"set cover, {self.table.rounds} {what}")

    def rows_needed(self, privacy: Privacy, accuracy: Accuracy, functions: float, log_hypotheses: float) -> int:
        """`theory.set_cover.realizable` with the numbers of a program; InputError where the rounds are too few."""
        epsilon, delta = checks.epsilon(float(privacy.epsilon)), checks.delta(float(privacy.delta))
        traced = _as_in_programs(self, Privacy(at_most(epsilon), at_most(delta)))
        coefficient, scale, offset = (float(number) for number in traced)
        return theory.realizable(
            functions, log_hypotheses, self.table.k, self.table.rounds, coefficient, float(accuracy.alpha),
            float(accuracy.beta), scale, offset,
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


_as_in_programs = jax.jit(lambda learner, privacy: learner.budget(privacy), static_argnums=0)
