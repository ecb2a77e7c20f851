"""Bounds on the best success from any point of the first-order solver, in float64, and what they are made of.

Proofs: docs/proofs/best-learner.md. Arrays are those of `stencil.Stencil`: laws ``float64[h, databases]``, flows
``float64[kinds, h, families]``.
"""

import numpy as np

from dpjax.attacks.optimum.stencil import Stencil

_HALVINGS = 12


def collected(stencil: Stencil, flows: np.ndarray) -> np.ndarray:
    """``float64[h, databases]``: the sum of each database's entries over its families."""
    flat, total = np.append(flows.ravel(), 0.0), np.zeros(stencil.collect.shape[1:])
    for places in stencil.collect:
        total += flat[places]
    return total


def balanced(flows: np.ndarray, factor: float) -> np.ndarray:
    """Flows whose positive parts are made smaller until e^epsilon times their sum is at most that of the negative."""
    owed, given = np.maximum(flows, 0).sum(axis=0), -np.minimum(flows, 0).sum(axis=0)
    share = np.minimum(1, np.divide(given, factor * owed, out=np.ones_like(owed), where=owed > 0))
    return np.where(flows > 0, share * flows, flows)


def least_majorant(stencil: Stencil, laws: np.ndarray, factor: float) -> np.ndarray:
    """The least function above ``laws`` that changes by at most e^epsilon between neighbors."""
    while True:
        families = (laws.ravel()[stencil.spread].max(axis=0) / factor).ravel()
        flat, wider = np.append(families, 0.0), laws
        for places in stencil.collect:
            inside = places < stencil.spread.size
            wider = np.maximum(wider, flat[np.where(inside, places % families.size, families.size)])
        if np.max(wider - laws) <= 1e-15:
            return wider
        laws = wider


def private_laws(stencil: Stencil, laws: np.ndarray, factor: float) -> np.ndarray:
    """An exactly epsilon-private learner, close to ``laws`` if these hardly violate a constraint.

    With L the least majorant of the laws, Z(S) its sum over hypotheses, r = 1 - Z / max Z, and
    s = max r / (e^epsilon - 1), it is (1 - t) L / max Z + ((1 - t) r + t) / H with t = s / (1 + s).
    """
    laws = np.maximum(laws, 0)
    majorant = least_majorant(stencil, laws / laws.sum(axis=0), factor)
    sums = majorant.sum(axis=0)
    rest = 1 - sums / sums.max()
    part = rest.max() / (rest.max() + factor - 1) if rest.max() > 0 else 0.0
    return (1 - part) * majorant / sums.max() + ((1 - part) * rest + part) / len(laws)


def approximate_laws(stencil: Stencil, laws: np.ndarray, factor: float, delta: float) -> np.ndarray:
    """An (epsilon, delta)-private learner, close to ``laws`` if these hardly violate a constraint.

    It is the mixture of the laws and of their `private_laws`, with the least share of the latter that suffices: the
    largest violation is convex in the share, and 0 at 1.
    """
    laws = np.maximum(laws, 0)
    laws = laws / laws.sum(axis=0)
    pure, low, high = private_laws(stencil, laws, factor), 0.0, 1.0
    if largest_violation(stencil, laws, factor) <= delta:
        return laws
    for _ in range(_HALVINGS):
        share = (low + high) / 2
        within = largest_violation(stencil, (1 - share) * laws + share * pure, factor) <= delta
        low, high = (low, share) if within else (share, high)
    return (1 - high) * laws + high * pure


def largest_violation(stencil: Stencil, laws: np.ndarray, factor: float) -> float:
    """The largest sum over hypotheses of the positive parts of p(S, h) - e^epsilon p(S', h), of neighbors S, S'."""
    members = laws.ravel()[stencil.spread]
    scaled = factor * members
    return max(float(np.maximum(one - scaled, 0).sum(axis=1).max()) for one in members)
