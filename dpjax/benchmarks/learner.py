"""A private learner of thresholds end to end: draw 200 labelled examples, learn, once a trial."""

import functools
import itertools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array

from dpjax import keys, wide
from dpjax.benchmarks import peers
from dpjax.benchmarks.clock import Work, race
from dpjax.benchmarks.row import Measured, Row
from dpjax.concepts import Domain, Hypothesis, Thresholds, distributions
from dpjax.learners import KLN
from dpjax.types import Goal, Privacy, Sample

_BLOCK, _TRIALS = 64, 1024


@functools.cache
def thresholds(size: int) -> Work:
    """The exponential mechanism over all thresholds of {0, ..., size-1}, by intervals; the middle one is the target."""
    domain = Domain(size)
    distribution, learner = distributions.uniform(domain), KLN(Thresholds(domain))
    target = Hypothesis.of(jnp.asarray(wide.encode([size // 2 - 1])))
    privacy, goal = Privacy(jnp.float32(peers.EPSILON)), Goal(jnp.float32(0.1), jnp.float32(0.1))
    mask = jnp.ones(peers.ROWS, bool)

    @jax.jit
    def tile(first: Array) -> Array:
        def one(trial: Array) -> Array:
            key = keys.of_trial(keys.root(0), trial)
            x = distribution.draw(keys.stream(key, "sample"), peers.ROWS)
            sample = Sample(x, learner.concepts.predict(target, x), mask)
            return learner.learn(keys.stream(key, "learn"), sample, privacy, goal).concept

        return jax.lax.map(one, first + jnp.arange(_TRIALS, dtype=jnp.uint32), batch_size=_BLOCK)

    turn = itertools.count()

    def work() -> int:
        tile(jnp.uint32(next(turn) * _TRIALS)).block_until_ready()
        return _TRIALS

    return work


def _against(peer: Callable[[], Work]) -> Callable[[float], Measured]:
    def measure(seconds: float) -> Measured:
        return race(thresholds(peers.THRESHOLDS), peer(), seconds)

    return measure


def _large_domain(seconds: float) -> Measured:
    return race(thresholds(1 << 60), thresholds(1 << 10), seconds)


_UNIT = "trials/s"
ROWS = (
    Row("thresholds-opendp", "OpenDP noisy max over 1024 thresholds, scores as a list of floats", _UNIT, 100.0,
        _against(peers.opendp_thresholds), ("opendp",)),
    Row("thresholds-opendp-int", "OpenDP noisy max over 1024 thresholds, scores as an int64 array", _UNIT, None,
        _against(peers.opendp_thresholds_from_integers), ("opendp",)),
    Row("thresholds-numpy", "NumPy, batched inverse CDF over 1024 thresholds", _UNIT, 2.0,
        _against(peers.numpy_thresholds)),
    Row("thresholds-numpy-intervals", "NumPy, batched, our algorithm over intervals", _UNIT, None,
        _against(peers.numpy_thresholds_by_intervals)),
    Row("thresholds-2^60", "dpjax over 2^10 thresholds", _UNIT, 0.8, _large_domain),
)  # fmt: skip
