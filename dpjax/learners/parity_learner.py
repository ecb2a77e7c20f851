"""Learning k parities with a sample size independent of k: solve on subsamples, release the most frequent solution."""

from dataclasses import dataclass, field
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.packing import pack, unpack
from dpjax.concepts.parities import Parities
from dpjax.core import checks, keys
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.plans import STATIC, Count, Positive, Probability, Spends, bucket, down, plan_type, whole
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample, host_numbers, replace_one_only
from dpjax.learners.base import Learner
from dpjax.learners.gf2 import solve
from dpjax.learners.samples import Pairs, database, flipped_label_pairs
from dpjax.mechanisms.stability import release, stability_guarantee
from dpjax.theory import parities as theory


@plan_type
class ParityPlan:
    """epsilon, delta: of the one stability test. subsamples, rows: ``int32[]``, at most the static buffer sizes."""

    epsilon: Positive
    delta: Probability
    subsamples: Count
    rows: Count
    most_subsamples: int = field(metadata=STATIC)
    most_rows: int = field(metadata=STATIC)


@dataclass(frozen=True)
class ParityLearner(Learner):
    """Algorithm 4: m subsamples, each votes for the solution of its linear equations; a stable winner is released.

    Row i goes to subsample i mod m, which uses only its first ``rows`` rows. A subsample whose equations have no
    solution for some concept does not vote; free unknowns are 0. One vote covers all k concepts.

    Args:
      concepts: parities.
      subsamples, rows: m >= 1, and the maximum size of a subsample, >= 1; both given, or both None for those of
        `theory.parities.parity_learner`.

    Privacy: (epsilon, delta), replace-one, for every sample: a replaced row changes one vote.
    Utility: `theory.parities.success`, realizable, uniform examples; exact, so n does not depend on alpha.
    Reference: Bun, Nissim, Stemmer 2016, Algorithm 4 and Theorem 3.12, with the corrected constants of A_dist.
    """

    concepts: Parities
    subsamples: int | None = None
    rows: int | None = None
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    spends: ClassVar[Spends] = "approximate"
    exponent_of_k: ClassVar[float] = 0.0
    assumes: ClassVar[str] = "uniform examples"

    def __post_init__(self):
        checks.instance("concepts", self.concepts, Parities, "use KLN for other classes")
        replace_one_only(self.neighboring, "a row's number says which subsample it is in")
        if (self.subsamples is None) != (self.rows is None):
            raise InputError(
                "subsamples, rows", "both or none", f"{self.subsamples}, {self.rows}", "leave both to the planner"
            )
        if self.subsamples is not None:
            checks.integer("subsamples", self.subsamples, 1)
            checks.integer("rows", self.rows, 1)

    def for_concepts(self, k: int) -> "ParityLearner":
        """Returns the learner itself, which takes any number of label columns."""
        return self

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> ParityPlan:
        """All of the budget for one stability test; InputError if delta is 0."""
        epsilon, delta = down(float(privacy.epsilon)), down(float(privacy.delta))
        checks.delta(float(delta), positive_for="ParityLearner")
        m, rows = self._sizes(privacy, accuracy)
        if self.subsamples is not None:
            return ParityPlan(epsilon, delta, whole(m), whole(rows), m, rows)
        return ParityPlan(epsilon, delta, whole(m), whole(rows), bucket(m), self.concepts.dimension + theory.SPARE)

    def _learn(self, key: Array, sample: Sample, plan: ParityPlan) -> Hypothesis:
        """k parities, or abstain for all of them."""
        keys.require_typed(key)
        k = sample.y.shape[1]
        votes, valid = self.votes(sample, plan)
        winner, gap = lead(votes, valid)
        passed = release(gap, plan.epsilon, plan.delta, gap_sensitivity=2).sample(key) == 0
        released = passed & jnp.any(valid)
        solution = jnp.where(released, votes[winner], jnp.uint32(0))
        number = pack(unpack(solution, k).T)[:, ::-1]  # per concept; coordinate i is bit i % 32 of word i // 32
        number = jnp.pad(number, ((0, 0), (self.concepts.limbs - number.shape[1], 0)))
        outcome = jnp.where(released, jnp.int32(0), jnp.int32(-1))
        return Hypothesis(number, jnp.broadcast_to(~released, (k,)), jnp.broadcast_to(outcome, (k,)))

    def votes(self, sample: Sample, plan: ParityPlan) -> tuple[Array, Array]:
        """(k solutions of each subsample by coordinate, ``uint32[m, d, ceil(k / 32)]``; their existence, ``bool[m]``).

        m is the plan's buffer size: slots beyond the number of subsamples have no rows and no vote.
        """
        right = pack(sample.y & sample.mask[:, None])
        left = jnp.where(sample.mask[:, None], sample.x, jnp.uint32(0))
        by_word = lambda table: jnp.moveaxis(_dealt(table, plan), 2, 0)  # noqa: E731
        solution, valid, _ = solve(by_word(left), by_word(right), self.concepts.dimension)
        voting = jnp.arange(plan.most_subsamples, dtype=jnp.int32) < plan.subsamples
        return jnp.moveaxis(solution, 2, 0), valid & voting

    def _guarantee(self, plan: ParityPlan) -> Guarantee:
        """One stability test."""
        checks.integer("rows of all subsamples", plan.most_subsamples * plan.most_rows, 1, 2**31 - 1)  # as int32
        what = f"agreement of {int(plan.subsamples)} subsamples (A_dist)"
        return stability_guarantee(float(plan.epsilon), float(plan.delta), gap_sensitivity=2, what=what)

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """m times the rows of a subsample. Raises InputError if they are too few for this budget and beta."""
        m, rows = self._sizes(privacy, accuracy)
        if self.subsamples is not None:
            epsilon, delta, _, beta = host_numbers(privacy, accuracy)
            checks.delta(delta, positive_for="ParityLearner")
            probability = theory.success(m, rows, self.concepts.dimension, epsilon, delta)
            if probability < 1 - beta:
                expected = f"enough for success with probability {1 - beta:g}"
                advice = "leave them to the planner, or search for n"
                raise NoTheoremError("subsamples", expected, f"{probability:.3g}", advice)
        return m * rows

    def hard_neighbors(self, rows: int) -> Pairs:
        """Identical rows, one moved or relabeled; and votes for two solutions, tied or not, of which one vote flips.

        In the latter a subsample has one equation, x_1 = 1 or x_1 = 0, and its other rows are no constraint.
        """
        domain, most, pairs = self.concepts.domain, self.subsamples or rows, []
        voters = min(rows, most)
        values = [1] * voters + [0] * (rows - voters)
        for ones in sorted({min(voters, most * part // 4 + 1) for part in (2, 3)}):
            first = [1] * ones + [0] * (rows - ones)
            other = [1] * (ones - 1) + [0] * (rows - ones + 1)
            sample, neighbor = (database(domain, values, np.repeat([labels], 2, 0).T) for labels in (first, other))
            pairs.append((sample, neighbor))
        return flipped_label_pairs(domain, rows, 2) + pairs

    def _sizes(self, privacy: Privacy, accuracy: Accuracy) -> tuple[int, int]:
        if self.subsamples is not None and self.rows is not None:
            return self.subsamples, self.rows
        numbers = float(privacy.epsilon), float(privacy.delta), float(accuracy.beta)
        return theory.parity_learner(self.concepts.dimension, *numbers)


def _dealt(table: Array, plan: ParityPlan) -> Array:
    """``[most_rows, most_subsamples, ...]``: row r m + j is row r of subsample j; missing rows are zero."""
    subsample = jnp.arange(plan.most_subsamples, dtype=jnp.int32)
    number = jnp.arange(plan.most_rows, dtype=jnp.int32)[:, None]
    m = jnp.clip(plan.subsamples, 0, plan.most_subsamples)
    place = number * m + subsample
    there = (subsample < m) & (number < plan.rows) & (place < table.shape[0])
    return jnp.where(there[..., None], table[jnp.minimum(place, table.shape[0] - 1)], jnp.uint32(0))


def lead(votes: Array, valid: Array) -> tuple[Array, Array]:
    """(the first subsample with the most frequent vote, ``int32[]``; its lead over any other vote, ``int32[]``).

    Votes of ``valid`` subsamples are compared as whole vectors; without valid votes the lead is 0. One changed vote
    moves the lead of an unchanged winner by at most 2; if it changes the winner, both leads are at most 2.
    """
    by_word = votes.reshape(votes.shape[0], -1).T

    def agree(word, same):
        column = by_word[word]
        return same & (column[:, None] == column[None, :])

    same = jax.lax.fori_loop(0, by_word.shape[0], agree, valid[:, None] & valid[None, :])
    count = jnp.sum(same, axis=1, dtype=jnp.int32)
    index = jnp.arange(count.shape[0], dtype=jnp.int32)
    winner = jnp.min(jnp.where(count == jnp.max(count), index, count.shape[0]))
    rival = jnp.max(jnp.where(same[winner], 0, count))
    return winner, count[winner] - rival
