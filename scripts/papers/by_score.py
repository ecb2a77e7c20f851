"""What the score of a fingerprinting code certifies as an audit, for comparison with informed tracing."""

import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.distance import as_replace_one
from dpjax.attacks.codes.tardos import Tardos
from dpjax.audit.sampling.guesses import epsilon_of_guesses
from dpjax.concepts.disagreement import differing
from dpjax.core import checks, keys, random
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.learners.base import Learner, require_learner
from dpjax.learners.columns import for_concepts

_TILE, _TRAINING, _TRIED = 1 << 12, 0.2, 100
_ACCURACY = Accuracy(0.1, 0.1)


@dataclass(frozen=True)
class Scored:
    """separation: of the mean scores in training, in standard deviations. epsilon: certified at ``delta``, under
    REPLACE_ONE: the delta is that of the claim, restated under this relation."""

    separation: float
    epsilon: float
    delta: float
    trials: int
    seconds: float


def by_score(
    learner: Learner,
    code: Tardos,
    privacy: Privacy,
    *,
    accuracy: Accuracy = _ACCURACY,
    trials: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Scored:
    """Guesses by its score whether a row of a random codebook was in the database.

    All rows of the database are at one element, with the code words of all users but the last as labels. A fair coin
    chooses the first user's score, or that of the last one, whom the learner did not see: this is the score of a row
    that was replaced by another one of the same law. A fifth of the trials chooses how large a score must be for a
    guess; the rest is tested as in `tracing.trace`. The scores have heavy tails: the largest say little.

    Args:
      learner: of one concept or of k; it must claim privacy. code: of one user more than there are rows.
      privacy, accuracy: of its plan. trials: on each side, on average, at least 1000.
    """
    checks.integer("trials", trials, 1000, 2**30)
    checks.integer("code.users", code.users, 2)
    level = 1 - checks.probability("confidence", confidence)
    begin, rows = time.perf_counter(), code.users - 1
    require_learner(learner)
    element, learner = differing(learner.concepts), for_concepts(learner, code.length)
    plan = learner.plan(privacy, accuracy, rows)
    claim = learner.guarantee(plan)
    if claim is None:
        raise InputError("learner", "one that claims privacy", type(learner).__name__, "`dpjax attack` needs no claim")
    claim = as_replace_one(claim)  # the scores are of a row that is replaced
    key, total = keys.stream(keys.root(checks.integer("seed", seed, 0, 2**32 - 1)), "symmetric"), 2 * trials
    tiles = [_scores(learner, code, element, plan, key, jnp.uint32(first)) for first in range(0, total, _TILE)]
    coins, scores = (np.concatenate([np.asarray(part) for part in parts])[:total] for parts in zip(*tiles, strict=True))
    training = int(_TRAINING * total)
    first, second = (scores[:training][coins[:training] == side] for side in (True, False))
    gap, variance = float(first.mean() - second.mean()), float(first.var() + second.var()) / 2
    scores = (scores - (first.mean() + second.mean()) / 2) * (1 if gap >= 0 else -1)
    bold = _boldness(scores[:training], coins[:training], claim.delta)
    scores, coins = scores[training:], coins[training:]
    guessed = np.abs(scores) >= bold
    right = int(np.sum(guessed & ((scores > 0) == coins)))
    wrong = int(np.sum(guessed)) - right
    epsilon = epsilon_of_guesses(right, wrong, len(coins), claim.delta, significance=level)
    separation = gap / max(variance, 1e-12) ** 0.5
    return Scored(round(separation, 4), epsilon, claim.delta, trials, round(time.perf_counter() - begin, 2))


def _boldness(scores: np.ndarray, coins: np.ndarray, delta: float) -> float:
    """The size of a score from which on guesses certify the largest epsilon on these trials."""
    order = np.argsort(-np.abs(scores), kind="stable")
    correct = np.cumsum(((scores > 0) == coins)[order])
    counts = np.unique(np.geomspace(1, len(order), _TRIED).astype(int))
    epsilons = [epsilon_of_guesses(int(correct[m - 1]), int(m - correct[m - 1]), len(order), delta) for m in counts]
    return float(np.abs(scores)[order[counts[int(np.argmax(epsilons))] - 1]])


@partial(jax.jit, static_argnums=(0, 1, 2))
def _scores(learner: Learner, code: Tardos, element: int, plan: Any, key: Array, first: Array) -> tuple[Array, Array]:
    """Coins and scores of 4096 trials."""
    x, rows = jnp.asarray(learner.concepts.domain.encode((element,))), code.users - 1

    def one(trial: Array) -> tuple[Array, Array]:
        of_coin, of_code, of_learner = keys.streams(keys.of_trial(key, trial), "coin", "codebook", "learner")
        codebook, coin = code.generate(of_code), random.uniform(of_coin, ()) < 0.5
        sample = Sample(jnp.tile(x, (rows, 1)), codebook.bits[:rows], jnp.ones(rows, bool))
        word = learner.predict(learner.learn(of_learner, sample, plan), x)[0]
        scores = code.scores(codebook, word)
        return coin, jnp.where(coin, scores[0], scores[rows])

    return jax.lax.map(one, first + jnp.arange(_TILE, dtype=jnp.uint32), batch_size=64)
