"""The grid in the plane as a domain, and the uniform distribution over it."""

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax import checks, random
from dpjax.checks import InputError
from dpjax.concepts.hypothesis import Hypothesis

_GOLDEN = 0x9E3779B9  # 2**32 / golden ratio


@dataclass(frozen=True)
class Plane:
    """{0, ..., d}^2, d in [1, 2**30]. Elements are ``uint32[..., 2]``, (x, y); number x (d + 1) + y is one, too."""

    d: int

    def __post_init__(self):
        checks.integer("d", self.d, 1, 2**30)

    @property
    def size(self) -> int:
        """(d + 1)**2."""
        return (self.d + 1) ** 2

    @property
    def limbs(self) -> int:
        """Words of an element, one for each coordinate."""
        return 2

    def encode(self, values) -> np.ndarray:
        """Host: pairs of whole numbers in {0, ..., d}, or numbers of elements -> ``uint32[..., 2]``."""
        side = self.d + 1
        pairs = [divmod(int(v), side) if isinstance(v, Integral) else tuple(v) for v in values]
        for pair in pairs:
            if len(pair) != 2 or not all(0 <= c <= self.d and int(c) == c for c in pair):
                raise InputError(
                    "element", f"two whole numbers in [0, {self.d}]", repr(pair), "scale and round the coordinates"
                )  # fmt: skip
        return np.array([[int(c) for c in pair] for pair in pairs], np.uint32).reshape(-1, 2)

    def decode(self, elements) -> np.ndarray:
        """Host: ``uint32[..., 2]`` -> pairs, ``int64[..., 2]``."""
        return np.asarray(elements).astype(np.int64)


@register_dataclass
@dataclass(frozen=True)
class UniformPlane:
    """Every element of {0, ..., d}^2 alike. Errors are numbers of ``probes`` points of a lattice spread over the grid.

    d: static. probes: static, at most 2**20. With 2**14 the share of probes in a halfplane is off its mass by less
    than 3e-3, and by 5e-4 for most.
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

    def draw(self, key: Array, count: int) -> Array:
        """``uint32[count, 2]`` independent elements; the first ones do not depend on ``count``."""
        return random.randint_below(key, jnp.asarray([self.d + 1], jnp.uint32), (count, 2))[..., 0]

    def points(self) -> np.ndarray:
        """The probes, ``uint32[probes, 2]``, on the host: one in each column, rows by the golden ratio."""
        i, side = np.arange(self.probes, dtype=np.uint64), np.uint64(self.d + 1)
        x = (2 * i + 1) * side // np.uint64(2 * self.probes)
        y = ((i * np.uint64(_GOLDEN) + np.uint64(1 << 31)) % np.uint64(1 << 32)) * side >> np.uint64(32)
        return np.stack([x, y], axis=-1).astype(np.uint32)


class OnPlane:
    """What classes over {0, ..., d}^2 share; a subclass has ``d`` and ``predict``."""

    d: int

    @property
    def domain(self) -> Plane:
        """{0, ..., d}^2."""
        return Plane(self.d)

    def error(self: Any, distribution: UniformPlane, hypothesis: Hypothesis, target: Hypothesis) -> Array:
        """Probes on which the two differ, ``uint64[k]`` (64-bit types enabled)."""
        if not isinstance(distribution, UniformPlane) or distribution.d != self.d:
            raise InputError("distribution", f"UniformPlane({self.d})", repr(distribution), "use the one of this grid")
        probes = jnp.asarray(distribution.points())
        differ = self.predict(hypothesis, probes) != self.predict(target, probes)
        return jnp.sum(differ, axis=0, dtype=jnp.uint64)
