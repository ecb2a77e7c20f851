"""Triangles with any lines as edges, chosen exactly by rejection from boxes of lines that are split where they fail.

A box is three rectangles, one for each edge: a cell of slopes, a range of t and a side. A row that some cut of a
rectangle hits may be hit, a row that all of them hit must be. The targets that may be in all three and the others that
must be bound the quality of every triangle of the box. The law does not depend on how good the bounds are: after each
rejection the boxes that may waste most are cut in two, so the loop gets better where it fails.
"""

from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from math import factorial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax import checks, random
from dpjax.checks import InputError
from dpjax.laws import Categorical
from dpjax.mechanisms.cover.cuts import Cut, Rows, cut_hits
from dpjax.mechanisms.cover.halfplanes import HalfPlanes
from dpjax.mechanisms.cover.measures import Kinematic
from dpjax.mechanisms.cover.sweep import Score, below

_KINEMATIC = Kinematic()
_AT_ONCE = 256  # boxes split after a rejection


class Rectangle(NamedTuple):
    """Cuts of one kind. In a tail, t is one, first = last, and the weight is that of all t beyond.

    chart: ``int32[]``. low, high: ``int64[]``, slopes low, ..., high - 1. first, last: ``int64[]``, t in first, ...,
    last. above, tail: ``bool[]``.
    """

    chart: Array
    low: Array
    high: Array
    first: Array
    last: Array
    above: Array
    tail: Array


class _Boxes(NamedTuple):
    """Boxes, of which the first ``used`` are there; the others weigh nothing.

    edges: leaves [B, 3]. orders: ``float64[B]``, the log of how many orders of the edges a box stands for. weight:
    ``float64[B]``, at least the log of the sum of mu exp(coefficient q). bound: ``float64[B]``, of coefficient q alone.
    waste: ``float64[B]``, the log of the part of the weight that may be rejected. widest: ``int32[B]``, the edge that
    leaves most rows open. used: ``int32[]``.
    """

    edges: Rectangle
    orders: Array
    weight: Array
    bound: Array
    waste: Array
    widest: Array
    used: Array


@dataclass(frozen=True)
class FreeTriangles:
    """Intersections of three halfplanes of `HalfPlanes`, each from the same base measure on lines.

    d: 1 to 2**30; rows are ``int32[n, 2]``; coordinates outside {0, ..., d} count as the nearest inside.
    measure: the base measure, see `measures.Kinematic`; the others are too uneven for boxes. spare: static; how many
    boxes may be added. It decides how long a draw takes, never its law: when there is no room the loop goes on with the
    boxes it has.

    For a few hundred rows and coefficients far below 1, as budgets near epsilon = 1 have them. A rejection takes
    O(n + spare) steps. Measured on a disc of targets with k = 2 and coefficient 0.12: tens of proposals for 300 rows,
    hundreds for 1000. 120 rows at coefficient 1, or 30 with a thin target at 2, were not drawn in minutes;
    `triangles.Triangles` is for all of that. Nothing ends the loop but an acceptance; privacy does not cover the time
    that a draw takes.

    Reference: Kaplan, Mansour, Matias and Stemmer 2019, Section 5 (unions of polygons); the sampler is derived here.
    """

    d: int
    measure: Kinematic = _KINEMATIC
    spare: int = 2**14

    def __post_init__(self):
        checks.integer("d", self.d, 1, 2**30)
        checks.integer("spare", self.spare, 0, 2**20)
        if not isinstance(self.measure, Kinematic):
            raise InputError("measure", "Kinematic", repr(self.measure), "use Triangles for a finite set of lines")

    @property
    def planes(self) -> HalfPlanes:
        """The lattice that the lines are on."""
        return HalfPlanes(self.d, self.measure)

    def select(
        self, key: Array, x: Array, target: Array, other: Array, budget: Array, k: int, coefficient: Array
    ) -> Cut:
        """See `Family.select`. Returns: three cuts, each leaf leading with 3; a triangle is what all three hit."""
        return self.draw(key, x, target, other, budget, k, coefficient)[0]

    def draw(
        self, key: Array, x: Array, target: Array, other: Array, budget: Array, k: int, coefficient: Array
    ) -> tuple[Cut, Array]:
        """`select`, and the number of proposals, ``int32[]``."""
        with jax.enable_x64(True):
            rows = Rows.of(self.planes, x, target, other)
            score = Score.of(budget, k, coefficient)

            def attempt(state: tuple[Array, _Boxes, Cut, Array, Array]) -> tuple[Array, _Boxes, Cut, Array, Array]:
                key, own, of_coin = jax.random.split(state[0], 3)
                boxes = state[1]
                cuts, log_ratio = self.proposal(own, x, target, other, score, boxes)
                done = jnp.log(random.uniform(of_coin, (), jnp.float64)) <= log_ratio
                boxes = jax.lax.cond(done, lambda old: old, lambda old: split(self.planes, rows, score, old), boxes)
                return key, boxes, cuts, done, state[4] + 1

            none = jnp.zeros(3, jnp.int64)
            nothing = jax.vmap(Cut.of)(jnp.zeros(3, jnp.int32), none[:, None], none, jnp.zeros(3, bool))
            start = key, first_boxes(self.planes, rows, score, self.spare), nothing, jnp.bool_(False), jnp.int32(0)
            end = jax.lax.while_loop(lambda state: ~state[3], attempt, start)
            return end[2], end[4]

    def hits(self, h: Cut, x: Array) -> Array:
        """Which rows are in all three halfplanes, ``bool[n]``, by integers only."""
        inside = [cut_hits(self.planes, jax.tree.map(lambda part, i=i: part[i], h), x) for i in range(3)]
        return inside[0] & inside[1] & inside[2]

    def proposal(
        self, key: Array, x: Array, target: Array, other: Array, score: Score, boxes: _Boxes
    ) -> tuple[Cut, Array]:
        """Three cuts, and the log of the probability to accept them."""
        of_box, of_slope, of_t, of_order = jax.random.split(key, 4)
        chosen = jnp.maximum(Categorical(boxes.weight).sample(of_box), 0)
        order = jnp.argsort(random.uniform(of_order, (3,), jnp.float64))
        own = jax.tree.map(lambda part: part[chosen][order], boxes.edges)
        slope = own.low + below(of_slope, own.high - own.low)
        t = own.first + below(of_t, own.last - own.first + 1)
        density = jax.vmap(self.planes.log_density)(own.chart, slope[:, None])
        lost = density - jax.vmap(lambda edge: self.planes.log_peak(edge.chart, edge.low[None], edge.high[None]))(own)
        cuts = jax.vmap(Cut.of)(own.chart, slope[:, None], t, own.above)
        hit = self.hits(cuts, x)
        counts = (jnp.sum(hit & role, dtype=jnp.int32).astype(jnp.float64) for role in (target, other))
        return cuts, score.log_weight(*counts) - boxes.bound[chosen] + jnp.sum(lost)


def first_boxes(planes: HalfPlanes, rows: Rows, score: Score, spare: int) -> _Boxes:
    """All triples of a few rectangles, each order of edges once or counted."""
    one = _rectangles(planes)
    places = list(combinations_with_replacement(range(one.chart.shape[0]), 3))
    orders = [factorial(3) / np.prod([factorial(place.count(i)) for i in set(place)]) for place in places]
    edges = jax.tree.map(lambda part: part[jnp.asarray(places)], one)
    log_orders = jnp.log(jnp.asarray(orders, jnp.float64))

    def pad(part: Array, value: float = 0) -> Array:
        return jnp.pad(part, [(0, spare)] + [(0, 0)] * (part.ndim - 1), constant_values=value)

    weight, bound, waste, widest = _bounds(planes, rows, score, edges, log_orders)
    none = -jnp.inf
    edges = jax.tree.map(pad, edges)
    return _Boxes(
        edges, pad(log_orders), pad(weight, none), pad(bound), pad(waste, none), pad(widest), jnp.int32(len(places))
    )


def split(planes: HalfPlanes, rows: Rows, score: Score, boxes: _Boxes) -> _Boxes:
    """The boxes that waste most cut in two, while there is room: along the widest edge, by what moves values more."""
    size = boxes.weight.shape[0]
    many = min(_AT_ONCE, size)
    place = jax.lax.top_k(boxes.waste, many)[1]
    edges, widest = (jax.tree.map(lambda part: part[place], part) for part in (boxes.edges, boxes.widest))
    own = jax.tree.map(lambda part: jnp.take_along_axis(part, widest[:, None], axis=1)[:, 0], edges)
    across, along = own.high - own.low, own.last - own.first + 1
    by_slope = (across > 1) & ((along == 1) | (across * planes.d > along))
    middle, level = own.low + across // 2, own.first + along // 2
    lower = own._replace(high=jnp.where(by_slope, middle, own.high), last=jnp.where(by_slope, own.last, level - 1))
    upper = own._replace(low=jnp.where(by_slope, middle, own.low), first=jnp.where(by_slope, own.first, level))
    real = (boxes.waste[place] > -jnp.inf) & ((across > 1) | (along > 1))
    spot = boxes.used + jnp.cumsum(real.astype(jnp.int32)) - 1
    real = real & (spot < size)
    one, orders = jnp.arange(3, dtype=jnp.int32)[None] == widest[:, None], boxes.orders[place]
    used = boxes.used + jnp.sum(real, dtype=jnp.int32)
    for at, half in ((place, lower), (spot, upper)):
        new = jax.tree.map(lambda old, value: jnp.where(one, value[:, None], old), edges, half)
        columns = _Boxes(new, orders, *_bounds(planes, rows, score, new, orders), jnp.broadcast_to(used, at.shape))
        goal = jnp.where(real, at, size)
        put = lambda into, value, goal=goal: into.at[goal].set(value, mode="drop")  # noqa: E731
        boxes = jax.tree.map(put, boxes._replace(used=jnp.zeros(size, jnp.int32)), columns)._replace(used=used)
    return boxes


def _rectangles(planes: HalfPlanes) -> Rectangle:
    """All slopes of a chart with all of their t, or one of the tails if there are any, and either side: [12] or [4]."""
    one, ends = 1 << planes.grid.bits, (planes.first, planes.last + 1)
    tails = [(end, end, True) for end in ends] if planes.measure != Kinematic(0.0) else []
    found = product((0, 1), (-one,), (one,), [(*ends, False), *tails], (True, False))
    columns = zip(*((*cell, first, last, above, tail) for *cell, (first, last, tail), above in found), strict=True)
    kinds = jnp.int32, jnp.int64, jnp.int64, jnp.int64, jnp.int64, bool, bool
    return Rectangle(*(jnp.asarray(column, kind) for column, kind in zip(columns, kinds, strict=True)))


def _density(planes: HalfPlanes, edge: Rectangle) -> tuple[Array, Array]:
    """The log of the base measure at a slope and t of a rectangle, at most and at least: two ``float64[]``."""
    tail = jnp.log(jnp.maximum(planes.support(edge.chart, edge.low[None], edge.high[None]).below, 1.0))
    tail = jnp.where(edge.tail, tail, 0.0)
    ends = [planes.log_density(edge.chart, slope[None]) for slope in (edge.low, edge.high - 1)]
    return planes.log_peak(edge.chart, edge.low[None], edge.high[None]) + tail, jnp.minimum(*ends) + tail


def _bounds(
    planes: HalfPlanes, rows: Rows, score: Score, edges: Rectangle, orders: Array
) -> tuple[Array, Array, Array, Array]:
    """``weight``, ``bound``, ``waste`` and ``widest`` of boxes, [B] each."""
    target, other = (rows.code & 1) == 1, (rows.code >> 1) == 1

    def log_weight(targets: Array, others: Array) -> Array:
        counts = (jnp.sum(part, dtype=jnp.int32).astype(jnp.float64) for part in (targets & target, others & other))
        return score.log_weight(*counts)

    def of_edge(edge: Rectangle) -> tuple[Array, Array, Array, Array]:
        most, least = (rows.values(edge.chart, slope[None]) for slope in (edge.low, edge.high - 1))
        may = jnp.where(edge.above, most >= edge.first, least < edge.last)
        must = jnp.where(edge.above, least >= edge.last, most < edge.first)
        most, least = _density(planes, edge)
        count = (edge.high - edge.low).astype(jnp.float64) * (edge.last - edge.first + 1).astype(jnp.float64)
        return may, must, jnp.log(count) + most, most - least

    def of_box(given: tuple[Rectangle, Array]) -> tuple[Array, Array, Array, Array]:
        box, orders = given
        may, must, size, uneven = jax.vmap(of_edge)(box)  # [3, n] and [3]
        inside, sure = jnp.all(may, axis=0), jnp.all(must, axis=0)
        bound = log_weight(inside, sure)
        weight = bound + orders + jnp.sum(size)
        gap = bound - log_weight(sure, inside) + jnp.sum(uneven)
        waste = jnp.where(gap > 0, weight + jnp.log(-jnp.expm1(-jnp.maximum(gap, 1e-300))), -jnp.inf)
        undecided = jnp.sum(may & ~must & (inside & (target | other))[None], axis=1, dtype=jnp.int32)
        splits = (box.high - box.low > 1) | (box.last > box.first)
        worth = 8 * undecided + jnp.ceil(8 * uneven).astype(jnp.int32)  # an uneven density is a rejection, too
        widest = jax.lax.argmax(jnp.where(splits, worth, jnp.int32(-1)), 0, jnp.int32)
        return weight, bound, waste, widest

    return jax.lax.map(of_box, (edges, orders), batch_size=64)
