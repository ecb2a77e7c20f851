"""Lists that stay on the host, as long as they turn out: how many names are on how many lists, and one of them."""

import hashlib
import sys
from abc import abstractmethod
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from threading import Lock

import numpy as np

from dpjax.core.checks import InputError
from dpjax.core.host_calls import HostFunction
from dpjax.core.members import Base, member, required

_REMEMBERED = 1 << 18
"""Names of tallies that are kept for the second call of a draw, in all: a tally with more is made twice."""
Names = list[tuple[int, ...]]


class Listing(Base):
    """Base class of functions of one batch on the host: a frozen dataclass without state, equal by value.

    A list depends on the arguments alone: no noise.
    """

    @required
    def length(self) -> int:
        """The entries of a list, at most."""

    @required
    def words(self) -> int:
        """Of a name."""

    @member
    def cache_token(self) -> str | None:
        """See `HostFunction`."""
        return None

    @abstractmethod
    def listed(self, elements: np.ndarray, counts: np.ndarray, *numbers: np.ndarray) -> Iterable[tuple[int, ...]]:
        """The names, tuples of ``words`` numbers below 2^32, for the cells of one batch and the numbers of a plan.

        More than ``length`` are not read.
        """

    def names(self, *arguments: np.ndarray) -> Iterable[tuple[int, ...]]:
        """The names without repetitions, as many as a list may have."""
        return dict.fromkeys(islice(self.listed(*arguments), min(self.length, sys.maxsize)))


@dataclass(frozen=True)
class NamesOn(HostFunction):
    """How many names are on exactly 0, 1, ... of the lists of some batches: (``int32[most + 1]``,).

    Called with the cells of ``most`` batches, ``uint32[most, c, limbs]`` and ``int32[most, parts, c, 2]``, the number
    of batches ``int32[]``, others are not read, and the numbers of the plan.
    """

    listing: Listing

    @property
    def cache_token(self) -> str | None:
        """That of the lists."""
        return self.listing.cache_token

    def __call__(self, *arguments: np.ndarray) -> tuple[np.ndarray, ...]:
        """See the class."""
        return (np.array([len(names) for names in _TALLIES.of(self.listing, arguments)], np.int32),)


@dataclass(frozen=True)
class Name(HostFunction):
    """One of the names on exactly v lists: (``uint32[words]``,), zeros if there are not so many.

    Called with v and a place among those names, ``int32[]`` each, and then as `NamesOn`.
    """

    listing: Listing

    @property
    def cache_token(self) -> str | None:
        """That of the lists."""
        return self.listing.cache_token

    def __call__(self, *arguments: np.ndarray) -> tuple[np.ndarray, ...]:
        """See the class."""
        lists, place, *rest = arguments
        names = _TALLIES.of(self.listing, rest)[int(lists)]
        inside = 0 <= int(place) < len(names)
        return (np.array(names[int(place)] if inside else [0] * self.listing.words, np.uint32),)


class _Tallies:
    """The last tallies, by listing and arguments: what is forgotten is made again."""

    def __init__(self) -> None:
        self._known, self._lock, self._names = OrderedDict[tuple[Listing, bytes], list[Names]](), Lock(), 0

    def of(self, listing: Listing, arguments: Sequence[np.ndarray]) -> list[Names]:
        """The names on exactly 0, 1, ... lists, in ascending order; none for 0."""
        said = hashlib.sha256()
        for each in arguments:
            said.update(f"{each.dtype}{each.shape}".encode())
            said.update(np.asarray(each, order="C").data)
        key = listing, said.digest()
        with self._lock:
            known = self._known.get(key)
        if known is None:
            known = _tally(listing, *arguments)
            with self._lock:
                self._remember(key, known)
        return known

    def _remember(self, key: tuple[Listing, bytes], made: list[Names]) -> None:
        if key not in self._known:
            self._known[key] = made
            self._names += _size(made)
        while self._names > _REMEMBERED:
            self._names -= _size(self._known.popitem(last=False)[1])


_TALLIES = _Tallies()


def _size(tally: list[Names]) -> int:
    return len(tally) + sum(map(len, tally))


def _tally(
    listing: Listing, elements: np.ndarray, counts: np.ndarray, batches: np.ndarray, *numbers: np.ndarray
) -> list[Names]:
    votes = Counter(
        name for i in range(min(int(batches), len(counts))) for name in listing.names(elements[i], counts[i], *numbers)
    )
    levels: list[Names] = [[] for _ in range(len(counts) + 1)]
    for name, lists in sorted(votes.items()):
        if len(name) != listing.words or not all(0 <= word < 2**32 for word in name):
            expected = f"{listing.words} numbers in [0, 2**32)"
            raise InputError("name on a list", expected, f"{name}", "return such tuples from `listed`")
        levels[lists].append(name)
    return levels
