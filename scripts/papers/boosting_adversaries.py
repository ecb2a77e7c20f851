"""Boosting under test: a planted bug, and weak learners that err as much as they may."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core import wide
from dpjax.core.types import Sample
from dpjax.learners import Boosted
from dpjax.mechanisms.projection import projected


@dataclass(frozen=True)
class OneLabelAnElement(Boosted):
    """Boosting with a bug: rows are compared with the most frequent label of their element, not with their own."""

    def right(self, predicted: Array, labels: Array, sample: Sample) -> Array:
        """Where a hypothesis predicts the most frequent label of the row's element, 1 for a tie."""
        votes = jnp.where(sample.mask, jnp.where(labels, jnp.int32(1), jnp.int32(-1)), 0)
        same = jnp.all(sample.x[:, None] == sample.x[None], axis=-1)
        return predicted == (jnp.sum(jnp.where(same, votes[None], 0), axis=1) >= 0)


Pick = Callable[[np.ndarray, np.ndarray, int], np.ndarray]
"""The order of the rows in which an adversary errs, from counts of right votes, weights and the round."""


def _scrambled(rows: int, turn: int) -> np.ndarray:
    """Numbers without visible order, ``uint64[rows]``."""
    word = (np.arange(rows, dtype=np.uint64) * np.uint64(2654435761) + np.uint64(turn * 40503)) % np.uint64(2**32)
    word = (word ^ (word >> np.uint64(15))) * np.uint64(2246822519) % np.uint64(2**32)
    return word ^ (word >> np.uint64(13))


PICKS: dict[str, Pick] = {
    "fewest right votes first": lambda correct, weight, turn: np.argsort(correct, kind="stable"),
    "most right votes first": lambda correct, weight, turn: np.argsort(-correct, kind="stable"),
    "lightest first": lambda correct, weight, turn: np.argsort(weight, kind="stable"),
    "the same rows": lambda correct, weight, turn: np.arange(len(correct)),
    "another order each time": lambda correct, weight, turn: np.argsort(_scrambled(len(correct), turn), kind="stable"),
    "a fifth always": lambda correct, weight, turn: np.append(
        np.arange(len(correct) // 5), len(correct) // 5 + np.argsort(correct[len(correct) // 5 :], kind="stable")
    ),
}

_projected = jax.jit(projected, static_argnums=4)


def wrong_rows(kappa: float, gamma: float, turns: int, n: int, pick: Pick) -> int:
    """Rows on which at most half of the hypotheses are right, against a weak learner as bad as it may be.

    In every round it errs on rows of total weight at most 1/2 - gamma, in the order of ``pick``; a row that does not
    fit is skipped. By `theory.boosting.rounds` fewer than kappa n rows remain wrong.
    """
    correct, shrink = np.zeros(n, np.int32), np.float32(math.exp(-4 * gamma))
    for turn in range(turns):
        units = _projected(jnp.asarray(correct), jnp.ones(n, bool), shrink, jnp.int32(int(kappa * n)), turns)
        weight = wide.decode(units) / 2**62
        wrong, room = np.zeros(n, bool), 0.5 - gamma
        for row in pick(correct, weight, turn):
            if weight[row] <= room:
                wrong[row], room = True, room - weight[row]
        correct += ~wrong
    return int(np.sum(2 * correct <= turns))
