"""Samples from host data, their label columns, and pairs of neighboring samples."""

from collections.abc import Iterable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts.domain import FiniteDomain
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Sample

Pairs = list[tuple[Sample, Sample]]


def limbs_of(x: Any, domain: Any) -> None:
    """Raises InputError unless the elements are encoded, ``uint32[..., limbs]``."""
    if np.ndim(x) < 1 or np.shape(x)[-1] != domain.limbs:
        raise InputError("x", f"rows of {domain.limbs} limbs", f"shape {np.shape(x)}", "encode them: domain.encode")


def single_column(sample: Sample, learner: str) -> Array:
    """The one label column of a sample for a learner of one concept, ``bool[capacity]``."""
    if sample.y.shape[1] != 1:
        expected = "one concept, bool[capacity, 1]"
        advice = f"wrap it: Independent({learner}(...), k, composition)"
        raise InputError(f"labels for {learner}", expected, f"{sample.y.shape[1]} concepts", advice)
    return sample.y[:, 0]


def label_columns(sample: Sample, concepts: Any, learner: str) -> Array:
    """The label column of one concept, ``bool[capacity]``; of a class with ``columns`` > 1, all the bits of its labels,
    ``bool[capacity, columns]``."""
    count = concepts.columns
    if count == 1:
        return single_column(sample, learner)
    if sample.y.shape[1] != count:
        actual = f"{sample.y.shape[1]} columns"
        raise InputError(f"labels for {learner}", f"{count} columns, the bits of a label", actual, "give all bits")
    return sample.y


def database(domain: FiniteDomain, values, labels, capacity: int | None = None) -> Sample:
    """A Sample from host data: values in the domain ``[n]``, labels 0/1 ``[n]`` or ``[n, k]``.

    capacity: rows of its buffer, by default n, and 1 for an empty sample.
    """
    checks.instance("domain", domain, FiniteDomain, "give the domain of a class: concepts.domain")
    labels = np.asarray(labels)
    if labels.ndim not in (1, 2):
        raise InputError("labels", "0/1 of shape [n] or [n, k]", f"shape {labels.shape}", "give one row a label")
    if not isinstance(values, Iterable):
        raise InputError("values", "a list of elements", repr(values), "give one element a row")
    labels = labels[:, None] if labels.ndim == 1 else labels
    rows, values = len(labels), list(values)
    if len(values) != rows:
        raise InputError("values", f"one for each of {rows} rows of labels", str(len(values)), "give as many of both")
    capacity = checks.integer("capacity", max(rows, 1) if capacity is None else capacity, max(rows, 1), 2**31 - 1)
    wrong = labels[~np.isin(labels, (0, 1))]
    if wrong.size:
        raise InputError("labels", "0 or 1", repr(wrong[0]), "encode the two classes as 0 and 1")
    x = np.zeros((capacity, domain.limbs), np.uint32)
    y = np.zeros((capacity, labels.shape[1]), bool)
    x[:rows], y[:rows] = domain.encode(values).reshape(rows, domain.limbs), labels.astype(bool)
    return Sample(jnp.asarray(x), jnp.asarray(y), jnp.asarray(np.arange(capacity) < rows))


def flipped_label_pairs(domain: FiniteDomain, rows: int, concepts: int = 1, place: int = -1) -> Pairs:
    """Neighbors that differ in one row: all rows identical but that at ``place``, moved or relabeled in all columns."""
    checks.integer("rows", rows, 1)
    low, high = domain.size // 3, domain.size - 1
    pairs = []
    for base, other in (((low, 1), (low, 0)), ((low, 1), (high, 0)), ((low, 0), (high, 1))):
        values, labels = [base[0]] * rows, np.full((rows, concepts), base[1])
        changed, relabelled = values.copy(), labels.copy()
        changed[place], relabelled[place] = other
        pairs.append((database(domain, values, labels), database(domain, changed, relabelled)))
    return pairs
