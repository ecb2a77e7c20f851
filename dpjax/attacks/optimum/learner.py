"""The best private learner of a tiny class, as a table that is looked up."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.attacks.optimum.best import Optimum, goal_of, optimum
from dpjax.attacks.optimum.cases import MOST_COLUMNS, Goal
from dpjax.attacks.optimum.certificate import LARGEST_EPSILON
from dpjax.attacks.optimum.databases import Databases
from dpjax.attacks.optimum.private_table import is_private
from dpjax.concepts.base import ConceptClass, require_class
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.core import checks
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.plans import STATIC, Claim, Spends, down, plan_type
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample, require_relation
from dpjax.laws import IntegerWeights
from dpjax.learners.base import OfColumns


@plan_type
class TablePlan:
    """weights: of each database's hypotheses, ``uint32[databases, h]``. claim: the budget. rows: n, static."""

    weights: Any
    claim: Claim
    rows: int = field(metadata=STATIC)


@dataclass(frozen=True)
class TableLearner(OfColumns):
    """The learner with the best worst-case success for databases of n rows: the solution of a linear program.

    `plan` solves the program (`optimum.optimum`) for a given epsilon, delta, alpha and n; `learn` counts the rows of
    each kind and draws a hypothesis by the whole numbers of this database's row in the table. Under REPLACE_ONE a
    database of another size gets the law of the first row of the table, whatever its rows; under ADD_OR_REMOVE_ONE a
    buffer for more than n rows is refused.

    Args:
      concepts: a `Finite` class, small enough for the program.
      k: label columns. proper: whether hypotheses are concepts of the class.
      rows: the n of the table; by default that of the plan. With other sizes the learner looks at no row.
      grid, rounds: the distributions for which it is best; see `optimum.optimum`.

    Privacy: (epsilon, delta), replace-one; add-or-remove-one for databases of at most n rows. Exact: the whole numbers
      are compared with rational bounds of e^epsilon.
    Utility: `Optimum.achieved` and `Optimum.everywhere` of `optimum.optimum`.
    Reference: our own; see `program`.
    """

    concepts: Any
    k: int = 1
    proper: bool = False
    rows: int | None = None
    grid: int = 4
    rounds: int = 20
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    spends: ClassVar[Spends] = "approximate"

    def __post_init__(self):
        require_class(self.concepts, ConceptClass.of_labels, "Finite.of(matrix)")
        checks.integer("k", self.k, 1, MOST_COLUMNS)
        checks.whole_or_none("rows", self.rows, 1)
        require_relation(self.neighboring)

    def goal(self, alpha: float) -> Goal:
        """What it is best for."""
        return goal_of(self.concepts.matrix(), alpha, k=self.k, proper=self.proper)

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> TablePlan:
        """Solves the program for n rows and epsilon at most 16; InputError without n, and for too large a program."""
        n = n if self.rows is None else self.rows
        if n is None or n < 1:
            advice = "a study makes a plan without n: write TableLearner(rows=4); elsewhere give plan its n"
            raise InputError("rows", "the number of rows of the table, at least 1", str(n), advice)
        numbers = down(min(float(privacy.epsilon), LARGEST_EPSILON)), down(float(privacy.delta))
        solved = _solved(self, float(numbers[0]), float(numbers[1]), float(accuracy.alpha), n)
        return TablePlan(solved.table, Claim(*numbers), n)

    def _learn(self, key: Array, sample: Sample, plan: TablePlan) -> Hypothesis:
        """One hypothesis for each column."""
        self.check_columns(sample)
        goal = self.goal(0.5)
        databases = Databases(plan.rows, goal.cells, self.neighboring)
        added = databases.kinds - databases.cells
        if added and sample.capacity > plan.rows:
            actual = f"{sample.capacity} rows"
            advice = "the plan's n is the largest size under ADD_OR_REMOVE_ONE: give a smaller buffer or a larger n"
            raise InputError("capacity", f"at most {plan.rows}", actual, advice)
        labels = jnp.sum(sample.y.astype(jnp.int32) << jnp.arange(self.k, dtype=jnp.int32), axis=1)
        cell = (sample.x[:, -1].astype(jnp.int32) << self.k) + labels
        present = (cell[:, None] == jnp.arange(databases.cells, dtype=jnp.int32)) & sample.mask[:, None]
        counts = jnp.sum(present, axis=0, dtype=jnp.int32)
        if added:
            counts = jnp.append(counts, plan.rows - sample.size)
        rest = jnp.cumsum(counts[::-1], dtype=jnp.int32)[::-1]
        after = jnp.append(rest[1:], jnp.int32(0))
        ranks, kind = jnp.asarray(databases.ranks, jnp.int32), jnp.arange(databases.kinds, dtype=jnp.int32)
        rest, after = (jnp.clip(part, 0, plan.rows) for part in (rest, after))
        place = jnp.sum(ranks[kind, rest] - ranks[kind, after], dtype=jnp.int32)
        row = jnp.asarray(plan.weights)[jnp.where(jnp.sum(counts, dtype=jnp.int32) == plan.rows, place, 0)]
        chosen = IntegerWeights(row).sample(key)
        functions = jnp.asarray(goal.functions[goal.hypotheses], bool)
        return self.concepts.of_labels(functions[chosen], jnp.zeros(self.k, jnp.int32))

    def _guarantee(self, plan: TablePlan) -> Guarantee:
        """The plan's budget, after an exact comparison of all weights of neighbors."""
        databases = Databases(plan.rows, self.goal(0.5).cells, self.neighboring)
        epsilon, delta = float(plan.claim.epsilon), float(plan.claim.delta)
        expected = databases.size, self.goal(0.5).sizes[0]
        if np.shape(plan.weights) != expected or not is_private(np.asarray(plan.weights), databases, epsilon, delta):
            actual = f"weights {np.shape(plan.weights)} that spend more"
            raise InputError("plan", f"weights {expected} within its claim", actual, "make it with TableLearner.plan")
        sizes = "at most " * (databases.kinds > databases.cells) + f"{plan.rows} rows"
        what = f"table of the laws of all databases of {sizes}"
        return Guarantee(epsilon, delta, self.neighboring, what, "whole-number weights, compared exactly")

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """No theorem: its n is found by solving the program for each n."""
        advice = "solve it for growing n: dpjax optimum"
        raise NoTheoremError("n", "a learner with a theorem", "the best learner of a program", advice)


@lru_cache(64)
def _solved(learner: TableLearner, epsilon: float, delta: float, alpha: float, n: int) -> Optimum:
    return optimum(
        learner.goal(alpha),
        n,
        Privacy(epsilon, delta),
        neighboring=learner.neighboring,
        grid=learner.grid,
        rounds=learner.rounds,
        everywhere=False,
    )
