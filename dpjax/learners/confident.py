"""Confidence boosting: a learner that often succeeds, on several blocks, and a private choice among its hypotheses."""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.accounting.composition import parallel
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.zcdp import exponential_guarantee
from dpjax.concepts.base import ConceptClass
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.plans import STATIC, Count, Positive, Spends, bucket, down, plan_type, whole
from dpjax.core.types import Accuracy, Privacy, Sample, replace_one_only
from dpjax.learners.base import Learner, require_learner
from dpjax.learners.samples import single_column
from dpjax.mechanisms.exponential import effective_epsilon, exponential
from dpjax.theory import boosting as theory


@plan_type
class ConfidentPlan:
    """one: the learner's plan, for a block. epsilon: of the choice, ``float32[]``.

    rows: of a block, ``int32[]``. blocks: their number K. most: buffer size of a block, >= rows.
    """

    one: Any
    epsilon: Positive
    rows: Count
    blocks: int = field(metadata=STATIC)
    most: int = field(metadata=STATIC)


@dataclass(frozen=True)
class Confident(Learner):
    """Runs a learner on K disjoint blocks of rows, and chooses a hypothesis by its errors on the rows behind them.

    Blocks are positions: rows 0..b-1, b..2b-1, and so on. Each row is read once, so the whole costs what one part does.

    Args:
      learner: any private learner of one binary concept under REPLACE_ONE.
      failure: in (0, 1), the learner's own probability of failure on a block. ratio: in (0, 1), its error on a block
        relative to alpha. blocks: K, static; by default the theorem's.

    Privacy: (epsilon, delta), replace-one, for every sample, if the learner is: by parallel composition. (The
      reference states 2 epsilon.)
    Utility: error at most alpha with probability 1 - beta from `sample_size` on, for a learner with error ratio x alpha
      and failure probability ``failure``: `theory.boosting.blocks` and `theory.boosting.fresh_rows`.
    Reference: Bun, Gaboardi, Sivakumar 2021, proof of Theorem A.1; the constants are our own.
    """

    learner: Learner
    failure: float = 0.25
    ratio: float = 0.75
    blocks: int | None = None

    def __post_init__(self):
        require_learner(self.learner)
        checks.probability("failure", self.failure)
        checks.probability("ratio", self.ratio)
        checks.whole_or_none("blocks", self.blocks, 1, 2**10)
        if (k := self.learner.number_of_concepts * self.learner.concepts.columns) != 1:
            advice = "wrap the result: Independent(Confident(...), k)"
            raise InputError("learner", "a learner of one binary concept", f"one of {k} label columns", advice)
        replace_one_only(self.learner.neighboring, "rows are assigned to blocks by their position")

    @property
    def concepts(self) -> ConceptClass:
        """The class of the learner."""
        return self.learner.concepts

    @property
    def assumes(self) -> str:
        """What the learner assumes; blocks have the distribution of all rows."""
        return self.learner.assumes

    @property
    def proper(self) -> bool:
        """Whether the learner is proper: one of its hypotheses is returned."""
        return self.learner.proper

    @property
    def spends(self) -> Spends:
        """Approximate if the learner is, else pure."""
        return "approximate" if self.learner.spends == "approximate" else "pure"

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> ConfidentPlan:
        """All of the budget for the learner, and all of epsilon for the choice; n rows are split as the theorem's, or
        equally if it has none."""
        try:
            count, block_rows, fresh = self._sizes(privacy, accuracy)
        except InputError:  # no theorem for the learner's numbers: the choice gets as many rows as a block
            if n is None:
                raise
            count, block_rows, fresh = self._count(accuracy), 1, 1
        if n is not None:
            block_rows = max(1, n * block_rows // (count * block_rows + fresh))
        if (most := count * bucket(block_rows)) >= 2**31:
            raise InputError("n", "fewer than 2^31 rows in all blocks", str(most), "take fewer rows, or fewer blocks")
        block_plan = self.learner.plan(privacy, self._of_block(accuracy), block_rows)
        return ConfidentPlan(block_plan, down(float(privacy.epsilon)), whole(block_rows), count, bucket(block_rows))

    def _learn(self, key: Array, sample: Sample, plan: ConfidentPlan) -> Any:
        """One of the K hypotheses."""
        labels = single_column(sample, "Confident")
        of_blocks, of_choice = keys.streams(key, "blocks", "choice")
        place = jnp.arange(plan.most, dtype=jnp.int32)
        row = jnp.arange(plan.blocks, dtype=jnp.int32)[:, None] * plan.rows + place
        there = (place < plan.rows) & (row < sample.capacity)
        row = jnp.minimum(row, sample.capacity - 1)
        block = Sample(sample.x[row], sample.y[row], there & sample.mask[row])
        block_keys = keys.per_index(of_blocks, plan.blocks)
        hypotheses = jax.vmap(self.learner.learn, (0, 0, None))(block_keys, block, plan.one)
        fresh = sample.mask & (jnp.arange(sample.capacity, dtype=jnp.int32) >= plan.blocks * plan.rows)

        def errors(hypothesis: Any) -> Array:
            wrong = self.learner.predict(hypothesis, sample.x)[:, 0] != labels
            return jnp.sum(wrong & fresh, dtype=jnp.int32)

        chosen = exponential(-jax.vmap(errors)(hypotheses), plan.epsilon).sample(of_choice)
        return jax.tree.map(lambda part: part[chosen], hypotheses)

    def _guarantee(self, plan: ConfidentPlan) -> Guarantee | None:
        """Parallel composition of the K blocks and the choice; None if the learner is not private."""
        checks.integer("rows of the plan", int(plan.rows), 0, plan.most)
        checks.integer("rows of all blocks", plan.blocks * plan.most, 1, 2**31 - 1)  # their numbers are int32
        base = self.learner.guarantee(plan.one)
        if base is None:
            return None
        choice = exponential_guarantee(float(plan.epsilon), f"one of {plan.blocks} hypotheses", self.neighboring)
        return parallel([base, choice], "index", f"{plan.blocks} blocks, and a choice on other rows")

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """K times the learner's sample size at the accuracy of a block, and the rows of the choice."""
        count, block_rows, fresh = self._sizes(privacy, accuracy)
        return count * block_rows + fresh

    def _count(self, accuracy: Accuracy) -> int:
        return theory.blocks(float(accuracy.beta), self.failure) if self.blocks is None else self.blocks

    def _of_block(self, accuracy: Accuracy) -> Accuracy:
        return Accuracy(self.ratio * float(accuracy.alpha), self.failure)

    def _sizes(self, privacy: Privacy, accuracy: Accuracy) -> tuple[int, int, int]:
        """(K, rows of a block, rows of the choice)."""
        epsilon, alpha, beta = effective_epsilon(privacy.epsilon), float(accuracy.alpha), float(accuracy.beta)
        count = self._count(accuracy)
        block_rows = self.learner.sample_size(privacy, self._of_block(accuracy))
        return count, block_rows, theory.fresh_rows(count, self.ratio * alpha, alpha, epsilon, beta)
