"""Cases: distributions of labeled rows with the hypotheses that are good for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import comb

import numpy as np

from dpjax.attacks.optimum.databases import Databases
from dpjax.core import checks
from dpjax.core.checks import InputError

MOST_COLUMNS = 4
_MOST = 1 << 12  # cases


def exactly(value: float) -> Fraction:
    """The decimal number that a float prints as: 0.3 is 3/10."""
    return Fraction(repr(float(value)))


@dataclass(frozen=True)
class Case:
    """n independent rows from one distribution over cells, and the set of good hypotheses.

    masses: of each cell, whole numbers in units of their sum. good: for each hypothesis. target: the concept of each
    label column, as numbers of rows of the class; None in the agnostic setting. elements: the distribution's masses
    of the domain's elements, or of cells in the agnostic setting, in units of their sum.
    """

    masses: tuple[int, ...]
    good: tuple[bool, ...]
    target: tuple[int, ...] | None
    elements: tuple[int, ...]

    def __str__(self) -> str:
        over = sum(self.elements)
        shares = ", ".join(str(Fraction(mass, over)) for mass in self.elements)
        if self.target is None:
            return f"labeled rows with probabilities ({shares})"
        return f"target {', '.join(map(str, self.target))}, elements with probabilities ({shares})"


@dataclass(frozen=True)
class Goal:
    """What a learner of a class has to achieve.

    Args:
      table: the labels of each concept, tuples of 0 and 1 of one length; at least one concept and one element.
      k: number of label columns, each with a target and a hypothesis of its own.
      alpha: in (0, 1). A hypothesis is good if the error of each of its columns is at most alpha; agnostic: at most
        alpha more than that of the best concept. Alpha and noise are read as the decimals that they print as.
      proper: whether hypotheses are concepts of the class; otherwise they are all functions on the domain.
      agnostic: whether rows come from any distribution of labeled rows, not from a target.
      noise: in [0, 1/2): the probability that a label is flipped, independently. Errors are those on the target.
    """

    table: tuple[tuple[int, ...], ...]
    k: int = 1
    alpha: float = 0.1
    proper: bool = False
    agnostic: bool = False
    noise: float = 0.0

    def __post_init__(self):
        checks.integer("k", self.k, 1, MOST_COLUMNS)
        checks.probability("alpha", self.alpha)
        if not 0 <= checks.number("noise", self.noise) < 0.5:
            raise InputError("noise", "a number in [0, 0.5)", repr(self.noise), "choose for example 0.1")
        if self.agnostic and self.noise:
            raise InputError("noise", "0 in the agnostic setting", repr(self.noise), "any noise is included already")

    @property
    def elements(self) -> int:
        """The number of elements of the domain."""
        return len(self.table[0])

    @property
    def cells(self) -> int:
        """The number of labeled elements: cell ``x 2^k + y`` has element x and labels y, column 0 in the lowest bit."""
        return self.elements << self.k

    @cached_property
    def functions(self) -> np.ndarray:
        """``int64[f, elements]``: what one column of a hypothesis may be."""
        every = self.table if self.proper else product((0, 1), repeat=self.elements)
        return np.array(list(every), np.int64).reshape(-1, self.elements)

    @property
    def sizes(self) -> tuple[int, int]:
        """The numbers of hypotheses and of targets."""
        per_column = len(self.table) if self.proper else 1 << self.elements
        return per_column**self.k, len(self.table) ** self.k

    @cached_property
    def hypotheses(self) -> np.ndarray:
        """``int64[h, k]``: the function of each column."""
        return np.array(list(product(range(len(self.functions)), repeat=self.k)), np.int64)

    @cached_property
    def targets(self) -> np.ndarray:
        """``int64[c, k]``: the concept of each column."""
        return np.array(list(product(range(len(self.table)), repeat=self.k)), np.int64)

    @property
    def each_target(self) -> list[tuple[int, ...] | None]:
        """The targets of cases: None alone in the agnostic setting."""
        return [None] if self.agnostic else [tuple(map(int, row)) for row in self.targets]

    @property
    def parts(self) -> int:
        """The number of outcomes of the distributions that define cases: elements, or cells in the agnostic setting."""
        return self.cells if self.agnostic else self.elements

    @cached_property
    def flipped(self) -> Fraction:
        """The noise, exactly."""
        return exactly(self.noise)

    def excess(self, target: tuple[int, ...] | None) -> np.ndarray:
        """``int64[h, l, parts]``: a hypothesis is good if no functional l of the distribution exceeds alpha."""
        wrong = self.functions[:, None, :] != np.array(self.table)[None]  # [f, c, elements]
        hypotheses = self.hypotheses
        if target is not None:
            return np.stack([wrong[hypotheses[:, j], target[j]] for j in range(self.k)], axis=1).astype(np.int64)
        labels = np.arange(self.cells) % (1 << self.k)
        excesses = []
        for j in range(self.k):
            bit = (labels >> j & 1)[None]
            of_function = np.repeat(self.functions, 1 << self.k, axis=1) != bit
            of_concept = np.repeat(np.array(self.table), 1 << self.k, axis=1) != bit
            excesses.append(of_function[hypotheses[:, j], None].astype(np.int64) - of_concept[None])
        return np.concatenate(excesses, axis=1)

    def case(self, target: tuple[int, ...] | None, elements: Sequence[int]) -> Case:
        """The case of a target and whole masses of the elements; without a target, of the cells.

        InputError for a target that is not one of the goal, and for anything but `parts` whole masses, not all 0.
        """
        self._require(target, elements)
        total = sum(elements)
        errors = self.excess(target) @ np.array(elements, object)
        alpha = exactly(self.alpha)
        good = np.all(errors * alpha.denominator <= alpha.numerator * total, axis=1)
        masses = list(elements) if target is None else self._masses(target, elements)
        return Case(tuple(map(int, masses)), tuple(map(bool, good)), target, tuple(map(int, elements)))

    def _require(self, target: tuple[int, ...] | None, elements: Sequence[int]) -> None:
        concepts = len(self.table)
        numbers = () if target is None else target
        known = len(numbers) == self.k and all(0 <= number < concepts for number in numbers)
        if self.agnostic != (target is None) or not (self.agnostic or known):
            expected = "None in the agnostic setting" if self.agnostic else f"{self.k} of {concepts} concepts"
            raise InputError("target", expected, str(target), "take a case of this goal")
        if len(elements) != self.parts or any(mass < 0 or mass != int(mass) for mass in elements) or not any(elements):
            whole = f"{self.parts} whole masses, not all 0"
            raise InputError("distributions", whole, str(list(elements)), "give a mass of each outcome")

    def _masses(self, target: tuple[int, ...], elements: Sequence[int]) -> list[int]:
        return [mass * share for x, mass in enumerate(elements) for share in self.shares(target, x)]

    def shares(self, target: tuple[int, ...], element: int) -> list[int]:
        """The conditional probability of each list of labels of an element, in units of ``denominator^k``."""
        flip = self.flipped
        right = [self.table[concept][element] for concept in target]
        shares = []
        for labels in range(1 << self.k):
            wrong = sum((labels >> j & 1) != right[j] for j in range(self.k))
            shares.append(flip.numerator**wrong * (flip.denominator - flip.numerator) ** (self.k - wrong))
        return shares

    def on_grid(self, grid: int) -> list[Case]:
        """The cases of all targets and of all distributions whose probabilities are multiples of 1 / grid."""
        checks.integer("grid", grid, 1)
        targets = self.each_target
        if (count := comb(grid + self.parts - 1, grid) * len(targets)) > _MOST:
            actual = f"{count}: {len(targets)} targets and multiples of 1/{grid} on {self.parts} outcomes"
            raise InputError("grid", f"at most {_MOST} cases", actual, "take a coarser grid")
        steps = Databases(grid, self.parts).counts.tolist()
        return [self.case(target, counts) for target in targets for counts in steps]
