"""What others would write. The only file of dpjax that draws with NumPy or with JAX's own samplers."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.benchmarks.clock import Work

RATE = 0.05  # factor of the scores in the exponent
EPSILON, ROWS, THRESHOLDS = 1.0, 200, 1024
_CHUNK = 64  # trials that batched NumPy code does at once, the fastest of 4, 16, 64


def base_scores(candidates: int) -> np.ndarray:
    """``int32[m]``, spread over 400 levels."""
    return -_generator().integers(0, 400, candidates).astype(np.int32)


def fresh_scores(base: np.ndarray, trial: int | np.ndarray) -> np.ndarray:
    """The scores of a trial: all of them differ from those of the trial before."""
    return base ^ (trial & 15)


def numpy_inverse_cdf(candidates: int) -> Work:
    """Scale, subtract the maximum, exp, running sum, search: a trial at a time."""
    generator, base, trials = _generator(), base_scores(candidates), max(2, (1 << 20) // candidates)

    def work() -> int:
        for trial in range(trials):
            weights = np.multiply(fresh_scores(base, trial), RATE)
            weights -= weights.max()
            np.exp(weights, out=weights)
            np.cumsum(weights, out=weights)
            weights.searchsorted(generator.random() * weights[-1])
        return trials * candidates

    return work


def numpy_inverse_cdf_in_chunks(candidates: int) -> Work:
    """The same for 64 trials at once."""
    generator, base, weights = _generator(), base_scores(candidates), np.empty((_CHUNK, candidates))
    trials = np.arange(_CHUNK, dtype=np.int32)[:, None]

    def work() -> int:
        for _ in range(16):
            np.multiply(fresh_scores(base, trials), RATE, out=weights)
            np.subtract(weights, weights.max(axis=1, keepdims=True), out=weights)
            np.exp(weights, out=weights)
            np.cumsum(weights, axis=1, out=weights)
            _search(weights, generator)
        return 16 * _CHUNK * candidates

    return work


def numpy_race(candidates: int) -> Work:
    """The least of exponential variables (by ziggurat, float32) over the weights, for 64 trials at once."""
    generator, base = _generator(), base_scores(candidates)
    trials = np.arange(_CHUNK, dtype=np.int32)[:, None]

    def work() -> int:
        for _ in range(16):
            scores = fresh_scores(base, trials)
            slowness = np.exp((scores.max(axis=1, keepdims=True) - scores) * np.float32(RATE))
            slowness *= generator.standard_exponential(slowness.shape, np.float32)
            slowness.argmin(axis=1)
        return 16 * _CHUNK * candidates

    return work


def jax_categorical(key: Array, scores: Array) -> Array:
    """``jax.random.categorical``: argmax over scores plus Gumbel noise."""
    return jax.random.categorical(key, jnp.float32(RATE) * scores.astype(jnp.float32))


def jax_laplace(key: Array, shape: tuple[int, ...], dtype) -> Array:
    """``jax.random.laplace``."""
    return jax.random.laplace(key, shape, dtype)


def numpy_thresholds() -> Work:
    """Errors of all 1024 thresholds by histograms of both labels, then the inverse CDF, for 2000 trials at once."""
    generator, trials = _generator(), 2000
    offsets = THRESHOLDS * np.arange(trials)[:, None]

    def work() -> int:
        x, labels = _examples(generator, trials)
        cells, size, shape = x + offsets, trials * THRESHOLDS, (trials, THRESHOLDS)
        negative = np.bincount(cells[~labels], minlength=size).reshape(shape).cumsum(axis=1)
        positive = np.bincount(cells[labels], minlength=size).reshape(shape).cumsum(axis=1)
        errors = negative + positive[:, -1:] - positive
        running = np.exp(-EPSILON / 2 * (errors - errors.min(axis=1, keepdims=True))).cumsum(axis=1)
        (running <= generator.random(trials)[:, None] * running[:, -1:]).sum(axis=1)
        return trials

    return work


def numpy_thresholds_by_intervals() -> Work:
    """Our algorithm, by hand, for domains that fit in int64: sort, 201 intervals, inverse CDF; 256 trials at once."""
    generator, trials = _generator(), 4 * _CHUNK
    each = np.arange(trials)

    def work() -> int:
        x, _ = _examples(generator, trials)
        x.sort(axis=1)
        errors = np.zeros((trials, ROWS + 1))
        np.cumsum(np.where(x < THRESHOLDS // 2, -1.0, 1.0), axis=1, out=errors[:, 1:])
        ends = np.concatenate([np.zeros((trials, 1), x.dtype), x, np.full((trials, 1), THRESHOLDS)], axis=1)
        width = np.diff(ends, axis=1)
        weights = np.exp(-EPSILON / 2 * (errors - errors.min(axis=1, keepdims=True))) * width
        np.cumsum(weights, axis=1, out=weights)
        chosen = _search(weights, generator)
        ends[each, chosen] + (generator.random(trials) * width[each, chosen]).astype(np.int64)
        return trials

    return work


def opendp_thresholds() -> Work:
    """OpenDP's exponential mechanism, as its guide calls it."""
    return _opendp(float, lambda errors: (-errors).astype(float).tolist())


def opendp_thresholds_from_integers() -> Work:
    """The same on an array of integers, which is the fastest way in."""
    return _opendp(int, lambda errors: -errors)


def _opendp(kind: type, convert: Callable[[np.ndarray], object]) -> Work:
    import opendp.prelude as dp

    dp.enable_features("contrib", "idealized-numerics")
    atom = dp.atom_domain(T=float, nan=False) if kind is float else dp.atom_domain(T="i64")
    metric = dp.linf_distance(T=float if kind is float else "i64")
    measure = dp.zero_concentrated_divergence()
    mechanism = dp.m.make_noisy_max(dp.vector_domain(atom), metric, measure, scale=2 / EPSILON)
    generator, trials = _generator(), 16

    def work() -> int:
        for _ in range(trials):
            x, labels = _examples(generator, 1)
            mechanism(convert(_errors(x[0], labels[0])))
        return trials

    return work


def _errors(x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """``int64[1024]``, how many of the examples each threshold gets wrong."""
    negative, positive = (np.bincount(x[labels == value], minlength=THRESHOLDS) for value in (False, True))
    return negative.cumsum() + positive.sum() - positive.cumsum()


def _examples(generator: np.random.Generator, trials: int) -> tuple[np.ndarray, np.ndarray]:
    """Uniform points ``int64[trials, 200]`` and their labels by the middle threshold."""
    x = generator.integers(0, THRESHOLDS, (trials, ROWS))
    return x, x < THRESHOLDS // 2


def _search(running: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    targets = generator.random(len(running)) * running[:, -1]
    return np.array([row.searchsorted(target, "right") for row, target in zip(running, targets, strict=True)])


def _generator() -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(0))
