"""Runs of a pure private learner on fixed databases as a representation (Lemmas 8.4 and 8.5)."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.concepts.hypothesis import Hypothesis
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.learners.base import Learner, require_learner
from dpjax.learners.representations.base import Representation, errors_of_labels
from dpjax.theory import representations as theory

_MOST_PREDICTIONS = 1 << 28


@dataclass(frozen=True)
class LearnerRuns(Representation):
    """The outputs of ``runs`` runs of a pure private learner on each of the databases whose rows are all (x0, label).

    If a private learner needs few rows, its outputs on any database are a small representation: these databases do not
    depend on the data. x0 is element 0 of the domain, and there is a database for each label, or only the first if
    ``one_database``.

    Args:
      learner: (epsilon, 0)-private, of one concept. epsilon: > 0. rows: of each database, >= 1.
      alpha: the learner's error with probability 1/2 on ``rows`` rows, in (0, 1/4].
      runs: on each database; by default `theory.representations.runs_on_one_element`, or `runs_of_learner`.
      one_database: Lemma 8.4, an (alpha, 1/4)-representation, in place of Lemma 8.5, a (1/4, 1/8)-representation.

    Reference: Bun, Gaboardi, Sivakumar 2021, Lemmas 8.4 and 8.5; the default number of runs is our own.
    """

    learner: Learner
    epsilon: float
    rows: int
    alpha: float
    runs: int | None = None
    one_database: bool = False

    def __post_init__(self):
        require_learner(self.learner)
        if self.learner.spends == "approximate" or self.learner.number_of_concepts != 1:
            advice = "give KLN(concepts)"
            raise InputError("learner", "one of pure privacy and one concept", type(self.learner).__name__, advice)
        checks.epsilon(self.epsilon)
        checks.integer("rows", self.rows, 1, 1 << 20)
        checks.whole_or_none("runs", self.runs, 1)
        if not 0 < checks.number("alpha", self.alpha) <= 0.25:
            raise InputError("alpha", "a number in (0, 1/4]", repr(self.alpha), "the proof mixes at weight 4 alpha")

    @property
    def concepts(self) -> Any:
        """Those of the learner."""
        return self.learner.concepts

    @property
    def needed(self) -> int:
        """The number of runs on each database by the lemma."""
        if self.one_database:
            return theory.runs_of_learner(self.rows, self.epsilon)
        return theory.runs_on_one_element(self.rows, self.epsilon, self.alpha)

    @property
    def executions(self) -> int:
        """The number of runs on each database."""
        return self.needed if self.runs is None else self.runs

    @property
    def labels(self) -> int:
        """The number of databases."""
        return 1 if self.one_database else self.concepts.labels

    @property
    def count(self) -> int:
        """All runs."""
        return self.labels * self.executions

    def failure(self, near: float) -> float:
        """1/4 for errors of at least alpha from one database, 1/8 for errors of at least 1/4 from all; 1 below them,
        with fewer runs than the lemma has, and if the learner's sample size is larger than ``rows``."""
        bound = (self.alpha, 0.25) if self.one_database else (0.25, 0.125)
        enough = self.learner.sample_size(Privacy(self.epsilon), Accuracy(self.alpha, 0.5)) <= self.rows
        return bound[1] if near >= bound[0] and enough and self.executions >= self.needed else 1.0

    def draw(self, key: Array) -> Hypothesis:
        """All outputs, stacked."""
        plan: Any = self.learner.plan(Privacy(self.epsilon), Accuracy(self.alpha, 0.5), self.rows)
        x = jnp.zeros((self.rows, self.concepts.domain.limbs), jnp.uint32)
        real = jnp.ones(self.rows, bool)

        def run(label: Array, own: Array) -> Any:
            bits = (label >> jnp.arange(self.concepts.columns, dtype=jnp.int32) & 1) > 0
            sample = Sample(x, jnp.broadcast_to(bits, (self.rows, bits.shape[0])), real)
            return self.learner.learn(own, sample, plan)

        label = jnp.repeat(jnp.arange(self.labels, dtype=jnp.int32), self.executions)
        outputs = jax.vmap(run)(label, keys.per_index(key, self.count))
        return jax.tree.map(lambda part: part[:, 0], outputs)

    @property
    def most_rows(self) -> int:
        """For which all predictions fit."""
        return _MOST_PREDICTIONS // (self.count * self.concepts.columns)

    def errors(self, family: Hypothesis, sample: Sample) -> Array:
        """Errors of all outputs, by label, then run."""
        bits = self.concepts.columns
        checks.rows(sample.capacity, self.most_rows, f"{self.count} runs")
        predictions = self.learner.predict(family, sample.x)
        return errors_of_labels(predictions.reshape(sample.capacity, self.count, bits), sample)

    def member(self, family: Hypothesis, index: Array) -> Hypothesis:
        """One output."""
        return jax.tree.map(lambda part: part[index][None], family)
