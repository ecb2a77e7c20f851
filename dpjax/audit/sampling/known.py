"""Scores of outputs that are known before any run: a law that the algorithm states, or an event that a user names."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.audit.outputs.encoding import Raised
from dpjax.audit.outputs.events import Event, Features, by_numbers
from dpjax.audit.sampling.choices import best, questions
from dpjax.audit.sampling.questions import Question, Ratio
from dpjax.audit.sampling.thresholds import Aim
from dpjax.audit.target.known import Known
from dpjax.core import keys
from dpjax.core.checks import InputError
from dpjax.core.user_code import calling
from dpjax.laws.base import Law

_DRAWS = 1 << 14  # of the stated law on each database; they select thresholds and are no trials
_GRID = 4096.0  # scores are rounded to 1 / _GRID, so that equal ratios of densities are equal numbers
_MOST = 1000.0  # largest score


@dataclass(frozen=True)
class KnownLaw(Known):
    """A score from the law of the output as it is stated.

    law: (database, plan) -> that law; the score is the log-ratio of its densities.

    By the lemma of Neyman and Pearson no other events are better if the law is true. Thresholds are selected on draws
    of the law itself.
    """

    law: Callable[[Any, Any], Law]

    def score(self, output: Any, first: Any, second: Any, plan: Any) -> Array:
        """See `Known`; 0 where both densities are 0."""
        log_p, log_q = (self.law(data, plan).log_prob(output) for data in (first, second))
        if jnp.shape(log_p) or jnp.shape(log_q):
            shapes = f"shape {list(jnp.shape(log_p))}"
            raise InputError("law", "one number as log_prob of an output", shapes, "add up those of independent parts")
        with jax.enable_x64(True):
            ratio = jnp.where(log_p == log_q, 0.0, log_p.astype(jnp.float64) - log_q.astype(jnp.float64))
            rounded = jnp.rint(jnp.clip(ratio, -_MOST, _MOST) * _GRID) / _GRID
            return jnp.where(jnp.isnan(rounded), 0.0, rounded).astype(jnp.float32)

    def question(self, key: Array, first: Any, second: Any, plan: Any, aim: Aim, guesses: bool) -> Question:
        """See `Known`."""
        none = jnp.zeros(_DRAWS, jnp.uint32), jnp.zeros((_DRAWS, 0), jnp.float32)
        sides = [
            Features(*none, _scores(keys.stream(key, f"law {side}"), data, first, second, plan, self))
            for side, data in enumerate((first, second))
        ]
        return best(questions(_stated(), sides, aim, guesses))[0]


@functools.partial(jax.jit, static_argnames=("known",))
def _scores(key: Array, data: Any, first: Any, second: Any, plan: Any, known: KnownLaw) -> Array:
    def one(key: Array) -> Array:
        return known.score(known.law(data, plan).sample(key), first, second, plan)

    return jax.lax.map(one, keys.per_index(key, _DRAWS), batch_size=1024)


@dataclass(frozen=True)
class KnownEvent(Known):
    """A score that is 1 inside of an event and 0 outside.

    event: output -> ``bool[]``, a set of outputs that is named in advance, more likely on a pair's first database.
    Jittable if most outputs are numbers or arrays, and all others are outside; else, as for words, it gets each output
    as it is.

    An audit of several pairs tests it on the first of them.
    """

    event: Callable[[Any], Array]

    def score(self, output: Any, first: Any, second: Any, plan: Any) -> Array:
        """See `Known`: 1 in the event, else 0."""
        return self._truth(jnp.asarray(self.event(output))).astype(jnp.float32)

    def of_objects(self, outputs: Sequence[Any]) -> np.ndarray:
        """See `Known`: 1 in the event; 0 outside, and for an exception of the audited code."""
        with calling("event", "output -> bool", "call it by hand on one output"):
            made = (
                not isinstance(output, Raised) and self._truth(np.asarray(self.event(output))) for output in outputs
            )
            return np.array([*made], np.float32)

    @staticmethod
    def _truth(found: Any) -> Any:
        if found.shape or found.dtype != np.bool_:
            kind = f"{found.dtype} of shape {list(found.shape)}"
            raise InputError("event", "output -> bool[]", kind, "compare numbers, and join parts by jnp.all or jnp.any")
        return found

    def question(self, key: Array, first: Any, second: Any, plan: Any, aim: Aim, guesses: bool) -> Question:
        """See `Known`."""
        return self.of_event()

    def of_event(self) -> Question:
        """The question how often the event occurs."""
        return Ratio(replace(_stated(), threshold=jnp.float32(0.5)), False, (0.0, 0.0))


def _stated() -> Event:
    return by_numbers(np.zeros((0, 3), np.float32), "stated")
