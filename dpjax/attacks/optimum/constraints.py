"""The privacy constraints of a family in the form that `first_order` uses: its flows, their step, and a repair.

With delta = 0 the flows z(T, a, h) are in the polar cone of `stencil`'s K. With delta > 0 the constraint of members
T + a and T + b is that the sum over h of the positive part of p(T + a, h) - e^epsilon p(T + b, h) is at most delta, and
its flows y(T, a, b, h) are nonnegative: they cost delta times their maximum over h, and a member gives

    z(T, a, h) = sum over b of y(T, a, b, h) - e^epsilon (sum over b of y(T, b, a, h)).

Arrays are those of `stencil.Stencil`, of NumPy or of JAX.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpjax.attacks.optimum.bounds import approximate_laws, balanced, private_laws
from dpjax.attacks.optimum.cones import nearest_in_family, threshold
from dpjax.attacks.optimum.stencil import Stencil


@partial(jax.tree_util.register_dataclass, data_fields=["factor"], meta_fields=[])
@dataclass(frozen=True)
class Pure:
    """delta = 0, with flows ``[kinds, h, families]``. factor: e^epsilon."""

    factor: Any

    def shape(self, kinds: int) -> tuple[int, ...]:
        """The leading axes of flows."""
        return (kinds,)

    def norm(self, kinds: int) -> float:
        """The largest eigenvalue of the constraints of one family and hypothesis, times their transpose."""
        return 1.0

    def given(self, flows: Any) -> Any:
        """z: the flows."""
        return flows

    def step(self, flows: Any, sigma: Any, members: Any, present: Any) -> Any:
        """The flows after a step of size sigma, ``[families]``, at q(T, a, h) = ``members``."""
        moved = flows + sigma * members
        return moved - nearest_in_family(moved, self.factor, present)

    def valid(self, flows: np.ndarray) -> np.ndarray:
        """Flows that prove a bound, close to these."""
        return balanced(flows, self.factor)

    def cost(self, flows: np.ndarray, sizes: np.ndarray) -> float:
        """What is added to the bound; sizes: families of each orbit."""
        return 0.0

    def laws(self, stencil: Stencil, laws: np.ndarray) -> np.ndarray:
        """A private learner close to these laws."""
        return private_laws(stencil, laws, self.factor)


@partial(jax.tree_util.register_dataclass, data_fields=["factor", "delta"], meta_fields=[])
@dataclass(frozen=True)
class Approximate:
    """delta > 0, with flows ``[kinds, kinds, h, families]`` that are 0 for pairs of equal kinds; as `Pure`."""

    factor: Any
    delta: Any

    def shape(self, kinds: int) -> tuple[int, ...]:
        """The leading axes of flows."""
        return kinds, kinds

    def norm(self, kinds: int) -> float:
        """Of the vectors orthogonal to (1, ..., 1)."""
        return (kinds - 1) * (1 + self.factor**2) + 2 * self.factor

    def given(self, flows: Any) -> Any:
        """What each member gives."""
        return sum(flows[:, other] - self.factor * flows[other] for other in range(len(flows)))  # as in `cones`

    def step(self, flows: Any, sigma: Any, members: Any, present: Any) -> Any:
        """v less sigma times the nearest point of the constraint's set to v / sigma, v = flows + sigma (...)."""
        moved = flows + sigma * (members[:, None] - self.factor * members)
        most = jnp.maximum(threshold(jnp.moveaxis(moved, 2, 0), sigma * self.delta), 0)
        other = ~jnp.eye(len(members), dtype=bool)[:, :, None, None]
        both = other if present is None else other & present[:, None] & present
        return jnp.where(both, jnp.clip(moved, 0, most[:, :, None]), 0)

    def valid(self, flows: np.ndarray) -> np.ndarray:
        """All nonnegative flows prove a bound."""
        return np.maximum(flows, 0)

    def cost(self, flows: np.ndarray, sizes: np.ndarray) -> float:
        """delta times the sum over pairs of neighbors of the largest flow."""
        return self.delta * float(flows.max(axis=2).sum(axis=(0, 1)) @ sizes)

    def laws(self, stencil: Stencil, laws: np.ndarray) -> np.ndarray:
        """A private learner close to these laws."""
        return approximate_laws(stencil, laws, self.factor, self.delta)


def constraints_of_budget(factor: float, delta: float) -> Pure | Approximate:
    """The form for a budget; factor: e^epsilon."""
    return Approximate(factor, delta) if delta else Pure(factor)
