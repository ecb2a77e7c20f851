"""Simulations of learners that read counts, by drawing the counts of many rows at once."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from dpjax.audit.target.generators import Generators
from dpjax.concepts.bitwise import Bitwise
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.core import checks, keys, wide
from dpjax.core.checks import InputError
from dpjax.experiments.sweep.task import Task
from dpjax.learners.bit_reduction import BitReduction
from dpjax.learners.sparse_aggregate import SparseAggregate
from dpjax.lists.base import Cells

_MOST_ELEMENTS = 2**16


@dataclass(frozen=True)
class Counted:
    """A noiseless task over few elements, of which whole batches are drawn.

    elements: ``uint32[c, limbs]``, ascending. mass: ``float64[c]``, the probability of each. labels: ``int64[targets,
    c]``.
    """

    elements: np.ndarray
    mass: np.ndarray
    labels: np.ndarray

    @staticmethod
    def of(task: Task) -> "Counted":
        """All elements of a small domain, or the atoms of the distribution. InputError for more than 2^16, or for
        noise."""
        width, limbs = task.concepts.domain.size, task.concepts.domain.limbs
        single = bool(getattr(task.distribution, "atoms", False))
        count = width if width <= _MOST_ELEMENTS or not single else len(task.distribution.single())
        if task.noise or count > _MOST_ELEMENTS:
            actual = f"{count} elements, noise {task.noise:g}"
            expected = f"at most {_MOST_ELEMENTS} elements or atoms, labels without noise"
            raise InputError("task", expected, actual, "draw rows: Task.draw")
        value = np.arange(width, dtype=np.uint64) if count == width else task.distribution.single()
        with jax.enable_x64(True):
            mass = np.asarray(task.distribution.mass_at(value), np.float64)
        elements = wide.encode(value)[:, wide.LIMBS - limbs :]
        labels = task.concepts.predict(Hypothesis.of(task.targets), jnp.asarray(elements))
        return Counted(elements, mass / mass.sum(), np.asarray(labels, np.int64).T)

    def batches(self, ends: Sequence[int], rows: int, count: int, seed: int, trial: int) -> tuple[np.ndarray, int]:
        """(counts ``int32[count, parts, N, 2]``, the number of the target).

        Same law as the counts of batches of ``rows`` rows, whose part j ends at the fraction
        ``ends[j] / ends[-1]``; a function of seed and trial alone.
        """
        key = keys.of_trial(keys.root(seed), jnp.uint32(checks.integer("trial", trial, 0, 2**32 - 1)))
        high, low = jax.random.key_data(keys.stream(key, "counts")).tolist()
        generator = Generators()(high << 32 | low)
        target = int(generator.integers(len(self.labels)))
        last = [int(end) * checks.integer("rows", rows, 0) for end in ends]
        until = np.array([-(-end // int(ends[-1])) for end in last])
        drawn = generator.multinomial(np.tile(np.diff(until, prepend=0), (count, 1)), self.mass)
        counts = np.zeros((*drawn.shape, 2), np.int32)
        np.put_along_axis(counts, np.broadcast_to(self.labels[target][:, None], (*drawn.shape, 1)), drawn[..., None], 3)
        return counts, target


def errors(learner: SparseAggregate, task: Task, plan: Any, rows: int, seed: int, trials: int) -> Iterator[float]:
    """The error of each trial with ``rows`` rows in every batch; 1 if the learner abstains."""
    mass = Counted.of(task).mass
    for wrong in _wrong(learner, task, plan, rows, seed, range(trials)):
        yield 1.0 if wrong is None else float(mass @ wrong)


def errors_of_labels(
    learner: BitReduction, task: Task, plan: Any, rows: Sequence[int], seed: int, trials: int
) -> Iterator[float]:
    """As `errors`, of labels that are learned bit by bit, each bit by a `SparseAggregate` with rows[i] rows in every
    batch: the blocks of the bits are independent.

    task: of a `Bitwise` class, with one target.
    """
    checks.instance("concepts", task.concepts, Bitwise, "give Bitwise(PointSets(domain, d), L)")
    if len(task.targets) != 1:
        raise InputError("task", "one target", f"{len(task.targets)}", "give Task(concepts, distribution, targets)")
    for one in learner.learners:
        checks.instance("binary", one, SparseAggregate, "give a function that makes a SparseAggregate")
    targets = np.split(np.asarray(task.targets), task.concepts.columns, axis=1)
    parts = enumerate(zip(cast(Any, learner.learners), targets, plan.bits, rows, strict=True))
    bits = [
        _wrong(
            one, Task(task.concepts.bit, task.distribution, target), inner, size, seed, range(i, trials << 4, 1 << 4)
        )
        for i, (one, target, inner, size) in parts
    ]
    mass = Counted.of(task).mass
    for wrong in zip(*bits, strict=True):
        yield 1.0 if any(one is None for one in wrong) else float(mass @ np.any(wrong, axis=0))


def _wrong(
    learner: SparseAggregate, task: Task, plan: Any, rows: int, seed: int, trials: Iterable[int]
) -> Iterator[np.ndarray | None]:
    """Which elements the learner labels wrongly, ``bool[c]``; None if it abstains."""
    drawn, m = Counted.of(task), int(plan.batches)
    elements = jnp.asarray(drawn.elements)
    select = _select(learner)
    for trial in trials:
        counts, target = drawn.batches(plan.lists.ends, rows, m, seed, trial)
        padded = np.concatenate([counts, np.zeros((plan.most - m, *counts.shape[1:]), np.int32)])
        key = keys.stream(keys.of_trial(keys.root(seed), jnp.uint32(trial)), "learn")
        hypothesis = select(key, Cells(elements, jnp.asarray(padded)), plan)
        labels = np.asarray(learner.concepts.predict(hypothesis, elements))[:, 0]
        yield None if int(hypothesis.outcome[0]) < 0 else labels != drawn.labels[target]


@lru_cache(32)
def _select(learner: SparseAggregate) -> Any:
    return jax.jit(learner.select)
