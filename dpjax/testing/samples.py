"""Samples for checks: few distinct elements, labels by concepts or at random, random padding."""

import hashlib
import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts import Domain, Hypothesis
from dpjax.concepts.base import ConceptClass
from dpjax.concepts.distributions import from_weights
from dpjax.core.checks import InputError
from dpjax.core.members import implements
from dpjax.core.types import Sample
from dpjax.experiments.config.builder import Builder
from dpjax.experiments.study.toml import TaskTable, task_of
from dpjax.experiments.sweep.task import Task

CAPACITY = 64


def words(name: str, *shape: int) -> np.ndarray:
    """Host: ``uint32[*shape]``, determined by the name; a smaller array is a prefix of a larger one."""
    count = math.prod(shape)
    return np.frombuffer(hashlib.shake_256(name.encode()).digest(4 * count), "<u4").reshape(shape).astype(np.uint32)


def few_elements(domain: Any, count: int = 6, seed: int = 0) -> list[int]:
    """Host: the ends of a domain, its third, and others derived from the seed, without duplicates, ascending."""
    most = min(domain.size, 2**64)
    others = [(int(high) << 32 | int(low)) % most for high, low in words(f"elements {seed}", count, 2)]
    return sorted([*dict.fromkeys([0, domain.size - 1, domain.size // 3, *others])][:count])


class Samples:
    """Samples of one class, labeled by k concepts."""

    def __init__(self, concepts: Any, k: int):
        self.concepts, self.k, self.columns = concepts, k, k * concepts.columns
        self._labels: Callable = jax.jit(lambda targets, x: concepts.predict(Hypothesis.of(targets), x))

    def targets(self, seed: int = 0) -> Array:
        """k encoded concepts of the class, ``uint32[k, limbs]``, from the default targets of `Task`."""
        known = np.asarray(targets_of(self.concepts, few_elements(self.concepts.domain, seed=seed)))
        return jnp.asarray(known[words(f"targets {seed}", self.k) % len(known)])

    def draw(
        self, n: int = 40, capacity: int = CAPACITY, seed: int = 0, realizable: bool = True, garbage: bool = True
    ) -> Sample:
        """n rows over a few elements of the domain, labeled by `targets` or at random.

        garbage: fill masked rows with random words instead of zeros.
        """
        domain = self.concepts.domain
        pool = few_elements(domain, seed=seed)
        values = [pool[i] for i in words(f"rows {seed}", n) % len(pool)]
        points = np.asarray(domain.encode(values)).reshape(n, domain.limbs)
        if realizable:
            padded = np.pad(points, ((0, 2 * CAPACITY - n), (0, 0)))  # one program for every n
            labels = np.asarray(self._labels(self.targets(seed), padded))[:n]
        else:
            labels = words(f"labels {seed}", n, self.columns) % 2 == 1
        x = words(f"garbage {seed}, {capacity}", capacity, domain.limbs) * np.uint32(garbage)
        y = (words(f"garbage labels {seed}, {capacity}", capacity, self.columns) % 2 == 1) & garbage
        x[:n], y[:n] = points, labels.reshape(n, self.columns)
        return Sample(jnp.asarray(x), jnp.asarray(y), jnp.asarray(np.arange(capacity) < n))


def targets_of(concepts: Any, values: list[int], count: int = 64) -> Any:
    """Host: at most ``count`` encoded concepts, by ``targets_under`` these elements if the class implements it."""
    if implements(concepts, ConceptClass.targets_under):
        return concepts.targets_under(from_weights(concepts.domain, values, [1] * len(values)), count)
    return concepts.targets(count)


def task_for(concepts: Any) -> Task:
    """A task of the class: eight elements of equal mass, or the uniform distribution of its cube or plane.

    InputError if none of these fits its domain; a task must then be given.
    """
    refusals: list[InputError] = []
    named: list[Callable] = [partial(_named, distribution=name) for name in ("UniformCube", "UniformPlane", "uniform")]
    for make in (_atoms, *named):
        try:
            return make(concepts)
        except InputError as error:
            refusals.append(error)
        except (AttributeError, TypeError) as error:  # a domain of another kind
            refusals.append(InputError("distribution", "one over the domain", str(error), "give a task"))
    expected = f"a distribution over {concepts.domain!r}"
    advice = "give task=Task(concepts, distribution)"
    raise InputError("task", expected, f"none of dpjax's fits ({refusals[0].given})", advice)


def _atoms(concepts: Any) -> Task:
    values = concepts.domain.spread(min(8, concepts.domain.size))
    return Task(concepts, from_weights(concepts.domain, values, [1] * len(values)))


def _named(concepts: Any, distribution: str) -> Task:
    return task_of(TaskTable(concepts=concepts, distribution=distribution), Builder())


def with_domain(value: Any, domain: Domain) -> Any:
    """A frozen dataclass rebuilt with another `Domain` in it or its ``concepts``, ``learner``, ``representation``.

    None if it contains no `Domain`, or does not accept this one.
    """
    if not is_dataclass(value) or isinstance(value, type):
        return None
    for field in fields(value):
        part = getattr(value, field.name)
        inner: Any = domain if isinstance(part, Domain) else None
        if field.name in ("concepts", "learner", "representation"):
            inner = with_domain(part, domain)
        if inner is not None:
            try:
                return replace(value, **{field.name: inner})
            except InputError:  # its other fields depend on the domain
                return None
    return None
