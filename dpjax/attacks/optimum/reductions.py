"""Learners of one class from learners of another: maps of points under which concepts become concepts.

A class B reduces to a class A if each point x of B has a point f(x) of A and a bit s(x) such that every concept of B is
c(f(x)) xor s(x) for a concept c of A. A learner of A then serves B: it is run on the rows (f(x), y xor s(x)), and its
hypothesis h is turned into h(f(x)) xor s(x), with the same error and the same privacy, for every n. So B needs at most
as many rows as A. Proof: docs/proofs/best-learner.md.
"""

from dataclasses import dataclass

from dpjax.attacks.optimum.tiny import Matrix


@dataclass(frozen=True)
class Reduction:
    """Of a class to another one. points: f(x) of each point x. flips: s(x). whole: whether f is onto."""

    points: tuple[int, ...]
    flips: tuple[int, ...]
    whole: bool

    @property
    def merges(self) -> bool:
        """Whether two points become one: their labels are always equal, or always different."""
        return len(set(self.points)) < len(self.points)


def reduction(inner: Matrix, outer: Matrix) -> Reduction | None:
    """A reduction of ``inner`` to ``outer``, of as many points as there can be; None if there is none."""
    every = (1 << len(outer)) - 1
    columns = [sum(row[x] << i for i, row in enumerate(outer)) for x in range(len(outer[0]))]
    choices = [(x, flip) for x in range(len(columns)) for flip in (0, 1)]
    found: Reduction | None = None

    def extend(chosen: tuple[tuple[int, int], ...], fitting: list[int]) -> None:
        """``fitting``: the concepts of the other class that have the labels of each concept so far, as bits."""
        nonlocal found
        if found is not None and found.whole and not found.merges:
            return
        if len(chosen) == len(inner[0]):
            points, flips = tuple(x for x, _ in chosen), tuple(flip for _, flip in chosen)
            one = Reduction(points, flips, len(set(points)) == len(columns))
            if found is None or len(set(one.points)) > len(set(found.points)):
                found = one
            return
        for x, flip in choices:
            with_label = every ^ columns[x], columns[x]
            left = [fit & with_label[row[len(chosen)] ^ flip] for fit, row in zip(fitting, inner, strict=True)]
            if all(left):
                extend((*chosen, (x, flip)), left)

    extend((), [every] * len(inner))
    return found
