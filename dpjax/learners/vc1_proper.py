"""Proper learning of a class of VC dimension 1: a private descent from the improper learner's node to a concept."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.composition import basic, parallel
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.splits import Split, composed, split
from dpjax.accounting.zcdp import exponential_guarantee, pure_rho
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.tree.tree import Tree
from dpjax.core import checks, keys
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.draws import asked
from dpjax.core.plans import STATIC, Number, Positive, Slack, Spends, down, plan_type
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample, as_float, host_numbers
from dpjax.laws import Laplace
from dpjax.learners.base import Learner
from dpjax.learners.samples import Pairs, single_column
from dpjax.learners.vc1_improper import ImproperPlan, ImproperVC1, sample_at
from dpjax.mechanisms.exponential import effective_epsilon, exponential
from dpjax.theory import vc1 as theory

_TEST = 0.25  # fraction of epsilon for all tests together, where there are any
_STARTS = (0.25, 0.35, 0.45, 0.55, 0.65)  # tried fractions of alpha and beta for the first part
_SHARES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)  # tried fractions of the second part's alpha for ``share``
_ROUNDING = 2.0**-22
_NEVER = jnp.iinfo(jnp.int32).max
_EXACT_ROUNDS = 64  # optimal composition up to this many rounds, zCDP beyond


class Counts(NamedTuple):
    """Per node, ``[V + 1]``. zeros: examples labeled 0 at the node and its descendants, ``int32``.

    path: those on the path from the node up to the start, exclusive. leaf: whether it is the first concept on its path.

    Reference: Yan 2025, Definitions 18 to 20.
    """

    zeros: Array
    path: Array
    leaf: Array


class Descent(NamedTuple):
    """Of the second part: a, the most choices, whether there are tests, the budget of a choice, and the theorem's N."""

    share: float
    rounds: int
    tests: bool
    choice: Split
    rows: int


@plan_type
class ProperPlan:
    """improper: plan of the first part. first: the fraction of the rows in it. low: a, fraction of the second rows.

    test: epsilon of AboveThreshold, 0 without tests. choice: epsilon0 of each of at most ``rounds`` choices among
    children. slack: delta of their composition, which only the guarantee reads. tests: whether subtrees are tested.
    """

    improper: ImproperPlan
    first: Number
    low: Number
    test: Number
    choice: Positive
    slack: Slack
    rounds: int = field(metadata=STATIC)
    tests: bool = field(metadata=STATIC)


@dataclass(frozen=True)
class ProperVC1(Learner):
    """Algorithms 3 and 4: from the improper learner's node down to the first concept on some path.

    The first rows go to the improper learner, the others to the descent. At each node a child is chosen by the best
    leaf below it. If chains of improper nodes may be longer than there are rounds, subtrees are tested first: if some
    subtree has few examples labeled 0, the descent enters it and ends.

    Args:
      concepts: a `Tree`.
      method, subsamples: of the `ImproperVC1` that learns from the first part.
      share: a in (0, 1): a subtree with fewer than a N of the N second rows labeled 0 ends the descent; None for the
        theorem's.
      rounds: maximum number of choices among children; None for ceil(2 / a) with tests, or the largest number of
        consecutive improper nodes on a path of the tree without, whichever needs fewer rows.
      first: the fraction of the rows in the first part, in (0, 1); None for the theorem's.

    Privacy: (epsilon, delta), replace-one, for every sample: a row is in one part, and each part has the whole budget.
      The second part is ``rounds`` exponential mechanisms and, with tests, one AboveThreshold at a quarter of epsilon.
    Utility: the improper learner's rows at a part of alpha and beta, and `theory.vc1.descent` second rows at the rest.
      The hypothesis is always a concept of the class.
    Reference: Yan 2025, Algorithms 3 and 4, Theorems 2, 12 and 13, Claims 2 to 6; AboveThreshold for tests, leaving
      them out for short chains, and all constants are our own (docs/proofs/proper-descent.md).
    """

    concepts: Tree
    method: str = "auto"
    subsamples: int | str | None = None
    share: float | None = None
    rounds: int | None = None
    first: float | None = None
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    spends: ClassVar[Spends] = "approximate"

    def __post_init__(self):
        checks.instance("concepts", self.concepts, Tree, "thresholds are proper already: use ImproperVC1", "a Tree")
        for name in ("share", "first"):
            if getattr(self, name) is not None:
                checks.probability(name, getattr(self, name))
        checks.whole_or_none("rounds", self.rounds, 1, 1 << 20)
        _ = self.improper  # validates the fields

    @property
    def improper(self) -> ImproperVC1:
        """The learner of the first part."""
        return ImproperVC1(self.concepts, self.method, self.subsamples, self.neighboring)

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> ProperPlan:
        """An improper learner's plan for a part of alpha and beta, and the descent's numbers; n is not used."""
        start, _, descent = self.design(privacy, accuracy)
        start_rows, descent_rows = self.parts(privacy, accuracy)
        first = self.first or min(max(start_rows / (start_rows + descent_rows), 1e-3), 1 - 1e-3)
        test = down(_TEST * float(privacy.epsilon)) if descent.tests else np.float32(0)
        return ProperPlan(
            self.improper.plan(privacy, start),
            np.float32(first),
            np.float32(descent.share),
            test,
            down(descent.choice.epsilon),
            down(descent.choice.slack),
            descent.rounds,
            descent.tests,
        )

    def design(self, privacy: Privacy, accuracy: Accuracy) -> tuple[Accuracy, int, Descent]:
        """Host: the first part's accuracy and rows, and the descent; together the fewest rows."""
        epsilon, delta, alpha, beta = host_numbers(privacy, accuracy)
        checks.delta(delta, positive_for="the choosing mechanism of ImproperVC1")
        return _design(self, epsilon, delta, alpha, beta)

    def _learn(self, key: Array, sample: Sample, plan: ProperPlan) -> Hypothesis:
        """One concept of the class; the outcome is the improper learner's."""
        of_start, of_walk = keys.streams(key, "start", "walk")
        cut = (sample.size.astype(jnp.float32) * as_float(plan.first).astype(jnp.float32)).astype(jnp.int32)
        place = jnp.arange(sample.capacity, dtype=jnp.int32)
        start_sample = Sample(sample.x, sample.y, sample.mask & (place < cut))
        walk_sample = Sample(sample.x, sample.y, sample.mask & (place >= cut))
        start = self.improper.learn(of_start, start_sample, plan.improper)
        node = start.concept[0, 1].astype(jnp.int32)
        leaf = self.descend(of_walk, node, walk_sample, plan)
        return Hypothesis(jnp.stack([jnp.uint32(0), leaf.astype(jnp.uint32)])[None], start.zero, start.outcome)

    def descend(self, key: Array, start: Array, sample: Sample, plan: ProperPlan) -> Array:
        """From node ``start`` (``int32[]``) to a proper node at or below it, ``int32[]``."""
        tree = self.concepts
        counts = self.counts(start, sample)
        parent, number = jnp.asarray(tree.parent), jnp.arange(tree.size, dtype=jnp.int32)
        proper, tout = jnp.asarray(tree.proper), jnp.asarray(tree.tout)
        of_bar, of_rounds = keys.streams(key, "bar", "rounds")
        quiet_below = self._tests(of_bar, counts, sample.size, plan)

        def round_(state: tuple[Array, Array], turn_key: Array) -> tuple[tuple[Array, Array], None]:
            node, done = state
            of_test, of_choice = keys.streams(turn_key, "test", "choice")
            children = (parent == node) & (number > 0)
            quiet = quiet_below(of_test, children)
            best = _best_below(children, counts, number < tout[node])
            scores = jnp.where(quiet, -counts.zeros, -best)
            chosen = exponential(jnp.where(children, scores, 0), plan.choice, where=children).sample(of_choice)
            stays = done | proper[node] | (chosen < 0)
            return (jnp.where(stays, node, chosen), done | stays | quiet), None

        (node, _), _ = jax.lax.scan(round_, (start, jnp.bool_(False)), keys.per_index(of_rounds, plan.rounds))
        below = counts.leaf & (number >= node) & (number < tout[node])
        return jnp.where(proper[node], node, jnp.min(jnp.where(below, number, tree.size - 1)))

    def _tests(self, key: Array, found: Counts, rows: Array, plan: ProperPlan) -> Callable[[Array, Array], Array]:
        """AboveThreshold: (key, children) -> whether one of the children has few zeros; never without tests."""
        if not plan.tests:
            return lambda of_test, children: jnp.bool_(False)
        unit = 2 / as_float(plan.test)
        noise = Laplace(jnp.zeros_like(unit), unit).sample(key)
        bar = as_float(plan.low, unit) * rows.astype(unit.dtype) + noise

        def quiet(of_test: Array, children: Array) -> Array:
            fewest = asked(jnp.min(jnp.where(children, found.zeros, _NEVER)), "fewest zeros", 1)
            noise = Laplace(jnp.zeros_like(unit), 2 * unit).sample(of_test)
            with jax.enable_x64(True):  # float32 merges neighboring counts beyond 2**24
                return fewest.astype(jnp.float64) + noise.astype(jnp.float64) <= bar.astype(jnp.float64)

        return quiet

    def counts(self, start: Array, sample: Sample) -> Counts:
        """Counts of the rows below ``start``; a replaced row changes each count by at most 1."""
        tree = self.concepts
        column = single_column(sample, "ProperVC1")
        place, tout = tree.node_of(sample.x), jnp.asarray(tree.tout)
        zero = sample.mask & ~tree.relabel(sample.x, column) & (place > 0)
        number = jnp.arange(tree.size, dtype=jnp.int32)
        at = jnp.zeros(tree.size + 1, jnp.int32).at[jnp.where(zero, place, tree.size)].add(1)[:-1]
        up_to = jnp.append(jnp.zeros(1, jnp.int32), jnp.cumsum(at, dtype=jnp.int32))
        opened = at - jnp.zeros(tree.size + 1, jnp.int32).at[tout].add(at)[:-1]
        above = jnp.cumsum(opened, dtype=jnp.int32)
        inside = (number > start) & (number < tout[start])
        leaf = inside & jnp.asarray(tree.proper) & (jnp.asarray(tree.proper_above) <= start)
        return Counts(up_to[tout] - up_to[number], above - above[start], leaf)

    def _guarantee(self, plan: ProperPlan) -> Guarantee:
        """The larger cost of the two parts, since a row is in one of them."""
        choice = exponential_guarantee(float(plan.choice), "a child (exponential mechanism)")
        composition = _composition(plan.rounds)
        descent = composed(choice, plan.rounds, float(plan.slack), composition, "choices among children")
        if plan.tests:
            test = checks.epsilon(plan.test, "test")
            tests = Guarantee(
                test,
                0.0,
                self.neighboring,
                "are zeros few? (AboveThreshold over the rounds)",
                why="half for the bar's noise, half for the halting test's",
                rho=pure_rho(test),
                source="Dwork and Roth 2014, Theorem 3.23",
            )
            descent = basic((tests, descent), "descent on the second rows")
        return parallel((self.improper._guarantee(plan.improper), descent), "index", "proper learner")

    def parts(self, privacy: Privacy, accuracy: Accuracy) -> tuple[int, int]:
        """The theorem's numbers of rows in the first and in the second part."""
        _, start_rows, descent = self.design(privacy, accuracy)
        return start_rows, descent.rows

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """The least n that gives both parts the rows of `parts`; one row for one concept.

        NoTheoremError if ``rounds`` are fewer than a descent may need, or ``share`` is too large for alpha.
        """
        if self.concepts.size == 1:
            return 1
        start, start_rows, descent = self.design(privacy, accuracy)
        self.improper.sample_size(privacy, start)  # raises for too few subsamples
        needed = theory.descent_rounds(descent.share) if descent.tests else self.concepts.longest_improper
        if descent.rows and descent.rounds < min(needed, self.concepts.longest_improper):
            raise NoTheoremError(
                "rounds", f"at least {needed}", str(descent.rounds), "leave rounds out, or search for n"
            )
        if descent.tests and 1.5 * descent.share >= float(accuracy.alpha) - float(start.alpha):
            raise NoTheoremError(
                "share", "a small part of alpha", str(descent.share), "leave share out, or search for n"
            )
        first = float(self.plan(privacy, accuracy).first)
        low, high = first * (1 - _ROUNDING), first * (1 + _ROUNDING)  # `learn` cuts the rows by a float32 product
        return int(max(start_rows / low, descent.rows / (1 - high))) + 2

    def hard_neighbors(self, rows: int) -> Pairs:
        """For a start at an improper node: one row decides between two of its children."""
        tree = self.concepts
        improper = np.flatnonzero(~tree.proper)
        if not len(improper) or rows < 4:
            return super().hard_neighbors(rows)
        node = int(improper[-1])
        left, right = (int(child) for child in tree.child[tree.child_start[node] :][:2])
        cut = int(np.float32(rows) * np.float32(self.first or 0.5))
        half = (rows - cut - 1) // 2
        even = [(node, 1)] * (rows - cut - 1 - 2 * half)
        second = [*even, *[(left, 0), (right, 0)] * half]
        databases = [sample_at(tree, [*[(node, 1)] * cut, *second, (last, 0)]) for last in (left, right)]
        return [(databases[0], databases[1])]


@lru_cache(maxsize=256)
def _design(
    learner: ProperVC1, epsilon: float, delta: float, alpha: float, beta: float
) -> tuple[Accuracy, int, Descent]:
    """The first part's accuracy and rows, and the descent: over a grid of splits of alpha and beta, the fewest rows."""
    privacy, tree = Privacy(epsilon, delta), learner.concepts
    if tree.longest_improper == 0:  # every node is a concept, so there is no descent
        whole = Accuracy(alpha, beta)
        choice = _choices(learner.rounds or 1, epsilon, delta, False)
        none = Descent(learner.share or alpha / 12, learner.rounds or 1, False, choice, 0)
        return whole, _first_rows(learner, privacy, whole), none
    best: tuple[Accuracy, int, Descent] | None = None
    for part in _STARTS:
        for failing in (0.3, 0.5, 0.7):
            start = Accuracy(part * alpha, failing * beta)
            start_rows = _first_rows(learner, privacy, start)
            descent = _descent(learner, epsilon, delta, alpha - float(start.alpha), beta - float(start.beta))
            if best is None or start_rows + descent.rows < best[1] + best[2].rows:
                best = start, start_rows, descent
    assert best is not None, "nothing was tried"
    return best


def _first_rows(learner: ProperVC1, privacy: Privacy, start: Accuracy) -> int:
    """The theorem's rows of the first part; without too few subsamples, if it was given those."""
    try:
        return learner.improper.sample_size(privacy, start)
    except InputError:  # `ProperVC1.sample_size` says so
        return ImproperVC1(learner.concepts, learner.method).sample_size(privacy, start)


def _descent(learner: ProperVC1, epsilon: float, delta: float, alpha: float, beta: float) -> Descent:
    """Of all that the learner's own numbers allow, the descent with the fewest rows."""
    tree = learner.concepts
    longest, children = tree.longest_improper, tree.most_children
    shares = [
        float(down(share)) for share in ([learner.share] if learner.share else [part * alpha for part in _SHARES])
    ]
    tried = [(shares[0], learner.rounds or longest, False)] if (learner.rounds or longest) >= longest else []
    for share in shares:
        rounds = learner.rounds or theory.descent_rounds(share)
        if rounds < longest:
            tried.append((share, rounds, True))
    best: Descent | None = None
    for share, rounds, tests in tried:
        choice = _choices(rounds, epsilon, delta, tests)
        test = float(down(_TEST * epsilon)) if tests else None
        try:
            rows = theory.descent(
                effective_epsilon(float(down(choice.epsilon))), test, share, rounds, children, alpha, beta
            )
        except InputError:  # no theorem for this share: `ProperVC1.sample_size` says so
            rows = 1 << 30
        if best is None or rows < best.rows:
            best = Descent(share, rounds, tests, choice, rows)
    assert best is not None, "nothing was tried"
    return best


def _choices(rounds: int, epsilon: float, delta: float, tests: bool) -> Split:
    """The budget of one choice among children."""
    walk = epsilon * (1 - _TEST) if tests else epsilon
    return split(walk, delta, rounds, _composition(rounds), "bounded range")


def _composition(rounds: int) -> str:
    return "optimal" if rounds <= _EXACT_ROUNDS else "zcdp"


def _best_below(children: Array, found: Counts, before: Array) -> Array:
    """For each child the least ``path`` of a leaf below it, ``int32[V + 1]``; ``before``: nodes before their end."""
    number = jnp.arange(children.shape[0], dtype=jnp.int32)
    owner = jax.lax.cummax(jnp.where(children, number, 0))
    least = jnp.full(children.shape[0], _NEVER, jnp.int32)
    return least.at[owner].min(jnp.where(found.leaf & before, found.path, _NEVER))
