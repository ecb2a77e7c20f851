"""The tests of one audit: which trials answer each question, and at which share of the level."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import jax
import numpy as np
from scipy.stats import binom

from dpjax.accounting.guarantee import Guarantee
from dpjax.audit.sampling.questions import Question, tally
from dpjax.audit.sampling.results import Result, of_bet
from dpjax.core import keys

MAIN = Fraction(3, 4)  # share of the level for the first of two tests
Limits = list[tuple[int, int]]  # (training runs, fresh runs) that count on each database
Marks = tuple[np.ndarray, np.ndarray]  # of the events of a question on both databases, ``uint8[t]``


@dataclass(frozen=True)
class Posed:
    """A question, the index of its pair, its share of the level, and whether training trials answer it, too."""

    question: Question
    pair: int
    share: Fraction
    stated: bool = False


def allotted(stated: tuple[Question, int] | None, chosen: Sequence[tuple[Question, int]]) -> list[Posed]:
    """Questions with shares of the level whose sum is 1: by the union bound all tests together keep the level.

    A question that was stated before any run comes first, then those that were chosen in training, at most two. The
    first one has 3/4 of the level, or of what is left of it.
    """
    shares = [Fraction(1)] if len(chosen) == 1 else [MAIN, 1 - MAIN]
    rest = Fraction(1) if stated is None else 1 - MAIN
    tests = [Posed(question, pair, rest * share) for (question, pair), share in zip(chosen, shares, strict=True)]
    return tests if stated is None else [Posed(*stated, MAIN, stated=True), *tests]


def corrections(tests: Sequence[Posed]) -> str:
    """How the level is divided, in words."""
    if len(tests) == 1:
        return "none: one test at the whole level"
    parts = [f"{test.share} of it for {'the stated event' if test.stated else 'a chosen one'}" for test in tests]
    return f"{len(tests)} tests share the level: {', '.join(parts)}"


@dataclass(frozen=True)
class Sizes:
    """Numbers of trials on both databases, of a training and a fresh part; training runs have ``trained`` a side."""

    trained: int
    training: tuple[int, int]
    fresh: tuple[int, int]

    @staticmethod
    def equal(trained: int, fresh: int) -> "Sizes":
        """As many trials on either database."""
        return Sizes(trained, (trained, trained), (fresh, fresh))

    @staticmethod
    def coined(key: jax.Array, trained: int, fresh: int) -> "Sizes":
        """A fair coin chooses the database of each trial, so that guesses of it can be counted."""
        return Sizes(trained, _coins(keys.stream(key, "training"), trained), _coins(keys.stream(key, "fresh"), fresh))

    def limits(self, stated: bool) -> Limits:
        """(training runs, fresh runs) that count on each database: fresh ones alone, or all trials if ``stated``."""
        if not stated:
            return [(0, fresh) for fresh in self.fresh]
        every = [early + late for early, late in zip(self.training, self.fresh, strict=True)]
        return [(min(self.trained, count), max(0, count - self.trained)) for count in every]


def _coins(key: jax.Array, trials: int) -> tuple[int, int]:
    """The number of heads and of tails among 2 ``trials`` fair coins."""
    high, low = (int(word) for word in np.asarray(jax.random.bits(key, (2,), "uint32")))
    heads = int(binom.ppf(((high << 21) + (low >> 11) + 0.5) / 2.0**53, 2 * trials, 0.5))
    return heads, 2 * trials - heads


def answered(
    asked: Sequence[Posed],
    limits: Sequence[Limits],
    trained: Marks | None,
    tiles: Iterator[list[Marks]],
    tile: int,
    claim: Guarantee,
    level: float,
) -> list[tuple[Result, int]]:
    """The results of questions on one pair, and the number of their trials a side.

    limits: of each question. trained: marks of the training runs for the stated question. tiles: marks of fresh runs,
    ``tile`` of them a side.
    """
    counts = [np.zeros((2, 4), np.int64) for _ in asked]
    for count, limit, posed in zip(counts, limits, asked, strict=True):
        if posed.stated and trained is not None:
            count += [tally(marks[:most]) for marks, (most, _) in zip(trained, limit, strict=True)]
    for first, tile_marks in zip(range(0, 1 << 62, tile), tiles, strict=False):
        for count, limit, marks in zip(counts, limits, tile_marks, strict=True):
            count += [tally(side[: max(0, most - first)]) for side, (_, most) in zip(marks, limit, strict=True)]
    return [
        (posed.question.tested(count[0], count[1], claim, level * float(posed.share)), int(count.sum()) // 2)
        for posed, count in zip(asked, counts, strict=True)
    ]


def bet_on(
    one: Posed, trained: Marks | None, tiles: Iterator[Marks], claim: Guarantee, level: float
) -> tuple[Result, int]:
    """The result of a bet on one question, and the number of its trials a side."""

    def outcomes() -> Iterator[Marks]:
        if one.stated and trained is not None:
            yield trained
        yield from tiles

    ordered = ((marks[::-1] if one.question.swapped else marks) for marks in outcomes())
    return of_bet(((x == 1, y == 1) for x, y in ordered), claim, level * float(one.share))
