"""Multiclass learning by learning each bit of the label with a binary learner."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.accounting.composition import parallel
from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.base import ConceptClass, require_class
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.plans import Spends, plan_type
from dpjax.core.types import Accuracy, Privacy, Sample, replace_one_only
from dpjax.learners.base import Learner, require_learner
from dpjax.learners.blocks import Blocks
from dpjax.learners.kln import KLN
from dpjax.learners.samples import Pairs, flipped_label_pairs


@plan_type
class BitReductionPlan:
    """bits: the plan of each bit's learner."""

    bits: tuple[Any, ...]


@dataclass(frozen=True)
class BitReduction(Learner):
    """Learns each of the L bits of the label from rows of its own, with a binary learner of the class of that bit.

    The label of an element is the number that the L predictions are the bits of, or 0 if that is no label: improper.
    If the learner of a bit abstains, so does the reduction, and all labels are 0. Bits with equal learners are learned
    by one program, vmapped.

    Args:
      concepts: a class of L = ceil(log2(labels)) bits, such as a `Multiclass`, given as a matrix, or a `Bitwise` of any
        size; any one with `ConceptClass.joined`.
      binary: makes the learner of one concept from a bit's class (of a `Multiclass` a `Finite`); by default `KLN`. A
        class or a function of a module, so that results can name it.
      weights: static, one whole number >= 1 for each bit: the numbers of its rows are in these proportions. By default
        the learners' sample sizes at epsilon = 1, delta = 1e-6, alpha = beta = 0.1.

    Privacy: (epsilon, delta), replace-one, if the binary learners are: each row is read by one of them.
    Utility: error at most alpha with probability 1 - beta from n rows on, the least n that gives every bit the sample
      size of its learner at alpha / L and beta / L: their sum, up to 1/32 of the largest for each other bit, if the
      weights are in the proportion of these sizes.
    Reference: Bun, Gaboardi, Sivakumar 2021, Theorems 1.1, 1.2, 3.1 and 3.7, Figure 1, Corollary 3.3; 1.2 and 3.7 are
      for `SparseAggregate` as the binary learner.
    """

    concepts: ConceptClass
    binary: Callable[[Any], Learner] = KLN
    weights: tuple[int, ...] | None = None

    def __post_init__(self):
        require_class(self.concepts, ConceptClass.joined, "Multiclass.of(matrix)")
        if not callable(self.binary) or isinstance(self.binary, Learner):
            expected, advice = "a class or function that makes a learner of a bit's class", "name it alone, such as KLN"
            raise InputError("binary", expected, repr(self.binary), advice)
        for learner in self.learners:
            require_learner(learner)
            replace_one_only(learner.neighboring, "rows are assigned to bits by their position")
        if self.weights is not None:
            count = self.concepts.columns
            if not isinstance(self.weights, tuple) or len(self.weights) != count:
                actual, advice = repr(self.weights), "leave weights out, or give each bit one"
                raise InputError("weights", f"a tuple of {count} whole numbers, one for each bit", actual, advice)
            for weight in self.weights:
                checks.integer("weight", weight, 1, 2**31 - 1)

    @cached_property
    def learners(self) -> tuple[Learner, ...]:
        """The binary learner of each bit."""
        return tuple(self.binary(bit) for bit in self.concepts.bit_classes)

    @cached_property
    def blocks(self) -> Blocks:
        """Which rows each bit is learned from."""
        return Blocks.of(self.weights or self._sizes(Privacy(1.0, 1e-6), Accuracy(0.1, 0.1)))

    @property
    def spends(self) -> Spends:
        """Approximate if the learner of some bit is, else pure."""
        return "approximate" if any(learner.spends == "approximate" for learner in self.learners) else "pure"

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> BitReductionPlan:
        """All of the budget for every bit, at alpha / L and beta / L."""
        each = self._of_bit(accuracy)
        return BitReductionPlan(
            tuple(
                learner.plan(privacy, each, None if n is None else self.blocks.rows(i, n))
                for i, learner in enumerate(self.learners)
            )
        )

    def _learn(self, key: Array, sample: Sample, plan: BitReductionPlan) -> Any:
        """One function on the domain: `ConceptClass.joined`."""
        count = self.concepts.columns
        if sample.y.shape[1] != count:
            actual = f"{sample.y.shape[1]} columns"
            raise InputError("labels", f"{count} bits of 0..{self.concepts.labels - 1}", actual, "give all bits")
        self._check(plan)
        keys = jax.random.split(key, count)
        by_bit: dict[int, tuple[Any, Array]] = {}
        for alike in self._alike(plan):
            batch = [(self._rows_of(sample, i), plan.bits[i]) for i in alike]
            rows, plans = jax.tree.map(lambda *parts: jnp.stack(parts), *batch)
            learn = partial(self._learn_bit, self.learners[alike[0]])
            answers = jax.vmap(learn)(jnp.concatenate([keys[i : i + 1] for i in alike]), rows, plans)
            by_bit |= {bit: jax.tree.map(lambda part, at=at: part[at], answers) for at, bit in enumerate(alike)}
        bits, outcomes = zip(*(by_bit[i] for i in range(count)), strict=True)
        return self.concepts.joined(bits, jnp.min(jnp.stack(outcomes)))

    def _guarantee(self, plan: BitReductionPlan) -> Guarantee | None:
        """Parallel composition over the bits; None if a binary learner is not private."""
        self._check(plan)
        parts = [learner.guarantee(bit_plan) for learner, bit_plan in zip(self.learners, plan.bits, strict=True)]
        known = [part for part in parts if part is not None]
        return parallel(known, "index", f"{len(parts)} bits of a label") if len(known) == len(parts) else None

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """The least n from which on each bit has its learner's sample size."""
        return self.blocks.needed(self._sizes(privacy, accuracy))

    @property
    def hard_rows(self) -> int:
        """The least n from which on each bit has the rows that audits of its learner need."""
        return self.blocks.needed([learner.hard_rows for learner in self.learners])

    def hard_neighbors(self, rows: int) -> Pairs:
        """For each bit with a row: samples of identical rows but for the bit's last one, moved or relabeled."""
        domain, count = self.concepts.domain, self.concepts.columns
        places = self.blocks.last(checks.integer("rows", rows, 1))
        return [pair for place in places for pair in flipped_label_pairs(domain, rows, count, place)]

    def _check(self, plan: BitReductionPlan) -> None:
        if (size := len(plan.bits)) != (count := len(self.learners)):
            raise InputError("plan", f"{count} bits", str(size), "make it with this learner's plan")

    def _sizes(self, privacy: Privacy, accuracy: Accuracy) -> list[int]:
        each = self._of_bit(accuracy)
        return [max(1, learner.sample_size(privacy, each)) for learner in self.learners]

    def _of_bit(self, accuracy: Accuracy) -> Accuracy:
        count = len(self.learners)
        return Accuracy(float(accuracy.alpha) / count, float(accuracy.beta) / count)

    def _alike(self, plan: BitReductionPlan) -> list[list[int]]:
        """The bits that one program can learn: with equal learners, equal weights, and plans of one structure."""
        groups: dict[Any, list[int]] = {}
        for i, (learner, bit_plan) in enumerate(zip(self.learners, plan.bits, strict=True)):
            key = learner, self.blocks.order.count(i), jax.tree.structure(bit_plan)
            groups.setdefault(key, []).append(i)
        return list(groups.values())

    def _rows_of(self, sample: Sample, bit: int) -> Sample:
        return self.blocks.take(Sample(sample.x, sample.y[:, bit : bit + 1], sample.mask), bit)

    def _learn_bit(self, learner: Learner, key: Array, rows: Sample, plan: Any) -> tuple[Any, Array]:
        """What the class needs of the bit, and the outcome."""
        hypothesis = learner.learn(key, rows, plan)
        outcome = getattr(hypothesis, "outcome", jnp.zeros(1, jnp.int32))[0]
        return self.concepts.of_bit(learner, hypothesis), outcome
