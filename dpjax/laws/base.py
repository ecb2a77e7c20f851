"""The base class of laws. There is no list of law types."""

import itertools
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core.checks import InputError
from dpjax.core.members import Base, member


@register_dataclass
@dataclass(frozen=True)
class Support:
    """All outcomes of a law, stacked.

    outcomes: the pytree that `Law.sample` returns, with a leading axis of outcomes on every array.
    log_mass: ``float64[o]``, of total mass 1. Padding has mass -inf; each outcome occurs once.
    """

    outcomes: Any
    log_mass: Array

    @property
    def size(self) -> int:
        """The number of entries, padding included. Static."""
        return self.log_mass.shape[0]


class Law(Base):
    """Base class of laws: a pytree. Audits and mechanisms use these members only; a new law is one file."""

    @abstractmethod
    def sample(self, key: Array) -> Any:
        """One outcome; decorated with `core.draws.drawn`. Exact audits read `support`; `audit.sampler` compares."""

    @abstractmethod
    def log_prob(self, outcome: Any) -> Array:
        """The outcome's log mass, ``float64[]``; its log density if the law is continuous."""

    def support(self, limit: int) -> Support | None:
        """All outcomes, never a selection; None if the law is continuous or has more than ``limit`` outcomes."""
        return None

    def log_probs(self) -> Array:
        """Optional: the log masses of the outcomes 0, 1, ..., ``float64[m]``. InputError without them."""
        raise InputError("law", "one with log_probs", type(self).__name__, "take its support")

    @member
    def no_answer(self) -> bool:
        """Whether the last of `log_probs` is the mass of the outcome -1."""
        return False

    def log_survival(self, value: Any) -> Array:
        """Optional, for noise with fields ``loc`` and ``scale``: log P(X >= value). InputError without it."""
        raise InputError("law", "one with log_survival", type(self).__name__, "add up its log_prob")


def listed(outcomes: Any, log_prob: Any) -> Support:
    """A support from stacked distinct outcomes and the law's ``log_prob``; -inf marks an impossible outcome."""
    with jax.enable_x64(True):
        outcomes = jax.tree.map(jnp.asarray, outcomes)
        return Support(outcomes, jax.vmap(log_prob)(outcomes).astype(jnp.float64))


def side_by_side(outcomes: Array, log_mass: Array, shape: tuple[int, ...], limit: int) -> Support | None:
    """The joint support of independent laws with equally many outcomes: all combinations, as arrays of ``shape``.

    outcomes: ``[cells, o]``. log_mass: ``float64[cells, o]``. shape: static, with ``cells`` entries.
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
    """The sum over all axes, ``float64[]``: the joint log mass of independent entries."""
    return jnp.sum(log_probs.astype(jnp.float64))
