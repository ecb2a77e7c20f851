"""Non-private online learners of finite classes, by scans: the standard optimal algorithm and weighted majorities."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.dimensions.automaton import Automaton


class Run(NamedTuple):
    """The number of mistakes, ``int32[]``, and the last state of the automaton, ``int32[]``."""

    mistakes: Array
    state: Array


def run_automaton(automaton: Automaton, x: Array, y: Array) -> Run:
    """Predicts y[t] from x[t] and the labels before. x, y: ``int32[T]``. Privacy: none.

    InputError for elements outside 0..N-1; if they are traced, the nearest element is meant. A label that no row has is
    a mistake after which the state is the same.

    On a sequence that a concept realizes the mistakes are at most the class's Littlestone dimension.

    Reference: Littlestone 1988; Yan 2025, Definition 7.
    """
    prediction, following = jnp.asarray(automaton.prediction), jnp.asarray(automaton.following)
    last, labels = following.shape[1] - 1, following.shape[2]
    if not isinstance(x, jax.core.Tracer):
        elements = np.asarray(x)
        for outside in elements[(elements < 0) | (elements > last)][:1]:
            raise InputError("x", f"elements in 0..{last}", str(outside), "give elements of the class's domain")

    def step(before: Run, row: tuple[Array, Array]) -> tuple[Run, None]:
        element, label = jnp.clip(row[0], 0, last), row[1]
        wrong = prediction[before.state, element] != label
        after = following[before.state, element, jnp.clip(label, 0, labels - 1)]
        state = jnp.where((label >= 0) & (label < labels), after, before.state)
        return Run(before.mistakes + wrong.astype(jnp.int32), state), None

    start = Run(jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))
    return jax.lax.scan(step, start, (x.astype(jnp.int32), y.astype(jnp.int32)))[0]


def weighted_majority(predictions: Array, y: Array, labels: int, factor: float = 0.5) -> Array:
    """The mistakes of the weighted plurality of experts, ``int32[]``. Privacy: none.

    predictions: ``int32[T, N]`` of N experts in 0..labels-1; y: ``int32[T]``. An expert that errs keeps ``factor`` of
    its weight, in (0, 1); of labels with equal weight the smallest is predicted.

    Utility: at most (ln N + M ln(1 / factor)) / ln(2 / (1 + factor)) mistakes if some expert makes M: at a mistake the
    true label has at most half of the weight.
    Reference: Littlestone and Warmuth 1994.
    """
    checks.integer("labels", labels, 1)
    checks.probability("factor", factor)
    loss = jnp.float32(jnp.log(factor))

    def step(carry: tuple[Array, Array], row: tuple[Array, Array]) -> tuple[tuple[Array, Array], None]:
        logs, count = carry
        guesses, label = row
        weights = jnp.exp(logs - jnp.max(logs))
        votes = jnp.zeros(labels, jnp.float32).at[guesses].add(weights)
        wrong = jnp.argmax(votes) != label
        return (logs + jnp.where(guesses != label, loss, jnp.float32(0)), count + wrong.astype(jnp.int32)), None

    start = (jnp.zeros(predictions.shape[1], jnp.float32), jnp.zeros((), jnp.int32))
    return jax.lax.scan(step, start, (predictions.astype(jnp.int32), y.astype(jnp.int32)))[0][1]


def randomized_weighted_majority(predictions: Array, y: Array) -> Array:
    """The expected mistakes of a learner that follows a random expert, by weight, ``float32[]``. Privacy: none.

    predictions: ``int32[T, N]``; y: ``int32[T]``. Each mistake multiplies an expert's weight by exp(-eta) with
    eta = sqrt(8 ln(N) / T).

    Utility: at most M + sqrt(T ln(N) / 2) if some expert makes M mistakes; at least d / 2, like every online
    learner, on a random path of a tree that is shattered to depth d.
    Reference: Cesa-Bianchi and Lugosi 2006, Theorem 2.2; Bun, Gaboardi, Sivakumar 2021, Lemmas 8.6 and 8.7.
    """
    rounds, experts = predictions.shape
    eta = jnp.sqrt(jnp.float32(8 / max(rounds, 1)) * jnp.log(jnp.float32(experts)))

    def step(logs: Array, row: tuple[Array, Array]) -> tuple[Array, Array]:
        wrong = (row[0] != row[1]).astype(jnp.float32)
        return logs - eta * wrong, jnp.sum(jax.nn.softmax(logs) * wrong)

    return jnp.sum(jax.lax.scan(step, jnp.zeros(experts, jnp.float32), (predictions, y))[1])
