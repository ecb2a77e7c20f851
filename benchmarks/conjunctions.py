"""A private conjunction end to end: in every trial draw 2000 labelled examples, cover, and find the exact error."""

import functools
import itertools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array

from benchmarks import peers
from benchmarks.clock import Work, race
from benchmarks.row import Measured, Row
from dpjax.concepts import Conjunctions, Hypothesis, ProductCube
from dpjax.core import keys
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners import ConjunctionLearner

DIMENSION, LITERALS, ROUNDS, EXAMPLES = 100, 4, 24, 2000
PRIVACY, ACCURACY = Privacy(1.0, 1e-6), Accuracy(0.1, 0.1)
LEARNER = ConjunctionLearner(Conjunctions(DIMENSION), LITERALS, ROUNDS, Neighboring.ADD_OR_REMOVE_ONE, noisy=True)
_TRIALS, _BLOCK = 100, 25

Errors = Callable[[Array], Array]
"""First trial -> the exact error of each of the trials from there on, jitted."""


def learned(trials: int = _TRIALS) -> Errors:
    """dpjax, ``uint64[trials]`` in units of 2**-64. The target is an AND of four coordinates, balanced."""
    concepts, workload = LEARNER.concepts, ProductCube.balanced(DIMENSION, LITERALS)
    target = Hypothesis.of(concepts.of_literals(jnp.arange(LITERALS, dtype=jnp.int32))[None])
    plan = LEARNER.plan(PRIVACY, ACCURACY)
    mask = jnp.ones(EXAMPLES, bool)

    def one(trial: Array) -> Array:
        key = keys.of_trial(keys.root(0), trial)
        x = workload.draw(keys.stream(key, "sample"), EXAMPLES)
        sample = Sample(x, concepts.predict(target, x), mask)
        found = LEARNER.learn(keys.stream(key, "learn"), sample, plan)
        with jax.enable_x64(True):
            return concepts.error(workload, found, target)[0]

    return jax.jit(functools.partial(_each, one, trials))


def by_products(trials: int = _TRIALS) -> Errors:
    """`peers.jax_conjunction`, ``float64[trials]``: the same rounds, by products of float32 matrices."""
    plan = LEARNER.plan(PRIVACY, ACCURACY)
    numbers = float(plan.coefficient), float(plan.scale), float(plan.offset)

    def one(trial: Array) -> Array:
        key = keys.of_trial(keys.root(0), trial)
        return peers.jax_conjunction(key, DIMENSION, LITERALS, ROUNDS, EXAMPLES, *numbers)

    run = jax.jit(functools.partial(_each, one, trials))

    def errors(first: Array) -> Array:
        with jax.enable_x64(True):
            return run(first)

    return errors


def _each(one: Errors, trials: int, first: Array) -> Array:
    return jax.lax.map(one, first + jnp.arange(trials, dtype=jnp.uint32), batch_size=min(_BLOCK, trials))


def _work(errors: Errors) -> Work:
    turn = itertools.count()

    def work() -> int:
        jax.block_until_ready(errors(jnp.uint32(next(turn) * _TRIALS)))
        return _TRIALS

    return work


def _against_products(seconds: float) -> Measured:
    return race(_work(learned()), _work(by_products()), seconds)


ROWS = (
    Row(
        "conjunctions-jax",
        f"plain JAX, products of float32 matrices, {ROUNDS} rounds, {DIMENSION} coordinates",
        "trials/s",
        1.5,
        _against_products,
    ),
)
