"""Learners of every matrix, and of every class of VC dimension 1, beside the rows that are enough for every class."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from dpjax.concepts import Domain, Multiclass, Spider, Thresholds, distributions
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.run.cells import Cells
from dpjax.experiments.run.n_star import rate
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.task import Task
from dpjax.learners import BitReduction, ImproperVC1, SparseAggregate
from dpjax.lists import VersionSpace
from dpjax.theory import irreducibility, version_spaces

MASS = 1000
LEGS, TALL, STEPS = (1, 20, 60, 1000), (4, 1000), 4
LABELS, WIDTH = (4, 16), 64


def version_space_rows(bits: int, budget: Privacy, accuracy: Accuracy) -> int:
    """Those of `VersionSpace` for 2^bits concepts."""
    numbers = budget.epsilon, budget.delta, accuracy.alpha, accuracy.beta
    return version_spaces.batches(2**bits, 1, *map(float, numbers))


def every_class_rows(dimension: int, budget: Privacy, accuracy: Accuracy) -> int:
    """Those that are enough for every class of Littlestone dimension d, infinite ones included."""
    numbers = budget.epsilon, budget.delta, accuracy.alpha, accuracy.beta
    return irreducibility.rows(dimension, None, None, *map(float, numbers))


def dimension_row(dimension: int, budget: Privacy, accuracy: Accuracy) -> list[Any]:
    """Of one d: the rows for every class, and for the tallest tree with two medians."""
    every = every_class_rows(dimension, budget, accuracy)
    tallest = Thresholds(Domain(2 ** (dimension + 1) - 1))
    trees = [ImproperVC1(tallest, method).sample_size(budget, accuracy) for method in ("exponential", "majority")]
    return [dimension, float(every), *trees]


def leg_rows(budget: Privacy, accuracy: Accuracy, trials: int, cells: Cells) -> Iterator[list[Any]]:
    """Spiders with more and more legs, and a tall one: failures at the planned number of rows, on a law for which one
    node of one leg is good."""
    for legs, steps in [*((legs, STEPS) for legs in LEGS), TALL]:
        concepts = Spider(2**legs, steps)
        versions = concepts.versions()
        learner = ImproperVC1(concepts)
        n = learner.sample_size(budget, accuracy)
        setting = Setting(learner, one_good_step(concepts, float(accuracy.alpha)), 1, n, *_numbers(budget, accuracy))
        found = rate(setting, cells, trials)
        name = f"2^{legs} legs of 2^{steps} steps"
        low, high = 1 - found.upper, 1 - found.lower
        failures = found.trials - found.successes
        yield [name, versions.dimension(versions.whole), n, found.trials, failures, f"[{low:.3f}, {high:.3f}]"]


def one_good_step(concepts: Spider, alpha: float) -> Task:
    """The target goes half of the last leg; its last step and the next one have a mass just above alpha each, the rest
    is at the root."""
    start = (concepts.legs - 1) << concepts.bits
    step = 1 << concepts.bits - 1
    each = int(alpha * MASS) + 1
    atoms = [0, start + step, start + step + 1]
    law = distributions.from_weights(concepts.domain, atoms, [MASS - 2 * each, each, each])
    return Task(concepts, law, [(concepts.legs - 1) * concepts.height + step])


def label_rows(budget: Privacy, accuracy: Accuracy, trials: int, cells: Cells) -> Iterator[list[Any]]:
    """Random functions with many labels, bit by bit: failures at the planned number of rows."""
    for labels in LABELS:
        table = np.random.default_rng(0).integers(0, labels, (1000, WIDTH))
        concepts = Multiclass.of(table, labels)
        learner = BitReduction(concepts, version_space)
        n = learner.sample_size(budget, accuracy)
        task = Task(concepts, distributions.zipf(concepts.domain, WIDTH, 1.0))
        found = rate(Setting(learner, task, 1, n, *_numbers(budget, accuracy)), cells, trials)
        low, high = 1 - found.upper, 1 - found.lower
        yield [labels, n, found.trials, found.trials - found.successes, f"[{low:.3f}, {high:.3f}]"]


def version_space(bit: Any) -> SparseAggregate:
    """The binary learner; a list for every eighth row."""
    return SparseAggregate(VersionSpace(bit, 8))


def _numbers(budget: Privacy, accuracy: Accuracy) -> tuple[float, float, float, float]:
    return float(budget.epsilon), float(budget.delta), float(accuracy.alpha), float(accuracy.beta)
