"""Databases with all rows at one element, and what a learner of k concepts answers there."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.attacks.response import BINS, width_of
from dpjax.core import keys, random
from dpjax.core.types import Neighboring, Sample
from dpjax.learners.base import Learner


@dataclass(frozen=True)
class TiedRows:
    """``rows`` rows at ``element``, the last of which is the victim's, for a learner of k concepts. All static."""

    learner: Learner
    k: int
    rows: int
    element: int

    def answer(self, key: Array, ones: Array, victim: Array, present: Any, plan: Any) -> Array:
        """The labels that the k hypotheses give the element, ``bool[k]``.

        ones ``int32[k]``: of the other rows, in each column. victim ``bool[k]``: the last row's labels. present: False
        leaves the last row out.
        """
        others = jnp.arange(self.rows - 1, dtype=jnp.int32)[:, None] < ones
        x = jnp.asarray(self.learner.concepts.domain.encode((self.element,)))
        mask = jnp.ones(self.rows, bool).at[-1].set(present)
        sample = Sample(jnp.tile(x, (self.rows, 1)), jnp.concatenate([others, victim[None]]), mask)
        return self.learner.predict(self.learner.learn(key, sample, plan), x)[0]


@partial(jax.jit, static_argnums=(0, 1))
def responses_of(
    database: TiedRows, at_once: int, plan: Any, key: Array, index: Array, low: Array, count: Array
) -> tuple[Array, Array]:
    """(Columns, answers 1 among them) by the number m of ones in all rows, ``int32[t, BINS]`` each, in bins of m - low.

    In each column the other rows have one of ``count`` numbers of ones, from ``low`` on, and the last row a fair coin.
    All bins but the last ones have ``width_of(count)`` numbers.
    """

    def one(trial: Array) -> tuple[Array, Array]:
        of_rows, of_learner = keys.streams(keys.of_trial(key, trial), "rows", "learner")
        drawn = random.randint_below(of_rows, 2 * count.astype(jnp.uint32)[None], (database.k,))[:, 0]
        drawn = drawn.astype(jnp.int32)
        ones, victim = drawn >> 1, (drawn & 1).astype(bool)
        word = database.answer(of_learner, low + ones, victim, True, plan)
        here = ((ones + victim) // width_of(count))[:, None] == jnp.arange(BINS, dtype=jnp.int32)
        return jnp.sum(here, axis=0, dtype=jnp.int32), jnp.sum(here & word[:, None], axis=0, dtype=jnp.int32)

    return jax.lax.map(one, index, batch_size=at_once)


@partial(jax.jit, static_argnums=(0, 1))
def answers_of(
    database: TiedRows, at_once: int, plan: Any, key: Array, index: Array, ones: Array, victim: Array
) -> tuple[Array, Array]:
    """(Coins ``bool[t]``, answers ``bool[t, k]``) of trials ``index``: the last row is ``victim`` where the coin is
    True; else its complement, or there is none, by the learner's relation."""
    tied = jnp.full(database.k, ones, jnp.int32)
    replaced = database.learner.neighboring is Neighboring.REPLACE_ONE

    def one(trial: Array) -> tuple[Array, Array]:
        of_coin, of_learner = keys.streams(keys.of_trial(key, trial), "coin", "learner")
        coin = (random.words(of_coin, ())[0] & jnp.uint32(1)) == 1
        last = jnp.where(coin, victim, ~victim) if replaced else victim
        return coin, database.answer(of_learner, tied, last, True if replaced else coin, plan)

    return jax.lax.map(one, index, batch_size=at_once)


@jax.jit
def score(answers: Array, if_one: Array, if_zero: Array) -> Array:
    """``float32[t]`` of ``bool[t, k]``: whole numbers that float32 holds, so the sum does not depend on its order."""
    return jnp.sum(jnp.where(answers, if_one, if_zero), axis=1, dtype=jnp.int32).astype(jnp.float32)
