"""Workloads of the proper learner: an improper node has to be found, and then the right one of its children."""

import jax.numpy as jnp
import numpy as np

from dpjax.concepts import Tree, distributions
from dpjax.core import checks, wide
from dpjax.core.checks import InputError
from dpjax.experiments.experiment import Workload

_UNIT = 2**40


def wrong_children(alpha: float) -> int:
    """How many nodes besides one more can each weigh 1.01 alpha."""
    return int(1 / (1.01 * checks.probability("alpha", alpha)) * (1 + 1e-12)) - 1


def hard_tree(concepts: Tree, alpha: float) -> Workload:
    """An improper node to be found, below which all children but the first are wrong by more than alpha.

    The node u is the first one of those with the most children, at most 1 + `wrong_children` (alpha). The target is the
    first proper node below the first child. Each other child has mass 1.01 alpha, labelled 0, and u the rest, at least
    1.01 alpha, labelled 1. A learner has to find u or a node at or below the first child; u is no concept of the class,
    so a proper learner must also choose the right child.

    InputError for a class whose improper nodes have more children, or that has none (all nodes are proper).
    """
    wrong = wrong_children(alpha)
    counts = np.bincount(concepts.parent[1:], minlength=concepts.size)
    fits = ~concepts.proper & (counts <= wrong + 1)
    if not fits.any():
        raise InputError(
            "concepts", f"a tree with an improper node of {wrong + 1} children or fewer", "none",
            "choose another tree, or a smaller alpha",
        )  # fmt: skip
    node = int(np.argmax(np.where(fits, counts, 0)))
    first, *others = concepts.child[concepts.child_start[node] : concepts.child_start[node + 1]].tolist()
    each = -(-101 * round(_UNIT * alpha) // 100)
    masses = {node: _UNIT - each * len(others)} | dict.fromkeys(others, each)
    place = concepts.place.tolist()
    law = distributions.from_weights(concepts.domain, [place.index(v) for v in masses], list(masses.values()))
    return Workload(law, jnp.asarray(wide.encode([int(concepts.following[first])])))
