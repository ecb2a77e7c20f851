"""Spiders: trees of any height with one node of many branches, given by a rule."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts.distributions import Distribution
from dpjax.concepts.domain import MOST_BITS, Domain
from dpjax.concepts.hypothesis import Hypothesis, sentences
from dpjax.concepts.tree.rooted import Rooted
from dpjax.concepts.versions.paths import SpiderPaths
from dpjax.core import checks
from dpjax.core.arithmetic import FEWEST, Arithmetic, arithmetic, decode, encode


@dataclass(frozen=True)
class Spider(Rooted):
    """Paths of 2**bits - 1 nodes that meet in a root: element ``leg * 2**bits + step`` is at a leg's step-th node.

    A concept labels the first steps of one leg with 1, and all else with 0; it is encoded as the last of those
    elements, the root, which labels all with 0, as element 0. Elements of step 0 are at the root, whatever their leg.

    Args:
      legs: m >= 1. One leg has the thresholds {1..s} of 1, ..., 2**bits - 1, and the empty one.
      bits: of a step, >= 1; legs * 2**bits is at most 2**2048.
    """

    legs: int
    bits: int
    differences = MappingProxyType({"thresholds": 4})

    def __post_init__(self):
        checks.integer("bits", self.bits, 1, MOST_BITS)
        checks.integer("legs", self.legs, 1, 2 ** (MOST_BITS - self.bits))

    @cached_property
    def domain(self) -> Domain:
        """{0, ..., legs * 2**bits - 1}."""
        return Domain(self.legs << self.bits)

    @property
    def height(self) -> int:
        """2**bits - 1."""
        return (1 << self.bits) - 1

    @property
    def size(self) -> int:
        """The number of nodes, all of which are concepts."""
        return self.legs * self.height + 1

    @property
    def chain(self) -> int:
        """The largest number of elements over which it has all thresholds: those of one leg."""
        return self.height

    @property
    def numbers(self) -> Arithmetic:
        """The arithmetic of elements and of concepts."""
        return arithmetic(self.domain.limbs)

    def numbered(self, numbers: Sequence[int]) -> np.ndarray:
        """Host: the root, then the nodes of the first leg, of the second, ..., ``uint32[c, W]``."""
        places = (divmod(int(i) - 1, self.height) for i in checks.indices("target", numbers, self.size))
        nodes = [0 if leg < 0 else (leg << self.bits) + step + 1 for leg, step in places]
        return encode(nodes, max(FEWEST, self.domain.limbs))

    def growth(self, elements: int) -> int:
        """An upper bound of the ways in which the class cuts ``elements`` elements: one for each of them, and none."""
        return min(elements + 1, self.size)

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[..., k]`` for elements ``uint32[..., limbs]``."""
        numbers = self.numbers
        with jax.enable_x64(True):
            value, node = jnp.expand_dims(numbers.read(x), x.ndim - 1), numbers.read(hypothesis.concept)
            on_leg = numbers.equal(self._foot(value), self._foot(node)) & self._below_root(value)
            return on_leg & numbers.less_equal(value, node) & ~hypothesis.zero

    def error(self, distribution: Distribution, hypothesis: Hypothesis, target: Hypothesis) -> Array:
        """Mass of the disagreement, exactly, in units of the distribution: ``uint64[k]`` (64-bit types enabled)."""
        numbers, root = self.numbers, self.numbers.constant(0)
        ours, theirs = (numbers.where(one.zero, root, numbers.read(one.concept)) for one in (hypothesis, target))
        same = numbers.equal(self._foot(ours), self._foot(theirs))
        between = _mass(distribution, numbers.lesser(ours, theirs), numbers.greater(ours, theirs))
        one, two = (_mass(distribution, self._foot(node), node) for node in (ours, theirs))
        both = jnp.where(one + two < one, jnp.uint64(2**64 - 1), one + two)  # 2**64 would wrap to 0
        return jnp.where(same, between, both)

    def describe(self, hypothesis: Hypothesis) -> list[str]:
        """A sentence for each hypothesis, on the host."""

        def words(concept: np.ndarray) -> str:
            leg, step = divmod(int(decode(concept)), 1 << self.bits)
            return f"1 iff leg {leg}, steps 1 to {step}" if step else "0 everywhere"

        return sentences(hypothesis, words)

    def deterministic(self, x: Array, y: Array, mask: Array) -> Array:
        """See `Rooted.deterministic`: the deepest example labeled 1, unless another example refutes its path."""
        numbers = self.numbers
        with jax.enable_x64(True):
            values, root = numbers.read(x), numbers.constant(0)
            real = mask & self._below_root(values)
            deepest = numbers.largest(numbers.where(real & y, values, root))
            last = deepest[:, None]
            on_path = numbers.equal(self._foot(values), self._foot(last)) & numbers.less_equal(values, last)
            refuted = jnp.any(real & (y != on_path) & (y | on_path), axis=-1)
            return numbers.number(numbers.where(refuted, root, deepest))

    def depth_of(self, node: Array) -> Array:
        """See `Rooted.depth_of`: the step."""
        numbers, limbs = self.numbers, -(-self.bits // 32)
        with jax.enable_x64(True):
            return numbers.number(numbers.read(node) & numbers.constant(self.height))[..., -limbs:]

    def ancestor(self, node: Array, depth: Array) -> Array:
        """See `Rooted.ancestor`: of the same leg."""
        numbers, short = self.numbers, self.domain.limbs - depth.shape[-1]
        with jax.enable_x64(True):
            value, level = numbers.read(node), numbers.read(jnp.pad(depth, [(short, 0)]))
            foot, root = self._foot(value), numbers.constant(0)
            step = numbers.lesser(numbers.subtract(value, foot), level)
            return numbers.number(numbers.where(numbers.equal(step, root), root, numbers.add(foot, step)))

    def two_paths(self) -> tuple[int, int] | None:
        """See `Rooted.two_paths`: the ends of two legs."""
        return (2 * self.height + 1, self.height) if self.legs > 1 else super().two_paths()

    def versions(self) -> SpiderPaths:
        """See `ConceptClass.versions`: steps of a leg, or what is left of all legs."""
        return SpiderPaths(self.legs, self.bits)

    def _foot(self, value: Array) -> Array:
        """The element of step 0 on the same leg."""
        return value & ~self.numbers.constant(self.height)

    def _below_root(self, value: Array) -> Array:
        return self.numbers.differ(value, self._foot(value))


def _mass(distribution: Distribution, below: Array, last: Array) -> Array:
    """Of {below + 1, ..., last}, ``uint64[k]``, at most 2**64 - 1."""
    mass = distribution.mass_up_to(last) - distribution.mass_up_to(below)
    every = (mass == 0) & distribution.reaches(last) & ~distribution.reaches(below)  # 2**64 wraps to 0
    return jnp.where(every, jnp.uint64(2**64 - 1), mass)
