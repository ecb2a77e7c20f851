"""Multiclass learning by learning each bit of the label with a binary learner."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.accounting.composition import parallel
from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.finite import Finite
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.multiclass import Multiclass
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.plans import Spends, plan_type
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners.base import Learner, OfClass, replace_one_only, require_learner
from dpjax.learners.kln import KLN


@plan_type
class BitReductionPlan:
    """bits: the plan of each bit's learner."""

    bits: tuple[Any, ...]


@dataclass(frozen=True)
class BitReduction(OfClass):
    """Learns bit i of the label from every L-th row, i = 0..L-1, with a binary learner of the class of that bit.

    The label of an element is the number that the L predictions are the bits of, or 0 if that is no label: improper.
    If the learner of a bit abstains, so does the reduction, and all labels are 0.

    Args:
      concepts: a `Multiclass` of L = ceil(log2(labels)) bits.
      binary: makes the learner of one concept from a bit's class, a `Finite`; by default `KLN`. A class or a function
        of a module, so that results can name it.

    Privacy: (epsilon, delta), replace-one, if the binary learners are: each row is read by one of them.
    Utility: error at most alpha with probability 1 - beta from L max_i n_i rows on, n_i the sample size of bit i's
      learner at alpha / L and beta / L. (The paper's blocks have n_i rows, their sum; ours are equal.)
    Reference: Bun, Gaboardi, Sivakumar 2021, Theorem 3.1.
    """

    concepts: Multiclass
    binary: Callable[[Finite], Learner] = KLN
    proper: ClassVar[bool] = False

    def __post_init__(self):
        advice = "give a matrix of labels: Multiclass.of"
        checks.members("concepts", self.concepts, ("bits", "columns", "of_bits", "labels"), advice)
        if not callable(self.binary) or (hasattr(self.binary, "learn") and not isinstance(self.binary, type)):
            raise InputError(
                "binary", "a class or function that makes a learner of a bit's class", repr(self.binary), "give KLN"
            )
        for one in self.learners:
            require_learner(one)
            replace_one_only(one.neighboring, "rows are assigned to bits by their position")

    @cached_property
    def learners(self) -> tuple[Learner, ...]:
        """The binary learner of each bit."""
        return tuple(self.binary(bit) for bit in self.concepts.bits)

    @property
    def neighboring(self) -> Neighboring:
        """REPLACE_ONE."""
        return Neighboring.REPLACE_ONE

    @property
    def spends(self) -> Spends:
        """Approximate if the learner of some bit is, else pure."""
        return "approximate" if any(one.spends == "approximate" for one in self.learners) else "pure"

    def plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> BitReductionPlan:
        """All of the budget for every bit, at alpha / L and beta / L."""
        each, count = self._of_bit(accuracy), len(self.learners)
        rows = [None if n is None else (n - i + count - 1) // count for i in range(count)]
        return BitReductionPlan(
            tuple(one.plan(privacy, each, max(0, own) if own is not None else None)
                  for one, own in zip(self.learners, rows, strict=True))
        )  # fmt: skip

    def learn(self, key: Array, sample: Sample, plan: BitReductionPlan) -> Hypothesis:
        """One function on the domain, by its labels."""
        count = self.concepts.columns
        if sample.y.shape[1] != count:
            given = f"{sample.y.shape[1]} columns"
            raise InputError("labels", f"{count} bits of 0..{self.concepts.labels - 1}", given, "give all bits")
        elements = jnp.arange(self.concepts.width, dtype=jnp.uint32)[:, None]
        found, outcomes = [], []
        for i, own in enumerate(jax.random.split(key, count)):
            block = Sample(sample.x[i::count], sample.y[i::count, i : i + 1], sample.mask[i::count])
            learner = self.learners[i]
            hypothesis = learner.learn(own, block, plan.bits[i])
            found.append(learner.predict(hypothesis, elements)[:, 0])
            outcomes.append(getattr(hypothesis, "outcome", jnp.zeros(1, jnp.int32))[0])
        labels = self.concepts.of_bits(jnp.stack(found, axis=-1))
        return self.concepts.of_labels(labels[None], jnp.min(jnp.stack(outcomes))[None])

    def guarantee(self, plan: BitReductionPlan) -> Guarantee | None:
        """Parallel composition over the bits; None if a binary learner is not private."""
        parts = [one.guarantee(own) for one, own in zip(self.learners, plan.bits, strict=True)]
        known = [part for part in parts if part is not None]
        return parallel(known, "index", f"{len(parts)} bits of a label") if len(known) == len(parts) else None

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """L times the largest sample size of a bit."""
        each = self._of_bit(accuracy)
        return len(self.learners) * max(one.sample_size(privacy, each) for one in self.learners)

    def _of_bit(self, accuracy: Accuracy) -> Accuracy:
        count = len(self.learners)
        return Accuracy(float(accuracy.alpha) / count, float(accuracy.beta) / count)
