"""The inequalities between dimensions in Bun, Gaboardi, Sivakumar 2021, evaluated on one class."""

from dataclasses import dataclass
from math import e, log, log2
from typing import Any

import numpy as np

from dpjax.core.matrices import class_matrix
from dpjax.dimensions import (
    littlestone_dimension,
    psi_littlestone_dimension,
    sauer_bound,
    uniform_psi_littlestone_dimension,
    zero_cover_number,
)
from dpjax.dimensions.families import bit
from dpjax.dimensions.psi import bipartitions, bits


@dataclass(frozen=True)
class Inequality:
    """A statement of the paper and its two sides on a class: it holds if small <= large."""

    source: str
    words: str
    small: float
    large: float

    @property
    def holds(self) -> bool:
        """Whether it does, up to the rounding of logarithms."""
        return self.small <= self.large + 1e-9


@dataclass(frozen=True)
class Measured:
    """The dimensions of a class with labels 0..k: MLD, of each bit, Psi^bin uniform and not, Psi^B, and covers."""

    k: int
    multiclass: int
    of_bits: tuple[int, ...]
    uniform: int
    binary: int
    all_maps: int
    covers: tuple[int, ...]

    @property
    def largest_bit(self) -> int:
        """The largest Littlestone dimension of a bit."""
        return max(self.of_bits, default=0)


def measure(matrix) -> Measured:
    """All dimensions of ``int[m, N]`` that the inequalities relate, exactly; covers of depths 0..Psi^B + 1."""
    table = class_matrix(matrix)
    k = int(table.max(initial=0))
    of_bits = tuple(int(littlestone_dimension(bit(table, i)).value) for i in range(k.bit_length()))
    all_maps = int(psi_littlestone_dimension(table, bipartitions).value)
    covers = tuple(int(zero_cover_number(table, depth).value) for depth in range(all_maps + 2))
    return Measured(
        k,
        int(littlestone_dimension(table).value),
        of_bits,
        int(uniform_psi_littlestone_dimension(table, bits).value),
        int(psi_littlestone_dimension(table, bits).value),
        all_maps,
        covers,
    )


def inequalities(found: Measured) -> list[Inequality]:
    """Those of Sections 3 to 5 and 7; Theorem 7.1 as printed and with the number of bits in place of log2(k + 1).

    Reference: Bun, Gaboardi, Sivakumar 2021, Theorems 1.3, 3.4, 5.6 and 7.1, Claims 4.6 and 4.7, Lemma 5.11.
    """
    k, d = found.k, found.multiclass
    top = 6 * d * log(k + 1)
    return [
        Inequality("Claim 4.6", "max_i d_i <= uniform Psi^bin", found.largest_bit, found.uniform),
        Inequality("Claim 4.6", "uniform Psi^bin <= Psi^bin", found.uniform, found.binary),
        Inequality("Claim 4.7", "MLD <= Psi^bin", d, found.binary),
        Inequality("Claim 4.7", "Psi^bin <= Psi^B", found.binary, found.all_maps),
        Inequality("Theorem 3.4", "max_i d_i <= 6 MLD ln(k + 1)", found.largest_bit, top),
        Inequality("proof of Theorem 3.4", "Psi^B <= 6 MLD ln(k + 1)", found.all_maps, top),
        *(
            Inequality("Theorem 5.6", "N(0, H, n) <= sum_{i <= MLD} C(n, i) k^i", size, sauer_bound(depth, d, k))
            for depth, size in enumerate(found.covers)
            if depth >= d
        ),
        *(
            Inequality("Theorem 5.6", "that sum <= (e k n/MLD)^MLD", sauer_bound(n, d, k), (e * k * n / d) ** d)
            for n in range(d, len(found.covers))
            if d
        ),
        *(
            Inequality("Theorem 5.6", "N(0, H, n) <= (k + 1)^n for n < MLD", size, (k + 1) ** depth)
            for depth, size in enumerate(found.covers[:d])
        ),
        Inequality("Lemma 5.11", "2^(Psi^B) <= N(0, H, Psi^B)", 2**found.all_maps, found.covers[found.all_maps]),
        Inequality(
            "Theorem 7.1, corrected", "MLD <= ceil(log2(k + 1)) max_i d_i", d, k.bit_length() * found.largest_bit
        ),
        Inequality("Theorem 7.1, printed", "MLD <= log2(k + 1) max_i d_i", d, log2(k + 1) * found.largest_bit),
    ]


COUNTEREXAMPLE = np.array([[1, 0], [1, 1], [2, 0], [2, 2]])
"""Labels 0..2, MLD 2, bits of dimension 1: Theorem 7.1 as printed would give 2 <= log2(3)."""


def random_class(generator: Any, labels: int = 8, rows: int = 27, elements: int = 5) -> np.ndarray:
    """A class with 2 to ``labels`` labels, at most so many rows and elements, and a random distribution of labels.

    generator: of NumPy.
    """
    k = int(generator.integers(1, labels))
    shape = (int(generator.integers(2, rows + 1)), int(generator.integers(2, elements + 1)))
    return np.unique(generator.choice(k + 1, shape, p=generator.dirichlet(np.ones(k + 1))), axis=0)
