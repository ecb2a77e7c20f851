"""Lists that stay on the host, as long as they turn out: how many names are on how many lists, and one of them."""

import hashlib
import sys
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import numpy as np

from dpjax.core.host_calls import HostFunction
from dpjax.core.members import required

_REMEMBERED = 64  # tallies


class Listing(HostFunction):
    """Base class of functions of one batch on the host."""

    @required
    def length(self) -> int:
        """The entries of a list, at most."""

    @required
    def words(self) -> int:
        """Of a name."""

    @abstractmethod
    def listed(self, elements: np.ndarray, counts: np.ndarray, *numbers: np.ndarray) -> Iterable[tuple[int, ...]]:
        """The names for the cells of one batch and the numbers of a plan; more than ``length`` are not read."""

    def __call__(self, *arguments: np.ndarray) -> tuple[np.ndarray, ...]:
        """The list as arrays, see `Lists.names`."""
        names = [*self.names(*arguments)]
        filled = np.arange(self.length) < len(names)
        listed = np.zeros((self.length, self.words), np.uint32)
        listed[: len(names)] = np.array(names, np.uint32).reshape(-1, self.words)
        return listed, filled

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
        return (np.array([len(names) for names in _tally(self.listing, _Arrays(arguments))], np.int32),)


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
        names = _tally(self.listing, _Arrays(rest))[int(lists)]
        inside = 0 <= int(place) < len(names)
        return (np.array(names[int(place)] if inside else [0] * self.listing.words, np.uint32),)


class _Arrays:
    """Arrays, equal by their bytes, which are forgotten once they were used."""

    def __init__(self, arrays: Iterable[np.ndarray]):
        self.arrays = [np.asarray(each, order="C") for each in arrays]
        said = hashlib.sha256()
        for each in self.arrays:
            said.update(f"{each.dtype}{each.shape}".encode())
            said.update(each.tobytes())
        self.digest = said.digest()

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Arrays) and self.digest == other.digest

    def taken(self) -> list[np.ndarray]:
        arrays, self.arrays = self.arrays, []
        return arrays


@lru_cache(_REMEMBERED)  # the second call of a draw is for the lists of the first
def _tally(listing: Listing, arguments: _Arrays) -> list[list[tuple[int, ...]]]:
    """The names on exactly 0, 1, ... lists, in ascending order; none for 0."""
    elements, counts, batches, *numbers = arguments.taken()
    votes = Counter(
        name for i in range(min(int(batches), len(counts))) for name in listing.names(elements[i], counts[i], *numbers)
    )
    levels: list[list[tuple[int, ...]]] = [[] for _ in range(len(counts) + 1)]
    for name, lists in sorted(votes.items()):
        levels[lists].append(name)
    return levels
