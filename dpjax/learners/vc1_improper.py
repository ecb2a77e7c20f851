"""Learning a class of VC dimension 1 through a private median of depths: the improper learner."""

from dataclasses import dataclass

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
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample, as_float
from dpjax.learners.base import database, flipped_label_pairs, single_column
from dpjax.mechanisms.choosing import choosing, choosing_guarantee
from dpjax.mechanisms.median import (
    ExponentialPlan,
    MedianPlan,
    median_guarantee,
    plan_for,
    private_median,
    required_records,
)
from dpjax.mechanisms.median import bits as B
from dpjax.mechanisms.median import trie as T
from dpjax.mechanisms.shuffle import Shuffle
from dpjax.theory import vc1 as theory

_ALPHA = 1 / 3  # of the median: t/6 of the subsamples on either side
_NODE_BITS = 64


def depth_bits(concepts: Tree | Thresholds) -> int:
    """Bits of a depth in the tree."""
    return max(1, concepts.height.bit_length())


def subsamples_and_median(method: str, bits: int, privacy: Privacy, accuracy: Accuracy) -> tuple[int, MedianPlan]:
    """Host: the fewest subsamples t allowed for depths of ``bits`` bits, and the plan of their median."""
    epsilon, delta = checks.epsilon(float(privacy.epsilon)) / 2, checks.delta(float(privacy.delta))
    beta = checks.probability("beta", float(accuracy.beta)) / 3
    plan = plan_for(method, bits, epsilon, delta / 2, beta)
    return max(plan.required(_ALPHA), theory.subsamples(epsilon, delta / _parts(plan), beta)), plan


@dataclass(frozen=True)
class ImproperVC1:
    """Algorithm 2: t subsamples, each with a deepest point that it determines; their median depth; the node there.

    The hypothesis is a node of the tree, which need not be a concept of the class. Half of the budget finds the depth,
    half the node; a pure median leaves all of delta to the node. Without an answer the hypothesis is the root, with
    outcome -1.

    Args:
      concepts: a `Tree`, or `Thresholds` as the path that they are, of any height.
      subsamples: t >= 1, static. Row number r of a random order goes to subsample r mod t.
      median: static plan over the depths; see `planned`, which fits both.

    Privacy: (epsilon, delta), replace-one, for every sample: a row is in one subsample, so it moves one of the t depths
      and, at each depth, one vote.
    Utility: `theory.vc1.improper` rows, if t is at least `theory.vc1.subsamples` and the median's requirement.
    Reference: Yan 2025, Algorithm 2 and Theorem 11; subsamples of a size without dimension, and all constants, are our
      own.
    """

    concepts: Tree | Thresholds
    subsamples: int
    median: MedianPlan
    neighboring: Neighboring = Neighboring.REPLACE_ONE

    def __post_init__(self):
        if not isinstance(self.concepts, Tree | Thresholds):
            raise InputError("concepts", "a Tree or Thresholds", type(self.concepts).__name__, "use Tree.of_class")
        if self.neighboring is not Neighboring.REPLACE_ONE:
            raise InputError("neighboring", "REPLACE_ONE", self.neighboring.name, "a subsample's size must be public")
        checks.integer("subsamples", self.subsamples, 1, 1 << 20)
        if self.median.bits != depth_bits(self.concepts):
            raise InputError(
                "median", f"a plan over {depth_bits(self.concepts)} bits", f"{self.median.bits} bits",
                "plan it for depth_bits(concepts), or use ImproperVC1.planned",
            )  # fmt: skip

    @staticmethod
    def planned(
        concepts: Tree | Thresholds, privacy: Privacy, accuracy: Accuracy, method: str = "auto"
    ) -> "ImproperVC1":
        """With the fewest subsamples that the theorem allows for these numbers, each step failing with beta / 3.

        method: "exponential", "recprefix", "treelog", "rsc", or "auto", the one that needs the fewest.
        """
        return ImproperVC1(concepts, *subsamples_and_median(method, depth_bits(concepts), privacy, accuracy))

    def learn(self, key: Array, sample: Sample, privacy: Privacy, accuracy: Accuracy) -> Hypothesis:
        """One hypothesis, a node."""
        of_order, of_median, of_node = keys.streams(key, "order", "median", "node")
        nodes = self.deterministic(of_order, sample)
        half = self._halves(privacy)
        depths = self.concepts.depth_of(nodes)
        everyone = jnp.ones(self.subsamples, bool)
        median = private_median(of_median, depths, everyone, half[0], self.median, alpha=_ALPHA)

        voting = B.less_equal(median.element, depths)
        votes = B.sort_rows(self.concepts.ancestor(nodes, median.element), voting)
        count = jnp.sum(voting, dtype=jnp.int32)
        whole = jnp.int32(_NODE_BITS)
        scores = T.prefix_weights(votes, count, whole, jnp.ones_like(voting), _NODE_BITS)
        chosen = choosing(scores, half[1].epsilon, half[1].delta).sample(of_node)
        answered = (chosen >= 0) & (median.outcome == 0)
        node = jnp.where(answered, votes[jnp.maximum(chosen, 0)], jnp.uint32(0))
        outcome = jnp.where(answered, jnp.int32(0), jnp.int32(-1))
        return Hypothesis(node[None], jnp.zeros(1, bool), outcome[None])

    def deterministic(self, key: Array, sample: Sample) -> Array:
        """The node that each of the t subsamples determines, ``uint32[t, 2]``; a row moves one of them."""
        column = single_column(sample, "ImproperVC1")
        capacity, t = sample.capacity, self.subsamples
        order = Shuffle(sample.size, capacity).sample(key)
        rows = -(-capacity // t)

        def dealt(values: Array) -> Array:  # [t, rows, ...]; the r-th of the order is row r // t of subsample r mod t
            padding = jnp.zeros((rows * t - capacity, *values.shape[1:]), values.dtype)
            return jnp.swapaxes(jnp.concatenate([values[order], padding]).reshape(rows, t, *values.shape[1:]), 0, 1)

        return self.concepts.deterministic(dealt(sample.x), dealt(column), dealt(sample.mask))

    def _halves(self, privacy: Privacy) -> tuple[Privacy, Privacy]:
        epsilon, delta = as_float(privacy.epsilon) / 2, as_float(privacy.delta)
        return Privacy(epsilon, delta / 2), Privacy(epsilon, delta / _parts(self.median))

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[..., 1]``."""
        return self.concepts.predict(hypothesis, x)

    def guarantee(self, privacy: Privacy) -> Guarantee:
        """Median and choice add up."""
        epsilon, delta = float(privacy.epsilon) / 2, float(privacy.delta)
        parts = (
            median_guarantee(Privacy(epsilon, delta / 2), self.median, "median depth"),
            choosing_guarantee(epsilon, delta / _parts(self.median), what="the node at that depth (choosing)"),
        )
        return basic(parts, f"improper learner of a tree of height {self.concepts.height}")

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.vc1.improper`. Raises InputError if there are too few subsamples for this budget and beta."""
        beta = checks.probability("beta", float(accuracy.beta)) / 3
        epsilon, delta = checks.epsilon(float(privacy.epsilon)) / 2, float(privacy.delta)
        needed = max(
            theory.subsamples(epsilon, delta / _parts(self.median), beta),
            required_records(self.median, Privacy(epsilon, delta / 2), beta, _ALPHA),
        )
        if self.subsamples < needed:
            raise InputError(
                "subsamples", f"at least {needed} at this budget and beta", str(self.subsamples),
                "use ImproperVC1.planned, or search for n",
            )  # fmt: skip
        return theory.improper(self.subsamples, float(accuracy.alpha), float(accuracy.beta))

    def hard_neighbors(self, rows: int) -> list[tuple[Sample, Sample]]:
        """All rows alike, one moved or relabelled (then its subsample is inconsistent); one path against another."""
        pairs = flipped_label_pairs(self.concepts.domain, rows)
        deep = _two_paths(self.concepts)
        if deep and rows > 1:
            one, other = deep
            balanced = [(one, 1) if i % 2 else (other, 1) for i in range(rows - 1)]
            samples = [sample_at(self.concepts, [*balanced, (last, 1)]) for last in (one, other)]
            pairs.append((samples[0], samples[1]))
        return pairs


def sample_at(concepts: Tree | Thresholds, examples: list[tuple[int, int]]) -> Sample:
    """A sample of examples (node but the root, label in the tree: before the flip of its point)."""
    nodes, labels = [node for node, _ in examples], [label for _, label in examples]
    if isinstance(concepts, Thresholds):
        return database(concepts.domain, nodes, labels)
    points = [int(np.flatnonzero(concepts.place == node)[0]) for node in nodes]
    flips = [int(concepts.flip[point]) for point in points]
    return database(concepts.domain, points, [label ^ flip for label, flip in zip(labels, flips, strict=True)])


def _two_paths(concepts: Tree | Thresholds) -> tuple[int, int] | None:
    """A deepest node and the first that is not on its path, or the middle of the path; None if there is one node."""
    if concepts.height < 2 or isinstance(concepts, Thresholds):
        return (concepts.height, concepts.height // 2) if concepts.height >= 2 else None
    deepest = int(np.argmax(concepts.depth))
    number = np.arange(concepts.size)
    off = number[(number > 0) & ~((number <= deepest) & (deepest < concepts.tout))]
    return (deepest, int(off[0]) if len(off) else int(concepts.parent[deepest]))


def _parts(plan: MedianPlan) -> int:
    """Among how many delta is shared: a pure median takes none."""
    return 1 if isinstance(plan, ExponentialPlan) else 2
