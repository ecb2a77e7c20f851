"""Unions of convex pieces on a grid: polygons of any shape, and several of them."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import pi
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts import islands
from dpjax.concepts.clipping import meets
from dpjax.concepts.hypothesis import Hypothesis, sentences
from dpjax.concepts.plane import OnPlane, Plane
from dpjax.concepts.polygons import ConvexPolygons
from dpjax.concepts.triangulation import doubled_area, outline, triangulated
from dpjax.core import checks, keys, random
from dpjax.core.checks import InputError
from dpjax.mechanisms.cover.lines.cuts import Cut

_TRIES = 200
_ALONE = (0.5, 0.5, 0.5)  # center and radius
_TWO = (0.34, 0.36, 0.34), (0.71, 0.7, 0.29)


@dataclass(frozen=True)
class Unions(OnPlane):
    """Unions of at most ``triangles`` triangles on {0, ..., d}^2; a simple polygon of c corners is one of c - 2.

    A concept is the list of its pieces, ``uint32[k, limbs]``, each as in `ConvexPolygons` with ``edges`` edges, of
    which a triangle repeats some; this holds for targets and for a learner's output after m rounds. Predictions use
    integers only.

    edges: 3 to 64, of one piece: 3 for hypotheses of triangles only, 4 for rectangles and slab wedges, too.
    polygons: None, or the largest number of simple polygons whose union a target is. Then ``triangles`` is the largest
      sum of their corners, less two for each; theorems need fewer rows than for as many separate triangles.
    """

    d: int
    triangles: int = 7
    edges: int = 4
    polygons: int | None = None
    label: ClassVar[bool] = True
    """The label that a single triangle determines."""

    def __post_init__(self):
        Plane(self.d)
        checks.integer("triangles", self.triangles, 1, 1 << 14)
        checks.integer("edges", self.edges, 3, 64)
        checks.whole_or_none("polygons", self.polygons, 1)

    @property
    def size(self) -> int:
        """The number of lists of words, 2**(32 limbs); the number of different unions is far smaller."""
        return 1 << (32 * self.limbs)

    @property
    def limbs(self) -> int:
        """Words of a concept."""
        return self.words * self.triangles

    @property
    def words(self) -> int:
        """Words of a piece, 5 for each edge up to d = 2**18."""
        return self.edges * self.parts.words

    @property
    def parts(self) -> ConvexPolygons:
        """The class of one piece."""
        return ConvexPolygons(self.d, self.edges)

    def of_cuts(self, inside: Cut) -> Array:
        """Pieces, each of e <= edges halfplanes, leaves ``[m, e, ...]`` -> words ``uint32[words m]``."""
        outside = Cut(inside.chart, inside.theta, inside.t, ~inside.above)
        place = np.minimum(np.arange(self.edges), inside.chart.shape[1] - 1)  # the last one is repeated
        return self.parts.of_cuts(jax.tree.map(lambda part: part[:, place].reshape(-1, *part.shape[2:]), outside))

    def halfplanes(self, words: Array) -> np.ndarray:
        """Host: (a, b, c) of the halfplanes a x + b y <= c of the pieces of the union, ``float64[m, edges, 3]``."""
        return self.parts.halfplanes(words).reshape(-1, self.edges, 3)

    def trimmed(self, hypothesis: Hypothesis) -> Hypothesis:
        """Host: one concept without the pieces that contain no element of the grid; its labels are the same.

        Privacy: a function of the hypothesis alone.
        """
        words = np.asarray(hypothesis.concept)[0].reshape(-1, self.words)
        keep = np.array([meets(self.d, lines) for lines in self.halfplanes(words.reshape(-1))])
        zero = hypothesis.zero | (not keep.any())
        keep[0] |= not keep.any()  # a concept has at least one piece
        kept = words[keep]
        first = np.sort(np.unique(kept, axis=0, return_index=True)[1])  # each piece once
        return replace(hypothesis, concept=jnp.asarray(kept[first].reshape(1, -1)), zero=zero)

    def without_islands(self, hypothesis: Hypothesis, least: Array) -> Hypothesis:
        """Every concept without its small connected parts, see `islands.mainland`; a kept piece takes their place.

        least: ``float32[]``, the smallest fraction of the square that is kept. Traced, for the same number of words.

        Privacy: a function of the hypothesis alone.
        """
        places = jnp.asarray(self.domain.encode(islands.probes(self.d).tolist()))

        def one(words: Array) -> Array:
            outside = jax.lax.map(lambda cut: self.parts.family.hits(cut, places), self.parts.cuts(words))
            keep = islands.mainland(~jnp.any(outside.reshape(-1, self.edges, places.shape[0]), axis=1), least)
            pieces = words.reshape(-1, self.words)
            place = jnp.where(keep, jnp.arange(pieces.shape[0], dtype=jnp.int32), jax.lax.argmax(keep, 0, jnp.int32))
            return pieces[place].reshape(-1)

        return replace(hypothesis, concept=jax.vmap(one)(hypothesis.concept))

    def describe(self, hypothesis: Hypothesis) -> list[str]:
        """A sentence for each hypothesis, on the host."""
        return sentences(hypothesis, lambda words: f"1 iff in at least one of {len(words) // self.words} pieces")

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[n, k]`` for elements ``uint32[n, limbs]``."""
        return self.parts.in_any(hypothesis, x, hypothesis.concept.shape[1] // self.words, self.edges)

    def of_polygons(self, polygons: Sequence[Sequence[Any]]) -> np.ndarray:
        """Host: the union of simple polygons, lists of corners in {0, ..., d}^2 -> words ``uint32[limbs]``.

        Whether points of an edge belong to it is unspecified; edges are rounded to the lattice of `mechanisms.cover`,
        inner edges leave no gaps. If there are fewer triangles, triangles are repeated.
        """
        whole = [self.domain.decode(self.domain.encode(corners)).tolist() for corners in polygons]
        if self.polygons is not None:
            lengths = [len(outline(corners)) for corners in whole]
            if len(whole) > self.polygons or sum(lengths) - 2 * len(whole) > self.triangles:
                most = f"at most {self.polygons}, with {self.triangles} corners in all and two more for each"
                raise InputError("polygons", most, f"{lengths} corners", "use a class of more polygons or triangles")
        pieces = [triangle for corners in whole for triangle in triangulated(corners)]
        if not 1 <= len(pieces) <= self.triangles:
            expected = f"1 to {self.triangles} triangles, corners - 2 of each"
            raise InputError("polygons", expected, str(len(pieces)), "take more triangles")
        words = []
        for corners in pieces:
            edges = list(zip(corners, corners[1:] + corners[:1], strict=True))
            normals = [(v - y, x - u) for (x, y), (u, v) in edges]
            offsets = [a * x + b * y for (a, b), ((x, y), _) in zip(normals, edges, strict=True)]
            words += self.parts.of_lines(normals, offsets).tolist()
        return np.array((words * self.triangles)[: self.limbs], np.uint32)

    def targets(self, count: int, seed: int = 0) -> Array:
        """``count`` random targets, ``uint32[count, limbs]``: two star-shaped polygons, half the triangles each.

        Corners are nearly equally spaced in angle, at 0.5 to 1 times a radius from the center. Areas add up to 0.15 to
        0.5 of the square; the two may overlap. With triangles = 1 or polygons = 1 there is one polygon.
        """
        draws = np.asarray(random.uniform(keys.root(seed), (count, _TRIES, 2 * self.triangles + 9)), np.float64)
        return jnp.asarray(np.stack([self._random(draw) for draw in draws]))

    def _random(self, draws: np.ndarray) -> np.ndarray:
        stars = [(_ALONE, self.triangles)]
        if self.triangles > 1 and self.polygons != 1:
            stars = list(zip(_TWO, ((self.triangles + 1) // 2, self.triangles // 2), strict=True))
        for row in draws:
            rest, polygons = row[1:], []
            for star, share in stars:
                corners, rest = star_corners(star, rest[: 2 * share + 4]), rest[2 * share + 4 :]
                mirrored = np.stack([1 - corners[:, 0], corners[:, 1]], axis=1) if row[0] < 0.5 else corners
                polygons.append([(round(self.d * x), round(self.d * y)) for x, y in mirrored.tolist()])
            if 0.15 <= sum(abs(doubled_area(corners)) for corners in polygons) / (2 * self.d**2) <= 0.5:
                with suppress(InputError):  # corners that coincide on a coarse grid
                    return self.of_polygons(polygons)
        raise InputError("d", "a grid that is fine enough for random polygons", repr(self), "use of_polygons")


def star_corners(star: tuple[float, float, float], draws: np.ndarray) -> np.ndarray:
    """c corners ``float64[c, 2]`` around a center (x, y) and within a radius, from 2 c numbers in [0, 1]."""
    x, y, radius = star
    turns, sizes = np.split(draws, 2)
    angles = 2 * pi * (np.arange(len(turns)) + 0.6 * turns) / len(turns)
    lengths = radius * (0.5 + 0.5 * sizes)
    return np.stack([x + lengths * np.cos(angles), y + lengths * np.sin(angles)], axis=1)
