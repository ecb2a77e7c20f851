"""AboveThreshold: the index of the first query in a list whose noisy answer reaches a noisy threshold."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import logsumexp

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.zcdp import pure_rho
from dpjax.core import checks
from dpjax.core.draws import asked
from dpjax.core.types import Neighboring
from dpjax.laws import Categorical
from dpjax.mechanisms._inputs import difference, held, signed, vector
from dpjax.mechanisms.exponential import rate

_REACH = 64  # distances from the threshold are clipped to 64 scales of the queries' noise
_TAIL = 64  # the threshold's noise is integrated up to 64 of its own scales beyond that
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def above_threshold(
    queries: Array,
    threshold: Array | float,
    epsilon: Array | float,
    *,
    sensitivity: float = 1,
    where: Array | None = None,
    monotonic: bool = False,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
) -> Categorical:
    """The exact law of the first i with queries[i] + Lap(4 D / epsilon) >= threshold + Lap(2 D / epsilon).

    Args:
      queries: ``int32[m]`` (or float), in the order of evaluation; differences to an integer threshold saturate.
      threshold: traced scalar that does not depend on the data. A query's distance to it is clipped to 64 scales of
        the query's noise.
      epsilon: traced scalar > 0.
      sensitivity: static, D; the largest change of any query between neighbors.
      where: ``bool[m]``, queries that are asked; must not depend on the data.
      monotonic: static; adding a row changes all queries in the same direction. The queries' noise is then
        Lap(2 D / epsilon) too. InputError under REPLACE_ONE.

    Returns: Categorical on {0..m-1, none}; none is sampled as -1. Computed by quadrature in float64: the relative error
      of every outcome's probability is about 1e-14, however rare the outcome; cost 12 m (m + 128 + 128 R) exponentials,
      where R = 2, or 1 if monotonic.

    Privacy: (epsilon, 0) under ``neighboring``.
    Utility: with b = 2 D / epsilon, all m query noises stay within 2 b s and the threshold's within b s with
      probability 1 - (m + 1) exp(-s).
    Reference: Dwork and Roth 2014, Algorithm 1 and Theorem 3.23; the monotone constants are derived below.
    """
    # Monotone: adding a row increases queries by at most 1. From the smaller to the larger database shift the
    # threshold's noise by 1 and the halting query's by at most 1 (2 x epsilon / 2); back, shift only the halting one's.
    # Clipping is monotone and does not increase the change of a query, so both arguments still hold.
    queries, factor, ratio = inputs(queries, threshold, epsilon, sensitivity, monotonic, neighboring)
    with jax.enable_x64(True):
        exists = jnp.ones(queries.shape, bool) if where is None else where
        meets = jnp.where(exists, factor.astype(jnp.float64) * queries.astype(jnp.float64), 0.0)
        law = stopping_law(clipped(meets, ratio), exists, ratio)
    return Categorical.of(law, factor.dtype, no_answer=True)


def above_threshold_guarantee(
    epsilon: float,
    *,
    monotonic: bool = False,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
    what: str = "AboveThreshold",
) -> Guarantee:
    """Pure differential privacy, for any number of queries before the first one above the threshold."""
    rate(checks.epsilon(epsilon), monotonic=monotonic, neighboring=neighboring)
    why = "half of epsilon for the threshold's noise, half for the halting query's"
    return Guarantee(
        epsilon, 0.0, neighboring, what, why=why, rho=pure_rho(epsilon), source="Dwork and Roth 2014, Theorem 3.23"
    )


def inputs(queries, threshold, epsilon, sensitivity, monotonic, neighboring) -> tuple[Array, Array, float]:
    """(queries - threshold, 1 / scale of the threshold's noise, scale of a query's noise in units of that scale)."""
    factor = rate(epsilon, sensitivity, neighboring=neighboring)
    rate(epsilon, monotonic=monotonic, neighboring=neighboring)  # refuses monotonic under REPLACE_ONE
    queries = asked(vector("queries", queries, integers=False, spread=sensitivity), "above_threshold", sensitivity)
    threshold = signed("threshold", held("threshold", threshold, math.inf))  # public: a fraction may be rounded
    whole = jnp.issubdtype(queries.dtype, jnp.integer) and jnp.issubdtype(threshold.dtype, jnp.integer)
    dtype = np.promote_types(queries.dtype, threshold.dtype) if whole else np.dtype(np.float64)
    with jax.enable_x64(True):
        return difference(queries.astype(dtype), threshold.astype(dtype)), factor, 1.0 if monotonic else 2.0


def clipped(meets: Array, ratio: float) -> Array:
    """Distances to the threshold, in scales of its noise, clipped to 64 scales of the queries' noise."""
    return jnp.clip(meets, -_REACH * ratio, _REACH * ratio)


@partial(jax.jit, static_argnames="ratio")
def stopping_law(meets: Array, asked: Array, ratio: float) -> Array:
    """log P(the first query above is i), followed by log P(none is above), ``float64[m + 1]``."""
    points, log_weights = _quadrature(meets, ratio)
    none_yet, stops = jax.lax.scan(partial(_step, points=points, ratio=ratio), log_weights, (meets, asked))
    return jnp.append(stops, logsumexp(none_yet))


def _quadrature(meets: Array, ratio: float) -> tuple[Array, Array]:
    """Nodes for the threshold's noise u in its own scales, and log of weight x density, ``float64[12 (m + panels)]``.

    An outcome's integrand f(u) = exp(-|u|)/2 x (some queries below) x (one query above) is log-concave, and analytic
    between 0 and the points u = meets[j], where query j's noise changes sign. Panels lie between these points and have
    width <= 1. The relative error of an integral is about 1e-14, however small the integral. Let f be largest at v.

    - Factors "below" rise with u, at rates h_j in [0, 1/ratio]. Only the density and "above" fall, at rates of at most
      1 and 1/ratio. So at v, and to the right of it, the sum of all h_j is at most 1 + 1/ratio <= 2.
    - v lies between -64 ratio and 64 ratio + ratio ln m: to the left f rises, and to the right sum h_j < 1.
    - Near v all rates are bounded, and so is |f| / f(v) on the panels' Bernstein ellipses of parameter 4, because
      |1 - a exp(-iy)| <= (1 - a) exp(2 a y^2) for a <= 1/2, and the sum of a_j = exp(-x_j)/2 is at most ratio times
      that of h_j. So 12 Gauss-Legendre nodes have an error of a small constant times 4**-24 f(v). Panels farther away
      contribute less, since f falls at least exponentially.
    - Beyond the outermost panels f has fallen by a factor of about exp(-64) to the left, and m^ratio exp(-64) to the
      right, below the precision of float64.
    """
    reach = round(_REACH * ratio) + _TAIL
    edges = jnp.sort(jnp.concatenate([jnp.arange(-reach, reach + 1, dtype=jnp.float64), meets]))
    middle, half = (edges[1:] + edges[:-1])[:, None] / 2, (edges[1:] - edges[:-1])[:, None] / 2
    points = (middle + half * _NODES[None, :]).reshape(-1)
    return points, jnp.log(half * _WEIGHTS[None, :]).reshape(-1) - jnp.abs(points) - np.log(2.0)


def _step(none_yet: Array, query: tuple[Array, Array], *, points: Array, ratio: float) -> tuple[Array, Array]:
    """Updates log P(no query so far is above, u) by one query; also returns log P(this query is the first above)."""
    meets, exists = query
    x = (points - meets) / ratio
    tail = -jnp.abs(x) - np.log(2.0)
    body = jnp.log1p(-jnp.exp(tail))
    below, above = jnp.where(x < 0, tail, body), jnp.where(x < 0, body, tail)
    stop = jnp.where(exists, logsumexp(none_yet + above), -jnp.inf)
    return jnp.where(exists, none_yet + below, none_yet), stop
