"""Proper learning of a class of VC dimension 1: a private descent from the improper learner's node to a concept."""

from dataclasses import dataclass, field
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
from dpjax.core.draws import asked
from dpjax.core.plans import STATIC, Number, Spends, down, plan_type
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample, as_float
from dpjax.laws import Laplace
from dpjax.learners.base import OfClass, Pairs, single_column
from dpjax.learners.vc1_improper import ImproperPlan, ImproperVC1, sample_at
from dpjax.mechanisms.exponential import exponential
from dpjax.theory import vc1 as theory

_TEST = 0.25  # fraction of epsilon for all tests together
_NEVER = jnp.iinfo(jnp.int32).max
_EXACT_ROUNDS = 64  # optimal composition up to this many rounds, zCDP beyond


class Counts(NamedTuple):
    """Per node, ``[V + 1]``. zeros: examples labeled 0 at the node and its descendants, ``int32``.

    path: those on the path from the node up to the start, exclusive. leaf: whether it is the first concept on its path.
    """

    zeros: Array
    path: Array
    leaf: Array


@plan_type
class ProperPlan:
    """improper: plan of the first part. first: the fraction of the rows in it. low: a, fraction of the second rows.

    test: epsilon of AboveThreshold. choice: epsilon0 of each of at most ``rounds`` choices among children. slack: delta
    of their composition, which only the guarantee reads.
    """

    improper: ImproperPlan
    first: Number
    low: Number
    test: Number
    choice: Number
    slack: Number
    rounds: int = field(metadata=STATIC)


@dataclass(frozen=True)
class ProperVC1(OfClass):
    """Algorithms 3 and 4: from the improper learner's node down to the first concept on some path.

    The first rows go to the improper learner, the others to the descent. At each node: if some subtree has few examples
    labeled 0, the descent enters it and ends; otherwise a child is chosen by the best leaf below it.

    Args:
      concepts: a `Tree`.
      method, subsamples: of the `ImproperVC1` that learns from the first part.
      share: a in (0, 1): a subtree with fewer than a N of the N second rows labeled 0 ends the descent; None for
        alpha / 12.
      rounds: maximum number of choices among children; None for the smaller of ceil(2 / a) and the largest number of
        consecutive improper nodes on a path of the tree.
      first: the fraction of the rows in the first part, in (0, 1); None for the theorem's.

    Privacy: (epsilon, delta), replace-one, for every sample: a row is in one part, and each part has the whole budget.
      The second part is one AboveThreshold with a quarter of epsilon, and ``rounds`` exponential mechanisms.
    Utility: `theory.vc1.descent` second rows plus the improper learner's at alpha/8, each failing with beta / 2. The
      hypothesis is always a concept of the class.
    Reference: Yan 2025 (proper learner), Algorithms 3 and 4, Theorem 12 and Claims 1 to 5; AboveThreshold for the tests
      and all constants are our own.
    """

    concepts: Tree
    method: str = "auto"
    subsamples: int | None = None
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

    def plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> ProperPlan:
        """An improper learner's plan for alpha/8 and beta/2, and the descent's numbers; n is not used."""
        low, rounds = self._descent(accuracy)
        choices = _choices(privacy, rounds)
        first = self.first
        if first is None:
            own, other = ProperVC1(self.concepts, self.method).parts(privacy, accuracy)
            first = min(max(own / (own + other), 1e-3), 1 - 1e-3)
        return ProperPlan(
            self.improper.plan(privacy, _of_first(accuracy)), np.float32(first), np.float32(low),
            down(_TEST * float(privacy.epsilon)), down(choices.epsilon), down(choices.slack), rounds,
        )  # fmt: skip

    def learn(self, key: Array, sample: Sample, plan: ProperPlan) -> Hypothesis:
        """One concept of the class; the outcome is the improper learner's."""
        of_start, of_walk = keys.streams(key, "start", "walk")
        cut = (sample.size.astype(jnp.float32) * as_float(plan.first).astype(jnp.float32)).astype(jnp.int32)
        place = jnp.arange(sample.capacity, dtype=jnp.int32)
        one = Sample(sample.x, sample.y, sample.mask & (place < cut))
        other = Sample(sample.x, sample.y, sample.mask & (place >= cut))
        start = self.improper.learn(of_start, one, plan.improper)
        node = start.concept[0, 1].astype(jnp.int32)
        leaf = self.descend(of_walk, node, other, plan)
        return Hypothesis(jnp.stack([jnp.uint32(0), leaf.astype(jnp.uint32)])[None], start.zero, start.outcome)

    def descend(self, key: Array, start: Array, sample: Sample, plan: ProperPlan) -> Array:
        """From node ``start`` (``int32[]``) to a proper node at or below it, ``int32[]``."""
        tree = self.concepts
        found = self.counts(start, sample)
        parent, number = jnp.asarray(tree.parent), jnp.arange(tree.size, dtype=jnp.int32)
        proper, tout = jnp.asarray(tree.proper), jnp.asarray(tree.tout)
        of_bar, of_rounds = keys.streams(key, "bar", "rounds")
        unit = 2 / as_float(plan.test)
        noise = Laplace(jnp.zeros_like(unit), unit).sample(of_bar)
        bar = as_float(plan.low, unit) * sample.size.astype(unit.dtype) + noise

        def round_(state: tuple[Array, Array], turn_key: Array) -> tuple[tuple[Array, Array], None]:
            node, done = state
            of_test, of_choice = keys.streams(turn_key, "test", "choice")
            children = (parent == node) & (number > 0)
            fewest = asked(jnp.min(jnp.where(children, found.zeros, _NEVER)), "fewest zeros", 1)
            noise = Laplace(jnp.zeros_like(unit), 2 * unit).sample(of_test)
            with jax.enable_x64(True):  # float32 merges neighboring counts beyond 2**24
                quiet = fewest.astype(jnp.float64) + noise.astype(jnp.float64) <= bar.astype(jnp.float64)
            best = _best_below(children, found, number < tout[node])
            scores = jnp.where(quiet, -found.zeros, -best)
            chosen = exponential(jnp.where(children, scores, 0), plan.choice, where=children).sample(of_choice)
            stays = done | proper[node] | (chosen < 0)
            return (jnp.where(stays, node, chosen), done | stays | quiet), None

        (node, _), _ = jax.lax.scan(round_, (start, jnp.bool_(False)), keys.per_index(of_rounds, plan.rounds))
        below = found.leaf & (number >= node) & (number < tout[node])
        return jnp.where(proper[node], node, jnp.min(jnp.where(below, number, tree.size - 1)))

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

    def guarantee(self, plan: ProperPlan) -> Guarantee:
        """The larger cost of the two parts, since a row is in one of them."""
        test = float(plan.test)
        tests = Guarantee(
            test, 0.0, self.neighboring, "are zeros few? (AboveThreshold over the rounds)",
            why="half for the bar's noise, half for the halting test's", rho=pure_rho(test),
            source="Dwork and Roth 2014, Theorem 3.23",
        )  # fmt: skip
        choice = exponential_guarantee(float(plan.choice), "a child (exponential mechanism)")
        composition = _composition(plan.rounds)
        walk = composed(choice, plan.rounds, float(plan.slack), composition, "choices among children")
        descent = basic((tests, walk), "descent on the second rows")
        return parallel((self.improper.guarantee(plan.improper), descent), "index", "proper learner")

    def parts(self, privacy: Privacy, accuracy: Accuracy) -> tuple[int, int]:
        """The theorem's numbers of rows in the first and in the second part."""
        if self.concepts.longest_improper == 0:  # every node is a concept, so there is no descent
            return self.improper.sample_size(privacy, accuracy), 0
        first = self.improper.sample_size(privacy, _of_first(accuracy))
        low, rounds = self._descent(accuracy)
        walk, test = down(_choices(privacy, rounds).epsilon), down(_TEST * float(privacy.epsilon))
        alpha, beta = float(accuracy.alpha), float(accuracy.beta)
        return first, theory.descent(float(walk), float(test), low, rounds, alpha, beta / 2)

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """The least n that gives both parts the rows of `parts`; one row for one concept."""
        if self.concepts.size == 1:
            return 1
        own, other = self.parts(privacy, accuracy)
        first = float(self.plan(privacy, accuracy).first)
        return int(max(own / first, other / (1 - first))) + 2

    def hard_neighbors(self, rows: int) -> Pairs:
        """For a start at an improper node: one row decides between two of its children."""
        tree = self.concepts
        improper = np.flatnonzero(~tree.proper)
        if not len(improper) or rows < 4:
            return super().hard_neighbors(rows)
        node = int(improper[-1])
        one, other = (int(child) for child in tree.child[tree.child_start[node] :][:2])
        cut = int(np.float32(rows) * np.float32(self.first or 0.5))
        half = (rows - cut - 1) // 2
        even = [(node, 1)] * (rows - cut - 1 - 2 * half)
        second = [*even, *[(one, 0), (other, 0)] * half]
        databases = [sample_at(tree, [*[(node, 1)] * cut, *second, (last, 0)]) for last in (one, other)]
        return [(databases[0], databases[1])]

    def _descent(self, accuracy: Accuracy) -> tuple[float, int]:
        """(a, rounds): the smaller of the bound from a and the most consecutive improper nodes, at least 1."""
        low = self.share or checks.probability("alpha", float(accuracy.alpha)) / 12
        rounds = max(1, min(theory.descent_rounds(low), self.concepts.longest_improper))
        return low, self.rounds or rounds


def _of_first(accuracy: Accuracy) -> Accuracy:
    """The accuracy for the improper learner."""
    alpha, beta = checks.probability("alpha", float(accuracy.alpha)), checks.probability("beta", float(accuracy.beta))
    return Accuracy(alpha / 8, beta / 2)


def _choices(privacy: Privacy, rounds: int) -> Split:
    """The budget of one choice among children."""
    walk = checks.epsilon(float(privacy.epsilon)) * (1 - _TEST)
    return split(walk, float(privacy.delta), rounds, _composition(rounds), "bounded range")


def _composition(rounds: int) -> str:
    return "optimal" if rounds <= _EXACT_ROUNDS else "zcdp"


def _best_below(children: Array, found: Counts, before: Array) -> Array:
    """For each child the least ``path`` of a leaf below it, ``int32[V + 1]``; ``before``: nodes before their end."""
    number = jnp.arange(children.shape[0], dtype=jnp.int32)
    owner = jax.lax.cummax(jnp.where(children, number, 0))
    least = jnp.full(children.shape[0], _NEVER, jnp.int32)
    return least.at[owner].min(jnp.where(found.leaf & before, found.path, _NEVER))
