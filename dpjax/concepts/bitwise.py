"""Functions to labels each of whose bits is a concept of one class, of any size; and such functions bit by bit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.concepts import outside
from dpjax.concepts.base import ConceptClass, require_class
from dpjax.concepts.domain import FiniteDomain
from dpjax.concepts.elements import elements, mass_of
from dpjax.concepts.hypothesis import Hypothesis, Rule
from dpjax.concepts.outside import Outside
from dpjax.core import checks
from dpjax.core.checks import InputError


@dataclass(frozen=True)
class Bitwise(ConceptClass):
    """All functions to labels 0..2^L - 1 each of whose bits is a concept of one binary class, independently.

    A concept is encoded by those of its bits, the least significant bit first, ``uint32[k, L words]``; samples carry
    the bits of the labels. No matrix is needed: the class may have any size.

    Args:
      bit: the class of each bit, such as ``Points(Domain(2**1024))``. columns: L in [1, 16].

    Errors are sums over elements: the distribution is one of single elements, or the domain has at most 2**16.
    Reference: Bun, Gaboardi, Sivakumar 2021, Theorem 7.2: d L is the multiclass Littlestone dimension, d that of a bit.
    """

    bit: ConceptClass
    columns: int

    def __post_init__(self):
        require_class(self.bit)
        checks.integer("columns", self.columns, 1, 16)
        if self.bit.columns > 1:
            raise InputError("bit", "a class of two labels", f"{self.bit.labels}", "give the class of one bit")

    @property
    def domain(self) -> FiniteDomain:
        """That of the bits."""
        return self.bit.domain

    @property
    def size(self) -> int:
        """The number of concepts."""
        return self.bit.size**self.columns

    @property
    def bit_classes(self) -> tuple[ConceptClass, ...]:
        """The class of each bit."""
        return (self.bit,) * self.columns

    def numbered(self, numbers: Sequence[int]) -> np.ndarray:
        """Host: the bits' numbers are the digits of a concept's in base |H|, the least significant first."""
        base, places = self.bit.size, range(self.columns)
        digits = [[i // base**j % base for i in checks.indices("target", numbers, self.size)] for j in places]
        return np.concatenate([self.bit.numbered(each) for each in digits], axis=1)

    def targets(self, count: int) -> np.ndarray:
        """Host: at most ``count``, whose bits are consecutive targets of the bits' class."""
        return self._windows(self.bit.targets(count))

    def targets_under(self, distribution: Any, count: int) -> np.ndarray:
        """Host: as `targets`, of concepts of a bit that the distribution tells apart."""
        return self._windows(self.bit.targets_under(distribution, count))

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """The bits of the labels of elements ``uint32[..., limbs]``, ``bool[..., k L]``, a concept's together."""
        return self.bit.predict(self._bits(hypothesis), x)

    def error(self, distribution: Any, hypothesis: Hypothesis, target: Hypothesis) -> Array:
        """Mass of the elements with another label, exactly, in units of the distribution: ``uint64[k]`` (64-bit types
        enabled)."""
        return _mass(self, distribution, hypothesis, target)

    def describe(self, hypothesis: Hypothesis) -> list[str]:
        """A sentence for each hypothesis, on the host."""
        each = self.bit.describe(self._bits(hypothesis))
        return [_sentence(each[i : i + self.columns]) for i in range(0, len(each), self.columns)]

    def of_bit(self, learner: Any, hypothesis: Any) -> Any:
        """The hypothesis itself, of the class of the bits."""
        if learner.concepts != self.bit:
            advice = "give a function that makes it of the class that it is called with"
            raise InputError("binary", f"a learner of {self.bit}", f"one of {learner.concepts}", advice)
        return hypothesis

    def joined(self, bits: Sequence[Any], outcome: Array) -> "BitByBit":
        """The function with these bits."""
        return BitByBit.joined(jax.tree.map(lambda *parts: jnp.stack(parts), *bits), outcome)

    def _bits(self, hypothesis: Hypothesis) -> Hypothesis:
        """The bits of k concepts as k L concepts of the class of a bit."""
        return Hypothesis(
            hypothesis.concept.reshape(len(hypothesis.concept) * self.columns, -1),
            jnp.repeat(hypothesis.zero, self.columns),
            jnp.repeat(hypothesis.outcome, self.columns),
        )

    def _windows(self, encoded: Any) -> np.ndarray:
        bits = [np.roll(np.asarray(encoded), -i, axis=0) for i in range(self.columns)]
        return np.concatenate(bits, axis=1)


@register_dataclass
@dataclass(frozen=True)
class BitByBit(Hypothesis, Outside):
    """k functions to labels, given by hypotheses of the L bits; the label 0 everywhere where the outcome is -1.

    concept: the encodings of the bits. members: hypotheses of one concept, every array with leading axes ``[k, L, 1]``.
    """

    members: Any

    @staticmethod
    def joined(members: Any, outcome: Array) -> "BitByBit":
        """One function of L hypotheses of one concept, stacked: every array is ``[L, 1, ...]``; outcome ``int32[]``."""
        zero = jnp.all(members.zero) | (outcome < 0)
        each = jax.tree.map(lambda part: part[None], members)
        return BitByBit(members.concept.reshape(1, -1), zero[None], outcome[None], each)

    def predict_in(self, concepts: Any, x: Array) -> Array:
        """``bool[..., k L]``: the bits' predictions."""

        def of_one(members: Any) -> Array:
            return jax.vmap(lambda member: outside.predict(concepts.bit, member, x)[..., 0], out_axes=-1)(members)

        bits = jnp.moveaxis(jax.vmap(of_one)(self.members), 0, -2)
        return (bits & ~self.zero[:, None]).reshape(*bits.shape[:-2], -1)

    def error_in(self, concepts: Any, distribution: Any, target: Hypothesis) -> Array:
        """Mass of the elements with another label, exactly, in units of the distribution: ``uint64[k]`` (64-bit types
        enabled)."""
        return _mass(concepts, distribution, self, target)

    def describe_in(self, concepts: Any, rule: Rule | None = None) -> list[str]:
        """The bits' sentences."""
        found = []
        for j, outcome in enumerate(np.asarray(self.outcome)):
            bits = (jax.tree.map(lambda part, j=j, i=i: part[j, i], self.members) for i in range(concepts.columns))
            said = [text for bit in bits for text in outside.describe(concepts.bit, bit, rule)]
            found.append(_sentence(said) if outcome >= 0 else "0 everywhere (no answer)")
        return found


def _mass(concepts: Bitwise, distribution: Any, ours: Any, theirs: Any) -> Array:
    x, mass = elements(concepts.domain, distribution)
    differ = outside.predict(concepts, ours, x) != outside.predict(concepts, theirs, x)
    return mass_of(jnp.any(differ.reshape(len(x), -1, concepts.columns), axis=-1), mass)


def _sentence(said: Sequence[str]) -> str:
    return "; ".join(f"bit {i}: {part}" for i, part in enumerate(said))
