"""Tasks on which learning with error alpha is hardest for the class.

A function here with parameters ``concepts``, whose annotation is the class, and ``alpha``, and no other one without a
default, is one of the workloads of `workloads.hard_tasks`.
"""

from collections.abc import Sequence

import numpy as np

from dpjax.concepts import Finite, Multiclass, Points, PointSets, ProductCube, Thresholds, Tree, distributions
from dpjax.concepts.literals import OfLiterals
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.experiments.sweep.task import Task

_UNIT = 2**40
_FIRST, _SECOND = 0.85, 0.97  # the fractions of ln(width) / rate with the most failures


def hard_points(concepts: Points, alpha: float, noise: float = 0.0) -> Task:
    """`distributions.adversarial_points`: missing the target has error above alpha; the targets are the atoms."""
    return Task(concepts, distributions.adversarial_points(concepts.domain, alpha), noise=noise)


def hard_elements(concepts: Finite | Tree, alpha: float) -> Task:
    """`distributions.adversarial_finite`: as many elements above alpha as there can be, and the rest on element 0.

    A hypothesis that is wrong on one of these elements has error above alpha; the targets are spread over the class.
    """
    return Task(concepts, distributions.adversarial_finite(concepts.domain, alpha))


def hard_literals(concepts: OfLiterals, alpha: float) -> Task:
    """The AND (or OR) of m literals, each of which alone decides on mass above alpha, for the largest m for which there
    is such a product distribution; the other coordinates are uniform.

    Each of the m coordinates decides the label by itself with probability 1/m, and all others leave it open with
    probability (1 - 1/m)^(m - 1): a hypothesis without one of the literals has error above alpha. InputError for an
    alpha so large that there is none.
    """
    alone = [(1 - 1 / m) ** (m - 1) / m for m in range(2, concepts.dimension + 1)]
    if not (fits := [m for m, mass in enumerate(alone, 2) if mass > 1.01 * checks.probability("alpha", alpha)]):
        actual = f"{alpha!r} for {concepts.dimension} coordinates"
        raise InputError("alpha", "below 0.2475, with two coordinates or more", actual, "choose a smaller alpha")
    m = max(fits)
    chance = 1 / m if concepts.label else 1 - 1 / m
    law = ProductCube.of([chance] * m + [0.5] * (concepts.dimension - m))
    number = sum(1 << concepts.dimension + i for i in range(m))
    limbs = [number >> 32 * i & 0xFFFFFFFF for i in reversed(range(concepts.limbs))]
    return Task(concepts, law, np.array([limbs], np.uint32))


def hard_point_sets(concepts: PointSets, alpha: float) -> Task:
    """`distributions.adversarial_points`: missing an element of the target has error above alpha; the targets are sets
    of atoms."""
    return Task(concepts, distributions.adversarial_points(concepts.domain, alpha))


def hard_thresholds(concepts: Thresholds, alpha: float, noise: float = 0.0) -> Task:
    """`distributions.adversarial_thresholds`, whose target is its only good threshold, index size / 2 - 1."""
    law = distributions.adversarial_thresholds(concepts.domain, alpha)
    return Task(concepts, law, [concepts.domain.size // 2 - 1], noise)


def low_thresholds(concepts: Thresholds, alpha: float) -> Task:
    """As `hard_thresholds`, a third of the way up: against learners that answer the middle when they know nothing."""
    place = max(2, concepts.domain.size // 3)
    return Task(concepts, distributions.adversarial_thresholds(concepts.domain, alpha, place), [place - 1])


def gapped_thresholds(concepts: Thresholds, alpha: float, steps: int = 1024) -> Task:
    """Thresholds of which ``steps`` adjacent ones from size / 2 on are good, and no row is near them on either side.

    These elements share mass 1.01 alpha equally, and the first and the last element have half of the rest each; the
    target is the last of the steps. Of the private depths of `learners.ImproperVC1` half are too small and nearly
    half too large, and no depth within the steps has many rows of its own. steps: in 1..size / 4.
    """
    size = concepts.domain.size
    checks.integer("steps", steps, 1, size // 4)
    checks.probability("alpha", alpha)
    each = -(-101 * round(_UNIT * alpha) // (100 * steps))
    first, rest = size // 2, _UNIT - each * steps
    segments = [(0, 0, rest - rest // 2), (first, first + steps - 1, each), (size - 1, size - 1, rest // 2)]
    return Task(concepts, distributions.from_segments(concepts.domain, segments), [first + steps - 1])


def nested_thresholds(concepts: Thresholds, alpha: float, levels: int) -> Task:
    """Rows near the target part from it at many depths of their binary digits.

    One element parts from the target at each depth, to the left and to the right in turn; the elements of either side
    share mass 1.01 alpha equally, and the first and the last element of the domain have half of the rest each. A
    threshold beyond all of one side's elements has error above alpha.

    levels: 1, depths spread evenly over the digits, or 2, depths that part from one another at many depths as well
    (half of the digits, with each power of two added and taken away), so that both levels of a recursion on common
    prefixes have many candidates. Digits are those below the largest power of two in the domain's size; the number of
    elements a side grows with the logarithm of the number of digits. 32 elements or more, alpha at most .49.
    """
    size = concepts.domain.size
    checks.integer("levels", levels, 1, 2)
    if size < 32:
        raise InputError("concepts", "a domain of 32 elements or more", f"{size}", "take a larger domain")
    if checks.probability("alpha", alpha) > 0.49:
        raise InputError("alpha", "at most 0.49", repr(alpha), "two sides of mass 1.01 alpha have to fit")
    bits = size.bit_length() - 1
    powers = [2**j for j in range(bits.bit_length()) if 2**j < bits // 2]
    count = 2 * len(powers)
    nested = sorted(bits // 2 + move for power in powers for move in (-power, power))
    even = [1 + i * (bits - 2) // (count - 1) for i in range(count)]
    lower = [bits - 1 - depth for depth in (even, nested)[levels - 1]]  # digits below the one where an element parts
    target = sum(1 << digits for digits in lower[::2])
    elements = [(target >> digits ^ 1) << digits | (1 << digits) - 1 for digits in lower]
    each = -(-101 * round(_UNIT * alpha) // (100 * len(powers)))
    rest = _UNIT - each * count
    law = distributions.from_weights(
        concepts.domain, [*elements, 0, size - 1], [each] * count + [rest - rest // 2, rest // 2]
    )
    return Task(concepts, law, [target])


def wrong_children(alpha: float) -> int:
    """The number of nodes, besides one, that can each have mass 1.01 alpha."""
    return int(1 / (1.01 * checks.probability("alpha", alpha)) * (1 + 1e-12)) - 1


def hard_tree(concepts: Tree, alpha: float) -> Task:
    """A tree task with an improper node all of whose children but the first have error above alpha.

    The improper node u is the first of those with the most children, at most 1 + `wrong_children` (alpha). The target
    is the first proper node below the first child. Each other child has mass 1.01 alpha, labeled 0, and u the rest, at
    least 1.01 alpha, labeled 1. A learner has to find u or a node at or below the first child; u is not a concept of
    the class, so a proper learner must also choose the right child.

    InputError for a class whose improper nodes all have more children, or that has none (all nodes are proper).
    """
    wrong = wrong_children(alpha)
    counts = np.bincount(concepts.parent[1:], minlength=concepts.size)
    fits = ~concepts.proper & (counts <= wrong + 1)
    if not fits.any():
        advice = "choose another tree, or a smaller alpha"
        raise InputError("concepts", f"a tree with an improper node of {wrong + 1} children or fewer", "none", advice)
    node = int(np.argmax(np.where(fits, counts, 0)))
    first, *others = concepts.child[concepts.child_start[node] : concepts.child_start[node + 1]].tolist()
    each = -(-101 * round(_UNIT * alpha) // 100)
    masses = {node: _UNIT - each * len(others)} | dict.fromkeys(others, each)
    place = concepts.place.tolist()
    law = distributions.from_weights(concepts.domain, [place.index(v) for v in masses], list(masses.values()))
    return Task(concepts, law, [int(concepts.following[first])])


def hard_chain(concepts: Tree, alpha: float) -> Task:
    """A tree task with a run of improper nodes, all of whose children beside the run have error above alpha.

    The run is the longest one with at most `wrong_children` (alpha) children beside it, each node the first improper
    child of the one before. Its first node has the rest of the mass, at least 1.01 alpha, labeled 1, and each child
    beside the run 1.01 alpha, labeled 0. The target is the first concept at or below the last node's first child. From
    the first node on, a proper learner has to choose the right child at each node of the run.

    InputError for a class without such a run of two nodes or more.
    """
    wrong = wrong_children(alpha)
    runs = [_run(concepts, int(top), wrong) for top in np.flatnonzero(~concepts.proper)]
    run, beside, last = max(runs, key=lambda entry: len(entry[0]), default=([], [], 0))
    if len(run) < 2:
        expected = f"a tree with two improper nodes, one the other's parent, of {wrong + 2} children or fewer"
        raise InputError("concepts", expected, "none", "choose another tree, or a smaller alpha")
    each = -(-101 * round(_UNIT * alpha) // 100)
    masses = {run[0]: _UNIT - each * len(beside)} | dict.fromkeys(beside, each)
    place = concepts.place.tolist()
    law = distributions.from_weights(concepts.domain, [place.index(v) for v in masses], list(masses.values()))
    return Task(concepts, law, [int(concepts.following[last])])


def hard_bits(bits: int, alpha: float, wrong: int = 1) -> Task:
    """All labelings whose bit i is free at element i and 0 elsewhere: 2^bits concepts with as many labels.

    A hypothesis with free bits wrong at ``wrong`` of these elements, or more, has error above alpha; with fewer it is
    good. wrong: in 1..bits. InputError if the elements' masses, 1.01 alpha / wrong each, exceed 1 together.
    """
    checks.integer("bits", bits, 1, 12)
    each, rest = _masses(bits, checks.integer("wrong", wrong, 1, bits), alpha)
    free = np.arange(1 << bits)[:, None] & (1 << np.arange(bits))
    concepts = Multiclass.of(np.pad(free, ((0, 0), (0, 1))), labels=1 << bits)
    law = distributions.from_weights(concepts.domain, range(bits + 1), [each] * bits + [rest])
    return Task(concepts, law)


def hard_label(bits: int, alpha: float) -> Task:
    """A free label 0..2^bits - 1 at element 0, of mass 1.01 alpha, and 0 at element 1: 2^bits concepts.

    A hypothesis with another label at element 0 has error above alpha, whichever bit of it is wrong. bits: in 1..16.
    """
    checks.integer("bits", bits, 1, 16)
    each, rest = _masses(1, 1, alpha)
    concepts = Multiclass.of(np.pad(np.arange(1 << bits)[:, None], ((0, 0), (0, 1))), labels=1 << bits)
    return Task(concepts, distributions.from_weights(concepts.domain, range(2), [each, rest]))


def hard_threshold_bits(bits: int, alpha: float, wrong: int = 1, elements: int = 15) -> Task:
    """Labels whose bits are independent thresholds 1[x >= t], t in 0..elements: (elements + 1)^bits concepts.

    The target of bit i is t = 2 i + 2, with mass 1.01 alpha / wrong on each of t - 1 and t, and the rest on the first
    and the last element. A hypothesis with ``wrong`` wrong bits or more has error above alpha. wrong: in 1..bits; bits
    in 1..(elements - 2) / 2; at most 2^16 concepts.
    """
    checks.integer("elements", elements, 4)
    checks.integer("bits", bits, 1, min((elements - 2) // 2, int(np.log(2**16) / np.log(elements + 1) + 1e-9)))
    each, rest = _masses(2 * bits, checks.integer("wrong", wrong, 1, bits), alpha)
    cuts = np.indices((elements + 1,) * bits).reshape(bits, -1)  # the threshold of each bit in each concept
    labels = sum((np.arange(elements) >= cut[:, None]) << i for i, cut in enumerate(cuts))
    concepts = Multiclass.of(labels, labels=1 << bits)
    law = distributions.from_weights(
        concepts.domain, [*range(1, 2 * bits + 1), 0, elements - 1], [each] * (2 * bits) + [rest - rest // 2, rest // 2]
    )
    target = np.flatnonzero((2 * np.arange(bits) + 2 == cuts.T).all(axis=1))
    return Task(concepts, law, target)


def hard_splits(n: int, bits: int, rates: Sequence[float]) -> list[int]:
    """n numbers of ``bits`` bits, ascending, on which three-way splits by private medians leave parts too large.

    Of the parts two levels before the last, all equal, each consists of five values: its first median is tempted to
    the right by a wide gap whose rank is too large by an excess D1, and the next one then to the left, by excess D2.
    Either excess is a fraction of ln(width of the gap) / rate, where such a gap is as likely as the good answers. The
    last part then has D1 / 2 + D2 rows too many, all in three adjacent values, with wide gaps on both sides.

    Args:
      bits: at least 8 more than levels. rates: the inverse temperature of each level's medians, the root first; two or
        more.
    """
    levels = len(rates)
    checks.integer("levels", levels, 2)
    checks.integer("bits", bits, levels + 8)
    parts = 2 ** (levels - 2)
    width, wanted = 2**bits // parts, (bits - levels) * np.log(2) / np.asarray(rates[-2:], float)
    rows: list[int] = []
    for part in range(parts):
        count = (part + 1) * n // parts - part * n // parts
        low, high = part * width + width // 16, (part + 1) * width - 1 - width // 16
        middle = (low + high) // 2
        right = min(int(_FIRST * wanted[0]), count // 2)
        left = min(int(_SECOND * wanted[1]), (count - count // 2 + right) // 2)
        beyond, kept = count // 2 - right, count - count // 2 + right
        before = kept // 2 - left
        counts = (before, left, kept - before - left - right, right, beyond)
        rows += np.repeat([low, middle - 2, middle - 1, middle, high], counts).tolist()
    return rows


def _run(tree: Tree, top: int, most: int) -> tuple[list[int], list[int], int]:
    """Improper nodes from ``top`` down with at most ``most`` children beside them, these, and the node that follows."""
    run: list[int] = []
    beside: list[int] = []
    node = top
    while not tree.proper[node]:
        children = tree.child[tree.child_start[node] : tree.child_start[node + 1]].tolist()
        following = next((child for child in children if not tree.proper[child]), children[0])
        others = [child for child in children if child != following]
        if len(beside) + len(others) > most:
            break
        run.append(node)
        beside += others
        node = following
    return run, beside, node


def _masses(atoms: int, wrong: int, alpha: float) -> tuple[int, int]:
    """Units of each of the atoms, 1.01 alpha / wrong, and of the rest."""
    each = -(-101 * round(_UNIT * checks.probability("alpha", alpha)) // (100 * wrong))
    rest = _UNIT - atoms * each
    if rest < 2:
        most = wrong / (1.01 * atoms)
        raise InputError(
            "alpha", f"below {most:.4g} for {atoms} atoms", repr(alpha), "choose a smaller alpha, or more wrong bits"
        )
    return each, rest
