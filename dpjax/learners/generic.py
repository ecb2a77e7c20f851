"""GenericLearner: sanitize the points once, then choose k concepts among the dichotomies of the synthetic points."""

from dataclasses import dataclass
from functools import lru_cache
from math import inf, sqrt
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.accounting.composition import basic
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.splits import COMPOSITIONS, composed, split
from dpjax.accounting.zcdp import exponential_guarantee, rho_of, zcdp, zcdp_rho
from dpjax.concepts.base import ConceptClass, require_class
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.core import checks, keys
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.members import implements
from dpjax.core.plans import Positive, Slack, Spends, down, plan_type
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample, host_numbers, replace_one_only
from dpjax.learners.base import OfColumns
from dpjax.learners.column_errors import MOST_ROWS, column_errors
from dpjax.mechanisms.exponential import effective_epsilon, exponential
from dpjax.sanitizers.base import Sanitizer
from dpjax.theory import generic as theory

JOINT = "joint"
_SHARES = tuple(i / 20 for i in range(2, 20))
_QUERIES, _FAILURE = 0.45, 0.25  # of alpha and of beta, for a sanitizer with ``unseen``


@plan_type
class GenericPlan:
    """sanitizer: its plan. epsilon: of one choice, ``float32[]``. slack: total delta of the choices, ``float32[]``;
    if joint, of everything."""

    sanitizer: Any
    epsilon: Positive
    slack: Slack


class Parts(NamedTuple):
    """The sanitizer's parts: share of epsilon, queries of alpha (for a symmetric difference), failure of beta."""

    share: float
    queries: float
    failure: float


Numbers = tuple[float, float, float, float]
"""epsilon, delta, alpha, beta."""


@dataclass(frozen=True)
class GenericLearner(OfColumns):
    """Algorithm 2: a synthetic database B of the points, one concept for each dichotomy of B, and for each of the k
    columns an exponential mechanism over these concepts. Proper and agnostic.

    Args:
      concepts: a class with ``dichotomies``: points, thresholds, a matrix, a tree (of VC dimension 1).
      k: static number of concepts, >= 1.
      sanitizer: of the points. For a matrix class one of counting queries (`BLR`, `MWEM`), which should answer all
        queries in `Finite.xor`; for thresholds and trees one of thresholds, for points one of points or thresholds. The
        elements of a tree are its nodes: ``bits`` are those of ``concepts.line.size``. Its free
        arguments are planned for a symmetric difference of .45 alpha (alpha / 4 for a sanitizer without ``unseen``).
      composition: of the k choices, as in `Independent`, or "joint" for zCDP of the sanitizer, which has to be pure,
        and the choices together: for many concepts the sanitizer then costs little.
      share: static; the sanitizer's fraction of epsilon, in (0, 1), by default the one that needs the fewest rows (1/2
        for a sanitizer without ``unseen``, see `sanitizers.base.Sanitizer`).

    The sanitizer gets all of delta if the choices use none, half of it if they do, and none if it is pure.

    Privacy: (epsilon, delta), replace-one, for every sample: the sanitizer and k exponential mechanisms over concepts
      that its output determines.
    Utility: `theory.generic.rows` with the class's ``covers`` (`ConceptClass.covers`), by default all its concepts.
      The domain is paid for once, the choices grow with sqrt(k). No private learner is flat in k on a long chain:
      k thresholds of a known order trace whom they are learned from, so they need about k^(1/3) rows
      (`attacks.BonehShaw`, docs/gallery/one-tree.md). Where labels are right `StableNodes` is flat in k and pays for
      the height in its place.
    Reference: Bun, Nissim, Stemmer 2016, Algorithm 2, Theorems 1.1 and 2.23, Lemmas 3.6 and 3.7, Corollaries 3.9 and
      3.10; trees (docs/proofs/one-tree.md) and constants are our own.
    """

    concepts: Any
    k: int
    sanitizer: Sanitizer
    composition: str = "basic"
    share: float | None = None
    neighboring: Neighboring = Neighboring.REPLACE_ONE

    def __post_init__(self):
        checks.integer("k", self.k, 1)
        checks.choice("composition", self.composition, (*COMPOSITIONS, JOINT))
        if self.share is not None:
            checks.probability("share", self.share)
        require_class(self.concepts, ConceptClass.dichotomies)
        replace_one_only(self.neighboring, "its guarantee is for databases of one public size")
        advice = "build one, such as PointCounts(domain); a new kind inherits from dpjax.sanitizers.Sanitizer"
        checks.instance("sanitizer", self.sanitizer, Sanitizer, advice)
        if self.sanitizer.neighboring is not self.neighboring:
            raise InputError(
                "sanitizer", f"one for {self.neighboring.value}", self.sanitizer.neighboring.value, "take another one"
            )
        if self.composition == JOINT and self.sanitizer.spends == "approximate":
            raise InputError("sanitizer", "a pure one", type(self.sanitizer).__name__, 'take composition="zcdp"')
        bits = max(1, (self.concepts.line.size - 1).bit_length())
        if self.sanitizer.bits != bits:
            raise InputError(
                "sanitizer", f"one of values of {bits} bits", f"{self.sanitizer.bits}", "make it for the domain"
            )
        self.sanitizer.parts_of_a_difference(self.concepts)

    @property
    def compositions(self) -> tuple[str, ...]:
        """What ``composition`` can be."""
        return COMPOSITIONS if self.sanitizer.spends == "approximate" else (*COMPOSITIONS, JOINT)

    @property
    def spends(self) -> Spends:
        """Pure if both the sanitizer and the composition are pure."""
        return "approximate" if self._choices_use_delta() or self.sanitizer.spends == "approximate" else "pure"

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> GenericPlan:
        """The sanitizer's plan at its part of the budget, and the choices' budget from the rest."""
        numbers = host_numbers(privacy, accuracy)
        return self._at(numbers, self._split(*numbers))

    def _learn(self, key: Array, sample: Sample, plan: GenericPlan) -> Hypothesis:
        """k concepts; an empty sample gives random concepts."""
        self.check_columns(sample)
        of_points, of_columns = keys.streams(key, "sanitize", "columns")
        synthetic = self.sanitizer.sanitize(of_points, self.concepts.on_line(sample.x), sample.mask, plan.sanitizer)
        number, exists = self.concepts.dichotomies(synthetic.points, synthetic.listed)
        errors = column_errors(self.concepts.predict(Hypothesis.of(number), sample.x), sample)

        def choose(own: Array, column: Array) -> Array:
            return exponential(-column, plan.epsilon, where=exists).sample(own)

        chosen = jax.vmap(choose)(keys.per_index(of_columns, self.k), errors)
        return Hypothesis.of(number[jnp.maximum(chosen, 0)])

    def most_rows(self, plan: GenericPlan) -> int:
        """Up to which the errors and the sanitizer's counts are exact."""
        return min(MOST_ROWS, self.sanitizer.most_rows(plan.sanitizer))

    def _guarantee(self, plan: GenericPlan) -> Guarantee:
        """The composition of the sanitizer and the k choices."""
        part, slack = exponential_guarantee(float(plan.epsilon), "a concept of each column"), float(plan.slack)
        of_choices = "basic" if self.composition == JOINT else self.composition
        columns = composed(part, self.k, slack, of_choices, f"{self.k} concepts")
        parts = self.sanitizer.guarantee(plan.sanitizer), columns
        if self.composition == JOINT and slack > 0:
            return zcdp(parts, slack, what="GenericLearner")
        return basic(parts, "GenericLearner")

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.generic.rows`, realizable, for the plan's numbers.

        NoTheoremError if the sanitizer's own numbers are too few for alpha, or its queries lack symmetric differences.
        """
        return self._planned_rows(privacy, accuracy, False)

    def _agnostic_sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.generic.rows`, agnostic: the error exceeds the best concept's by at most alpha."""
        return self._planned_rows(privacy, accuracy, True)

    def _planned_rows(self, privacy: Privacy, accuracy: Accuracy, agnostic: bool) -> int:
        if not self.sanitizer.answers_differences(self.concepts):
            expected = "one whose queries hold all symmetric differences of concepts"
            advice = "make it with queries = concepts.xor(), or search for n"
            raise NoTheoremError("sanitizer", expected, "others", advice)
        numbers = host_numbers(privacy, accuracy)
        return self._rows(numbers, self._split(*numbers), agnostic)

    def _at(self, numbers: Numbers, parts: Parts) -> GenericPlan:
        """The plan for a split; the choices get what the sanitizer leaves of the budget."""
        epsilon, delta = numbers[:2]
        of_sanitizer = self.sanitizer.plan(*self._of_sanitizer(numbers, parts))
        spent = self.sanitizer.guarantee(of_sanitizer)
        left = (epsilon - spent.epsilon) * (1 - 1e-14), max(0.0, delta - spent.delta) * (1 - 1e-14)
        joint = self.composition == JOINT
        part = split(left[0], left[1], self.k, "basic" if joint else self.composition, "bounded range")
        slack = down(delta)
        if joint and float(slack) > 0:
            rho = zcdp_rho(epsilon, float(slack)) * (1 - 1e-14) - rho_of(spent)
            if rho > 0 and (most := sqrt(8 * rho / self.k) * (1 - 1e-14)) > part.epsilon:
                return GenericPlan(of_sanitizer, down(most), slack)
        return GenericPlan(of_sanitizer, down(part.epsilon), down(part.slack))

    def _rows(self, numbers: Numbers, parts: Parts, agnostic: bool) -> int:
        (_, _, alpha, beta), plan = numbers, self._at(numbers, parts)
        failure = parts.failure * beta
        if not implements(self.sanitizer, Sanitizer.unseen):
            least = self.sanitizer.sample_size(*self._of_sanitizer(numbers, parts))
            rows = lambda n: parts.queries * alpha * n if n >= least else n  # noqa: E731
        else:
            rows = lambda n: self.sanitizer.unseen(self.concepts, plan.sanitizer, n, failure)  # noqa: E731
        return theory.rows(
            self.concepts.covers(alpha, agnostic),
            self.concepts.growth(plan.sanitizer.size),
            self.k,
            effective_epsilon(plan.epsilon),
            rows,
            alpha,
            beta - failure,
            agnostic,
        )

    def _of_sanitizer(self, numbers: Numbers, parts: Parts) -> tuple[Privacy, Accuracy]:
        """The sanitizer's budget, and the query accuracy for which a symmetric difference errs by its part of alpha."""
        epsilon, delta, alpha, beta = numbers
        of_delta = 0.5 if self._choices_use_delta() else 1.0
        if self.sanitizer.spends != "approximate":
            of_delta = 0.0
        of_query = parts.queries * alpha / self.sanitizer.parts_of_a_difference(self.concepts)
        return Privacy(epsilon * parts.share, delta * of_delta), Accuracy(of_query, parts.failure * beta)

    def _split(self, epsilon: float, delta: float, alpha: float, beta: float) -> Parts:
        """The share that needs the fewest rows; the structure of the sanitizer does not depend on epsilon."""
        if not implements(self.sanitizer, Sanitizer.unseen):
            return Parts(0.5 if self.share is None else self.share, 0.25, 1 / 3)
        return _best_split(self, (epsilon, delta, alpha, beta))

    def _choices_use_delta(self) -> bool:
        return self.composition == JOINT or (self.composition != "basic" and self.k > 1)


@lru_cache(maxsize=1024)
def _best_split(learner: GenericLearner, numbers: Numbers) -> Parts:
    """Rows fall and then rise with the share, so a ternary search finds the best one."""
    if learner.share is not None:
        return Parts(learner.share, _QUERIES, _FAILURE)

    @lru_cache
    def rows(place: int) -> float:
        try:
            return learner._rows(numbers, Parts(_SHARES[place], _QUERIES, _FAILURE), False)
        except InputError:  # no number of rows is enough
            return inf

    low, high = 0, len(_SHARES) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if rows(middle) <= rows(middle + 1) else (middle + 1, high)
    return Parts(_SHARES[low], _QUERIES, _FAILURE)
