"""Events to test: sets of outputs, chosen on a training split, whose probabilities on two databases differ most."""

import functools
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from jax.tree_util import register_dataclass
from scipy.special import ndtri

from dpjax.audit.thresholds import Threshold, best_threshold, excess, promise

_MOST_NUMBERS = 64  # coordinates of an output that are considered individually
_MOST_CELLS = 4096  # distinct outputs that are counted individually
_FIT_STEPS = 200
_FIT_ROWS = 1 << 16  # rows per database that the classifier is fitted on


@register_dataclass
@dataclass(frozen=True)
class Features:
    """Features of outputs: code ``uint32[t]``, equal for equal outputs, and numbers ``float32[t, f]``."""

    code: Array
    numbers: Array


def features(output: Any, bitwise: bool = False) -> Features:
    """Features of one output; vmap it. bitwise: adds the number of low zero bits of each float32."""
    leaves = [jnp.asarray(leaf).reshape(-1) for leaf in jax.tree.leaves(output)]
    words = jnp.concatenate([_words(leaf) for leaf in leaves])
    place = jax.lax.iota(jnp.uint32, words.shape[0])
    code = jnp.sum(_mixed(words ^ (place * jnp.uint32(0x9E3779B9))), dtype=jnp.uint32)
    numbers = [leaf.astype(jnp.float32) for leaf in leaves]
    if bitwise:
        numbers += [_low_zeros(leaf) for leaf in leaves if leaf.dtype == jnp.float32]
    return Features(code, jnp.concatenate(numbers)[:_MOST_NUMBERS])


def _low_zeros(value: Array) -> Array:
    """Number of zero bits below the lowest set bit, ``float32``; 32 for zero."""
    bits = jax.lax.bitcast_convert_type(value, jnp.uint32)
    return jax.lax.population_count((bits & (~bits + jnp.uint32(1))) - jnp.uint32(1)).astype(jnp.float32)


def _words(leaf: Array) -> Array:
    if leaf.dtype == jnp.bool_:
        return leaf.astype(jnp.uint32)
    if leaf.dtype.itemsize < 4:
        leaf = leaf.astype(jnp.float32 if jnp.issubdtype(leaf.dtype, jnp.floating) else jnp.int32)
    return jax.lax.bitcast_convert_type(leaf, jnp.uint32).reshape(-1)


def _mixed(word: Array) -> Array:
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        word = (word ^ (word >> jnp.uint32(shift))) * jnp.uint32(factor)
    return word ^ (word >> jnp.uint32(16))


@register_dataclass
@dataclass(frozen=True)
class Event:
    """score(output) >= threshold, or its complement.

    kind: static; "cells" (score is a table's entry, 0 for outputs not in it), "coordinate" or "classifier".
    codes ``uint32[c]`` ascending with scores ``float32[c]``; weights ``float32[f, 3]`` for 1, x and x^2 of standardized
    numbers, shift and scale ``float32[f]``; threshold ``float32[]``; complement ``bool[]``.
    """

    codes: Array
    scores: Array
    weights: Array
    shift: Array
    scale: Array
    threshold: Array
    complement: Array
    kind: str = field(metadata={"static": True})

    def contains(self, seen: Features) -> Array:
        """Membership, ``bool[t]``."""
        return (self.score(seen) >= self.threshold) ^ self.complement

    def score(self, seen: Features) -> Array:
        """Scores, ``float32[t]``."""
        if self.kind == "cells":
            at = jnp.minimum(jnp.searchsorted(self.codes, seen.code), self.codes.shape[0] - 1)
            return jnp.where(self.codes[at] == seen.code, self.scores[at], jnp.float32(0))
        x = (seen.numbers - self.shift[None, :]) / self.scale[None, :]
        terms = jnp.stack([jnp.ones_like(x), x, x * x], axis=-1)
        return jnp.sum(terms * self.weights[None], axis=(1, 2))

    def words(self, count: int) -> str:
        """Description of the event; count: number of coordinates of an output."""
        sign = "<" if bool(self.complement) else ">="
        if self.kind == "cells":
            rest = bool(self.complement) != (float(self.threshold) <= 0)
            inside = int(np.sum((np.asarray(self.scores) >= float(self.threshold)) ^ bool(self.complement)))
            return f"{inside} of the {len(self.codes)} outputs seen in training{', or an unseen one' if rest else ''}"
        if self.kind == "coordinate":
            which = int(np.argmax(np.abs(np.asarray(self.weights)[:, 1])))
            name = "output" if count == 1 else f"number {which} of the output"
            return f"{name} {sign} {float(self.threshold):.9g}"
        return f"classifier's log-odds {sign} {float(self.threshold):.4g}"


@dataclass(frozen=True)
class Chosen:
    """An event, the direction in which it is more likely, and the merit by which it was selected."""

    event: Event
    swapped: bool  # more likely on the second database
    merit: float


def choose(
    first: Features, second: Features, epsilon: float, delta: float, fresh: int, confidence: float
) -> tuple[Chosen, Chosen]:
    """Two events, selected on equally many training trials on both databases.

    The first maximizes the expected lower bound on epsilon, the second the excess over the claim (epsilon, delta) in
    standard errors. Thresholds of single numbers are selected on all trials. A table of outputs and a classifier are
    fitted on one half, and their thresholds selected on the other. If all outputs agree, the event is any other output,
    in both directions.
    """
    sides = [jax.tree.map(np.asarray, part) for part in (first, second)]
    numbers: Any = [np.float32(x) for x in (epsilon, delta, fresh, ndtri(confidence))]
    half, count = len(sides[0].code) // 2, sides[0].numbers.shape[-1]
    if len(only := np.unique(np.concatenate([side.code for side in sides]))) == 1:  # the event is any other output
        known = replace(_linear(np.zeros((count, 3), np.float32), "cells"), codes=jnp.asarray(only))
        other = replace(known, scores=jnp.ones(1, jnp.float32), threshold=jnp.float32(0.5), complement=jnp.bool_(True))
        return Chosen(other, False, -np.inf), Chosen(other, True, -np.inf)
    halves = slice(half), slice(half, None)
    fitted, held = ([Features(side.code[part], side.numbers[part]) for side in sides] for part in halves)
    units = np.eye(count, dtype=np.float32)[:, :, None] * np.array([0, 1, 0], np.float32)
    found = [(_linear(unit, "coordinate"), sides) for unit in units]
    cells = _fit_cells(fitted)
    if cells is not None:
        found.append((cells, held))
    if count > 1:
        found.append((_fit_classifier(fitted), held))
    options = [_best(event, trials, numbers) for event, trials in found]
    of_bound, of_claim = (max(column, key=lambda chosen: chosen.merit) for column in zip(*options, strict=True))
    return of_bound, of_claim


def _best(event: Event, sides: list[Features], numbers: list[Array]) -> tuple[Chosen, Chosen]:
    """The best thresholds of an event's score over both tails and both directions."""
    scores = (_score(event, side) for side in sides)
    found = []
    for one in _best_thresholds(*scores, *numbers):
        chosen = replace(event, threshold=one.value, complement=one.complement)
        found.append(Chosen(chosen, bool(one.swapped), float(one.merit)))
    return found[0], found[1]


contains, _score = jax.jit(Event.contains), jax.jit(Event.score)


@jax.jit
def _best_thresholds(
    first: Array, second: Array, epsilon: Array, delta: Array, fresh: Array, deviations: Array
) -> tuple[Threshold, Threshold]:
    of_bound = functools.partial(promise, delta=delta, fresh=fresh, deviations=deviations)
    of_claim = functools.partial(excess, delta=delta, epsilon=epsilon)
    return best_threshold(first, second, of_bound), best_threshold(first, second, of_claim)


def _linear(weights: np.ndarray, kind: str, shift: Any = None, scale: Any = None) -> Event:
    count = len(weights)
    shift = np.zeros(count, np.float32) if shift is None else shift
    scale = np.ones(count, np.float32) if scale is None else scale
    none = jnp.asarray(np.zeros(0, np.uint32)), jnp.asarray(np.zeros(0, np.float32))
    return Event(*none, jnp.asarray(weights), jnp.asarray(shift), jnp.asarray(scale), jnp.float32(0), jnp.bool_(False),
                 kind)  # fmt: skip


def _fit_cells(sides: list[Features]) -> Event | None:
    """Outputs that occurred at least twice, scored by their smoothed log-ratio; None if there are none."""
    codes, place, seen = np.unique(
        np.concatenate([side.code for side in sides]), return_inverse=True, return_counts=True
    )
    cut = len(sides[0].code)
    x, y = (np.bincount(part, minlength=len(codes)) for part in (place[:cut], place[cut:]))
    keep = np.sort(np.argsort(-seen, kind="stable")[:_MOST_CELLS])
    keep = keep[seen[keep] > 1]
    if not len(keep):
        return None
    codes, x, y = codes[keep], x[keep], y[keep]
    scores = np.log((x + 0.5) / (y + 0.5)).astype(np.float32)
    count = sides[0].numbers.shape[-1]
    blank = _linear(np.zeros((count, 3), np.float32), "cells")
    return replace(blank, codes=jnp.asarray(codes), scores=jnp.asarray(scores))


def _fit_classifier(sides: list[Features]) -> Event:
    """Logistic regression on the numbers and their squares, by Adam for a fixed number of steps."""
    x = np.concatenate([side.numbers[:_FIT_ROWS] for side in sides])
    label = np.repeat(np.array([1, 0], np.float32), len(x) // 2)
    centre, width = np.median(x, axis=0), np.std(np.clip(x, -1e18, 1e18), axis=0)
    scale = np.where(width > 0, width, 1).astype(np.float32)
    start = _linear(np.zeros((x.shape[1], 3), np.float32), "classifier", centre.astype(np.float32), scale)
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
