"""Tracks key use along a path of a program: a key is drawn with once, and then nothing is derived from it."""

import numpy as np

_SHARED = "one key for several lanes of a vmap"
_TWICE = "a key that an earlier draw has used"
_BOTH = "a key that is also split or folded"


def codes(words: np.ndarray) -> np.ndarray:
    """Keys as integers, ``uint64[...]`` of ``uint32[..., 2]``."""
    words = words.astype(np.uint64)
    return words[..., 0] << np.uint64(32) | words[..., 1]


class Histories:
    """Indices of pairs (keys drawn with, keys that others were derived from); index 0 is the empty pair.

    Most rows of a population use the same keys, so they share a pair.
    """

    def __init__(self) -> None:
        self._pairs: list[tuple[frozenset[int], frozenset[int]]] = [(frozenset(), frozenset())]
        self._numbers = {self._pairs[0]: 0}
        self._known: dict[tuple[int, bytes, bool], tuple[int, str]] = {}

    def drawn(self, history: np.ndarray, keys: np.ndarray, real: np.ndarray | None = None) -> tuple[np.ndarray, str]:
        """The history after draws with ``keys: uint64[n or 1, d]``, one per lane, and the misuse found, if any.

        real: ``bool[n, d]``, lanes that draw; default: all.
        """
        if real is not None:
            keys = np.broadcast_to(keys, real.shape)
            spare = np.arange(keys.shape[1], dtype=np.uint64)[None]  # distinct placeholders, equal to their index
            marked = np.where(real, keys, spare)
            return self._extended(history, np.concatenate([marked, real.astype(np.uint64)], axis=1), True)
        return self._extended(history, np.concatenate([keys, np.ones_like(keys)], axis=1), True)

    def derived(self, history: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, str]:
        """The history after other keys were derived from ``keys: uint64[n or 1, d]``, and the misuse found, if any."""
        return self._extended(history, np.concatenate([keys, np.ones_like(keys)], axis=1), False)

    def _extended(self, history: np.ndarray, marked: np.ndarray, draws: bool) -> tuple[np.ndarray, str]:
        if len(marked) == 1:
            numbers, slot = np.unique(history, return_inverse=True)
            rows = [(int(number), marked[0]) for number in numbers]
        else:
            both = np.concatenate([history[:, None].astype(np.uint64), marked], axis=1)
            raw = np.ascontiguousarray(both).view(f"V{both.shape[1] * 8}").ravel()
            _, first, slot = np.unique(raw, return_index=True, return_inverse=True)
            rows = [(int(history[at]), marked[at]) for at in first]
        entries = [self._one(number, row, draws) for number, row in rows]
        wrong = next((what for _, what in entries if what), "")
        return np.array([number for number, _ in entries], np.int64)[slot.reshape(-1)], wrong

    def _one(self, number: int, row: np.ndarray, draws: bool) -> tuple[int, str]:
        spot = (number, row.tobytes(), draws)
        if spot not in self._known:
            self._known[spot] = self._checked(number, row, draws)
        return self._known[spot]

    def _checked(self, number: int, row: np.ndarray, draws: bool) -> tuple[int, str]:
        keys = [int(key) for key, real in zip(*np.split(row, 2), strict=True) if real]
        drawn, derived = self._pairs[number]
        new = frozenset(keys)
        wrong = ""
        if draws:
            wrong = _SHARED if len(new) < len(keys) else _TWICE if new & drawn else _BOTH if new & derived else ""
            pair = drawn | new, derived
        else:
            wrong = _BOTH if new & drawn else ""
            pair = drawn, derived | new
        if pair not in self._numbers:
            self._numbers[pair] = len(self._pairs)
            self._pairs.append(pair)
        return self._numbers[pair], wrong
