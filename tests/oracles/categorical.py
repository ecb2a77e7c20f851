"""The probabilities that the sampler of a `Categorical` realises, from its own whole-number units."""

import jax
import jax.numpy as jnp
import numpy as np

from dpjax.laws import Categorical
from dpjax.laws.table import Bounds


@jax.jit
def _units(log_weights, known, null):
    """For each segment, null first: bounds of columns, units and weights of cells."""
    table = Bounds.of(log_weights, known, null)
    segments, first = [], 0
    if null is not None:
        segments.append((table.null_bound.reshape(1, 1, 1), *table.weights(null.reshape(1, 1, 1))))
    for part in table.cells:
        blocks, _, lanes = part.shape
        bounds = table.bounds[first : first + blocks * lanes].reshape(blocks, 1, lanes)
        segments.append((bounds, *table.weights(part)))
        first += blocks * lanes
    return segments


def sampler_probabilities(law):
    """``float64[m]``, on the host."""
    with jax.enable_x64(True):
        wide = Categorical(jnp.asarray(law.log_weights), law.no_answer, law.largest)
        segments = jax.device_get(_units(*wide._parts()))
    realised = []
    for part in segments:
        bounds, units, weights = (np.asarray(array, np.longdouble) for array in part)
        ends = np.minimum(np.cumsum(units, axis=1), bounds)
        realised.append((np.diff(ends, axis=1, prepend=0) * weights / units).reshape(-1))
    found = np.concatenate(realised)[: law.log_weights.shape[0]]
    found = np.asarray(found / found.sum(), np.float64)
    return np.roll(found, -1) if law.no_answer else found
