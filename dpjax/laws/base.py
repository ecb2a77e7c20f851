"""What a law is to the rest of the package: three methods, and nothing that lists the kinds of laws."""

import itertools
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass


@register_dataclass
@dataclass(frozen=True)
class Support:
    """All outcomes of a law, side by side.

    outcomes: the pytree that `Law.sample` returns, whose arrays lead with the outcomes' axis.
    log_mass: ``float64[o]``, of total mass 1. Places that hold no outcome have mass -inf; an outcome stands once.
    """

    outcomes: Any
    log_mass: Array

    @property
    def size(self) -> int:
        """Places, with those that hold no outcome. Static."""
        return self.log_mass.shape[0]


class Law(Protocol):
    """A pytree. A new one is a file of its own: what is here is all that audits and mechanisms ask of it."""

    def sample(self, key: Array) -> Any:
        """One outcome, marked `core.draws.drawn`. Exact audits read `support` only: `dpjax.audit.sampler` compares."""

    def log_prob(self, outcome: Any) -> Array:
        """Its log mass, ``float64[]``; log density where the law is continuous."""

    def support(self, limit: int) -> Support | None:
        """All outcomes; None where the law is continuous, or has more than ``limit`` of them: never representatives."""


def listed(outcomes: Any, log_prob: Any) -> Support:
    """A support from distinct outcomes side by side and the law's ``log_prob``; -inf says that one cannot be drawn."""
    with jax.enable_x64(True):
        outcomes = jax.tree.map(jnp.asarray, outcomes)
        return Support(outcomes, jax.vmap(log_prob)(outcomes).astype(jnp.float64))


def side_by_side(outcomes: Array, log_mass: Array, shape: tuple[int, ...], limit: int) -> Support | None:
    """Independent laws of one shape as a law of arrays, by all combinations.

    outcomes: ``[cells, o]``. log_mass: ``float64[cells, o]``. shape: static, of ``cells`` entries.
    """
    cells, size = log_mass.shape
    if cells * np.log(max(size, 1)) > np.log(limit) + 1e-9:
        return None
    places = np.array(list(itertools.product(range(size), repeat=cells)), np.int32).reshape(size**cells, cells)
    with jax.enable_x64(True):
        cell = jnp.arange(cells, dtype=jnp.int32)
        chosen = outcomes[cell, places].reshape(len(places), *shape)
        return Support(chosen, jnp.sum(log_mass[cell, places], axis=1))


def total(log_probs: Array) -> Array:
    """The sum over all axes, ``float64[]``: of independent entries."""
    return jnp.sum(log_probs.astype(jnp.float64))
