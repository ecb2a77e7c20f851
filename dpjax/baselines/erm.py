"""Empirical risk minimization, the non-private baseline."""

from dataclasses import dataclass
from math import log
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.concepts.base import ConceptClass, every_cover, require_class
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.plans import Spends
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample, host_numbers
from dpjax.learners.base import Learner
from dpjax.theory import erm as theory
from dpjax.theory import generalization
from dpjax.theory.search import smallest


@dataclass(frozen=True)
class ERM(Learner):
    """The first concept of the first cell with the fewest errors, for each of k columns. Proper, agnostic. NOT private.

    Privacy: none.
    Utility: for k concepts from `sample_size_of` rows, a number that stops growing with k where labels are right, and
      agnostic ones from `agnostic_sample_size_of`, which grows with ln k.
    Reference: Vapnik and Chervonenkis 1971; Blumer, Ehrenfeucht, Haussler, Warmuth 1989; Bun, Nissim, Stemmer 2016,
      Definition 2.6 and Corollary 2.12; Kaplan, Mansour, Matias, Stemmer 2019, Definition 2.4.
    """

    concepts: ConceptClass
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    spends: ClassVar[Spends] = "approximate"  # there is no privacy, see `Learner.spends`
    proper: ClassVar[bool] = True
    exponent_of_k: ClassVar[float] = 0.0
    own_points: ClassVar[bool] = True

    def __post_init__(self):
        require_class(self.concepts, ConceptClass.pieces)

    def for_concepts(self, k: int) -> "ERM":
        """Returns the learner itself, which takes any number of label columns."""
        return self

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> None:
        """None: there are no numbers to plan."""
        return None

    def _learn(self, key: Array, sample: Sample, plan: None) -> Hypothesis:
        """k concepts; the key is not used."""
        keys.require_typed(key)

        def one(x: Array, column: Array) -> Array:
            pieces = self.concepts.pieces(x, column, sample.mask)
            errors = jnp.where(pieces.alive, pieces.errors, jnp.iinfo(jnp.int32).max)
            index = jnp.arange(errors.shape[0], dtype=jnp.int32)
            best = jnp.min(jnp.where(errors == jnp.min(errors), index, errors.shape[0]))
            with jax.enable_x64(True):
                return pieces.numbers.number(pieces.element(best, pieces.numbers.constant(0)))

        by_concept = sample.x.ndim == 3
        y, columns = sample.y, self.concepts.columns
        if columns > 1:
            if y.shape[1] % columns:
                actual = f"{y.shape[1]} columns"
                raise InputError("labels", f"{columns} columns for each concept, the bits", actual, "give all bits")
            y = y.reshape(sample.capacity, -1, columns)
        return Hypothesis.of(jax.vmap(one, in_axes=(1 if by_concept else None, 1))(sample.x, y))

    def _guarantee(self, plan: None) -> None:
        """None: there is no privacy."""
        return None

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`sample_size_of` for one concept."""
        return self.sample_size_of(1, privacy, accuracy)

    def _agnostic_sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`agnostic_sample_size_of` for one concept."""
        return self.agnostic_sample_size_of(1, privacy, accuracy)

    def sample_size_of(self, k: int, privacy: Privacy, accuracy: Accuracy) -> int:
        """The least of three bounds: of bad concepts in k columns by covers (`theory.erm.rows`); of all
        pairs of concepts, for any number of columns, by the class's `agreement` and by `theory.generalization`."""
        _, _, alpha, beta = host_numbers(privacy, accuracy)
        concepts, k = self.concepts, checks.integer("k", k, 1)
        if concepts.size == 1:
            return 1

        def pairs(n: int) -> bool:
            general = generalization.agreement(concepts.size, concepts.growth, alpha, n)
            return min(general, concepts.agreement(alpha, n)) <= log(beta)

        return min(theory.rows(every_cover(concepts, alpha, False), k, alpha, beta), smallest(pairs))

    def agnostic_sample_size_of(self, k: int, privacy: Privacy, accuracy: Accuracy) -> int:
        """The less of two bounds: by covers (`theory.erm.rows`), and deviations of all errors by alpha/2, by
        `theory.generalization.agnostic`."""
        _, _, alpha, beta = host_numbers(privacy, accuracy)
        concepts, k = self.concepts, checks.integer("k", k, 1)
        if concepts.size == 1:
            return 1
        cuts = generalization.agnostic(lambda n: log(concepts.growth(2 * n)), k, alpha / 2, beta)
        return min(theory.rows(every_cover(concepts, alpha, True), k, alpha, beta, True), cuts)
