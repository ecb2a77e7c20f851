"""Draws a cut with density proportional to mu(h) exp(coefficient q(h)), exactly, for any database.

theta is proposed from an upper bound of its weight that is constant on cells, accepted with probability
weight / bound, and t is then drawn from its law given theta. The sample law does not depend on how good the bound is.
Nothing ends the loop but an acceptance; each rejection cuts the cell that was too generous into two with bounds of
their own, so the loop gets better where it fails. The number of rounds depends on the data: privacy does not cover
the time that a draw takes.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import random
from dpjax.core.checks import InputError
from dpjax.core.draws import drawn
from dpjax.laws import Categorical
from dpjax.mechanisms.cover.lines.cuts import LARGEST, Cut, Cuts, Rows, check_sizes, cut_hits
from dpjax.mechanisms.cover.lines.envelope import envelope, slackened
from dpjax.mechanisms.cover.lines.refine import Walls, moving_bound
from dpjax.mechanisms.cover.lines.sweep import Sweep, below, sweep
from dpjax.mechanisms.cover.score import Score


@dataclass(frozen=True)
class Performance:
    """Sizes of the sampler, see `HalfPlanes` and `select_cut`: they change how long a draw takes and never its law.

    walls: at most as many as there are bins.
    """

    slabs: int = 128
    bins: int = 256
    spare: int = 2048
    walls: int = 64

    def __post_init__(self):
        check_sizes(self.slabs, self.bins, self.spare, self.walls)


class CutFamily:
    """What families of cuts share as a `mechanisms.cover.Family`: a subclass is one of `Cuts` with the three sizes."""

    bins: int
    spare: int
    walls: int

    def select(self: Any, key: Array, x: Array, target: Array, other: Array, score: Score) -> Cut:
        """One cut with density proportional to mu(h) exp(coefficient q(h)); see `select_cut`."""
        return CutLaw(x, target, other, score, self, self.bins, self.spare, self.walls).sample(key)

    def hits(self: Any, h: Cut, x: Array) -> Array:
        """Which rows h hits, ``bool[n]``, by integers only."""
        return cut_hits(self, h, x)


@register_dataclass
@dataclass(frozen=True)
class CutLaw:
    """What `select_cut` draws: a cut with mass proportional to mu(h) exp(coefficient q(h)); its arguments.

    There is no list of its outcomes. The lattice of a half-plane has about 2^60 slopes and as many t for each, on the
    smallest grid, too, and a program that publishes the cut tells all of them apart. The lines dual to the n rows part
    the lattice into O(n^2) cells in which all cuts hit the same rows. With the measures of these cells, integrals over
    the slope of differences of two rows' values, a program could be audited that reads of a cut only which rows it
    hits; that ends where it reads more, as the learner of polygons does, which publishes its cuts.
    """

    x: Array
    target: Array
    other: Array
    score: Score
    cuts: Any = field(metadata={"static": True})
    bins: int = field(metadata={"static": True})
    spare: int = field(metadata={"static": True})
    walls: int = field(metadata={"static": True})

    @drawn
    def sample(self, key: Array) -> Cut:
        """One cut."""
        sizes = {"bins": self.bins, "spare": self.spare, "walls": self.walls}
        return select_cut(self.cuts, key, self.x, self.target, self.other, self.score, **sizes)[0]

    def log_weight(self, outcome: Cut) -> Array:
        """log of mu(h) exp(coefficient q(h)), ``float64[]``, of a cut on the lattice that is no tail of the measure."""
        with jax.enable_x64(True):
            theta, _ = outcome.whole()
            hit = cut_hits(self.cuts, outcome, self.x)
            counts = (jnp.sum(hit & rows).astype(jnp.float64) for rows in (self.target, self.other))
            return self.cuts.log_density(outcome.chart, theta) + self.score.log_weight(*counts)

    def log_prob(self, outcome: Cut) -> Array:
        """InputError: the total of all weights is a sum over the lattice. `log_weight` is what it would divide."""
        raise InputError(
            "law", "one whose total weight is known", "CutLaw", "compare `log_weight` of two cuts, or audit it by runs"
        )

    def support(self, limit: int) -> None:
        """None: see above."""
        return None


class _Table(NamedTuple):
    """Cells and their bounds, of which the first ``used`` are there; the others have no points."""

    chart: Array  # int32[M]
    low: Array  # int64[M, D]
    high: Array  # int64[M, D]
    bound: Array  # float64[M]
    used: Array  # int32[]


class _State(NamedTuple):
    """What an attempt leaves: cells, the proposed theta and its law, and whether it was accepted."""

    key: Array
    table: _Table
    chart: Array
    theta: Array
    law: Sweep
    done: Array
    rounds: Array


def select_cut(
    cuts: Cuts, key: Array, x: Array, target: Array, other: Array, score: Score, *, bins: int, spare: int, walls: int
) -> tuple[Cut, Array]:  # fmt: skip
    """One cut with density proportional to mu(h) exp(coefficient q(h)), and the number of proposals, ``int32[]``.

    q is that of ``score``, of counts of the hit rows under ``target`` and ``other``, ``bool[n]``.

    Args:
      cuts: static. key: consumed. x: the rows, as ``cuts.features`` reads them.
      score: its coefficient counts as one in [0, 64].
      bins: static; bins of t in the first bounds. spare: static; how many cells may be added. When there is no room
        the loop goes on with the cells it has. walls: static; how many boundaries, which move with the rows, a refined
        cell has.

    The law is exact on the lattice, with log-weights in float64: the relative error of a probability is about
    1e-15 (1 + coefficient |q|). It does not depend on rows that are under neither mask.
    """
    with jax.enable_x64(True):
        rows = Rows.of(cuts, x, target, other)
        score = score.capped(LARGEST)
        law_key, key = jax.random.split(key)

        def attempt(state: _State) -> _State:
            key, of_cell, of_theta, of_coin = jax.random.split(state.key, 4)
            cell = jnp.maximum(Categorical(_log_weights(state.table)).sample(of_cell), 0)
            chart, low, high = (part[cell] for part in state.table[:3])
            theta = low + below(of_theta, high - low)
            law = sweep(cuts, rows, chart, theta, score)
            found = cuts.log_density(chart, theta) + law.log_total()
            coin = jnp.log(random.uniform(of_coin, (), jnp.float64))
            done = coin <= found - state.table.bound[cell]

            def refined(table: _Table) -> _Table:
                def bound(low: Array, high: Array) -> Array:
                    return moving_bound(cuts, rows, score, order, walls, (chart, low, high))

                order = Walls.at(cuts, rows, chart, theta, law)
                return _split(table, cell, slackened(found), bound)

            table = jax.lax.cond(done, lambda table: table, refined, state.table)
            return _State(key, table, chart, theta, law, done, state.rounds + 1)

        table = _first_table(cuts, envelope(cuts, rows, score, bins), spare)
        nothing = Sweep.empty(rows.code.shape[0])
        start = _State(key, table, jnp.int32(0), table.low[0], nothing, jnp.bool_(False), jnp.int32(0))
        end = jax.lax.while_loop(lambda state: ~state.done, attempt, start)
        t, above = end.law.draw(cuts, law_key)
        return Cut.of(end.chart, end.theta, t, above), end.rounds


def _first_table(cuts: Cuts, bound: Array, spare: int) -> _Table:
    cells = cuts.cells()
    chart = np.pad(cells.chart, (0, spare))
    low, high = (np.pad(part, ((0, spare), (0, 0))) for part in (cells.low, cells.high))
    bound = jnp.pad(bound, (0, spare), constant_values=-jnp.inf)
    return _Table(jnp.asarray(chart), jnp.asarray(low), jnp.asarray(high), bound, jnp.int32(len(cells.chart)))


def _log_weights(table: _Table) -> Array:
    points = jnp.prod((table.high - table.low).astype(jnp.float64), axis=1)
    return jnp.where(points > 0, jnp.log(jnp.maximum(points, 1.0)), -jnp.inf) + table.bound


def _split(table: _Table, cell: Array, exact: Array, bound: Callable[[Array, Array], Array]) -> _Table:
    """The table with the cell's longest side halved; a cell of one theta gets the weight that was just computed."""
    chart, low, high = (part[cell] for part in table[:3])
    extent = high - low
    longest = extent == jnp.max(extent)
    longest = longest & (jnp.cumsum(longest.astype(jnp.int32)) == 1)
    middle = jnp.where(longest, low + extent // 2, low)
    lows, highs = jnp.stack([low, middle]), jnp.stack([jnp.where(longest, middle, high), high])
    single = jnp.all(high - low == 1)
    split = (table.used < table.bound.shape[0]) & ~single
    found = jax.lax.map(lambda part: bound(*part), (lows, highs))
    found = jnp.minimum(found, table.bound[cell])
    own = jnp.where(single, exact, jnp.where(split, found[0], table.bound[cell]))
    spot = jnp.minimum(table.used, table.bound.shape[0] - 1)

    def put(column: Array, new: Array, old: Array) -> Array:
        return column.at[spot].set(jnp.where(split, new, column[spot])).at[cell].set(old)

    return _Table(
        put(table.chart, chart, chart),
        put(table.low, lows[1], low),
        put(table.high, high, jnp.where(split, highs[0], high)),
        put(table.bound, found[1], own),
        table.used + split.astype(jnp.int32),
    )
