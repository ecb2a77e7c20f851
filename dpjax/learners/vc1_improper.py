"""Learning a class of VC dimension 1 by a private depth and a choice of the node there: the improper learner."""

from dataclasses import dataclass, field
from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from dpjax.accounting.composition import basic
from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.tree.rooted import Rooted
from dpjax.core import bit_strings as B
from dpjax.core import checks, keys
from dpjax.core.checks import NoTheoremError
from dpjax.core.plans import STATIC, Count, Spends, bucket, down, plan_type, whole
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample, host_numbers, replace_one_only
from dpjax.learners.base import Learner
from dpjax.learners.samples import Pairs, database, single_column
from dpjax.learners.vc1_design import DeepDesign, of_choice, of_rows
from dpjax.mechanisms.choosing import choosing, choosing_guarantee
from dpjax.mechanisms.median import NAMES, RACED, MedianDesign, MedianPlan, median_guarantee, plan_for, rank_margin
from dpjax.mechanisms.median import trie as T
from dpjax.mechanisms.shuffle import Shuffle
from dpjax.theory import vc1 as theory

FEWEST = "fewest"
_ALPHA = 1 / 3  # of Algorithm 2's median: t/6 of t subsamples on either side
_MOST_SUBSAMPLES = 1 << 29


def depth_bits(concepts: Rooted) -> int:
    """The number of bits of a depth in the tree."""
    return max(1, concepts.height.bit_length())


def subsamples_and_median(method: str, bits: int, privacy: Privacy, accuracy: Accuracy) -> tuple[int, MedianDesign]:
    """Host: the fewest subsamples t of Algorithm 2 for depths of ``bits`` bits, and the design of their median."""
    epsilon, delta = checks.epsilon(float(privacy.epsilon)) / 2, checks.delta(float(privacy.delta))
    beta = checks.probability("beta", float(accuracy.beta)) / 3
    checks.delta(delta, positive_for="the choosing mechanism of ImproperVC1")
    design = plan_for(method, bits, epsilon, delta / 2, beta)
    return max(design.required(_ALPHA), theory.subsamples(epsilon, of_choice(delta, design), beta)), design


@plan_type
class ImproperPlan:
    """median: plan over the depths. choice: budget of the choosing mechanism among nodes.

    high: rows or subsamples wanted at or below the depth, ``int32[]``. deep: how many of the deepest rows or
    subsamples the depth is taken from, ``int32[]``.
    subsamples: t, ``int32[]``, in [least, most]; both equal t if t was given, else they are the ends of its bucket. All
    three are 0 if there are none, and each row is by itself.
    """

    median: MedianPlan
    choice: Privacy
    high: Count
    deep: Count
    subsamples: Count
    least: int = field(metadata=STATIC)
    most: int = field(metadata=STATIC)


@dataclass(frozen=True)
class ImproperVC1(Learner):
    """A private depth among those of the deepest rows, and the node there for which they vote.

    Each row determines a deepest point, the root if its label is 0. In realizable data they lie on the target's path,
    and the deepest of them leave little mass below; a private interior point of the depths of the ``deep`` deepest
    rows, of which ``high`` are at or below it, and a private choice of the node there. The hypothesis is a node of the
    tree, which need not be a concept of the class. If a step abstains it is the root, with outcome -1.

    With ``subsamples`` it is Algorithm 2: t subsamples take the place of rows, the depth is their median, and half of
    the budget finds it, half the node. A pure median leaves all of delta to the node.

    Args:
      concepts: `Thresholds` as a path, a `Spider`, a `Tree`, or another `Rooted` class, of any height.
      method: the median: "exponential", "majority", "recprefix", "treelog", "rsc", or "auto" for the one
        of "exponential" and "majority" that needs the fewest rows.
      subsamples: None for each row by itself; t >= 1 subsamples, or "fewest" for as few as Theorem 11 allows, each step
        failing with beta / 3. Row r of a random order goes to subsample r mod t.

    Privacy: (epsilon, delta), replace-one, for every sample: a row determines one depth, or is in one subsample that
      does, and at each depth one vote.
    Utility: `theory.vc1.deepest` rows. With subsamples `theory.vc1.improper`, if t is at least `theory.vc1.subsamples`
      and the median's requirement.
    Reference: Yan 2025, Algorithm 2, Theorems 1, 10 and 11; ranks near the bottom in place of the middle, rows in place
      of subsamples, the dimension-free size of these, and all constants are our own (docs/proofs/deepest-rows.md).
    """

    concepts: Rooted
    method: str = "auto"
    subsamples: int | str | None = None
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    spends: ClassVar[Spends] = "approximate"

    def __post_init__(self):
        checks.instance("concepts", self.concepts, Rooted, "use Tree.of_class", "Thresholds, a Spider or a Tree")
        replace_one_only(self.neighboring, "the number of rows must be public")
        checks.choice("method", self.method, NAMES)
        if self.subsamples != FEWEST:
            checks.whole_or_none("subsamples", self.subsamples, 1, _MOST_SUBSAMPLES)

    @classmethod
    def candidates(cls, concepts: Rooted, k: int) -> list["ImproperVC1"]:
        """One for each method; "auto" is one of these."""
        return [cls(concepts, method) for method in RACED]

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> ImproperPlan:
        """The splits of budget and beta with the fewest rows; n is not used. Algorithm 2: half and half, and t."""
        if self.subsamples is None:
            design = self.design(privacy, accuracy)
            choice = Privacy(down(design.epsilon), down(design.delta))
            ranks = whole(design.high), whole(design.deep)
            return ImproperPlan(self.median(design.median), choice, *ranks, whole(0), 0, 0)
        needed, median = subsamples_and_median(self.method, depth_bits(self.concepts), privacy, accuracy)
        t = checks.integer("subsamples", needed if self.subsamples == FEWEST else self.subsamples, 1, _MOST_SUBSAMPLES)
        least, most = _ends(t) if self.subsamples == FEWEST else (t, t)
        choice = Privacy(down(float(privacy.epsilon) / 2), down(of_choice(float(privacy.delta), median)))
        margin = rank_margin(t, _ALPHA)
        ranks = whole(margin), whole(t + 1 - margin)
        return ImproperPlan(self.median(median), choice, *ranks, whole(t), least, most)

    def design(self, privacy: Privacy, accuracy: Accuracy) -> DeepDesign:
        """The splits with the fewest rows, each row by itself; host."""
        epsilon, delta, alpha, beta = host_numbers(privacy, accuracy)
        checks.delta(delta, positive_for="the choosing mechanism of ImproperVC1")
        size = self.concepts.height + 1
        return of_rows(self.method, depth_bits(self.concepts), size, epsilon, delta, alpha, beta)

    def median(self, design: MedianDesign) -> MedianPlan:
        """The plan of the private depth, from its design."""
        return design.plan()

    def _learn(self, key: Array, sample: Sample, plan: ImproperPlan) -> Hypothesis:
        """One hypothesis, a node."""
        of_order, of_median, of_node = keys.streams(key, "order", "median", "node")
        nodes, real = self.deterministic(of_order, sample, plan)
        depths = self.concepts.depth_of(nodes)
        low = jnp.maximum(1, jnp.sum(real, dtype=jnp.int32) + 1 - plan.deep)
        median = plan.median.run(of_median, depths, real, (low, jnp.maximum(1, plan.high)))

        voting = B.less_equal(median.element, depths) & real
        votes = B.sort_rows(self.concepts.ancestor(nodes, median.element), voting)
        count = jnp.sum(voting, dtype=jnp.int32)
        bits = 32 * votes.shape[-1]
        scores = T.prefix_weights(votes, count, jnp.int32(bits), jnp.ones_like(voting), bits)
        chosen = choosing(scores, plan.choice.epsilon, plan.choice.delta).sample(of_node)
        answered = (chosen >= 0) & (median.outcome == 0)
        node = jnp.where(answered, votes[jnp.maximum(chosen, 0)], jnp.uint32(0))
        outcome = jnp.where(answered, jnp.int32(0), jnp.int32(-1))
        return Hypothesis(node[None], jnp.zeros(1, bool), outcome[None])

    def deterministic(self, key: Array, sample: Sample, plan: ImproperPlan) -> tuple[Array, Array]:
        """The node that each row or subsample determines, ``uint32[slots, 2]``, and which slots are real.

        One row affects one of them. Other slots hold the root.
        """
        column = single_column(sample, "ImproperVC1")
        if not plan.most:
            return self.concepts.deterministic(sample.x[:, None], column[:, None], sample.mask[:, None]), sample.mask
        capacity, slot = sample.capacity, jnp.arange(plan.most, dtype=jnp.int32)
        t = jnp.minimum(plan.subsamples, plan.most)
        order = Shuffle(sample.size, capacity).sample(key)
        rows = jnp.arange(-(-capacity // plan.least), dtype=jnp.int32)
        place = rows * t + slot[:, None]  # row r of the order is row r // t of subsample r mod t
        row = order[jnp.minimum(place, capacity - 1)]
        real = (slot < t)[:, None] & (place < capacity) & sample.mask[row]
        return self.concepts.deterministic(sample.x[row], column[row], real), slot < t

    def _guarantee(self, plan: ImproperPlan) -> Guarantee:
        """The sum of the median's and the choice's cost."""
        if plan.most:  # then no row is in two subsamples
            checks.integer("subsamples of the plan", int(plan.subsamples), plan.least, plan.most)
            checks.integer("least of the plan", plan.least, max(1, plan.most // 4), plan.most)
        epsilon, delta = float(plan.choice.epsilon), float(plan.choice.delta)
        parts = (
            median_guarantee(plan.median, "median depth"),
            choosing_guarantee(epsilon, delta, what="the node at that depth (choosing)"),
        )
        return basic(parts, f"improper learner of a tree of height {checks.short(self.concepts.height)}")

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.vc1.deepest`, or `theory.vc1.improper` with subsamples; one row for a single concept, always right.

        NoTheoremError if ``subsamples`` are too few for this budget and beta.
        """
        if self.concepts.size == 1:
            return 1
        if self.subsamples is None:
            return self.design(privacy, accuracy).rows
        needed, _ = subsamples_and_median(self.method, depth_bits(self.concepts), privacy, accuracy)
        t = needed if self.subsamples == FEWEST else int(self.subsamples)
        if t < needed:
            advice = 'leave subsamples out, take "fewest", or search for n'
            raise NoTheoremError("subsamples", f"at least {needed} at this budget and beta", str(t), advice)
        return theory.improper(t, float(accuracy.alpha), float(accuracy.beta))

    def hard_neighbors(self, rows: int) -> Pairs:
        """Identical rows, one moved or relabeled (inconsistently); or on two paths.

        A half or a third of the rows are on the other path, or all but one or two, of which the deepest rows tell.
        """
        pairs = super().hard_neighbors(rows)
        deep = self.concepts.two_paths()
        if deep and rows > 1:
            first, second = deep
            shares = [[(first, 1) if i % share else (second, 1) for i in range(rows - 1)] for share in (2, 3)]
            for most in (*shares, [(first, 1), *[(second, 1)] * (rows - 2)]):
                samples = [sample_at(self.concepts, [*most, (last, 1)]) for last in (first, second)]
                pairs.append((samples[0], samples[1]))
        return pairs


def sample_at(concepts: Rooted, examples: list[tuple[int, int]]) -> Sample:
    """A sample of examples (node other than the root, label in the tree, i.e. before the flip of its point)."""
    nodes, labels = [node for node, _ in examples], [label for _, label in examples]
    return database(concepts.domain, *concepts.examples_at(nodes, labels))


def _ends(t: int) -> tuple[int, int]:
    """The smallest and the largest t in t's bucket."""
    low, most = 0, bucket(t)
    high = most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if bucket(middle) >= most else (middle, high)
    return high, most
