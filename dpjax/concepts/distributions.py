"""Distributions over an ordered domain with integer weights, so that every error is an exact integer."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.concepts.domain import Domain, FiniteDomain, require
from dpjax.concepts.segments import Segments, count_below
from dpjax.concepts.wide_distribution import FINEST, WideDistribution, of_blocks
from dpjax.core import checks, random, wide
from dpjax.core.checks import InputError
from dpjax.core.members import implements

_BACKGROUND = 1 << 60


@register_dataclass
@dataclass(frozen=True)
class Distribution(Segments):
    """Segments of the domain, each with one integer weight per point; the rest of the domain has mass 0.

    start, end (inclusive), weight (per point): ``uint32[s, 2]``, segments ascending and disjoint.
    last: ``uint32[s, 2]``, cumulative mass up to and including the segment, minus 1. The total is at most 2**64.
    limbs, atoms: static; limbs of an element, and whether every segment is a single point.

    Traced: another distribution with equally many segments does not recompile. Build it with `dpjax.uniform`,
    `dpjax.from_weights`, `dpjax.from_segments`, `dpjax.heavy`, `dpjax.zipf`, or, for the values of a table,
    `dpjax.empirical`; ``dpjax.concepts.distributions`` also has those of lower bounds.
    """

    start: Array
    end: Array
    weight: Array
    last: Array
    limbs: int = field(metadata={"static": True})
    atoms: bool = field(metadata={"static": True})

    def single(self) -> np.ndarray:
        """Host: the segments that are single elements, ``uint64[...]``, ascending."""
        start = wide.decode(self.start)
        return start[start == wide.decode(self.end)]

    def misfit(self, domain: Any) -> str | None:
        """None, or the reason why the distribution is not over the domain."""
        last = int(wide.decode(self.end)[-1])
        if domain.limbs != self.limbs or last >= domain.size:
            return f"one with elements up to {last} of {self.limbs} limb(s)"
        return None

    def draw(self, key: Array, count: int) -> Array:
        """``uint32[count, limbs]`` independent elements; element i does not depend on ``count``.

        The probability of every interval of the domain is its mass, to within 2**-63.
        """
        high, low = random.words(key, (count,))
        with jax.enable_x64(True):
            unit = self.unit(wide.word(high, low))
            if self.start.shape[0] == 1:
                weight = wide.join(self.weight[0])
                offset = unit if self.atoms else jnp.where(weight == 1, unit, unit // weight)
                element = wide.join(self.start[0]) + (jnp.zeros_like(unit) if self.atoms else offset)
            else:
                segment = count_below(wide.join(self.last), unit, strict=True)
                element = wide.join(self.start)[segment]
                if not self.atoms:
                    element = element + (unit - self.before()[segment]) // wide.join(self.weight)[segment]
            return wide.split(element, self.limbs)

    def mass_at(self, element: Array) -> Array:
        """Mass of single elements, unsigned ``[...]`` -> ``uint64[...]``."""
        with jax.enable_x64(True):
            element, start = jnp.asarray(element, jnp.uint64), wide.join(self.start)
            segment = jnp.maximum(count_below(start, element, strict=False) - 1, 0)
            inside = (start[segment] <= element) & (element <= wide.join(self.end)[segment])
            return jnp.where(inside, wide.join(self.weight)[segment], jnp.uint64(0))

    def mass_up_to(self, element: Array) -> Array:
        """Mass of {0, ..., element} modulo 2**64, unsigned ``[...]`` -> ``uint64[...]``."""
        with jax.enable_x64(True):
            element, start, end = jnp.asarray(element, jnp.uint64), wide.join(self.start), wide.join(self.end)
            below = count_below(start, element, strict=False)
            segment = jnp.maximum(below - 1, 0)
            covered = jnp.minimum(element, end[segment]) - start[segment] + jnp.uint64(1)
            mass = self.before()[segment] + covered * wide.join(self.weight)[segment]
            return jnp.where(below == 0, jnp.uint64(0), mass)

    def reaches(self, element: Array) -> Array:
        """Whether {0, ..., element} has any mass, unsigned ``[...]`` -> ``bool[...]``."""
        with jax.enable_x64(True):
            return jnp.asarray(element, jnp.uint64) >= wide.join(self.start[0])


def from_segments(domain: Domain, segments: list[tuple[int, int, int]]) -> Distribution | WideDistribution:
    """From (start, end inclusive, weight per point), disjoint, ascending, weights >= 1; total mass at most 2**64.

    A segment of m elements has mass m times its weight.
    """
    total, previous, last = 0, -1, []
    require(domain)
    for start, end, weight in segments:
        if outside := [at for at in (start, end) if not 0 <= at < domain.size]:
            expected, advice = f"elements in [0, {domain.size})", "take a larger domain, or map the values into it"
            raise InputError("distribution", expected, checks.short(outside[0]), advice)
        if not previous < start <= end < domain.size or not 1 <= weight < 2**64:
            expected = f"ascending disjoint segments in [0, {domain.size}) of weight in [1, 2**64)"
            advice = "sort the segments and merge those that overlap"
            raise InputError("distribution segment", expected, repr((start, end, weight)), advice)
        previous, total = end, total + (end - start + 1) * weight
        last.append(total - 1)
    if not segments:
        raise InputError("distribution", "one or more elements of positive mass", "none", "give at least one value")
    if total > 2**64:
        advice = "use smaller whole-number weights"
        raise InputError("distribution", "a total mass of at most 2**64", f"total {total}", advice)
    if domain.limbs > wide.LIMBS:
        return of_blocks(domain.limbs, [(start, end, 0, weight) for start, end, weight in segments])
    columns = (*zip(*segments, strict=True), last)
    starts, ends, weights, lasts = (jnp.asarray(wide.encode(column)) for column in columns)
    atoms = all(segment[0] == segment[1] for segment in segments)
    return Distribution(starts, ends, weights, lasts, limbs=domain.limbs, atoms=atoms)


def uniform(domain: Any) -> Distribution | WideDistribution:
    """Every element has mass 1, or, beyond 2**64 elements, each of 2**63 blocks of equal length.

    A domain with a distribution of its own, such as a cube's, has a method ``uniform``.
    """
    if implements(domain, FiniteDomain.uniform):
        return domain.uniform()
    size = require(domain).size
    if size <= 2**64:
        return from_segments(domain, [(0, size - 1, 1)])
    if size & (size - 1):
        actual = f"{size.bit_length()} bits"
        raise InputError("domain size", "a power of two beyond 2**64", actual, "take Domain(2**bits), or segments")
    return of_blocks(domain.limbs, [(0, size - 1, size.bit_length() - 1 - FINEST, 1)])


def from_weights(domain: Domain, positions, weights) -> Distribution | WideDistribution:
    """Atoms at the given distinct positions with integer weights; atoms of weight 0 are dropped.

    The probability of an atom is its weight divided by the sum of all weights, which is at most 2**64.
    """
    positions, weights = _elements("positions", positions), _elements("weights", weights)
    if len(positions) != len(weights):
        actual = f"{len(positions)} positions, {len(weights)} weights"
        raise InputError("weights", "one for each position", actual, "give as many weights as positions")
    pairs = sorted((p, w) for p, w in zip(positions, weights, strict=True) if w != 0)
    return from_segments(domain, [(p, p, w) for p, w in pairs])


def spread(domain: Domain, count: int) -> list[int]:
    """``count`` distinct elements spread evenly over the domain, ascending."""
    return require(domain).spread(count)


def heavy(domain: Domain, atoms: int, mass: float) -> Distribution | WideDistribution:
    """``atoms`` spread-out elements of probability at least ``mass`` each; the remaining mass is on the other elements.

    Args:
      atoms: >= 1, fewer than the domain's size.
      mass: in (0, 1/atoms); decimals such as 0.1 are represented exactly.

    In domains beyond 2**60 elements the remaining mass is on the lowest 2**60, so that integer weights suffice.
    """
    share = _decimal("mass", mass)
    positions = spread(domain, atoms)
    if atoms * share >= 1:
        raise InputError("mass", f"less than 1/{atoms} for {atoms} atoms", repr(mass), "use fewer or lighter atoms")
    background = min(domain.size - atoms, _BACKGROUND)
    weight = -(-share * background // (1 - atoms * share))
    return _atoms_over_background(domain, {p: max(1, int(weight)) for p in positions})


def zipf(domain: Domain, support: int, exponent: float = 1.0) -> Distribution | WideDistribution:
    """Probability proportional to rank**-exponent on ``support`` spread-out elements (weights 2**40 / rank**exponent).

    A fixed permutation assigns ranks to positions, so that neighboring elements have unrelated probabilities.
    """
    positions = spread(domain, support)
    if checks.number("exponent", exponent) < 0:
        raise InputError("exponent", "a number >= 0", repr(exponent), "0 is uniform, 1 is Zipf's law")
    ranks = np.argsort(np.array([(i * 2654435761) % 2**32 for i in range(support)]), kind="stable") + 1
    weights = [max(1, round(2**40 * float(r) ** -exponent)) for r in ranks]
    return from_weights(domain, positions, weights)


def empirical(domain: Domain, values) -> Distribution | WideDistribution:
    """The empirical distribution of a table's column: each element as often as it occurs among the values.

    Args:
      values: elements of the domain, whole numbers >= 0, at least one.
    """
    counts = Counter(_elements("values", values))
    return from_weights(domain, list(counts), list(counts.values()))


def adversarial_points(domain: Domain, alpha: float) -> Distribution | WideDistribution:
    """The most atoms that fit with probability just above alpha each: an error on any of them exceeds alpha."""
    share = _decimal("alpha", alpha) * Fraction(101, 100)
    require(domain)
    return heavy(domain, max(1, min(int((1 - Fraction(1, 1000)) / share), domain.size - 1)), float(share))


def adversarial_thresholds(domain: Domain, alpha: float, middle: int | None = None) -> Distribution | WideDistribution:
    """Two adjacent atoms, each just above alpha, the rest at the two ends: one threshold is accurate.

    middle: the second atom, in 2..size - 2; by default size / 2.
    """
    checks.integer("domain size", require(domain).size, 4)
    middle = domain.size // 2 if middle is None else checks.integer("middle", middle, 2, domain.size - 2)
    share = min(_decimal("alpha", alpha) * Fraction(101, 100), Fraction(49, 100))
    unit = 2**32
    inner = -(-share * unit // 1)
    outer = (unit - 2 * int(inner)) // 2 + 1
    return from_weights(domain, [0, middle - 1, middle, domain.size - 1], [outer, inner, inner, outer])


def adversarial_finite(domain: Domain, alpha: float) -> Distribution | WideDistribution:
    """The most elements that fit just above alpha, the other mass on element 0: the packing of the lower bound."""
    share = _decimal("alpha", alpha) * Fraction(101, 100)
    unit = 2**32
    weight = -(-share * unit // 1)
    count = max(0, min(int((1 - Fraction(1, 1000)) / share), require(domain).size - 1))
    rest = max(1, unit - count * int(weight))
    return from_weights(domain, range(count + 1), [rest] + [weight] * count)


def _atoms_over_background(domain: Domain, atoms: dict[int, int]) -> Distribution | WideDistribution:
    segments, cursor, left = [], 0, _BACKGROUND
    for position, weight in [*sorted(atoms.items()), (domain.size, 0)]:
        covered = min(position - cursor, left)
        if covered:
            segments.append((cursor, cursor + covered - 1, 1))
            left -= covered
        if weight:
            segments.append((position, position, weight))
        cursor = position + 1
    return from_segments(domain, segments)


def _elements(name: str, values: Any) -> list[int]:
    advice = "multiply all by a common factor" if name == "weights" else "map them to the domain"
    if not isinstance(values, Iterable):
        raise InputError(name, "a list of whole numbers >= 0", repr(values), advice)
    items = list(values)
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind == "u":
        return values.tolist()
    for value in items:
        try:
            whole = np.ndim(value) == 0 and int(value) == value and value >= 0
        except (TypeError, ValueError, OverflowError):
            whole = False
        if not whole:
            raise InputError(name, "whole numbers >= 0", repr(value), advice)
    return [int(value) for value in items]


def _decimal(name: str, value: float) -> Fraction:
    return Fraction(repr(checks.probability(name, value)))
