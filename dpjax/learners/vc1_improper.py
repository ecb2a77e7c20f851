"""Learning a class of VC dimension 1 by a private median of depths: the improper learner."""

from dataclasses import dataclass, field
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.composition import basic
from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.thresholds import Thresholds
from dpjax.concepts.tree.tree import Tree
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.plans import STATIC, Number, Spends, bucket, down, plan_type, whole
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners.base import OfClass, Pairs, database, replace_one_only, single_column
from dpjax.mechanisms.choosing import choosing, choosing_guarantee
from dpjax.mechanisms.median import MedianDesign, MedianPlan, median_guarantee, plan_for, private_median
from dpjax.mechanisms.median import bits as B
from dpjax.mechanisms.median import trie as T
from dpjax.mechanisms.shuffle import Shuffle
from dpjax.theory import vc1 as theory

METHODS = ("auto", "exponential", "recprefix", "rsc", "treelog")
_ALPHA = 1 / 3  # of the median: t/6 of t subsamples on either side
_NODE_BITS = 64
_MOST_SUBSAMPLES = 1 << 29


def depth_bits(concepts: Tree | Thresholds) -> int:
    """The number of bits of a depth in the tree."""
    return max(1, concepts.height.bit_length())


def subsamples_and_median(method: str, bits: int, privacy: Privacy, accuracy: Accuracy) -> tuple[int, MedianDesign]:
    """Host: the fewest subsamples t allowed for depths of ``bits`` bits, and the design of their median."""
    epsilon, delta = checks.epsilon(float(privacy.epsilon)) / 2, checks.delta(float(privacy.delta))
    beta = checks.probability("beta", float(accuracy.beta)) / 3
    checks.delta(delta, positive_for="the choosing mechanism of ImproperVC1")
    design = plan_for(method, bits, epsilon, delta / 2, beta)
    return max(design.required(_ALPHA), theory.subsamples(epsilon, _of_choice(delta, design), beta)), design


@plan_type
class ImproperPlan:
    """median: plan over the depths. choice: budget of the choosing mechanism among nodes.

    subsamples: t, ``int32[]``, in [least, most]; both equal t if t was given, else they are the ends of its bucket.
    """

    median: MedianPlan
    choice: Privacy
    subsamples: Number
    least: int = field(metadata=STATIC)
    most: int = field(metadata=STATIC)


@dataclass(frozen=True)
class ImproperVC1(OfClass):
    """Algorithm 2: t subsamples each determine a deepest point; a node at their median depth is chosen.

    The hypothesis is a node of the tree, which need not be a concept of the class. Half of the budget finds the depth,
    half the node; a pure median leaves all of delta to the node. If a step abstains the hypothesis is the root, with
    outcome -1.

    Args:
      concepts: a `Tree`, or `Thresholds` as a path, of any height.
      method: the median: "exponential", "recprefix", "treelog", "rsc", or "auto" for the one that needs the fewest
        subsamples.
      subsamples: t >= 1, or None for the fewest that the theorem allows, each step failing with beta / 3. Row r of a
        random order goes to subsample r mod t.

    Privacy: (epsilon, delta), replace-one, for every sample: a row is in one subsample, so it moves one of the t depths
      and, at each depth, one vote.
    Utility: `theory.vc1.improper` rows, if t is at least `theory.vc1.subsamples` and the median's requirement.
    Reference: Yan 2025, Algorithm 2, Theorem 11; the dimension-free size of subsamples and all constants are our own.
    """

    concepts: Tree | Thresholds
    method: str = "auto"
    subsamples: int | None = None
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    spends: ClassVar[Spends] = "approximate"

    def __post_init__(self):
        checks.instance("concepts", self.concepts, (Tree, Thresholds), "use Tree.of_class", "a Tree or Thresholds")
        replace_one_only(self.neighboring, "a subsample's size must be public")
        checks.choice("method", self.method, METHODS)
        checks.whole_or_none("subsamples", self.subsamples, 1, _MOST_SUBSAMPLES)

    def plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> ImproperPlan:
        """Half of the budget for the median, half for the choice, and t; n is not used."""
        needed, design = subsamples_and_median(self.method, depth_bits(self.concepts), privacy, accuracy)
        t = checks.integer("subsamples", self.subsamples or needed, 1, _MOST_SUBSAMPLES)
        least, most = (t, t) if self.subsamples else _ends(t)
        choice = Privacy(down(float(privacy.epsilon) / 2), down(_of_choice(float(privacy.delta), design)))
        return ImproperPlan(self.median(design, t), choice, whole(t), least, most)

    def median(self, design: MedianDesign, t: int) -> MedianPlan:
        """The plan of the median of t depths, from its design."""
        return design.plan()

    def learn(self, key: Array, sample: Sample, plan: ImproperPlan) -> Hypothesis:
        """One hypothesis, a node."""
        of_order, of_median, of_node = keys.streams(key, "order", "median", "node")
        nodes = self.deterministic(of_order, sample, plan)
        depths = self.concepts.depth_of(nodes)
        real = jnp.arange(plan.most, dtype=jnp.int32) < plan.subsamples
        median = private_median(of_median, depths, real, plan.median, alpha=_ALPHA)

        voting = B.less_equal(median.element, depths) & real
        votes = B.sort_rows(self.concepts.ancestor(nodes, median.element), voting)
        count = jnp.sum(voting, dtype=jnp.int32)
        scores = T.prefix_weights(votes, count, jnp.int32(_NODE_BITS), jnp.ones_like(voting), _NODE_BITS)
        chosen = choosing(scores, plan.choice.epsilon, plan.choice.delta).sample(of_node)
        answered = (chosen >= 0) & (median.outcome == 0)
        node = jnp.where(answered, votes[jnp.maximum(chosen, 0)], jnp.uint32(0))
        outcome = jnp.where(answered, jnp.int32(0), jnp.int32(-1))
        return Hypothesis(node[None], jnp.zeros(1, bool), outcome[None])

    def deterministic(self, key: Array, sample: Sample, plan: ImproperPlan) -> Array:
        """The node that each of the t subsamples determines, ``uint32[most, 2]``; one row affects one of them.

        Slots from t on hold the root.
        """
        column = single_column(sample, "ImproperVC1")
        capacity, own = sample.capacity, jnp.arange(plan.most, dtype=jnp.int32)
        t = jnp.minimum(plan.subsamples, plan.most)
        order = Shuffle(sample.size, capacity).sample(key)
        rows = jnp.arange(-(-capacity // plan.least), dtype=jnp.int32)
        place = rows * t + own[:, None]  # row r of the order is row r // t of subsample r mod t
        row = order[jnp.minimum(place, capacity - 1)]
        real = (own < t)[:, None] & (place < capacity) & sample.mask[row]
        return self.concepts.deterministic(sample.x[row], column[row], real)

    def guarantee(self, plan: ImproperPlan) -> Guarantee:
        """The sum of the median's and the choice's cost."""
        epsilon, delta = float(plan.choice.epsilon), float(plan.choice.delta)
        parts = (
            median_guarantee(plan.median, "median depth"),
            choosing_guarantee(epsilon, delta, what="the node at that depth (choosing)"),
        )
        return basic(parts, f"improper learner of a tree of height {self.concepts.height}")

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.vc1.improper`; one row if there is only one concept, since every output is then correct.

        Raises InputError if ``subsamples`` are too few for this budget and beta.
        """
        if self.concepts.size == 1:
            return 1
        needed, _ = subsamples_and_median(self.method, depth_bits(self.concepts), privacy, accuracy)
        t = self.subsamples or needed
        if t < needed:
            raise InputError(
                "subsamples", f"at least {needed} at this budget and beta", str(t),
                "leave subsamples out, or search for n",
            )  # fmt: skip
        return theory.improper(t, float(accuracy.alpha), float(accuracy.beta))

    def hard_neighbors(self, rows: int) -> Pairs:
        """Identical rows, one moved or relabeled (inconsistently); or a half or a third of them on another path."""
        pairs = super().hard_neighbors(rows)
        deep = _two_paths(self.concepts)
        if deep and rows > 1:
            one, other = deep
            for share in (2, 3):
                most = [(one, 1) if i % share else (other, 1) for i in range(rows - 1)]
                samples = [sample_at(self.concepts, [*most, (last, 1)]) for last in (one, other)]
                pairs.append((samples[0], samples[1]))
        return pairs


def sample_at(concepts: Tree | Thresholds, examples: list[tuple[int, int]]) -> Sample:
    """A sample of examples (node other than the root, label in the tree, i.e. before the flip of its point)."""
    nodes, labels = [node for node, _ in examples], [label for _, label in examples]
    if isinstance(concepts, Thresholds):
        return database(concepts.domain, nodes, labels)
    points = [int(np.flatnonzero(concepts.place == node)[0]) for node in nodes]
    flips = [int(concepts.flip[point]) for point in points]
    return database(concepts.domain, points, [label ^ flip for label, flip in zip(labels, flips, strict=True)])


def _two_paths(concepts: Tree | Thresholds) -> tuple[int, int] | None:
    """A deepest node, and the first node off its path or else the path's middle; None if there is only one node."""
    if concepts.height < 2 or isinstance(concepts, Thresholds):
        return (concepts.height, concepts.height // 2) if concepts.height >= 2 else None
    deepest = int(np.argmax(concepts.depth))
    number = np.arange(concepts.size)
    off = number[(number > 0) & ~((number <= deepest) & (deepest < concepts.tout))]
    return (deepest, int(off[0]) if len(off) else int(concepts.parent[deepest]))


def _of_choice(delta: float, median: MedianDesign) -> float:
    """The choice's delta: half of it, or all of it if the median is pure."""
    return delta / 2 if median.spends == "approximate" else delta


def _ends(t: int) -> tuple[int, int]:
    """The smallest and the largest t in t's bucket."""
    low, most = 0, bucket(t)
    high = most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if bucket(middle) >= most else (middle, high)
    return high, most
