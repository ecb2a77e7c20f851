"""Majorities of hypotheses of one class."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.concepts import outside
from dpjax.concepts.elements import elements, mass_of
from dpjax.concepts.hypothesis import Hypothesis, Rule
from dpjax.concepts.outside import Outside


@register_dataclass
@dataclass(frozen=True)
class Votes(Hypothesis, Outside):
    """k majorities of T hypotheses each: label 1 where more than T / 2 of the members predict 1, so a tie is 0.

    concept: the members' encodings, ``uint32[k, T x words]``. zero: ``bool[k]``; True if all members are the all-zero
      function. outcome: ``int32[k]``; -1 if all members abstained; one that abstained votes as it predicts.
    members: hypotheses of one concept, every array with leading axes ``[k, T, 1]``.
    """

    members: Any

    @staticmethod
    def of(members: Any) -> "Votes":
        """One majority of T hypotheses of one concept, stacked: every array is ``[T, 1, ...]``."""
        outcome = jnp.max(members.outcome).astype(jnp.int32)[None]
        concept, zero = members.concept.reshape(1, -1), jnp.all(members.zero)[None]
        return Votes(concept, zero, outcome, jax.tree.map(lambda part: part[None], members))

    def predict_in(self, concepts: Any, x: Array) -> Array:
        """``bool[..., k]``: the majority of the members' labels."""

        def of_one(members: Any) -> Array:
            labels = jax.vmap(lambda member: outside.predict(concepts, member, x)[..., 0])(members)
            return 2 * jnp.sum(labels, axis=0, dtype=jnp.int32) > labels.shape[0]

        return jnp.moveaxis(jax.vmap(of_one)(self.members), 0, -1)

    def error_in(self, concepts: Any, distribution: Any, target: Hypothesis) -> Array:
        """Mass of the disagreement, exactly, in units of the distribution: ``uint64[k]`` (64-bit types enabled).

        It lists the elements, so it needs a distribution of single elements, or a domain of at most 2**16 elements
        and a distribution that has ``mass_at``; InputError otherwise.
        """
        x, mass = elements(concepts.domain, distribution)
        return mass_of(outside.predict(concepts, self, x) != outside.predict(concepts, target, x), mass)

    def describe_in(self, concepts: Any, rule: Rule | None = None) -> list[str]:
        """The different members' sentences, the most frequent first, with their numbers of votes."""
        texts = []
        for j in range(len(np.asarray(self.outcome))):
            voters = jax.tree.map(lambda part, j=j: part[j], self.members)
            each = (jax.tree.map(lambda part, t=t: part[t], voters) for t in range(self._rounds))
            votes = Counter(said for member in each for said in outside.describe(concepts, member, rule))
            listed = "; ".join(f"{count} x [{said}]" for said, count in votes.most_common())
            texts.append(f"majority of {self._rounds}: {listed}" + " (no answer)" * (int(self.outcome[j]) < 0))
        return texts

    @property
    def _rounds(self) -> int:
        return self.members.outcome.shape[1]
