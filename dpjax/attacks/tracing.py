"""Informed tracing: an audit of a learner of k concepts by somebody who knows all rows but one.

A fingerprinting code serves a theorem: it traces whatever a coalition does, and pays for it. An auditor chooses the
database and may study the learner. Here all rows have one element on which two concepts differ. In each column the
other rows hold as many ones as make the learner's answer most sensitive to one more, and the victim's k labels are half
ones; the neighbor holds their complement, or is without the row under add-or-remove-one. The score of an answer is its
estimated log-likelihood ratio, a sum over columns; its sign is a guess of the database where it is large enough. Every
choice is made on trials of its own, so what is certified is valid for any learner; the choices decide how much it is.
"""

import time
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.attacks.response import Response, boldness, looks_at, sensitive, weights, width_of
from dpjax.attacks.tied import TiedRows, answers_of, responses_of, score
from dpjax.audit.report import Report
from dpjax.audit.sampling.guesses import delta_of_guesses, epsilon_of_guesses
from dpjax.audit.watch import Watch, Work, unwatched
from dpjax.concepts.disagreement import differing
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.learners.base import Learner, require_learner
from dpjax.learners.columns import for_concepts

_PILOT, _TRAINING = 0.05, 0.15  # fractions of the trials
_MOST_ANSWERS, _PILOT_ANSWERS = 1 << 26, 1 << 23  # answers in all columns of training and of pilot trials
_TILE, _CELLS = 1 << 12, 1 << 22
_ACCURACY = Accuracy(0.1, 0.1)


def trace(
    learner: Learner,
    k: int,
    rows: int,
    privacy: Privacy,
    *,
    accuracy: Accuracy = _ACCURACY,
    trials: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
    name: str | None = None,
    watch: Watch = unwatched,
) -> Report:
    """Certifies a lower bound on the epsilon of a learner of k concepts, at the delta of its guarantee.

    Args:
      learner: of one concept or of k, as in `learners.columns.for_concepts`; it must claim privacy.
      k: concepts, >= 1. rows: of the database, >= 2. privacy, accuracy: of its plan for so many rows.
      trials: on each of the two databases, on average, at least 1000. Up to 5 % find the sensitive number of ones, up
        to 15 % estimate the response and choose the guesses; the rest tests them once, see `audit.guesses`.
      confidence: a correct guarantee is refuted with probability at most 1 - confidence.
      watch: receives the number of finished runs and the total.

    Raises InputError for a learner without a guarantee, and for a class of one concept.
    """
    checks.integer("k", k, 1)
    checks.integer("rows", rows, 2, 1 << 20)
    checks.integer("trials", trials, 1000, 2**30)
    checks.integer("seed", seed, 0, 2**32 - 1)
    begin, level = time.perf_counter(), 1 - checks.probability("confidence", confidence)
    require_learner(learner)
    database = TiedRows(for_concepts(learner, k), k, rows, differing(learner.concepts))
    plan = database.learner.plan(privacy, accuracy, rows)
    claim = database.learner.guarantee(plan)
    name = name or type(learner).__name__
    if claim is None:
        raise InputError("target", "a learner that claims privacy", name, "`dpjax attack` needs no claim")
    looks = looks_at(rows)
    look = max(1, min(int(_PILOT * 2 * trials), max(100, _PILOT_ANSWERS // k)) // looks)
    pilot = look * looks
    training = min(int(_TRAINING * 2 * trials), max(200, _MOST_ANSWERS // k))
    fresh = 2 * trials - pilot - training
    runs = _Runs(database, plan, keys.root(seed), Work(watch, 2 * trials))
    ones, seen = sensitive(partial(runs.response, look), rows)
    victim = np.arange(k) % 2 == 1
    coins, answers = runs.answers(training, ones, victim)
    if_one, if_zero, unit = weights(answers[coins], answers[~coins], victim)
    at_one, at_zero = jnp.asarray(if_one), jnp.asarray(if_zero)
    bold = boldness(np.asarray(score(jnp.asarray(answers), at_one, at_zero)), coins, unit, fresh)
    coins, scores = runs.scores(fresh, ones, victim, at_one, at_zero)
    guesses = np.abs(scores) >= bold
    right, guessed = int(np.sum(guesses & ((scores > 0) == coins))), int(np.sum(guesses))
    wrong = guessed - right
    epsilon = epsilon_of_guesses(right, wrong, fresh, claim.delta, significance=level)
    delta = delta_of_guesses(right, wrong, fresh, claim.epsilon, significance=level)
    tied = f"{rows - 1} other rows at one element, {ones} of them with label 1"
    replaced = claim.neighboring is Neighboring.REPLACE_ONE
    witness = {
        "database": f"{tied}; a row with {k} labels, every second one 1",
        "neighbor": f"the same; {'the complement of that row' if replaced else 'without that row'}",
    }
    groups = scores[coins], scores[~coins]
    spread = float(np.sqrt(np.mean([np.var(group) for group in groups]))) or 1.0
    details = {
        "event": f"a guess if the score is {bold / unit:.4g} or more in size",
        "trials": fresh,
        "right": right,
        "wrong": wrong,
        "outcomes": 1 if not np.ptp(scores) else 2,
        "separation": round(float(np.mean(groups[0]) - np.mean(groups[1])) / spread, 4),
        "response": [
            [look.low + i * look.width, round(float(look.rates[i]), 4)]
            for look in seen
            for i in np.flatnonzero(look.trials).tolist()
        ],
        "corrections": "none: one rule, tested once",
        "k": k,
        "rows": rows,
        "seed": seed,
        "seconds": round(time.perf_counter() - begin, 2),
    }
    evidence = f"{fresh} fresh trials, each on one of the two; the other rows chosen on {pilot}, the rule on {training}"
    head = name, "corrected", claim, "tracing", evidence, epsilon
    return Report(*head, delta, confidence, witness, epsilon > claim.epsilon, [], details)


class _Runs:
    """Runs the learner in tiles; keys name the purpose of the trials."""

    def __init__(self, database: TiedRows, plan: Any, root: Array, work: Work):
        self.database, self.plan, self.root, self.work = database, jax.tree.map(jnp.asarray, plan), root, work
        self.at_once = max(1, min(256, _CELLS // (database.rows * database.k)))

    def response(self, trials: int, low: int, count: int) -> Response:
        """The response to numbers of ones from ``low`` on, which are drawn anew in every column and trial."""
        columns, answers = self._tiles(responses_of, f"pilot {low} {count}", trials, jnp.int32(low), jnp.int32(count))
        return Response(columns.sum(axis=0), answers.sum(axis=0), low, width_of(count))

    def answers(self, trials: int, ones: int, victim: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(Coins ``bool[trials]``, True for the first database; answers ``bool[trials, k]``)."""
        return self._tiles(answers_of, "training", trials, jnp.int32(ones), jnp.asarray(victim))

    def scores(
        self, trials: int, ones: int, victim: np.ndarray, if_one: Array, if_zero: Array
    ) -> tuple[np.ndarray, np.ndarray]:
        """(Coins, scores ``float32[trials]``)."""
        arguments = jnp.int32(ones), jnp.asarray(victim), if_one, if_zero
        return self._tiles(_scores_of, "test", trials, *arguments)

    def _tiles(self, program: Any, purpose: str, trials: int, *given: Any) -> Any:
        key, parts = keys.stream(self.root, purpose), []
        tile = min(_TILE, -(-trials // self.at_once) * self.at_once)
        for first in range(0, trials, tile):
            index = jnp.arange(first, first + tile, dtype=jnp.uint32)
            batch = program(self.database, self.at_once, self.plan, key, index, *given)
            parts.append(jax.tree.map(np.asarray, batch))
            self.work.did(min(tile, trials - first))
        return tuple(np.concatenate(part)[:trials] for part in zip(*parts, strict=True))


@partial(jax.jit, static_argnums=(0, 1))
def _scores_of(
    database: TiedRows,
    at_once: int,
    plan: Any,
    key: Array,
    index: Array,
    ones: Array,
    victim: Array,
    if_one: Array,
    if_zero: Array,
) -> tuple[Array, Array]:
    coins, answers = answers_of(database, at_once, plan, key, index, ones, victim)
    return coins, score(answers, if_one, if_zero)
