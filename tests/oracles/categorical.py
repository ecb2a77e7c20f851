"""The probabilities that the sampler of a `Categorical` realises, from its own whole-number units."""

import jax
import jax.numpy as jnp
import numpy as np

from dpjax.laws.table import Bounds


@jax.jit
def _units(law):
    """For each segment, null first: bounds of columns, units and weights of cells."""
    weights, null = law._parts(jnp.asarray(law.log_weights), -jnp.inf)
    exact = (None, None) if law.exact is None else law._parts(law.exact, 0)
    table = Bounds.of(weights, law.largest, null, *exact, law.unit)
    segments, first = [], 0
    if table.null is not None:
        rest = None if table.null_rest is None else table.null_rest.reshape(1, 1, 1)
        segments.append((table.null_bound.reshape(1, 1, 1), *table.weights(table.null.reshape(1, 1, 1), rest)))
    for i, part in enumerate(table.cells):
        blocks, _, lanes = part.shape
        bounds = table.bounds[first : first + blocks * lanes].reshape(blocks, 1, lanes)
        segments.append((bounds, *table.weights(part, table.exact[i] if table.exact else None)))
        first += blocks * lanes
    return segments


def sampler_probabilities(law):
    """``float64[m]``, on the host."""
    with jax.enable_x64(True):
        segments = jax.device_get(_units(law))
    realised = []
    for part in segments:
        bounds, units, weights = (np.asarray(array, np.longdouble) for array in part)
        ends = np.minimum(np.cumsum(units, axis=1), bounds)
        realised.append((np.diff(ends, axis=1, prepend=0) * weights / units).reshape(-1))
    found = np.concatenate(realised)[: law.log_weights.shape[0]]
    found = np.asarray(found / found.sum(), np.float64)
    return np.roll(found, -1) if law.no_answer else found
