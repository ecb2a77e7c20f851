"""The exponential mechanism over an ordered domain, at a cost independent of its size.

n data points cut the domain into few cells on which the score is constant. A cell is drawn with
probability proportional to width x exp(rate x score), then one of its elements uniformly.
"""

import math
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core.arithmetic import Arithmetic, arithmetic, encode
from dpjax.core.draws import asked, drawn
from dpjax.laws import Categorical
from dpjax.laws.base import Law, Support, listed
from dpjax.mechanisms.exponential import rate, resolved, scaled


@register_dataclass
@dataclass(frozen=True)
class Pieces:
    """A partition of {0, ..., size-1} (or of part of it) into cells of equal score.

    first, last: ``uint32[p, W]``, both inclusive, of two limbs or more.
    errors: ``int32[p]``; smaller is better.
    alive: ``bool[p]``; False for an empty cell.
    holes: ``uint32[h, W]`` ascending, with ``hole: bool[h]``, or None: elements within the LAST cell's span that belong
        to other cells, so that all elements that do not occur in the data are a single cell.
    size: static, of the domain; None if unknown, and then the law has no support.
    """

    first: Array
    last: Array
    errors: Array
    alive: Array
    holes: Array | None = None
    hole: Array | None = None
    size: int | None = field(default=None, metadata={"static": True})

    @property
    def numbers(self) -> Arithmetic:
        """The arithmetic of elements."""
        return arithmetic(self.first.shape[1])

    def element(self, index: Array, offset: Array) -> Array:
        """The value of element number ``offset``, from 0, of cell ``index``, see `numbers`. 64-bit types enabled."""
        numbers = self.numbers
        element = numbers.add(numbers.read(self.first[index]), offset)
        holes = _holes_of(self, index)
        if holes is None:
            return element
        # the j-th hole lies at or below the answer iff hole_j - j <= first + offset
        values, real = holes
        passed = real & numbers.less_equal(numbers.subtract(values, numbers.ranks(real)), element)
        return numbers.add(element, numbers.count(passed))


@register_dataclass
@dataclass(frozen=True)
class IntervalLaw(Law):
    """A law on domain elements: a Categorical over cells, uniform inside the cell."""

    choice: Categorical
    pieces: Pieces

    @drawn
    def sample(self, key: Array) -> Array:
        """One element, ``uint32[W]``. If no cell is alive, element 0 (a fixed, data-independent default)."""
        of_piece, inside = jax.random.split(key)
        chosen = self.choice.sample(of_piece)
        pieces, index = self.pieces, jnp.maximum(chosen, 0)
        numbers = pieces.numbers
        with jax.enable_x64(True):
            span = numbers.subtract(numbers.read(pieces.last[index]), numbers.read(pieces.first[index]))
            holes = _holes_of(pieces, index)
            if holes is not None:
                span = numbers.subtract(span, numbers.count(holes[1]))
            offset = numbers.uniform_up_to(inside, span)
            return jnp.where(chosen < 0, jnp.uint32(0), numbers.element(pieces.element(index, offset)))

    def log_prob(self, element: Array) -> Array:
        """log P(element), ``float64[]``, for ``uint32[W]``; -inf outside every cell."""
        numbers = self.pieces.numbers
        with jax.enable_x64(True):
            value = numbers.read(element)
            first, last = numbers.read(self.pieces.first), numbers.read(self.pieces.last)
            inside = self.pieces.alive & numbers.less_equal(first, value) & numbers.less_equal(value, last)
            if self.pieces.holes is not None and self.pieces.hole is not None:
                at_hole = jnp.any(self.pieces.hole & numbers.equal(numbers.read(self.pieces.holes), value))
                inside = inside.at[-1].set(inside[-1] & ~at_hole)
            width = _log_width(self.pieces, jnp.float64)
            alive = jnp.any(self.choice.log_weights > -jnp.inf)  # else element 0
            log_mass = jax.scipy.special.logsumexp(jnp.where(inside, self.choice.log_probs() - width, -jnp.inf))
            return jnp.where(alive, log_mass, jnp.where(jnp.all(element == 0), 0.0, -jnp.inf))

    def support(self, limit: int) -> Support | None:
        """All elements of the domain, if its size is known."""
        size = self.pieces.size
        return (
            None
            if size is None or size > limit
            else listed(encode(range(size), self.pieces.first.shape[1]), self.log_prob)
        )


def interval_exponential(pieces: Pieces, epsilon: Array | float, *, sensitivity: float = 1) -> IntervalLaw:
    """The exponential mechanism over every element of the domain, with score = -errors.

    Args:
      pieces: p cells; see `Pieces`. Elements of one cell must have the same score.
      epsilon: traced scalar > 0.
      sensitivity: static; the largest change of any element's score between neighbors.

    Privacy: (epsilon, 0) under REPLACE_ONE and ADD_OR_REMOVE_ONE, epsilon-bounded range: it is `exponential`.
    Utility: errors at most min + (2 sensitivity / epsilon) (ln |domain| + s) with probability 1 - exp(-s).
    Reference: McSherry and Talwar 2007, Theorem 6; the cells are those of the exponential median.
    """
    factor = resolved(rate(epsilon, sensitivity), 32 * pieces.first.shape[1] * math.log(2))
    asked(_packed(pieces), "interval_exponential", sensitivity, "pieces")
    return IntervalLaw(scaled(-pieces.errors, factor, pieces.alive, _log_width(pieces, jnp.float64)), pieces)


def _packed(pieces: Pieces) -> Array:
    """``int32[p, 2 W + 2]``: the bits of first and last, errors, and whether the cell is alive."""
    limbs = jax.lax.bitcast_convert_type(jnp.concatenate([pieces.first, pieces.last], axis=1), jnp.int32)
    return jnp.concatenate([limbs, pieces.errors[:, None], pieces.alive.astype(jnp.int32)[:, None]], axis=1)


def _log_width(pieces: Pieces, dtype) -> Array:
    """log of the number of elements of each cell, ``dtype[p]``; 0 for empty cells."""
    with jax.enable_x64(True):
        numbers = pieces.numbers
        span = numbers.subtract(numbers.read(pieces.last), numbers.read(pieces.first))
        if pieces.hole is not None:
            span = numbers.shortened(span, numbers.count(pieces.hole))
        return numbers.log_count(span, pieces.alive, dtype)


def _holes_of(pieces: Pieces, index: Array) -> tuple[Array, Array] | None:
    if pieces.holes is None or pieces.hole is None:
        return None
    is_last = index == pieces.alive.shape[0] - 1
    return pieces.numbers.read(pieces.holes), pieces.hole & is_last
