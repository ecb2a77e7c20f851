"""Convex polygons on a grid, represented by the halfplanes that they exclude."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import cos, pi, sin
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts.clipping import area, clipped, crosses, square
from dpjax.concepts.hypothesis import Hypothesis, sentences
from dpjax.concepts.plane import OnPlane, Plane
from dpjax.core import checks, keys, random, wide
from dpjax.core.checks import InputError
from dpjax.mechanisms.cover.lines.cuts import Cut
from dpjax.mechanisms.cover.lines.halfplanes import HalfPlanes

_TRIES = 10_000


@dataclass(frozen=True)
class ConvexPolygons(OnPlane):
    """Intersections of at most ``edges`` halfplanes on {0, ..., d}^2.

    A concept is the list of the halfplanes that it excludes, ``uint32[k, words edges]``: for each one chart + 2 above,
    then the slope and t of `HalfPlanes` in two's complement, upper word first; words is 5 up to d = 2**18 and at most
    17. A learner's output after m rounds is thus a concept with m edges. Predictions use integers only.
    """

    d: int
    edges: int = 4
    label: ClassVar[bool] = False
    """The label that a single halfplane determines."""

    def __post_init__(self):
        Plane(self.d)
        checks.integer("edges", self.edges, 1, 1 << 16)

    @property
    def size(self) -> int:
        """The number of lists of words, 2**(32 limbs); the number of different polygons is far smaller."""
        return 1 << (32 * self.limbs)

    @property
    def limbs(self) -> int:
        """Words of a concept."""
        return self.words * self.edges

    @property
    def words(self) -> int:
        """Words of a halfplane: its kind, one of four, slope and t."""
        return 1 + 4 * self.family.grid.words

    @property
    def family(self) -> HalfPlanes:
        """The lattice of lines."""
        return HalfPlanes(self.d)

    def of_cuts(self, cuts: Cut) -> Array:
        """Halfplanes to exclude, each leaf ``[m, ...]`` -> words ``uint32[words m]``."""
        kind = cuts.chart.astype(jnp.uint32) + 2 * cuts.above.astype(jnp.uint32)
        return jnp.concatenate([kind[:, None], cuts.theta[:, 0], cuts.t], axis=1).reshape(-1)

    def cuts(self, words: Array) -> Cut:
        """The inverse of `of_cuts`, ``uint32[..., words m]`` -> leaves ``[..., m, ...]``."""
        parts = words.reshape(*words.shape[:-1], -1, self.words)
        kind, slope, t = parts[..., 0], *(parts[..., 1 + i :][..., : self.words // 2] for i in (0, self.words // 2))
        return Cut((kind & 1).astype(jnp.int32), slope[..., None, :], t, kind >= 2)

    def halfplanes(self, words: Array) -> np.ndarray:
        """Host: (a, b, c) of the halfplanes a x + b y <= c whose intersection is the concept, ``float64[1, m, 3]``."""
        host: Any = np.asarray(words)
        return self.family.normal(self.cuts(host))[None]  # of the excluded halfplanes

    def trimmed(self, hypothesis: Hypothesis) -> Hypothesis:
        """Host: one concept without the halfplanes that exclude no element of the grid; its labels are the same.

        Privacy: a function of the hypothesis alone.
        """
        words = np.asarray(hypothesis.concept)[0].reshape(-1, self.words)
        keep = np.array([crosses(self.d, line) for line in self.halfplanes(words.reshape(-1))[0]])
        keep[0] |= not keep.any()  # a concept has at least one edge
        return replace(hypothesis, concept=jnp.asarray(words[keep].reshape(1, -1)))

    def describe(self, hypothesis: Hypothesis) -> list[str]:
        """A sentence for each hypothesis, on the host."""
        return sentences(hypothesis, lambda words: f"1 iff in all of {len(words) // self.words} halfplanes")

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[n, k]`` for elements ``uint32[n, limbs]``."""
        return self.in_any(hypothesis, x, 1, hypothesis.concept.shape[1] // self.words)

    def in_any(self, hypothesis: Hypothesis, x: Array, parts: int, edges: int) -> Array:
        """As `predict`, for the union of ``parts`` intersections of ``edges`` halfplanes each."""

        def one(words: Array) -> Array:
            outside = jax.lax.map(lambda cut: self.family.hits(cut, x), self.cuts(words))
            return jnp.any(~jnp.any(outside.reshape(parts, edges, x.shape[0]), axis=1), axis=0)

        return jax.vmap(one, out_axes=1)(hypothesis.concept) & ~hypothesis.zero[None]

    def of_lines(self, normals: Sequence[tuple[float, float]], offsets: Sequence[float]) -> np.ndarray:
        """Host: {(x, y): a x + b y <= c for every normal (a, b) and offset c} -> words ``uint32[limbs]``.

        Lines are rounded to the lattice; if there are fewer lines than edges, lines are repeated. Grid coordinates.
        """
        if not 1 <= len(normals) <= self.edges or len(offsets) != len(normals):
            raise InputError("normals", f"1 to {self.edges}, and as many offsets", str(len(normals)), "take more edges")
        words, grid = [], self.family.grid
        unit, exact = 1 << grid.bits, float if grid.words == 1 else Fraction  # float64 is finer than one word needs
        for (a, b), c in zip(normals, offsets, strict=True):
            chart = int(abs(a) > abs(b))  # excluded is a x + b y > c: divide by the larger coefficient
            lead, rest = (a, b) if chart else (b, a)
            if lead == 0:
                raise InputError("normal", "two numbers, not both 0", "(0, 0)", "leave the line out")
            slope, t = (round(exact(part) / exact(lead) * unit) for part in (-rest, c))
            t = min(max(t, grid.first), grid.last + 1)
            words.append(chart + 2 * (lead > 0))
            for value in (slope, t):
                words += wide.pack(value % (1 << 64 * grid.words), 2 * grid.words).tolist()
        return np.array((words * self.edges)[: self.limbs], np.uint32)

    def targets(self, count: int, seed: int = 0) -> Array:
        """``count`` random polygons with all edges, ``uint32[count, limbs]``: area from 1/4 to 3/5 of the square.

        Normals are nearly equally spaced, the center is in the middle third, edges are 0.15 to 0.42 of d away from it.
        """
        if self.edges < 3:
            raise InputError("edges", "at least 3 for a polygon", str(self.edges), "use of_lines for strips")
        draws = np.asarray(random.uniform(keys.root(seed), (count, _TRIES // 50, 2 * self.edges + 3)), np.float64)
        return jnp.asarray(np.stack([self._random(draw) for draw in draws]))

    def _random(self, draws: np.ndarray) -> np.ndarray:
        k = self.edges
        for row in draws:
            turn, centre = row[0], 0.35 + 0.3 * row[1:3]
            angles = [2 * pi * ((i + 0.7 * u - 0.35) / k + turn) for i, u in enumerate(row[3 : 3 + k])]
            normals = [(cos(angle), sin(angle)) for angle in angles]
            offsets = [
                a * centre[0] + b * centre[1] + 0.15 + 0.27 * u for (a, b), u in zip(normals, row[3 + k :], strict=True)
            ]
            if 0.25 <= area(clipped(square(1.0), normals, offsets)) <= 0.6:
                return self.of_lines(normals, [self.d * c for c in offsets])
        raise InputError("edges", "a number for which random polygons have the intended area", str(k), "use of_lines")
