"""The exact law of a whole algorithm, from the laws that it draws from.

Each draw is answered with every outcome in turn, so that the algorithm's own code says what follows from it.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.special import logsumexp

from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.core.draws import listening
from dpjax.laws import Categorical
from dpjax.mechanisms.histogram import HistogramLaw
from dpjax.mechanisms.intervals import IntervalLaw
from dpjax.mechanisms.median import MedianLaw, bits
from dpjax.mechanisms.resample import Resample
from dpjax.mechanisms.shuffle import Matching, Shuffle

_MOST_PATHS, _MOST_OUTCOMES = 1 << 16, 1 << 13
_MASS_TOLERANCE = 1e-9

Run = Callable[[Any], Any]


class NotListable(InputError):
    """The outcomes of a target cannot be listed, so its law is not known exactly."""


def exact_table(run: Run, databases: Any, size: int) -> np.ndarray:
    """Log-probabilities ``float64[databases, outcomes]`` of all that ``run(database)`` returns, by `exact_law`."""
    return exact_law(run, databases, size)[0]


def exact_law(run: Run, databases: Any, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities ``float64[databases, outcomes]``, and the outcomes as their `output_bytes`, in their order.

    Outcomes are equal if every array of the output is, to the last bit.

    Args:
      run: a function of one database that draws only from `Categorical`, `IntervalLaw`, `MedianLaw`, `HistogramLaw`,
        `Shuffle`, `Matching` and `Resample`, each time in the same order and never inside a loop or a vmap of its own.
        Not jitted, float64 where it can.
      databases: pytree of arrays that lead with the databases' axis.
      size: elements of the domain of an `IntervalLaw`, and distinct values of a `HistogramLaw`.

    A released cell of a histogram has its threshold as noisy count: counts are not told apart. NotListable for draws of
    another kind, and where the outcomes do not add up to probability 1.
    """
    with jax.enable_x64(True):
        one = jax.tree.map(lambda part: part[0], databases)
        counts = _outcome_counts(run, one, size)
        paths = np.array(list(itertools.product(*(range(count) for count in counts))), np.int32)
        of_database = jax.vmap(lambda path, database: _follow(run, database, path, size), (0, None))
        log_p, outputs = jax.jit(jax.vmap(of_database, (None, 0)))(jnp.asarray(paths), databases)
    log_p = np.asarray(log_p)
    distinct, slots = _distinct(outputs, log_p.shape)
    table = np.full((len(log_p), slots.max() + 1), -np.inf)
    np.logaddexp.at(table, (np.arange(len(log_p))[:, None], slots), log_p)
    total = logsumexp(table, axis=1)
    if not np.all(np.abs(total) <= _MASS_TOLERANCE):
        raise NotListable(
            "target", "outcomes that add up to probability 1", f"total log-mass {total.min():.3g} to {total.max():.3g}",
            "a value outside the universe can be drawn: audit it statistically",
        )  # fmt: skip
    return table, distinct


def _outcome_counts(run: Run, database: Any, size: int) -> list[int]:
    counts: list[int] = []

    def listener(law: Any, key: Array, sample: Any) -> Any:
        outcomes, log_p = _outcomes(law, size)
        counts.append(log_p.shape[0])
        return jax.tree.map(lambda part: part[0], outcomes)

    def listened(database: Any) -> Any:
        with listening(listener):
            return run(database)

    jax.eval_shape(listened, database)
    if not counts:
        raise NotListable(
            "target", "a function that draws from laws of dpjax", "no draw seen",
            "give a function that is not jitted, or audit it statistically",
        )  # fmt: skip
    if np.prod([float(count) for count in counts]) > _MOST_PATHS:
        raise NotListable(
            "target", f"at most {_MOST_PATHS} combinations of outcomes", f"draws with {counts} outcomes",
            "use a smaller domain, or audit it statistically",
        )  # fmt: skip
    return counts


def _follow(run: Run, database: Any, path: Array, size: int) -> tuple[Array, Any]:
    """The output after the outcomes number path[0], path[1], ... and the log-probability of these."""
    seen: list[Array] = []

    def listener(law: Any, key: Array, sample: Any) -> Any:
        outcomes, log_p = _outcomes(law, size)
        place = path[len(seen)]
        seen.append(log_p[place])
        return jax.tree.map(lambda part: part[place], outcomes)

    with listening(listener):
        output = run(database)
    return sum(seen, jnp.zeros((), jnp.float64)), output


def _outcomes(law: Any, size: int) -> tuple[Any, Array]:
    """All outcomes of a law, stacked, and their log-probabilities ``float64[o]``."""
    if isinstance(law, Categorical):
        log_p = law.log_probs()
        index = jnp.arange(log_p.shape[0], dtype=jnp.int32)
        index = jnp.where(law.no_answer & (index == log_p.shape[0] - 1), jnp.int32(-1), index)
        impossible = jnp.where(jnp.any(log_p > -jnp.inf), -jnp.inf, jnp.zeros(()))  # then it answers -1
        return jnp.append(index, jnp.int32(-1)), jnp.append(log_p, impossible.astype(log_p.dtype))
    if isinstance(law, IntervalLaw):
        elements = jnp.asarray(wide.encode(range(size)))
        return elements, jax.vmap(law.log_probability)(elements)
    if isinstance(law, HistogramLaw):
        slots = law.counts.shape[0]
        subsets = np.array(list(itertools.product((False, True), repeat=min(size, slots))))
        released = jnp.asarray(np.pad(subsets, ((0, 0), (0, slots - subsets.shape[1]))))
        yes, no = (part.astype(jnp.float64) for part in law.release_log_probs())
        log_p = jnp.sum(jnp.where(released, yes, no), axis=1)
        return (released, jnp.where(released, law.threshold, jnp.zeros_like(law.threshold))), log_p
    if isinstance(law, MedianLaw):
        listed = jnp.asarray(bits.encode(range(_listable(law.size)), 32 * law.first.shape[-1]))
        return listed, jax.vmap(law.log_probability)(listed)
    if isinstance(law, Matching | Shuffle | Resample):
        _listable(law.capacity**law.draws if isinstance(law, Resample) else math.factorial(law.capacity))
        orders = jnp.asarray(law.outcomes())
        return orders, jax.vmap(law.log_probability)(orders)
    raise NotListable(
        "target", "draws from laws with a list of outcomes", type(law).__name__,
        "audit it statistically: its outcomes cannot be listed",
    )  # fmt: skip


def _listable(count: int) -> int:
    if count > _MOST_OUTCOMES:
        raise NotListable(
            "target", f"draws with at most {_MOST_OUTCOMES} outcomes", f"one with {count}",
            "use a smaller world, or audit it statistically",
        )  # fmt: skip
    return count


def output_bytes(outputs: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Outputs whose arrays lead with ``shape``, as ``uint8[*shape, bytes]``, one field after the other."""
    columns = [np.ascontiguousarray(np.asarray(leaf)).reshape(*shape, -1) for leaf in jax.tree.leaves(outputs)]
    return np.concatenate([column.view(np.uint8).reshape(*shape, -1) for column in columns], axis=-1)


def _distinct(outputs: Any, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The distinct outputs in the order of their bytes, and the number of each among them, ``int64[shape]``."""
    raw = output_bytes(outputs, shape)
    raw = raw.reshape(-1, raw.shape[-1])
    moving = raw[:, np.any(raw != raw[:1], axis=0)]
    words = np.ascontiguousarray(np.pad(moving, ((0, 0), (0, -moving.shape[1] % 8)))).view(">u8").astype(np.uint64)
    number, first = np.zeros(len(raw), np.int64), np.zeros(1, np.int64)
    for word in words.T:  # by 64 bits at a time: sorting whole numbers is faster than sorting rows
        place = np.unique(word, return_inverse=True)[1]
        _, first, number = np.unique(number * (place.max() + 1) + place, return_index=True, return_inverse=True)
    return raw[first], number.reshape(shape)
