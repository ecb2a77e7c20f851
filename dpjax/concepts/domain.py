"""An ordered domain {0, ..., size-1} of up to 2**64 elements."""

from dataclasses import dataclass

import numpy as np

from dpjax.core import checks, wide
from dpjax.core.checks import InputError


@dataclass(frozen=True)
class Domain:
    """{0, ..., size-1}. Elements are ``uint32[..., limbs]``; ``limbs`` is 1 up to size 2**32, else 2."""

    size: int

    def __post_init__(self):
        checks.integer("domain size", self.size, 1, 2**64)

    @property
    def limbs(self) -> int:
        """uint32 limbs of an element."""
        return 1 if self.size <= 2**32 else 2

    def encode(self, values) -> np.ndarray:
        """Host: integers in [0, size) -> ``uint32[..., limbs]``. Raises InputError for a value outside."""
        whole = np.asarray(values, dtype=object)
        for value in whole.reshape(-1):
            if not 0 <= value < self.size or int(value) != value:
                raise InputError(
                    "domain element", f"a whole number in [0, {self.size})", repr(value),
                    "widen the domain or clip the value before",
                )  # fmt: skip
        return wide.encode(whole.astype(np.uint64), self.limbs)

    def decode(self, elements) -> np.ndarray:
        """Host: ``uint32[..., limbs]`` -> ``uint64[...]``."""
        return wide.decode(elements)
