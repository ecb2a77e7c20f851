"""Selects what to ask of fresh trials: events whose probabilities on two databases differ most in training trials."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from dpjax.audit.outputs.events import Event, Features, by_numbers, marks, score
from dpjax.audit.sampling.questions import Guess, Question, Ratio, tally
from dpjax.audit.sampling.thresholds import (
    Aim,
    Threshold,
    best_threshold,
    excess,
    excess_of_guesses,
    promise,
    promise_of_guesses,
)

_MOST_CELLS = 4096  # distinct outputs that are counted individually
_FEW_CELLS = 8  # so few distinct outputs are counted on all trials: their order adds little to the choice
_FIT_STEPS = 200
_FIT_ROWS = 1 << 16  # rows per database that the classifier is fitted on


def choose(first: Features, second: Features, aim: Aim, guesses: bool = True) -> tuple[Question, Question]:
    """Two questions, selected on equally many training trials on both databases.

    The first maximizes the expected lower bound on epsilon, the second the excess over the claim in standard errors.
    Thresholds of single numbers are selected on all trials, and so are sets of outputs if at most eight outputs occur.
    A table of more outputs and a classifier are fitted on one half, and their thresholds selected on the other. If all
    outputs agree, the event is any other output, in both directions.
    guesses: whether rules that guess the database are considered beside single events.
    """
    sides = [jax.tree.map(np.asarray, part) for part in (first, second)]
    half, count = len(sides[0].code) // 2, sides[0].numbers.shape[-1]
    if len(only := np.unique(np.concatenate([side.code for side in sides]))) == 1:  # the event is any other output
        known = by_numbers(np.zeros((count, 3), np.float32), "cells")
        known = replace(known, codes=jnp.asarray(only), outputs=jnp.asarray(sides[0].numbers[:1]))
        other = replace(known, scores=jnp.ones(1, jnp.float32), threshold=jnp.float32(0.5), complement=jnp.bool_(True))
        return Ratio(other, False, (-np.inf, -np.inf)), Ratio(other, True, (-np.inf, -np.inf))
    halves = slice(half), slice(half, None)
    fitted, held = ([Features(side.code[part], side.numbers[part]) for side in sides] for part in halves)
    units = np.eye(count, dtype=np.float32)[:, :, None] * np.array([0, 1, 0], np.float32)
    candidates = [(by_numbers(unit, "coordinate"), sides) for unit in units]
    few = len(only) <= _FEW_CELLS
    cells = _fit_cells(sides if few else fitted)
    if cells is not None:
        candidates.append((cells, sides if few else held))
    if count > 1:
        candidates.append((_fit_classifier(fitted), held))
    return best([question for event, trials in candidates for question in questions(event, trials, aim, guesses)])


def best(options: Sequence[Question]) -> tuple[Question, Question]:
    """The option of the largest merit for the bound, and the one for the claim."""
    of_bound, of_claim = (max(options, key=lambda question: question.merits[which]) for which in range(2))
    return of_bound, of_claim


def questions(event: Event, sides: Sequence[Features], aim: Aim, guesses: bool = True) -> list[Question]:
    """The best thresholds of an event's score, for each merit and each kind of question."""
    scores = [score(event, side) for side in sides]

    def at(one: Threshold) -> Event:
        return replace(event, threshold=one.value, complement=one.complement)

    candidates: list[Question] = []
    for one in _of_events(*scores, aim):
        candidates.append(_judged(Ratio(at(one), bool(one.swapped), (0.0, 0.0)), sides, aim, (promise, excess)))
    for one, other in _of_guesses(*scores, aim) if guesses else ():
        rule = Guess(at(one), at(other), (0.0, 0.0))
        candidates.append(_judged(rule, sides, aim, (promise_of_guesses, excess_of_guesses)))
    return candidates


def _judged(question: Any, sides: Sequence[Features], aim: Aim, merits: tuple[Callable, Callable]) -> Any:
    """The question with its merits in these training trials."""
    counts = [tally(np.asarray(marks(question.events, side))) for side in sides]
    trained = int(counts[0].sum())
    likely, other = (float(part) for part in question.shares(*counts))
    estimates = _merits(np.float32(likely), np.float32(other), aim, trained, *merits)
    return replace(question, merits=tuple(float(merit) for merit in estimates))


@functools.partial(jax.jit, static_argnums=(3, 4, 5))
def _merits(
    likely: Array, other: Array, aim: Aim, trained: int, of_bound: Callable, of_claim: Callable
) -> tuple[Array, Array]:
    return of_bound(likely, other, trained, aim), of_claim(likely, other, trained, aim)


@jax.jit
def _of_events(first: Array, second: Array, aim: Aim) -> list[Threshold]:
    return [best_threshold(first, second, functools.partial(merit, aim=aim)) for merit in (promise, excess)]


@jax.jit
def _of_guesses(first: Array, second: Array, aim: Aim) -> list[tuple[Threshold, Threshold]]:
    merits = [functools.partial(merit, aim=aim) for merit in (promise_of_guesses, excess_of_guesses)]
    return [
        (best_threshold(first, second, merit, (False,)), best_threshold(first, second, merit, (True,)))
        for merit in merits
    ]


def _fit_cells(sides: list[Features]) -> Event | None:
    """Outputs that occurred at least twice, scored by their smoothed log-ratio; None if there are none."""
    codes, at, place, seen = np.unique(
        np.concatenate([side.code for side in sides]), return_index=True, return_inverse=True, return_counts=True
    )
    cut = len(sides[0].code)
    x, y = (np.bincount(part, minlength=len(codes)) for part in (place[:cut], place[cut:]))
    keep = np.sort(np.argsort(-seen, kind="stable")[:_MOST_CELLS])
    keep = keep[seen[keep] > 1]
    if not len(keep):
        return None
    codes, at, x, y = codes[keep], at[keep], x[keep], y[keep]
    scores = np.log((x + 0.5) / (y + 0.5)).astype(np.float32)
    count = sides[0].numbers.shape[-1]
    blank = by_numbers(np.zeros((count, 3), np.float32), "cells")
    outputs = np.concatenate([side.numbers for side in sides])[at]
    return replace(blank, codes=jnp.asarray(codes), scores=jnp.asarray(scores), outputs=jnp.asarray(outputs))


def _fit_classifier(sides: list[Features]) -> Event:
    """Logistic regression on the numbers and their squares, by Adam for a fixed number of steps."""
    x = np.concatenate([side.numbers[:_FIT_ROWS] for side in sides])
    label = np.repeat(np.array([1, 0], np.float32), len(x) // 2)
    centre, width = np.median(x, axis=0), np.std(np.clip(x, -1e18, 1e18), axis=0)
    scale = np.where(width > 0, width, 1).astype(np.float32)
    start = by_numbers(np.zeros((x.shape[1], 3), np.float32), "classifier", centre.astype(np.float32), scale)
    with jax.numpy_dtype_promotion("standard"):  # optax computes a float to the power of an integer counter
        weights = _logistic(start, jnp.asarray(x), jnp.asarray(label))
    return replace(start, weights=weights)


@jax.jit
def _logistic(start: Event, x: Array, label: Array) -> Array:
    optimiser = optax.adam(0.1)

    def loss(weights: Array) -> Array:
        odds = replace(start, weights=weights).score(
            Features(jnp.zeros(x.shape[0], jnp.uint32), jnp.clip(x, -1e18, 1e18))
        )
        return jnp.mean(optax.sigmoid_binary_cross_entropy(odds, label))

    def step(state: tuple, _: None) -> tuple:
        weights, memory = state
        change, memory = optimiser.update(jax.grad(loss)(weights), memory)
        return (optax.apply_updates(weights, change), memory), None

    state = (start.weights, optimiser.init(start.weights))
    return jax.lax.scan(step, state, None, length=_FIT_STEPS)[0][0]
