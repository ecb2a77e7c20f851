"""The globally stable learner of a class of small Littlestone dimension: one function is frequent among its outputs."""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts.finite import Finite
from dpjax.core import checks, keys
from dpjax.core.plans import STATIC, plan_type
from dpjax.core.types import Accuracy, Privacy
from dpjax.laws import Categorical
from dpjax.lists.base import Cells, ListPlan, Lists
from dpjax.lists.version_spaces import State, after, block_bits, dimension_of, prediction, require_small
from dpjax.mechanisms.resample import Resample
from dpjax.theory import global_stability as theory


@plan_type
class StablePlan(ListPlan):
    """ends: of the blocks, ``int32[blocks]``. weights: log-probabilities of the levels, ``float32[d + 1]``."""

    ends: Any
    weights: Any
    attempts: int = field(metadata=STATIC)
    length: int = field(metadata=STATIC)


@dataclass(frozen=True)
class GloballyStable(Lists):
    """Lists of one function: the optimal prediction after a tournament of blocks of rows.

    A draw of level 0 is the empty sequence. A draw of level k runs two draws of level k - 1, each followed by a block
    of rows of its own, and compares their predictions; at the first element where they differ it tosses a coin, takes
    the draw whose prediction the coin contradicts, and appends that element with the coin as its label: if the coin is
    right, this forces a mistake, and the target's space loses a dimension. If they do not differ there is no draw; at
    level 1 up to ``attempts`` pairs are tried. A run picks a level, or the highest below it that has a draw, and
    predicts from that draw and one more block; the labels of that last block override the prediction.

    The label of an element in a block is its more frequent label, 0 in a tie; an item with which no concept left agrees
    overrides the prediction at its element.

    Args:
      concepts: at most 20 concepts over 32 elements, of Littlestone dimension d.
      attempts: at level 1, >= 1; by default those for which batches x rows are fewest.

    Not private by itself: see `SparseAggregate`.
    Utility: for realizable rows, some function is the output with probability at least `theory.global_stability.levels`
      (its eta); `theory.global_stability.block` rows in each block bound its error.
    Reference: Bun, Livni, Moran 2020, Section 3; levels, attempts and constants are our own.
    """

    concepts: Finite
    attempts: int | None = None

    def __post_init__(self):
        require_small(self.concepts, "GloballyStable")
        checks.whole_or_none("attempts", self.attempts, 1, 64)

    @property
    def dimension(self) -> int:
        """The Littlestone dimension of the class."""
        return dimension_of(self.concepts)

    @property
    def tries(self) -> int:
        """The attempts at level 1."""
        return theory.best_attempts(self.dimension) if self.attempts is None else self.attempts

    @property
    def eta(self) -> float:
        """The probability that some function has at least."""
        return theory.levels(self.dimension, self.tries)[1]

    def plan(self, accuracy: Accuracy) -> StablePlan:
        """Equal blocks, and the levels' probabilities."""
        blocks = theory.blocks(self.dimension, self.tries)
        weights = np.log(np.array(theory.levels(self.dimension, self.tries)[0]), dtype=np.float64)
        return StablePlan(np.arange(1, blocks + 1, dtype=np.int32), weights.astype(np.float32), self.tries, 1)

    def names(self, key: Array, cells: Cells, plan: StablePlan) -> tuple[Array, Array]:
        """One function."""
        of_level, of_coins = keys.streams(key, "level", "coins")
        top = self.dimension
        level = Categorical(plan.weights).sample(of_level)
        seen, labels = block_bits(cells.counts)
        coins = jnp.zeros(0, jnp.int32)
        if tosses := _tosses(top, plan.attempts):
            coins = Resample(jnp.int32(2), tosses, 2).sample(of_coins)
        states, exist = [], []
        for k in range(top + 1):  # a draw of level k reads the first blocks and coins
            blocks = theory.blocks(k, plan.attempts) - 1
            state, drawn = self._draw(k, seen[:blocks], labels[:blocks], coins[: _tosses(k, plan.attempts)], plan)
            states.append(state)
            exist.append(drawn)
        index = jnp.arange(top + 1, dtype=jnp.int32)
        at = jnp.max(jnp.where(jnp.stack(exist) & (index <= level), index, 0))  # level 0 has a draw
        state = jax.tree.map(lambda *parts: jnp.stack(parts)[at], *states)
        name = prediction(self.concepts, after(self.concepts, state, seen[-1], labels[-1]), seen[-1], labels[-1])
        return name[None, None], jnp.ones(1, bool)

    def rows(self, accuracy: Accuracy) -> int:
        """Rows of all blocks of a batch."""
        blocks = theory.blocks(self.dimension, self.tries)
        return blocks * theory.block(self.eta, float(accuracy.alpha))

    def batches(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.global_stability.batches`."""
        return theory.batches(self.eta, float(privacy.epsilon), float(privacy.delta), float(accuracy.beta))

    def _draw(self, k: int, seen: Array, labels: Array, coins: Array, plan: StablePlan) -> tuple[State, Array]:
        """A draw of level k from ``uint32[..., blocks]`` and ``int32[..., tosses]``, and whether it exists."""
        lead = seen.shape[:-1]
        if k == 0:
            return State.whole(self.concepts, lead), jnp.ones(lead, bool)
        attempts = plan.attempts if k == 1 else 1
        blocks, tosses = theory.blocks(k - 1, plan.attempts), _tosses(k - 1, plan.attempts)
        seen, labels = (part.reshape(*lead, attempts, 2, blocks) for part in (seen, labels))
        coins = coins.reshape(*lead, attempts, 2 * tosses + 1)
        inner = coins[..., 1:].reshape(*lead, attempts, 2, tosses)
        states, exist = self._draw(k - 1, seen[..., 1:], labels[..., 1:], inner, plan)
        element, element_label = seen[..., 0], labels[..., 0]
        states = after(self.concepts, states, element, element_label)
        guess = prediction(self.concepts, states, element, element_label)
        differ = guess[..., 0] ^ guess[..., 1]
        first = differ & (~differ + jnp.uint32(1))
        coin = coins[..., 0] > 0
        label = jnp.where(coin, first, jnp.uint32(0))
        loser = ((guess[..., 0] & first) != label)[..., None]  # the prediction that the coin contradicts
        taken = jax.tree.map(lambda part: jnp.where(loser[..., 0], part[..., 0], part[..., 1]), states)
        taken = after(self.concepts, taken, first, label)
        happened = jnp.all(exist, axis=-1) & (differ > 0)
        return _first(taken, happened)


def _tosses(k: int, attempts: int) -> int:
    """Coins of a draw of level k."""
    return 0 if k == 0 else (attempts if k == 1 else 1) * (2 * _tosses(k - 1, attempts) + 1)


def _first(states: State, happened: Array) -> tuple[State, Array]:
    """The first of the attempts on the last axis that happened, and whether any did."""
    place = jnp.argmax(happened, axis=-1)[..., None]
    pick = lambda part: jnp.take_along_axis(part, place, axis=-1)[..., 0]  # noqa: E731
    return jax.tree.map(pick, states), jnp.any(happened, axis=-1)
