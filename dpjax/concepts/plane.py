"""The grid in the plane as a domain, and the uniform distribution over it."""

from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.concepts.base import ConceptClass
from dpjax.concepts.domain import FiniteDomain
from dpjax.concepts.example_distribution import ExampleDistribution
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.core import checks, random, wide
from dpjax.core.checks import InputError

_GOLDEN = 0x9E3779B9  # 2**32 / golden ratio


@dataclass(frozen=True)
class Plane(FiniteDomain):
    """{0, ..., d}^2, d in [1, 2**64 - 1]. Elements are (x, y); `encode` also takes the element number x (d + 1) + y.

    Elements are ``uint32[..., 2]`` or, for d >= 2**32, ``uint32[..., 4]``, upper words first.
    """

    d: int

    def __post_init__(self):
        checks.integer("d", self.d, 1, 2**64 - 1)

    @property
    def parameters(self) -> dict[str, Any]:
        """``d``."""
        return {"d": self.d}

    def uniform(self) -> "UniformPlane":
        """The uniform distribution."""
        return UniformPlane(self.d)

    @property
    def size(self) -> int:
        """(d + 1)**2."""
        return (self.d + 1) ** 2

    @property
    def limbs(self) -> int:
        """Words of an element, one or two for each coordinate."""
        return 2 if self.d < 2**32 else 4

    def encode(self, values) -> np.ndarray:
        """Host: pairs of integers in {0, ..., d}, or numbers of elements -> ``uint32[..., limbs]``."""
        side = self.d + 1
        pairs = [divmod(int(v), side) if isinstance(v, Integral) else tuple(v) for v in values]
        for pair in pairs:
            known = len(pair) == 2 and all(isinstance(c, Real) for c in pair)
            if not known or not all(0 <= c <= self.d and int(c) == c for c in pair):
                raise InputError(
                    "element", f"two whole numbers in [0, {self.d}]", repr(pair), "scale and round the coordinates"
                )
        whole = np.array([[int(c) for c in pair] for pair in pairs], np.uint64).reshape(-1, 2)
        return wide.encode(whole, self.limbs // 2).reshape(-1, self.limbs)

    def decode(self, elements) -> np.ndarray:
        """Host: ``uint32[..., limbs]`` -> pairs, ``int64[..., 2]``, or ``uint64[..., 2]`` for 4 limbs."""
        words = np.asarray(elements)
        return words.astype(np.int64) if self.limbs == 2 else wide.decode(words.reshape(*words.shape[:-1], 2, 2))


@register_dataclass
@dataclass(frozen=True)
class UniformPlane(ExampleDistribution):
    """The uniform distribution over {0, ..., d}^2. Errors are numbers of ``probes``, points of a lattice over the grid.

    d: static. probes: static, at most 2**20. With 2**14 the fraction of probes in a halfplane differs from its mass by
    less than 3e-3, and by 5e-4 for most.
    """

    d: int = field(metadata={"static": True})
    probes: int = field(default=1 << 14, metadata={"static": True})

    def __post_init__(self):
        Plane(self.d)
        checks.integer("probes", self.probes, 1, 1 << 20)

    @property
    def total(self) -> int:
        """Total mass in units, on the host."""
        return self.probes

    def misfit(self, domain: Any) -> str | None:
        """None, or the reason why the distribution is not over the domain."""
        return None if domain == Plane(self.d) else f"one over {Plane(self.d)}"

    def draw(self, key: Array, count: int) -> Array:
        """``uint32[count, limbs]`` independent elements; element i does not depend on ``count``."""
        words = Plane(self.d).limbs // 2
        bound = wide.pack(self.d + 1, words if self.d + 1 < 1 << 32 * words else words + 1)
        return random.randint_below(key, jnp.asarray(bound), (count, 2))[..., -words:].reshape(count, 2 * words)

    def points(self) -> np.ndarray:
        """The probes, ``uint32[probes, limbs]``, on the host: one in each column, rows by the golden ratio."""
        plane = Plane(self.d)
        i, side = np.arange(self.probes, dtype=np.uint64), self.d + 1
        i = i if plane.limbs == 2 else i.astype(object)  # products have more than 64 bits
        x = (2 * i + 1) * side // (2 * self.probes)
        y = ((i * _GOLDEN + (1 << 31)) % (1 << 32)) * side >> 32
        return wide.encode(np.stack([x, y], axis=-1), plane.limbs // 2).reshape(-1, plane.limbs)


@register_dataclass
@dataclass(frozen=True, kw_only=True)
class UniformSquare(UniformPlane):
    """The uniform distribution over the square low + {0, ..., side}^2 of the grid; probes and units are of the square.

    side: static, at most d < 2**32. low: its corner, ``uint32[2]``, traced; the square must lie in the grid.
    """

    side: int = field(metadata={"static": True})
    low: Any

    def __post_init__(self):
        super().__post_init__()
        checks.integer("side", self.side, 1, checks.integer("d", self.d, 1, 2**32 - 1))

    @property
    def whole(self) -> UniformPlane:
        """The same with the square as the grid."""
        return UniformPlane(self.side, self.probes)

    def draw(self, key: Array, count: int) -> Array:
        """``uint32[count, 2]``."""
        return self.low + self.whole.draw(key, count)

    def points(self) -> Any:
        """The probes, ``uint32[probes, 2]``."""
        return self.low + self.whole.points()


class OnPlane(ConceptClass):
    """Base class over {0, ..., d}^2; a subclass has ``d`` and ``predict``."""

    d: int

    @property
    def domain(self) -> Plane:
        """{0, ..., d}^2."""
        return Plane(self.d)

    def error(self, distribution: Any, hypothesis: Hypothesis, target: Hypothesis) -> Array:
        """The number of points on which the two differ, ``uint64[k]`` (64-bit types enabled), or their weights.

        distribution: with ``points``, such as the probes of `UniformPlane`, and ``weights`` if they differ.
        """
        if (why := distribution.misfit(self.domain)) is not None:
            raise InputError("distribution", f"one over {self.domain}", why, "use one with the same d")
        points = jnp.asarray(distribution.points())
        differ = self.predict(hypothesis, points) != self.predict(target, points)
        if (weights := distribution.weights()) is not None:
            return jnp.sum(jnp.where(differ, weights[:, None], jnp.uint64(0)), axis=0)
        return jnp.sum(differ, axis=0, dtype=jnp.uint64)
