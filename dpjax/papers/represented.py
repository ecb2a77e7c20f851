"""Whether a family of functions represents a class: the probability that some member is good, exactly or by trials."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.audit.enumeration.outcomes import exact_law
from dpjax.audit.enumeration.pieces import NotListable
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.intervals import clopper_pearson
from dpjax.core.types import Sample
from dpjax.learners.representations.base import Representation

_ROWS = 48
_MOST_ELEMENTS, _MOST_TARGETS = 16, 16


@dataclass(frozen=True)
class Represented:
    """The probability that a family has a good member, for the concept and distribution where it is least.

    near, failure: what was asked for: a member of error at most ``near``, except with probability ``failure``.
    lower, upper: of the least probability; equal if it was computed exactly, otherwise an interval that holds with
    the confidence asked for, for all pairs at once. pairs: of a concept and a distribution. trials: 0 if exact.
    worst: the pair, in words.
    """

    near: float
    failure: float
    lower: float
    upper: float
    pairs: int
    trials: int
    worst: str

    @property
    def holds(self) -> bool | None:
        """Whether the family is a (near, failure)-representation on these pairs; None if undecided."""
        if self.lower >= 1 - self.failure - 1e-12:
            return True
        return False if self.upper < 1 - self.failure else None

    def __str__(self) -> str:
        how = "exactly" if not self.trials else f"{self.trials} trials"
        shown = f"{self.lower:.4f}" if self.lower == self.upper else f"[{self.lower:.4f}, {self.upper:.4f}]"
        return f"a member of error {self.near:g} with probability {shown} ({how}, {self.pairs} pairs); {self.worst}"


def represents(
    representation: Representation,
    near: float,
    failure: float,
    *,
    distributions: Any = None,
    targets: Any = None,
    exact: bool | None = None,
    trials: int = 4096,
    seed: int = 0,
    confidence: float = 0.999,
) -> Represented:
    """The least probability, over concepts and distributions, that a family has a member of error at most ``near``.

    Args:
      representation: over an ordered domain. near, failure: the accuracy asked for; near in [0, 1), failure in (0, 1).
      distributions: lists of pairs of an element and its weight, whole numbers, equal totals of at most 4096; by
        default `hard_distributions`.
      targets: encoded concepts ``uint32[c, limbs]``; by default up to 16 of the class.
      exact: True to compute probabilities, which needs laws with few outcomes; False to estimate them; None for
        the former if it can be done.
      trials: families drawn. seed: of their keys. confidence: of the interval.

    The pairs are those given, not all that exist: a family that holds on them may fail elsewhere.
    """
    checks.probability("failure", failure)
    if not 0 <= checks.number("near", near) < 1:
        raise InputError("near", "a number in [0, 1)", repr(near), "choose for example 0.25")
    concepts = representation.concepts
    laws = (
        hard_distributions(concepts.domain) if distributions is None else [list(weights) for weights in distributions]
    )
    aims = np.asarray(concepts.targets(_MOST_TARGETS) if targets is None else targets, np.uint32)
    samples, words = _samples(concepts, aims, laws)
    allowed = jnp.int32(int(near * samples.mask.shape[1] * (1 + 1e-12)))

    def good(key: Array, sample: Sample, _: Any) -> Array:
        return jnp.min(representation.errors(representation.draw(key), sample)) <= allowed

    if exact is not False:
        try:
            law, outcomes = exact_law(good, samples, ())
        except NotListable:
            if exact:
                raise
        else:
            mass = np.exp(law) @ (outcomes[:, 0] != 0)
            place = int(np.argmin(mass))
            return Represented(near, failure, float(mass[place]), float(mass[place]), len(words), 0, words[place])
    checks.integer("trials", trials, 1)

    def of_family(key: Array, samples: Sample) -> Array:
        family = representation.draw(key)
        best = jax.lax.map(lambda sample: jnp.min(representation.errors(family, sample)), samples)
        return best <= allowed

    run = jax.jit(lambda all_keys, samples: jax.lax.map(lambda key: of_family(key, samples), all_keys, batch_size=64))
    hits = np.asarray(run(keys.per_index(keys.root(seed), trials), samples))
    each = 1 - (1 - checks.probability("confidence", confidence)) / len(words)
    lower, upper = clopper_pearson(hits.sum(axis=0), np.full(len(words), trials), each)
    place = int(np.argmin(lower))
    return Represented(near, failure, float(lower.min()), float(upper.min()), len(words), trials, words[place])


def hard_distributions(domain: Any, rows: int = _ROWS) -> list[list[tuple[int, int]]]:
    """Distributions on up to 16 elements: each element alone, two halves, three thirds, four quarters, an atom of three
    quarters, and all of them equally, as pairs of an element and its weight out of ``rows``."""
    checks.integer("rows", rows, 12)
    if rows % 12:
        raise InputError("rows", "a multiple of 12", repr(rows), "take 48")
    count = min(domain.size, _MOST_ELEMENTS)
    some = domain.spread(count)
    laws = [[(element, rows)] for element in some]
    for parts in (2, 3, 4):
        laws += [[(some[(i + j) % count], rows // parts) for j in range(parts)] for i in range(count)] * (
            count >= parts
        )
    if count > 4:
        laws += [
            [(some[i], rows * 3 // 4), *((some[(i + j) % count], rows // 12) for j in (1, 2, 3))] for i in range(count)
        ]
    least, more = divmod(rows, count)
    laws.append([(element, least + (place < more)) for place, element in enumerate(some)])
    return laws


def _samples(concepts: Any, targets: np.ndarray, laws: list[list[tuple[int, int]]]) -> tuple[Sample, list[str]]:
    """Every pair as a sample in which each element occurs as often as its weight."""
    totals = {sum(weight for _, weight in law) for law in laws}
    for weight in (weight for law in laws for _, weight in law):
        checks.integer("weight", weight, 0)
    if len(totals) != 1 or not 1 <= max(totals) <= 4096:
        raise InputError("distributions", "equal totals in 1..4096", f"{sorted(totals)}", "scale the weights")
    values = [[element for element, weight in law for _ in range(weight)] for law in laws]
    x = jnp.asarray(concepts.domain.encode(values))
    label = jax.jit(jax.vmap(lambda target, rows: concepts.predict(Hypothesis.of(target[None]), rows), (0, None)))
    y = jnp.stack([label(jnp.asarray(targets), rows) for rows in x], axis=1)
    pairs = len(targets) * len(laws)
    every = jnp.broadcast_to(x[None], (len(targets), *x.shape)).reshape(pairs, *x.shape[1:])
    mask = jnp.ones((pairs, x.shape[1]), bool)
    words = [f"concept {i}, weights {dict(law)}" for i in range(len(targets)) for law in laws]
    return Sample(every, y.reshape(pairs, x.shape[1], -1), mask), words
