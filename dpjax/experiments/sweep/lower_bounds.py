"""Lower bounds: numbers of rows that every private learner of a task's class needs, and the largest of them."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.distance import as_replace_one
from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.base import ConceptClass
from dpjax.concepts.disagreement import first_elements, labelings
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.members import implements
from dpjax.core.types import Accuracy, Neighboring, Privacy, host_numbers, require_relation
from dpjax.dimensions.threshold import threshold_dimension
from dpjax.experiments.sweep.task import Task
from dpjax.theory import fingerprinting, generalization, packing

_DRAWS = 256  # targets and elements
_LONGEST = 64  # rows and columns of a matrix that is searched for a chain: seconds at most


@dataclass(frozen=True)
class LowerBound:
    """n: a private learner with fewer than n rows fails on some distribution. name: the argument, and its source.

    agnostic: that distribution is one of labeled rows, and its labels need not have the task's noise. With much noise
    every hypothesis may be good, so on distributions with the task's noise fewer rows may do.
    """

    n: int
    name: str
    agnostic: bool = False

    def __str__(self) -> str:
        return f"{self.n} ({self.name})"


def lower_bound(
    task: Task, k: int, privacy: Privacy, accuracy: Accuracy, *, neighboring: Neighboring = Neighboring.REPLACE_ONE
) -> LowerBound:
    """The largest of `lower_bounds`."""
    return max(lower_bounds(task, k, privacy, accuracy, neighboring=neighboring), key=lambda bound: bound.n)


def lower_bounds(
    task: Task, k: int, privacy: Privacy, accuracy: Accuracy, *, neighboring: Neighboring = Neighboring.REPLACE_ONE
) -> list[LowerBound]:
    """Lower bounds for all private learners of k concepts of the task's class, proper or not: one for each argument.

    An argument that has no bound for these numbers, or none below 2^62, is left out. Known bounds that are not among
    them: by the representation dimension and the Littlestone dimension (pure), of order log* of the domain or of the
    Littlestone dimension (approximate), and by the VC dimension (without privacy). "An unseen element, also without
    privacy" holds for every learner: a sample without a heavy element does not tell its label.

    The bounds are about learners that succeed on every distribution, agnostic ones if the task has noise: on an easy
    distribution fewer rows may do. A class with ``any_distribution`` False, such as `Parities`, is learned from one
    distribution, and only the bounds for that distribution are given.

    Which arguments apply depends on which concepts differ where. The labels of the task's targets, and of the class's
    own targets, are computed on drawn elements and on elements spread over the domain; ``dichotomies``, if the class
    has them, on the first elements. Optional members of the class say more: ``chain``, the largest number of elements
    over which it has all thresholds, and ``separated(alpha)``, ln of a number of concepts of which any two differ on
    more than 2 alpha of one distribution (the class's own). A ``matrix()`` of at most 64 rows and columns is searched
    for a chain.

    privacy: plain numbers. neighboring: of the learner's guarantee; packing under ADD_OR_REMOVE_ONE is that of two
    steps. A class with more than two labels has the trivial bound only.
    """
    checks.instance("task", task, Task, "make it with dpjax.experiments.sweep.task.Task(concepts, distribution)")
    require_relation(neighboring)
    epsilon, delta, alpha, beta = host_numbers(privacy, accuracy)
    checks.integer("k", k, 1)
    bounds = [LowerBound(1, "one row", task.flips is not None)]
    for name, bound in _arguments(task, k, Guarantee(epsilon, delta, neighboring, "any learner"), alpha, beta):
        with suppress(InputError):  # not for these numbers, or beyond 2^62
            bounds.append(LowerBound(bound(), name, task.flips is not None))
    return bounds


def _arguments(
    task: Task, k: int, claim: Guarantee, alpha: float, beta: float
) -> Iterator[tuple[str, Callable[[], int]]]:
    """The arguments that apply to the class, each with its bound."""
    if task.concepts.columns > 1:
        return
    epsilon, delta = claim.epsilon, claim.delta
    tables = _labelings(task) if task.concepts.any_distribution else []
    differ, agree = any(len(labels) > 1 for labels in tables), any(map(_differ_and_agree, tables))

    def packed(bound: Callable[[float, float], int]) -> Callable[[], int]:
        return lambda: bound((replaced := as_replace_one(claim)).epsilon, replaced.delta)

    if agree:
        yield "an unseen element, also without privacy", lambda: generalization.unseen(k, alpha, beta)
        yield ("packing, bns:5.2", packed(lambda epsilon, delta: packing.concepts(k, epsilon, alpha, beta, delta)))
    apart = task.concepts.separated(alpha)
    if differ and alpha < 0.5:
        apart = max(apart, packing.TWO)
    if apart > 0:
        yield (
            "packing, bns:5.1 and bns:5.4",
            packed(lambda epsilon, delta: packing.separated(apart, k, epsilon, beta, delta)),
        )
    if differ and task.flips is not None:
        yield ("agnostic scores, after bns:4.7", lambda: fingerprinting.agnostic(k, epsilon, delta, alpha, beta))
    if (spread := task.concepts.spread) > 0 and task.flips is not None:
        yield (
            "agnostic scores, after bns:4.11",
            lambda: fingerprinting.uniform(k, epsilon, delta, alpha, beta, spread),
        )
    if differ and (chain := _chain(task.concepts)) > 1:
        yield (
            "scores of thresholds, after bns:4.3",
            lambda: fingerprinting.thresholds(k, epsilon, delta, alpha, beta, chain),
        )


def _labelings(task: Task) -> list[np.ndarray]:
    """Labels of some elements by some concepts, ``bool[concepts, elements]``, without equal rows."""
    concepts = task.concepts
    size = int(concepts.domain.size)
    count = min(size, _DRAWS)
    some = np.asarray(concepts.domain.encode([i * (size - 1) // max(1, count - 1) for i in range(count)]))
    tasks = [task]  # of a hard task often a single target
    with suppress(InputError):  # a class without targets of its own
        tasks.append(Task(concepts, task.distribution))
    root = keys.root(0)
    tables = [np.concatenate([np.asarray(_labels(with_targets, some, root)) for with_targets in tasks])]
    if implements(concepts, ConceptClass.dichotomies):
        tables.append(labelings(concepts, first_elements(concepts)))
    return [np.unique(table, axis=0) for table in tables]


@jax.jit
def _labels(task: Task, some: Array, key: Array) -> Array:
    """Labels of drawn elements and of ``some`` by drawn targets, ``bool[draws, elements]``."""
    of_targets, of_elements = keys.streams(key, "targets", "elements")
    targets = task.draw_targets(of_targets, _DRAWS)
    x = task.distribution.draw(of_elements, _DRAWS), some
    return jnp.concatenate([task.concepts.predict(targets, part).T for part in x], axis=1)


def _differ_and_agree(labels: np.ndarray) -> bool:
    """Whether two concepts differ on an element and agree on another one.

    Of three different rows, some two agree on a given element. Two rows that agree nowhere are complements.
    """
    return len(labels) > 2 or (len(labels) == 2 and bool(np.any(labels[0] == labels[1])))


def _chain(concepts: Any) -> int:
    known = concepts.chain
    if known is None and implements(concepts, ConceptClass.matrix) and concepts.domain.size <= _LONGEST:
        matrix = np.unique(concepts.matrix(), axis=0)
        known = threshold_dimension(matrix).lower if max(matrix.shape) <= _LONGEST else None
    return 1 if known is None else int(known)
