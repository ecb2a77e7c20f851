"""NumPy generators for foreign code that takes one. The only place that touches np.random; dpjax itself never draws."""

import numpy as np


class Generators:
    """Seed -> a NumPy generator: Philox with the seed as its key, from its first number on.

    One generator, whose state is set anew at each call: an eighth of the time that making one takes.
    """

    def __init__(self) -> None:
        self._bits = np.random.Philox(key=0)
        self._generator, self._start = np.random.Generator(self._bits), self._bits.state

    def __call__(self, seed: int) -> np.random.Generator:
        """The generator of a 64-bit seed."""
        self._start["state"]["key"] = np.array([seed, 0], np.uint64)
        self._bits.state = self._start
        return self._generator
