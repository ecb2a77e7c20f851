"""A private learner of thresholds end to end: in every trial draw 200 labelled examples and learn."""

import functools
import itertools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array

from benchmarks import peers
from benchmarks.clock import Work, race
from benchmarks.row import Measured, Row
from dpjax.concepts import Domain, Hypothesis, Thresholds, distributions
from dpjax.core import keys
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.learners import KLN, Learner, ThresholdInterior
from dpjax.mechanisms.median import RACED

_BLOCK, _TRIALS = 256, 4096  # the engine, too, works on 256 samples of this size at once


def learned(size: int, trials: int, kind: Callable[[Thresholds], Learner] = KLN) -> Callable[[Array], Array]:
    """First trial -> ``uint32[trials, 1, limbs]``, thresholds of {0, ..., size-1}; the middle one is the target.

    The learner is by default the exponential mechanism over all thresholds, by intervals.
    """
    domain = Domain(size)
    distribution, learner = distributions.uniform(domain), kind(Thresholds(domain))
    target = Hypothesis.of(jnp.asarray(domain.encode([size // 2 - 1])))
    plan = learner.plan(Privacy(peers.EPSILON, 1e-6), Accuracy(0.1, 0.1))
    mask = jnp.ones(peers.ROWS, bool)

    def one(trial: Array) -> Array:
        key = keys.of_trial(keys.root(0), trial)
        x = distribution.draw(keys.stream(key, "sample"), peers.ROWS)
        sample = Sample(x, learner.concepts.predict(target, x), mask)
        return learner.learn(keys.stream(key, "learn"), sample, plan).concept

    @jax.jit
    def tile(first: Array) -> Array:
        return jax.lax.map(one, first + jnp.arange(trials, dtype=jnp.uint32), batch_size=_BLOCK)

    return tile


@functools.cache
def _ours(size: int, trials: int = _TRIALS, kind: Callable[[Thresholds], Learner] = KLN) -> Work:
    tile, turn = learned(size, trials, kind), itertools.count()

    def work() -> int:
        tile(jnp.uint32(next(turn) * trials)).block_until_ready()
        return trials

    return work


def _against_opendp(whole: bool, seconds: float) -> Measured:
    return race(_ours(peers.THRESHOLDS), peers.opendp_thresholds(whole), seconds)


def _against_numpy(learn: Callable, trials: int, seconds: float) -> Measured:
    return race(_ours(peers.THRESHOLDS), peers.numpy_thresholds(learn, trials), seconds)


def _against_a_small_domain(seconds: float) -> Measured:
    return race(_ours(1 << 60), _ours(1 << 10), seconds)


def _wide_against_words(kind: Callable[[Thresholds], Learner], seconds: float) -> Measured:
    return race(_ours(1 << 1024, _BLOCK, kind), _ours(1 << 64, _BLOCK, kind), seconds)


_KINDS: dict[str, Callable[[Thresholds], Learner]] = {
    "thresholds": KLN,
    **{name: functools.partial(ThresholdInterior, method=name, records=100) for name in RACED},
}
_UNIT = "trials/s"
ROWS = (
    Row(
        "thresholds-opendp",
        "OpenDP noisy max of 1024, scores as a list",
        _UNIT,
        100.0,
        functools.partial(_against_opendp, False),
        ("opendp",),
    ),
    Row(
        "thresholds-opendp-array",
        "OpenDP noisy max of 1024, scores as an int64 array",
        _UNIT,
        None,
        functools.partial(_against_opendp, True),
        ("opendp",),
    ),
    Row(
        "thresholds-numpy",
        "NumPy, batched, inverse CDF of 1024",
        _UNIT,
        2.0,
        functools.partial(_against_numpy, peers.thresholds, 2000),
    ),
    Row(
        "thresholds-numpy-intervals",
        "NumPy, batched, by intervals as dpjax",
        _UNIT,
        None,
        functools.partial(_against_numpy, peers.thresholds_by_intervals, 256),
    ),
    *(
        Row(f"{name}-2^1024", "dpjax over 2^64 thresholds", _UNIT, 0.05, functools.partial(_wide_against_words, kind))
        for name, kind in _KINDS.items()
    ),
    Row("thresholds-2^60", "dpjax over 2^10 thresholds", _UNIT, 0.8, _against_a_small_domain),
)
