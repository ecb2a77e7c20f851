"""Draws a cut with density proportional to mu(h) exp(coefficient q(h)), exactly, for any database.

theta is proposed from an upper bound of its weight that is constant on cells, accepted with probability
weight / bound, and t is then drawn from its law given theta. The law of the draw does not depend on how tight the
bound is. The loop ends only with an acceptance; each rejection splits the proposed cell in two and bounds the halves
anew, so the bound improves where it was loose. The number of rounds depends on the data: the privacy guarantee does
not cover the time of a draw.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import random
from dpjax.core.checks import InputError
from dpjax.core.draws import drawn
from dpjax.core.integers import integers, maximum, stack, where, words_of
from dpjax.core.retrying import retry
from dpjax.laws import Categorical
from dpjax.laws.base import Law
from dpjax.mechanisms.cover.family import Family
from dpjax.mechanisms.cover.lines.cuts import LARGEST, Cut, Cuts, Rows, check_sizes, cut_hits
from dpjax.mechanisms.cover.lines.envelope import envelope, slackened
from dpjax.mechanisms.cover.lines.refine import Walls, moving_bound
from dpjax.mechanisms.cover.lines.sweep import Sweep, below, sweep
from dpjax.mechanisms.cover.score import Score


@dataclass(frozen=True)
class Performance:
    """Sizes of the sampler, see `HalfPlanes` and `select_cut`: they change the time of a draw, never its law.

    One table is enough for all numbers of rows: bins and walls follow the rows. walls: at most the number of bins.
    """

    slabs: int = 128
    bins: int = 256
    spare: int = 2048
    walls: int = 256

    def __post_init__(self):
        check_sizes(self.slabs, self.bins, self.spare, self.walls)


class CutFamily(Family):
    """Makes families of cuts a `mechanisms.cover.Family`: a subclass implements `Cuts` and has the three sizes."""

    bins: int
    spare: int
    walls: int

    def select(self: Any, key: Array, x: Array, target: Array, other: Array, score: Score, favored: Any = None) -> Cut:
        """One cut with density proportional to mu(h) exp(coefficient q(h)); see `select_cut`."""
        return CutLaw(x, target, other, score, self, self.bins, self.spare, self.walls, favored).sample(key)

    def hits(self: Any, h: Cut, x: Array) -> Array:
        """Which rows h hits, ``bool[n]``, by integer arithmetic."""
        return cut_hits(self, h, x)


@register_dataclass
@dataclass(frozen=True)
class CutLaw(Law):
    """The law of `select_cut`: a cut with mass proportional to mu(h) exp(coefficient q(h)). Fields are its arguments.

    Its outcomes cannot be listed. The lattice of a halfplane has 2^40 or more slopes and as many t for each, also on
    the smallest grid, and a program that publishes the cut distinguishes all of them. The lines dual to the n rows cut
    the lattice into O(n^2) cells whose cuts hit the same rows. From the measures of these cells, integrals over
    the slope of differences of two rows' values, one could audit a program that uses only which rows a cut hits; that
    fails for programs that use more, such as the learner of polygons, which publishes its cuts.
    """

    x: Array
    target: Array
    other: Array
    score: Score
    cuts: Any = field(metadata={"static": True})
    bins: int = field(metadata={"static": True})
    spare: int = field(metadata={"static": True})
    walls: int = field(metadata={"static": True})
    favored: Any = None

    @drawn
    def sample(self, key: Array) -> Cut:
        """One cut."""
        sizes: dict[str, Any] = {"bins": self.bins, "spare": self.spare, "walls": self.walls}
        rows = self.x, self.target, self.other
        return select_cut(self.cuts, key, *rows, self.score, favored=self.favored, **sizes)[0]

    def log_weight(self, outcome: Cut) -> Array:
        """log of mu(h) exp(coefficient q(h)), ``float64[]``, of a lattice cut outside the tails of the measure."""
        with jax.enable_x64(True):
            theta, t = outcome.whole()
            hit = cut_hits(self.cuts, outcome, self.x)
            counts = (jnp.sum(hit & rows).astype(jnp.float64) for rows in (self.target, self.other))
            weight = self.cuts.log_density(outcome.chart, theta) + self.score.capped(LARGEST).log_weight(*counts)
            if self.favored is not None:
                low, high = self.favored.reach(outcome.chart, theta)
                weight = weight + jnp.where((t > low) & (t <= high), jnp.log1p(self.favored.extra), 0.0)
            return weight

    def log_prob(self, outcome: Cut) -> Array:
        """InputError: the normalizing constant is a sum over the lattice. `log_weight` is the unnormalized value."""
        raise InputError(
            "law", "one whose total weight is known", "CutLaw", "compare `log_weight` of two cuts, or audit it by runs"
        )

    def support(self, limit: int) -> None:
        """None, see the class."""
        return None


class _Table(NamedTuple):
    """Cells and their bounds; the first ``used`` entries are real, the others are empty cells."""

    chart: Array  # int32[M]
    low: Any  # integers[M, D]
    high: Any  # integers[M, D]
    bound: Array  # float64[M]
    used: Array  # int32[]


class _State(NamedTuple):
    """The result of an attempt: cells, the proposed cell, theta, its law and weight, and whether it was accepted."""

    key: Array
    table: _Table
    cell: Array
    theta: Any
    law: Sweep
    weight: Array
    done: Array
    rounds: Array


def select_cut(
    cuts: Cuts,
    key: Array,
    x: Array,
    target: Array,
    other: Array,
    score: Score,
    *,
    bins: int,
    spare: int,
    walls: int,
    favored: Any = None,
) -> tuple[Cut, Array]:
    """One cut with density proportional to mu(h) exp(coefficient q(h)), and the number of proposals, ``int32[]``.

    q is that of ``score``, for the counts of hit rows under ``target`` and ``other``, ``bool[n]``.

    Args:
      cuts: static. key: consumed. x: the rows, as ``cuts.features`` reads them.
      score: its coefficient is clipped to [0, 64].
      bins: static; bins of t in the first bounds, over the range of the rows. spare: static; the number of cells that
        may be added. When they are used up, the loop continues with the existing cells. walls: static; the largest
        number of bin boundaries of a refined cell, which move with the rows; the rows decide how many are used.
      favored: None, or a `region.Favored`: mu has 1 + extra times its weight on the cuts that it favors.

    The law is exact on the lattice, with log-weights in float64: the relative error of a probability is about
    1e-15 (1 + coefficient |q|). Rows in neither mask are ignored.
    """
    with jax.enable_x64(True):
        rows = Rows.of(cuts, x, target, other, favored)
        score = score.capped(LARGEST)
        law_key, key = jax.random.split(key)

        def attempt(given: tuple[Rows, Score], state: _State) -> _State:
            rows, score = given
            key, of_cell, of_theta, of_coin = jax.random.split(state.key, 4)
            cell = jnp.maximum(Categorical(_log_weights(state.table)).sample(of_cell), 0)
            chart, low, high = (part[cell] for part in state.table[:3])
            theta = low + below(of_theta, high - low)
            law = sweep(cuts, rows, chart, theta, score)
            weight = cuts.log_density(chart, theta) + law.log_total()
            coin = jnp.log(random.uniform(of_coin, (), jnp.float64))
            done = coin <= weight - state.table.bound[cell]
            return _State(key, state.table, cell, theta, law, weight, done, state.rounds + 1)

        def refined(given: tuple[Rows, Score], state: _State) -> _State:
            rows, score = given
            chart = state.table.chart[state.cell]
            order = Walls.at(cuts, rows, chart, state.theta, state.law, score)

            def bound(low: Any, high: Any) -> Array:
                return moving_bound(cuts, rows, score, order, walls, (chart, low, high))

            return state._replace(table=_split(state.table, state.cell, slackened(state.weight), bound))

        table = _first_table(cuts, envelope(cuts, rows, score, bins), spare)
        nothing = Sweep.empty(rows.code.shape[0], words_of(rows.offset))
        none = jnp.float64(-jnp.inf)
        start = _State(key, table, jnp.int32(0), table.low[0], nothing, none, jnp.bool_(False), jnp.int32(0))
        end = retry(attempt, refined, lambda state: state.done, (rows, score), start)
        t, above = end.law.draw(cuts, law_key)
        return Cut.of(end.table.chart[end.cell], end.theta, t, above), end.rounds


def _first_table(cuts: Cuts, bound: Array, spare: int) -> _Table:
    cells = cuts.cells()
    chart = np.pad(cells.chart, (0, spare))
    low, high = (integers(np.pad(part, ((0, spare), (0, 0))), cells.words) for part in (cells.low, cells.high))
    bound = jnp.pad(bound, (0, spare), constant_values=-jnp.inf)
    return _Table(jnp.asarray(chart), low, high, bound, jnp.int32(len(cells.chart)))


def _log_weights(table: _Table) -> Array:
    points = jnp.prod((table.high - table.low).astype(jnp.float64), axis=1)
    return jnp.where(points > 0, jnp.log(jnp.maximum(points, 1.0)), -jnp.inf) + table.bound


def _split(table: _Table, cell: Array, exact: Array, bound: Callable[[Any, Any], Array]) -> _Table:
    """The table with the longest side of the cell halved; a cell of one theta gets its exact weight, just computed."""
    chart, low, high = (part[cell] for part in table[:3])
    extent = high - low
    longest = extent == reduce(maximum, [extent[i] for i in range(extent.shape[0])])
    longest = longest & (jnp.cumsum(longest.astype(jnp.int32)) == 1)
    middle = where(longest, low + (extent >> 1), low)
    lows, highs = stack([low, middle]), stack([where(longest, middle, high), high])
    single = jnp.all(high - low == 1)
    split = (table.used < table.bound.shape[0]) & ~single
    bounds = jax.lax.map(lambda part: bound(*part), (lows, highs))
    bounds = jnp.minimum(bounds, table.bound[cell])
    at_cell = jnp.where(single, exact, jnp.where(split, bounds[0], table.bound[cell]))
    spot = jnp.minimum(table.used, table.bound.shape[0] - 1)

    def put(column: Array, new: Array, old: Array) -> Array:
        return column.at[spot].set(jnp.where(split, new, column[spot])).at[cell].set(old)

    return _Table(
        put(table.chart, chart, chart),
        jax.tree.map(put, table.low, lows[1], low),
        jax.tree.map(put, table.high, high, where(split, highs[0], high)),
        put(table.bound, bounds[1], at_cell),
        table.used + split.astype(jnp.int32),
    )
