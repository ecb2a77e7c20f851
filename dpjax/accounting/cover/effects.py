"""How far the scores of a set cover can differ between two runs: what the stopping game knows of a score."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.members import Base, required

if TYPE_CHECKING:
    from dpjax.accounting.cover.states import Alive

_MOST_K = 128
"""Larger k are replaced by this value in the game."""
_MOST_UNIT, _FINE = 128, 4096
_LEAST, _MOST = 2.0**-10, 2.0**10


class Effect(Base):
    """Base class of effects: a frozen dataclass, equal by value; its repr names it in the cache of calibrations."""

    @required
    def unit(self) -> int:
        """Score differences are multiples of 1 / unit, or rounding them to these is of no matter."""

    @abstractmethod
    def interval(self, alive: Alive, hit: Alive, cells: int) -> tuple[int, int]:
        """Bounds on cells * (q2(h) - q1(h)), rounded outwards, for every h that hits ``hit`` among ``alive``.

        These are the live rows that differ between the databases, which agree in everything published so far.
        """

    @abstractmethod
    def counted(self) -> Effect:
        """The effect where a noisy count is published."""

    @abstractmethod
    def limited(self) -> Effect:
        """An effect with a small unit that only helps the adversary of the game, see docs/proofs/set-cover-game.md."""


@dataclass(frozen=True)
class Minimum(Effect):
    """q = min{T - b / k, -O}. k: that of an exact count b that is not published; None: b was published."""

    k: int | None

    @property
    def unit(self) -> int:
        """k."""
        return self.k or 1

    def interval(self, alive: Alive, hit: Alive, cells: int) -> tuple[int, int]:
        """The first argument changes by the target rows that are hit, less 1 / k for each live target row if b is the
        exact count; the second by the other rows that are hit. The change of a minimum lies between theirs.
        """
        above = sum(row.side for row in hit if row.target)
        counted = 0 if self.k is None else sum(row.side for row in alive if row.target)
        spared = -cells * sum(row.side for row in hit if not row.target)
        covered = cells * (self.unit * above - counted)
        return min(covered // self.unit, spared), max(-(-covered // self.unit), spared)

    def counted(self) -> Effect:
        """Without k."""
        return self if self.k is None else Minimum(None)

    def limited(self) -> Effect:
        """k at most 128: a smaller k only helps the adversary."""
        return Minimum(None if self.k is None else min(self.k, _MOST_K))


@dataclass(frozen=True)
class Difference(Effect):
    """q = T / lam - O, without a count: the difference of two runs' scores is known exactly for the rows hit.

    lam: in [2**-10, 2**10].
    """

    lam: float

    def __post_init__(self):
        if not _LEAST <= checks.number("lam", self.lam) <= _MOST:
            raise InputError("lam", f"a number in [{_LEAST:g}, {_MOST:g}]", repr(self.lam), "for example 2.5")

    @property
    def unit(self) -> int:
        """The denominator of 1 / lam, if it is small."""
        denominator = (1 / Fraction(self.lam)).denominator
        return denominator if denominator <= _MOST_UNIT else _FINE

    def interval(self, alive: Alive, hit: Alive, cells: int) -> tuple[int, int]:
        """The sum over the rows hit of their side times 1 / lam for a target and -1 for another row."""
        target, other = (sum(row.side for row in hit if row.target is kind) for kind in (True, False))
        exact = cells * (target / Fraction(self.lam) - other)
        return exact.__floor__(), exact.__ceil__()

    def counted(self) -> Effect:
        """Itself: no count enters."""
        return self

    def limited(self) -> Effect:
        """Itself."""
        return self


def effect_of(given: int | Effect | None) -> Effect:
    """An effect as it is; k, or None for a published count, stands for `Minimum`."""
    return Minimum(given) if given is None or isinstance(given, int) else given
