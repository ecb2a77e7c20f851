"""How many columns a code needs: where a participant is accused in half of all codebooks."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.attacks.coalition import CoalitionAttack, run_batch
from dpjax.attacks.codes.base import LONGEST, Code
from dpjax.attacks.pirates import Pirate
from dpjax.attacks.rates import Rate
from dpjax.core import checks, keys, random
from dpjax.learners.base import Learner

_STEPS = 8  # grid points between k and 2 k


def slow(key: Array, bits: Array, members: Array) -> Array:
    """A strategy of `pirates` against Boneh-Shaw: 1 with probability (share of ones among the members)^2.

    The ones of block t are near d (t / n)^2, so neighboring blocks differ little everywhere.
    """
    share = jnp.sum(bits & members[:, None], axis=0) / jnp.sum(members)
    return random.uniform(key, share.shape) < share**2


@dataclass(frozen=True)
class Crossing:
    """Codes of n users and k columns against one learner or strategy; every user takes part.

    code: (n, k) -> a code, sound for every k, with more accusations the larger k is. word: a learner with one row for
    each user and no plan, such as `ERM`, or a strategy of pirates. user: n -> the number of the participant, from 0.
    guess: n -> about where k is; it decides how long the search takes, not what it finds.
    """

    code: Callable[[int, int], Code]
    word: Any
    user: Callable[[int], int]
    guess: Callable[[int], float]

    def rate(self, n: int, k: int, codebooks: int, seed: int, confidence: float = 0.999) -> Rate:
        """How often the participant is accused."""
        code, root = self.code(n, k), keys.root(seed)
        if isinstance(self.word, Learner):
            accused = run_batch(CoalitionAttack(self.word, code), None, root, -1, 0, codebooks).accused
        else:
            accused = _accused(code, self.word, root, codebooks)
        return Rate.of(np.asarray(accused)[:, self.user(n)], confidence)

    def bracket(self, n: int, codebooks: int, seed: int, confidence: float = 0.999) -> tuple[int, int]:
        """(k at which the participant is accused in less than half of all codebooks, k at which in more).

        Both are on a geometric grid. Each k that is tested is on the wrong side with probability at most
        (1 - ``confidence``) / 2. InputError if k leaves [1, 2^26].
        """
        checks.integer("n", n, 1)
        seen: dict[int, Rate] = {}

        def at(step: int) -> Rate:
            if step not in seen:
                k = checks.integer("k of the search", round(2 ** (step / _STEPS)), 1, LONGEST)
                seen[step] = self.rate(n, k, codebooks, seed, confidence)
            return seen[step]

        low = high = round(_STEPS * math.log2(self.guess(n)))
        while at(low).high >= 0.5:
            low -= 1
        while at(high).low <= 0.5:
            high += 1
        while at(low + 1).high < 0.5:
            low += 1
        while at(high - 1).low > 0.5:
            high -= 1
        return round(2 ** (low / _STEPS)), round(2 ** (high / _STEPS))


@partial(jax.jit, static_argnums=(0, 1, 3))
def _accused(code: Code, pirate: Pirate, root: Array, codebooks: int) -> Array:
    """``bool[codebooks, n]``, everybody in the coalition."""

    def one(trial: Array) -> Array:
        of_code, of_pirate = keys.streams(keys.of_trial(root, trial), "codebook", "pirate")
        codebook = code.generate(of_code)
        return code.trace(codebook, pirate(of_pirate, codebook.bits, jnp.ones(code.users, bool)))

    return jax.lax.map(one, jnp.arange(codebooks, dtype=jnp.uint32), batch_size=8)
