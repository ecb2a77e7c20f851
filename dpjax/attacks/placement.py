"""Where the users of a code stand in the domain, so that its columns are labels of a concept class."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpjax.concepts.disagreement import differing, differing_and_agreeing, first_elements, labelings
from dpjax.core.checks import InputError


@dataclass(frozen=True)
class Placement:
    """elements: of user 1, ..., n. junk: the element of the rows that pad the database, with label ``junk_label``.

    realizable: whether every column of every codebook is the labeling of these elements by a concept that gives
    ``junk_label`` to the junk element. Otherwise the learner has to be agnostic.
    ones: the least and the largest number of users whom a concept labels 1, for `spread`; None for 0 and all of them.
    """

    elements: tuple[int, ...]
    junk: int | None = None
    junk_label: bool = False
    realizable: bool = False
    ones: tuple[int, int] | None = None

    @property
    def few_and_many(self) -> tuple[int, int]:
        """Of users with label 1: at most how many a perfect learner has in a column of 0s, and how many of 1s."""
        return (0, len(self.elements)) if self.ones is None else self.ones


def place(code: Any, concepts: Any, padded: bool) -> Placement:
    """A placement among the first n + 2 elements of the domain.

    A code with few types of columns is placed so that they are labelings by the class: Theorem 4.3, with a common
    label of a junk element if ``padded`` (Remark 4.4). For thresholds the users are the elements 1..n and the junk
    element is 0, which all thresholds label 1. A code in which every column can occur is placed at one element on
    which two concepts differ, and padded at another one on which they agree: Theorem 4.7, Remark 4.8.

    InputError if there is none. Reference: Bun, Nissim, Stemmer 2016, Definition 4.2.
    """
    return _place(code, concepts, padded)


@functools.lru_cache(64)
def spread(code: Any, concepts: Any) -> Placement:
    """One user at each element of the domain: uniform examples, of which every one occurs.

    In a column of 0s the best concept labels the least number of users 1 that a concept does, in a column of 1s the
    largest. For parities these are 0 and n/2, so hypotheses that are accurate up to alpha < 1/4 tell the two columns
    apart. InputError unless there are as many users as elements.

    Reference: Bun, Nissim, Stemmer 2016, Proposition 4.11.
    """
    if int(concepts.domain.size) != code.users:
        expected, actual = f"as many users as elements, {concepts.domain.size}", f"{code.users} users"
        raise InputError("code.users", expected, actual, "take a smaller or larger domain, or uniform=False")
    elements = first_elements(concepts, code.users)
    ones = labelings(concepts, elements).sum(axis=1)
    if ones.min() == ones.max():
        expected, actual = "concepts with different numbers of elements labeled 1", type(concepts).__name__
        raise InputError("concepts", expected, actual, "take uniform=False")
    return Placement(elements, ones=(int(ones.min()), int(ones.max())))


@functools.lru_cache(64)
def _place(code: Any, concepts: Any, padded: bool) -> Placement:
    types, size = code.types(), int(concepts.domain.size)
    if types is None:
        if not padded:
            return Placement((differing(concepts),) * code.users)
        element, other, label = differing_and_agreeing(concepts)
        return Placement((element,) * code.users, other, label)
    n = code.users
    tried = first_elements(concepts, n + 2)
    labels = labelings(concepts, tried)
    for users, junk in ((tried[1 : n + 1], tried[:1]), (tried[:n], tried[n : n + 1])):
        for elements in (users, users[::-1]):
            if len(elements) == n and (placement := _all_types(types, labels, elements, junk, padded)):
                return placement
    raise InputError(
        "concepts",
        f"a class that labels {n}{' + 1' * padded} of its first {n + 2} elements in the {len(types)} ways "
        f"of the code's columns, such as Thresholds with at least {n + 1} elements",
        f"{type(concepts).__name__} on {size} elements",
        "take a larger domain, fewer users, or the code Tardos",
    )


def _all_types(types: np.ndarray, labels: np.ndarray, users: Any, junk: Any, padded: bool) -> Placement | None:
    for label in (False, True):
        known = labels[labels[:, junk[0]] == label] if padded and junk else labels
        rows = {row.tobytes() for row in known[:, users]}
        if (junk or not padded) and all(column.tobytes() in rows for column in types):
            return Placement(tuple(users), junk[0] if padded else None, label and padded, True)
    return None
