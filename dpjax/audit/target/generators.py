"""NumPy generators for foreign code and for drawn counts, from our keys. No other module uses np.random; no mechanism
or learner draws from it."""

import numpy as np


class Generators:
    """Maps a seed to a NumPy generator: Philox with the seed as its key, from its first number.

    One generator object is reused and its state set at each call, which takes an eighth of the time of creating one.
    """

    def __init__(self) -> None:
        self._bits = np.random.Philox(key=0)
        self._generator, self._start = np.random.Generator(self._bits), self._bits.state

    def __call__(self, seed: int) -> np.random.Generator:
        """The generator of a 64-bit seed."""
        self._start["state"]["key"] = np.array([seed, 0], np.uint64)
        self._bits.state = self._start
        return self._generator
