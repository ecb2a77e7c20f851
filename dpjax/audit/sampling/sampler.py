"""Sampler audits: tests whether the draws of a law follow its probabilities."""

import functools
import time
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.stats import binom

from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.members import implements
from dpjax.laws.base import Law, Support

_TILE = 1 << 16
_MOST_OUTCOMES = 1 << 13
_LEAST = 20  # expected number of draws beyond the farthest threshold


@dataclass(frozen=True)
class SamplerReport:
    """Result of comparing draws with a law.

    trials: number of draws. events: number of tested events. p_value: of "the draws follow the law", over all events.
    agrees: whether p_value >= false_alarm. worst: the event with the smallest p-value. seconds: total time.
    """

    trials: int
    events: int
    p_value: float
    false_alarm: float
    agrees: bool
    worst: str
    seconds: float


def sampler(law: Any, *, trials: int = 1_000_000, false_alarm: float = 1e-6, seed: int = 0) -> SamplerReport:
    """Compares draws with the law's own probabilities by exact binomial tests, two-sided, Bonferroni over events.

    Args:
      law: with ``sample(key)`` and either ``log_probs()`` (outcomes 0, 1, ..., and -1 for the last one if the law can
        abstain), ``log_survival(value)`` and ``loc``, ``scale`` (noise, ``float[]`` or int), or a support whose masses
        are those of its ``log_prob``.
      trials: 1000 to 2**31 - 1; counted in tiles and not stored. Noise is compared at 40 thresholds in each tail, the
        farthest with 20 expected exceedances.
      false_alarm: upper bound on the probability that a correct sampler is reported to disagree.

    A drawn outcome of probability 0, or one outside the law's support, has p-value 0.
    """
    checks.instance("law", law, Law, "give a law of dpjax.laws, or one that inherits from dpjax.laws.Law")
    checks.integer("trials", trials, 1000, 2**31 - 1)
    checks.probability("false_alarm", false_alarm)
    checks.integer("seed", seed, 0, 2**32 - 1)
    begin = time.perf_counter()
    if implements(law, Law.log_probs):
        names, chances, counts = _outcomes(law, trials, seed)
    elif implements(law, Law.log_survival):
        names, chances, counts = _tails(law, trials, seed)
    elif (support := law.support(_MOST_OUTCOMES)) is not None:
        names, chances, counts = _listed(law, support, trials, seed)
    else:
        raise InputError(
            "law", "one with log_probs, log_survival or a support", type(law).__name__, "give a law of dpjax.laws"
        )
    each = np.minimum(binom.cdf(counts, trials, chances), binom.sf(counts - 1, trials, chances))
    at = int(np.lexsort((chances, each))[0])  # impossible outcomes first
    value = float(min(1.0, 2 * len(each) * each[at]))
    worst = f"{names[at]}: {counts[at]} times, expected {trials * chances[at]:.6g}"
    seconds = round(time.perf_counter() - begin, 2)
    return SamplerReport(trials, len(each), value, false_alarm, value >= false_alarm, worst, seconds)


def _outcomes(law: Any, trials: int, seed: int) -> tuple[list[str], np.ndarray, np.ndarray]:
    chances = np.exp(np.asarray(law.log_probs(), np.float64))
    size = len(chances)
    last = size - 1 if law.no_answer else size

    def tally(drawn: Array, real: Array) -> Array:
        known = (drawn >= -1) & (drawn < last)
        place = jnp.where(known, jnp.where(drawn == -1, jnp.int32(last), drawn), jnp.int32(size + 1))
        return jnp.zeros(size + 2, jnp.int32).at[place].add(real.astype(jnp.int32))

    counts = _counted(law, tally, trials, seed)
    names = [f"outcome {i}" for i in range(last)] + ["no answer"] + ["an outcome that the law does not have"]
    chances = np.concatenate([chances[:last], [chances[last] if last < size else 0.0, 0.0]])
    counts = np.concatenate([counts[: last + 1], [counts[last + 1 :].sum()]])
    return names, np.clip(chances, 0, 1), counts


def _listed(law: Any, support: Support, trials: int, seed: int) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Counts by index in the support; any other draw is an outcome that the law does not have."""
    chances = np.exp(np.asarray(support.log_mass, np.float64))
    with jax.enable_x64(True):
        told = np.exp(np.asarray(jax.vmap(law.log_prob)(support.outcomes), np.float64))
    if (wrong := ~np.isclose(told, chances, rtol=0, atol=1e-6)).any():
        at = int(np.argmax(wrong))
        masses = f"{told[at]:g} and {chances[at]:g} for outcome {at}"
        raise InputError("law", "one log_prob and support with the same masses", masses, "give both from one formula")
    real, outcomes = jnp.asarray(chances > 0), jax.tree.leaves(support.outcomes)

    def place(drawn: list[Array]) -> Array:
        same = [
            jnp.all((rows == leaf[None]).reshape(rows.shape[0], -1), axis=1)
            for rows, leaf in zip(outcomes, drawn, strict=True)
        ]
        at = functools.reduce(jnp.logical_and, same, real)
        return jnp.where(jnp.any(at), jnp.argmax(at).astype(jnp.int32), jnp.int32(len(chances)))

    def tally(drawn: Any, counted: Array) -> Array:
        at = jax.lax.map(place, jax.tree.leaves(drawn), batch_size=1024)
        return jnp.zeros(len(chances) + 1, jnp.int32).at[at].add(counted.astype(jnp.int32))

    counts = _counted(law, tally, trials, seed)
    names = [f"outcome {i}" for i in range(len(chances))] + ["an outcome that the law does not have"]
    return names, np.clip(np.append(chances, 0.0), 0, 1), counts


def _tails(law: Any, trials: int, seed: int) -> tuple[list[str], np.ndarray, np.ndarray]:
    loc, scale = float(law.loc), float(law.scale)
    reach = scale * np.log(trials / (2 * _LEAST))
    steps = np.linspace(0, reach, 40)
    whole = jnp.issubdtype(jnp.asarray(law.loc).dtype, jnp.integer)
    thresholds = np.unique(np.round(loc + np.concatenate([-steps, steps])) if whole else loc + np.append(-steps, steps))
    of_law = jnp.asarray(thresholds, jnp.int32 if whole else jnp.float32)
    with jax.enable_x64(True):
        values = of_law if whole else of_law.astype(jnp.float64)
        wide = jax.tree.map(lambda x: x.astype(jnp.float64) if jnp.issubdtype(x.dtype, jnp.floating) else x, law)
        survival = np.exp(np.asarray(wide.log_survival(values), np.float64))

    def tally(drawn: Array, real: Array) -> Array:
        return jnp.sum((drawn[:, None] >= of_law[None, :]) & real[:, None], axis=0, dtype=jnp.int32)

    counts = _counted(law, tally, trials, seed)
    return [f"at least {threshold:.6g}" for threshold in np.asarray(of_law)], np.clip(survival, 0, 1), counts


def _counted(law: Any, tally: Any, trials: int, seed: int) -> np.ndarray:
    root = keys.stream(keys.root(seed), "sampler")

    @jax.jit
    def tile(law: Any, first: Array) -> Array:
        places = first + jnp.arange(_TILE, dtype=jnp.uint32)
        drawn = jax.lax.map(lambda at: law.sample(keys.of_trial(root, at)), places, batch_size=1024)
        return tally(drawn, places < jnp.uint32(trials))

    parts = (np.asarray(tile(law, jnp.uint32(first)), np.int64) for first in range(0, trials, _TILE))
    return np.sum(list(parts), axis=0)
