"""DP-SGD on points of a grid with a small network, with gradient clipping and noise from optax.

It does not implement the learner protocol: its guarantee, under ADD_OR_REMOVE_ONE, holds for samples of at most a
public number of rows, which also sets the sampling rate. Each row joins a batch independently with that rate. A batch
uses at most a static number of rows; the probability of more is so small that it is charged to delta.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import exp, sqrt
from typing import Any

import jax
import jax.numpy as jnp
import optax
from dp_accounting import dp_event, mechanism_calibration
from dp_accounting.pld import PLDAccountant
from dp_accounting.privacy_accountant import NeighboringRelation
from dp_accounting.rdp import RdpAccountant
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.types import Sample
from dpjax.theory.search import smallest

_SPARE = 1e-3  # fraction of delta for batches that exceed their buffer
_GRID = 1e-3  # discretization of privacy losses, rounded up
_ORDERS = tuple(2**i for i in range(1, 9))  # orders of Renyi divergences
_MOMENTUM = 0.9
_OPTIMIZERS = {"adam": optax.scale_by_adam, "momentum": lambda: optax.trace(_MOMENTUM)}
Layers = list[tuple[Array, Array]]


@lru_cache(maxsize=1024)
def noise_multiplier(epsilon: float, delta: float, rate: float, steps: int) -> float:
    """Standard deviation of the noise over the clipping norm, for (epsilon, delta) under ADD_OR_REMOVE_ONE.

    From dp-accounting's privacy-loss distribution of ``steps`` Poisson-subsampled Gaussian mechanisms, at delta minus
    the fraction reserved for full batches. The larger value from its RDP accountant starts the search.

    rate: probability in (0, 1] that a row is in a batch.
    """
    checks.epsilon(epsilon)
    kept = checks.delta(delta, positive_for="Gaussian noise") * (1 - _SPARE)
    checks.integer("steps", steps, 1)
    if not 0 < checks.number("rate", rate) <= 1:
        raise InputError("rate", "a number in (0, 1]", repr(rate), "give the probability that a row is in a batch")

    def event(multiplier: float) -> dp_event.DpEvent:
        once = dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(multiplier))
        return dp_event.SelfComposedDpEvent(once, steps)

    relation, calibrated = NeighboringRelation.ADD_OR_REMOVE_ONE, mechanism_calibration.calibrate_dp_mechanism
    start = mechanism_calibration.LowerEndpointAndGuess(0.2, 1.0)
    most = calibrated(lambda: RdpAccountant(_ORDERS, relation), event, epsilon, kept, start, tol=1e-3)
    bracket = mechanism_calibration.ExplicitBracketInterval(0.2 * most, most)
    return calibrated(lambda: PLDAccountant(relation, _GRID), event, epsilon, kept, bracket, tol=1e-3)


def batch_for(expected: int, steps: int, epsilon: float, delta: float) -> int:
    """Buffer size of a batch whose expected number of rows is ``expected``.

    The number of rows in a batch is binomial; its tail beyond the mean is at most that of the Poisson law (Anderson and
    Samuels 1967). Rows are dropped in some step with probability at most t, which adds (1 + e^epsilon) t to delta; the
    buffer is the smallest for which this is at most the fraction that `noise_multiplier` reserves.
    """
    from scipy.stats import poisson  # a slow import, deferred to the first use

    limit = _SPARE * delta / (1 + exp(epsilon))
    return smallest(lambda rows: rows > expected and steps * poisson.sf(rows, expected) <= limit)


def poisson_batch(key: Array, mask: Array, rate: Array | float, most: int) -> tuple[Array, Array]:
    """The indices of the rows in a batch, ``int32[most]``, and the mask of used slots, ``bool[most]``."""
    rows = mask.shape[0]
    chosen = mask & (jax.random.uniform(key, (rows,), jnp.float32) < rate)
    index = jnp.nonzero(chosen, size=most, fill_value=rows)[0].astype(jnp.int32)
    return jnp.minimum(index, rows - 1), index < rows


@register_dataclass
@dataclass(frozen=True)
class Numbers:
    """Traced scalars: changing them does not recompile.

    rate: probability that a row is in a batch. multiplier: of the noise, see `noise_multiplier`; 0: not private.
    learning_rate: of the optimizer. clip: the norm to which a row's gradient is clipped, > 0.
    spread: standard deviation of the initial weights and offsets of the first layer, relative to the usual one.
    average: fraction of the last steps whose parameters are averaged; 0: the last parameters only.
    """

    rate: Any
    multiplier: Any
    learning_rate: Any
    clip: Any
    spread: Any = 1.0
    average: Any = 0.0


@dataclass(frozen=True)
class DPSGD:
    """Static configuration of DP-SGD. Equal by value.

    Args:
      d: points are in {0, ..., d}^inputs; the network sees them in [-1, 1]^inputs.
      widths: of the hidden layers, with tanh activation.
      steps: >= 1.
      expected: expected rows of a batch, the sampling rate times the public size; the divisor of gradient sums.
      batch: buffer size of a batch, see `batch_for`.
      optimizer: "adam", or "momentum" for SGD with momentum 0.9.
      inputs: coordinates of a point, 2 in the plane.
    """

    d: int
    widths: tuple[int, ...]
    steps: int
    expected: int
    batch: int
    optimizer: str = "adam"
    inputs: int = 2

    def __post_init__(self):
        for width in self.widths:
            checks.integer("widths", width, 1)
        checks.integer("d", self.d, 1)
        checks.integer("inputs", self.inputs, 1)
        checks.integer("steps", self.steps, 1)
        checks.integer("batch", self.batch, checks.integer("expected", self.expected, 1))
        checks.choice("optimizer", self.optimizer, _OPTIMIZERS)

    def fit(self, key: Array, sample: Sample, numbers: Numbers) -> Layers:
        """The network's parameters, (epsilon, delta)-private if the numbers were chosen for it; ``key`` is consumed.

        The sample has one label column. **A sample with more rows than the public size for which rate and batch were
        chosen has no guarantee.**
        """
        of_start, of_batches, of_noise = keys.streams(key, "start", "batches", "noise")
        rows, labels = self._inputs(sample.x), sample.y[:, 0].astype(jnp.float32)
        noised = optax.contrib.differentially_private_aggregate(numbers.clip, numbers.multiplier, of_noise)
        optimizer = optax.chain(
            noised,  # divides by the buffer size of a batch
            optax.scale(self.batch / self.expected),
            _OPTIMIZERS[self.optimizer](),
            optax.scale_by_learning_rate(numbers.learning_rate),
        )

        def step(carry: tuple, own: tuple[Array, Array]) -> tuple[tuple, None]:
            layers, state, mean = carry
            of_batch, weight = own
            index, there = poisson_batch(of_batch, sample.mask, numbers.rate, self.batch)
            each = gradients(layers, rows[index], labels[index], there)
            updates, state = optimizer.update(each, state, layers)
            layers = optax.apply_updates(layers, updates)
            mean = jax.tree.map(lambda sums, part: sums + jnp.where(weight > 0, weight * part, 0), mean, layers)
            return (layers, state, mean), None

        layers = self._start(of_start, numbers.spread)
        late = jnp.arange(1, self.steps + 1) > jnp.minimum((1 - numbers.average) * self.steps, self.steps - 1)
        weights = late / jnp.sum(late, dtype=jnp.float32)
        carry = layers, optimizer.init(layers), jax.tree.map(jnp.zeros_like, layers)
        (_, _, mean), _ = jax.lax.scan(step, carry, (keys.per_index(of_batches, self.steps), weights))
        return mean

    def predict(self, layers: Layers, x: Array) -> Array:
        """``bool[n, 1]`` for ``uint32[n, inputs]``."""
        return score(layers, self._inputs(x))[:, None] > 0

    def _inputs(self, x: Array) -> Array:
        return x.astype(jnp.float32) * jnp.float32(2 / self.d) - 1

    def _start(self, key: Array, spread: Array | float) -> Layers:
        layers = []
        layer_keys = keys.per_index(key, len(self.widths) + 1)
        for i, (inputs, outputs) in enumerate(pairwise((self.inputs, *self.widths, 1))):
            of_weights, of_offsets = keys.streams(layer_keys[i], "weights", "offsets")
            weights = jax.random.normal(of_weights, (inputs, outputs), jnp.float32) * jnp.float32(1 / sqrt(inputs))
            offsets = jax.random.uniform(of_offsets, (outputs,), jnp.float32, -1.0, 1.0)
            layers.append((weights * spread, offsets * spread) if i == 0 else (weights, 0 * offsets))
        return layers


def score(layers: Layers, x: Array) -> Array:
    """Log-odds of label 1, ``float32[...]`` for ``float32[..., 2]``."""
    for weights, offsets in layers[:-1]:
        x = jnp.tanh(x @ weights + offsets)
    weights, offsets = layers[-1]
    return (x @ weights + offsets)[..., 0]


def gradients(layers: Layers, x: Array, y: Array, there: Array) -> Layers:
    """Gradients of the rows' log-losses, rows on the leading axis; 0 for masked rows and for NaN."""

    def loss(parameters: Layers, row: Array, label: Array) -> Array:
        return optax.sigmoid_binary_cross_entropy(score(parameters, row), label)

    each = jax.vmap(jax.grad(loss), (None, 0, 0))(layers, x, y)

    def kept(part: Array) -> Array:
        usable = there.reshape(-1, *[1] * (part.ndim - 1)) & jnp.isfinite(part)
        return jnp.where(usable, part, 0)

    return jax.tree.map(kept, each)
