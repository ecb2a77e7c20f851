"""An audit from a single run: many canaries, each included by an independent fair coin, with one score each.

For any (epsilon, delta)-private mechanism a threshold's true positive rate is at most e^epsilon times its false
positive rate plus delta; for a mu-Gaussian private one it is at most Phi(Phi^-1(false positive rate) + mu). The second
bound certifies more from the same number of canaries, if the mechanism is known to be Gaussian.
"""

import functools
import time
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from dpjax.accounting.gaussian import gaussian_epsilon
from dpjax.accounting.guarantee import Guarantee
from dpjax.audit.report import Report
from dpjax.audit.sampling.ratio_test import Floats, counts_of, epsilon_lower, largest, p_value_of_border
from dpjax.audit.sampling.thresholds import Aim, Threshold, best_threshold, promise
from dpjax.audit.target.target import Target, require_target
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.types import Privacy

_TRAINING = 0.2
_MOST = 40.0  # largest mu that can be certified


def one_run(
    inside: ArrayLike,
    outside: ArrayLike,
    claim: Guarantee,
    *,
    gaussian: bool = False,
    confidence: float = 0.95,
    name: str = "one run",
) -> Report:
    """Certifies a lower bound on epsilon from the scores of included and of excluded canaries.

    A fifth of each chooses the threshold, the rest tests it once.

    Args:
      inside, outside: ``float[n]``, ``float[m]``, at least 100 each, larger if the canary seems included; in an order
        independent of the scores.
      claim: refuted if the certified epsilon at its delta is larger.
      gaussian: certify mu, and report the epsilon of the Gaussian mechanism with that mu at the claim's delta. Assumes
        that the Gaussian bound holds with equality on the rest of the curve.

    Assumed and not checked: given the coins, scores of different canaries are independent (as with noise added to
    orthogonal canaries).
    Reference: Dong, Roth and Su 2022, Section 2 (Gaussian privacy); Steinke, Nasr and Jagielski 2023 (one run).
    """
    begin, level = time.perf_counter(), 1 - checks.probability("confidence", confidence)
    sides = [_scores("inside", inside), _scores("outside", outside)]
    cuts = [max(50, int(_TRAINING * len(side))) for side in sides]
    least, fresh = min(cuts), min(len(side) - cut for side, cut in zip(sides, cuts, strict=True))
    aim = Aim.of(claim.epsilon, claim.delta, fresh, confidence)
    training = (jnp.asarray(side[:least]) for side in sides)
    chosen = _choose_gaussian(*training) if gaussian else _choose(*training, aim)
    threshold, complement = float(chosen.value), bool(chosen.complement)
    seen = [(side[cut:] >= threshold) ^ complement for side, cut in zip(sides, cuts, strict=True)]
    (x, n), (y, m) = ((int(part.sum()), len(part)) for part in seen)
    details: dict[str, Any] = {}
    if gaussian:
        mu = float(mu_lower(x, n, y, m, significance=level))
        epsilon = gaussian_epsilon(mu, claim.delta) if mu > 0 and claim.delta > 0 else 0.0
        details["mu"] = mu
    else:
        epsilon = float(epsilon_lower(x, n, y, m, claim.delta, significance=level))
    details |= {
        "successes": [x, y],
        "trials": [n, m],
        "seconds": round(time.perf_counter() - begin, 3),
        "event": f"score {'<' if complement else '>='} {threshold:.6g}",
        "corrections": "none: one event, tested once",
        "assumed": "scores of different canaries are independent" + "; Gaussian trade-off" * gaussian,
    }
    evidence = f"one run, {n} canaries in and {m} out, threshold chosen on {cuts[0]} and {cuts[1]} others"
    head = name, "as run", claim, "one-run", evidence, float(epsilon), claim.delta, confidence
    return Report(*head, {"database": "with a canary", "neighbor": "without it"}, epsilon > claim.epsilon, [], details)


def one_run_of(
    target: Target, privacy: Privacy, *, canaries: int = 10_000, confidence: float = 0.95, seed: int = 0
) -> Report:
    """Runs ``target`` once with this many canaries, each included by a fair coin; audits the scores by `one_run`."""
    require_target(target)
    checks.integer("canaries", canaries, 1000, 2**24)
    checks.integer("seed", seed, 0, 2**32 - 1)
    if target.canaries is None:
        raise InputError("method", f"one that {target.name} allows", "one-run", "it has no score for each of many rows")
    root = keys.root(seed)
    coins = jax.random.bits(keys.stream(root, "coins"), (canaries,), "uint32") < jnp.uint32(1 << 31)
    scores = np.asarray(jax.jit(target.canaries)(keys.stream(root, "run"), coins, target.plan(privacy)))
    within = np.asarray(coins)
    claim = target.claimed(privacy)
    report = one_run(scores[within], scores[~within], claim, confidence=confidence, name=target.name)
    return replace(report, calibration=target.calibration, details={**report.details, "seed": seed})


@dataclass(frozen=True)
class GaussianBorder:
    """p = Phi(Phi^-1(q) + mu)."""

    mu: Floats

    def at(self, q: Floats) -> Floats:
        """See `Border`."""
        return ndtr(ndtri(q) + self.mu)

    def inverse(self, p: Floats) -> Floats:
        """See `Border`."""
        return ndtr(ndtri(p) - self.mu)

    def slope(self, q: Floats) -> Floats:
        """See `Border`: the ratio of the normal densities at Phi^-1(p) and Phi^-1(q)."""
        z = ndtri(np.clip(q, 1e-300, 1 - 1e-16))
        return np.exp(-self.mu * z - self.mu**2 / 2)


def mu_lower(x: ArrayLike, n: ArrayLike, y: ArrayLike, m: ArrayLike, *, significance: float = 0.05) -> Floats:
    """A lower bound on every mu for which p <= Phi(Phi^-1(q) + mu), at confidence 1 - significance.

    x, n, y, m: as in `p_value`. Returns ``float64[...]`` >= 0, at most 40; 0 if nothing is certified.
    """
    x, n, y, m = np.broadcast_arrays(*counts_of(x, n, y, m))

    def value(mu: Floats) -> Floats:
        return p_value_of_border(x, n, y, m, GaussianBorder(mu[..., None]), significance=significance)

    p, q = np.clip(x / n, 0.5 / n, 1 - 0.5 / n), np.clip(y / m, 0.5 / m, 1 - 0.5 / m)
    return largest(value, np.clip(ndtri(p) - ndtri(q) + 1, 1.0, _MOST), significance)


def _merit(p: jax.Array, q: jax.Array, trained: int) -> jax.Array:
    """The estimated mu minus sqrt(ln t) times its standard error."""
    z_p, z_q = jax.scipy.special.ndtri(p), jax.scipy.special.ndtri(q)
    square = lambda rate, z: rate * (1 - rate) * jnp.exp(z * z) * jnp.float32(2 * np.pi)  # noqa: E731
    spread = jnp.sqrt(square(p, z_p) + square(q, z_q))
    return z_p - z_q - jnp.float32(np.sqrt(np.log(trained + 1) / trained)) * spread


@jax.jit
def _choose_gaussian(first: jax.Array, second: jax.Array) -> Threshold:
    return best_threshold(first, second, _merit, swaps=(False,))


@jax.jit
def _choose(first: jax.Array, second: jax.Array, aim: Aim) -> Threshold:
    return best_threshold(first, second, functools.partial(promise, aim=aim), swaps=(False,))


def _scores(name: str, scores: ArrayLike) -> np.ndarray:
    array = np.asarray(scores, np.float32)
    if array.ndim != 1 or len(array) < 100 or not np.all(np.isfinite(array)):
        raise InputError(name, "at least 100 finite scores", f"shape {array.shape}", "give one score a canary")
    return array
