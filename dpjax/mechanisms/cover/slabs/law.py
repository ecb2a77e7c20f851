"""The law of the wedge that a selection draws."""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core.checks import InputError
from dpjax.core.draws import drawn
from dpjax.core.integers import integers
from dpjax.core.members import implements
from dpjax.laws.base import Law, Support
from dpjax.mechanisms.cover.lines.cuts import LARGEST, Cut
from dpjax.mechanisms.cover.lines.halfplanes import Planar
from dpjax.mechanisms.cover.score import Floored, Score
from dpjax.mechanisms.cover.slabs.boxes import HIGHEST, LOWEST, MEASURE
from dpjax.mechanisms.cover.slabs.selection import of_parts, select_wedge

_MOST = 2**20


@register_dataclass
@dataclass(frozen=True)
class WedgeLaw(Law):
    """The law of `select_wedge`: a wedge with mass proportional to mu(h) exp(coefficient q(h)). Fields: its arguments.

    family: a `wedges.SlabWedges`.

    On a small grid with few ``bits`` its outcomes can be listed, with the pieces beside them, if there are some.
    Otherwise the lattice has 2^40 or more slopes, and the law is known up to a constant, like `lines.rejection.CutLaw`.
    """

    x: Array
    target: Array
    other: Array
    score: Score
    family: Any = field(metadata={"static": True})

    def __post_init__(self):
        if isinstance(self.score, Score) and type(self.score) not in (Score, Floored):
            name = type(self.score).__name__
            raise InputError(
                "score", "Score or Floored, whose sums over slabs are known", name, "use the plan's own, Saturating"
            )

    @drawn
    def sample(self, key: Array) -> Cut:
        """One wedge, four cuts."""
        return select_wedge(self.family, key, self.x, self.target, self.other, self.score).cut

    def log_weight(self, outcome: Cut) -> Array:
        """log of mu(h) exp(coefficient q(h)), ``float64[]``, of a wedge of the family."""
        with jax.enable_x64(True):
            hit = self.family.hits(outcome, self.x)
            counts = (jnp.sum(hit & rows).astype(jnp.float64) for rows in (self.target, self.other))
            theta, _ = outcome.whole()
            fine = self.family.planes.grid
            logs = [MEASURE.log_density(fine, outcome.chart[i], theta[i]) for i in (2, 3)]
            return logs[0] + logs[1] + self.score.capped(LARGEST).log_weight(*counts)

    def log_prob(self, outcome: Cut) -> Array:
        """The log mass, ``float64[]``; InputError if there are more than 2**20 outcomes, or pieces among them."""
        listed = None if self.family.pieces is not None else self._listed(_MOST)
        if listed is None:
            advice = "compare `log_weight` of two wedges, or use fewer bits"
            raise InputError("law", "one with few outcomes", repr(self.family), advice)
        with jax.enable_x64(True):
            total = jax.scipy.special.logsumexp(jax.lax.map(self.log_weight, listed, batch_size=1024))
            return self.log_weight(outcome) - total

    def support(self, limit: int) -> Support | None:
        """All wedges, if there are at most ``limit``, and after them all pieces."""
        listed, pieces = self._listed(limit), self.family.pieces
        if listed is None:
            return None
        with jax.enable_x64(True):
            logs = jax.lax.map(self.log_weight, listed, batch_size=1024)
            if pieces is not None:
                cuts, parts = pieces.listed(self.x, self.target, self.other, self.score)
                listed = jax.tree.map(lambda *both: jnp.concatenate(both), listed, cuts)
                logs = jnp.concatenate([logs, self.family.log_measure + parts])
            return Support(listed, logs - jax.scipy.special.logsumexp(logs))

    def _listed(self, limit: int) -> Cut | None:
        grid, d = self.family.grid, self.family.d
        slopes, heights = 4 << grid.bits, 3 * (d << grid.bits) + 2
        pieces = self.family.pieces
        unknown = pieces is not None and not implements(pieces, Planar.listed)
        if unknown or (slopes * heights) ** 2 * (d + 1) * (d + 2) // 2 > limit:
            return None
        with jax.enable_x64(True):
            return listed_wedges(self.family)


def lines_of(family: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Host: kind, slope and t of all lines of a coarse family, ``[L]`` each, in units of its grid."""
    grid, unit = family.grid, 1 << family.grid.bits
    kinds = [np.full((HIGHEST[kind] - LOWEST[kind]) * unit, kind) for kind in range(3)]
    slopes = [np.arange(LOWEST[kind] * unit, HIGHEST[kind] * unit) for kind in range(3)]
    t = np.arange(grid.first, grid.last + 2)
    kind, slope = np.concatenate(kinds), np.concatenate(slopes)
    return np.repeat(kind, len(t)), np.repeat(slope, len(t)), np.tile(t, len(kind))


def listed_wedges(family: Any) -> Cut:
    """All wedges of a coarse family, each leaf ``[outcomes, 4, ...]``; 64-bit types enabled."""
    kind, slope, t = lines_of(family)
    pairs = np.array([(a, b) for a in range(family.d + 1) for b in range(a, family.d + 1)], np.uint64)
    lower, upper, pair = (part.reshape(-1) for part in np.indices((len(kind), len(kind), len(pairs))))
    both = np.stack([lower, upper], axis=1)
    fine, shift = family.planes.grid, family.grid.dropped
    parts = (integers(part[both].astype(object) << shift, fine.words) for part in (slope, t))
    a, b = jnp.asarray(pairs[pair]).T
    return jax.vmap(lambda *parts: of_parts(fine, *parts))(jnp.asarray(kind[both], jnp.int32), *parts, a, b)
