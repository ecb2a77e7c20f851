"""The learner by irreducible classes: sizes of its trees, lists and batches."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, comb, expm1, log

from dpjax.core import checks
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.host import host_functions
from dpjax.theory.search import log_over, smallest
from dpjax.theory.version_spaces import levels

BAD = 0.05  # probability that the first half of a batch misleads, and the same for the second
ETA = 1 - 2 * BAD  # probability that the stable candidate is on the list of a batch
_VOTES = tuple(percent / 100 for percent in range(55, 90))  # parts of all batches that are good, but for a rare event


@dataclass(frozen=True)
class Sizes:
    """What the theorem asks for.

    depths: of the trees below a labeling of the first half, one per level 0..d. lengths: the most candidates of each
    level. first, second: rows of the two halves of a batch. cuts: empirical errors up to which level j keeps concepts.
    keep: the largest error of a candidate on the second half.
    """

    depths: tuple[int, ...]
    lengths: tuple[int, ...]
    first: int
    second: int
    cuts: tuple[float, ...]
    keep: float

    @property
    def length(self) -> int:
        """The most candidates on a list."""
        return sum(self.lengths)


def _require_possible(dimension: int, concepts: int | None, elements: int | None = None) -> None:
    """InputError for a Littlestone dimension d above log2 |C| or N: a shattered tree has 2^d leaves, with a concept
    each, and d different elements on each path."""
    least = 1 << checks.integer("dimension", dimension, 0, 64)
    if concepts is not None and least > checks.integer("concepts", concepts, 1):
        advice = "lower the dimension, or omit the number of concepts (None)"
        raise InputError("concepts", f"at least 2^{dimension}, for dimension {dimension}", str(concepts), advice)
    if elements is not None and dimension > checks.integer("elements", elements, 1):
        advice = "lower the dimension, or omit the number of elements (None)"
        raise InputError("elements", f"at least the dimension, {dimension}", str(elements), advice)


def growth(dimension: int, concepts: int | None, elements: int) -> int:
    """The most ways in which a class of Littlestone dimension d labels so many elements, by Sauer's lemma: at most
    sum_{i <= d} C(elements, i), also for the leaves of trees of that depth; at most its number of concepts."""
    _require_possible(dimension, concepts)
    ways = sum(comb(checks.integer("elements", elements, 0), i) for i in range(dimension + 1))
    return ways if concepts is None else min(concepts, ways)


def irreducible_depth(dimension: int, concepts: int | None, elements: int | None, alpha: float) -> int:
    """r: a class that no tree of this depth reduces agrees with its optimal prediction on any r elements.

    A prediction farther than rho = alpha / 5 from every function of the class would be caught by r > ln |C| / rho
    random ones, and by r >= 8 / rho with 2 G(2 r) < 2^(rho r / 2), G the `growth`; all elements suffice. concepts,
    elements: None if there is no bound.
    """
    _require_possible(dimension, concepts, elements)
    checks.probability("alpha", alpha)

    def caught(r: int) -> bool:
        return alpha * r >= 40 and alpha / 10 * r * log(2) > log_over(2 * growth(dimension, concepts, 2 * r), 1.0)

    depths = [] if elements is None else [elements]
    if concepts is not None:
        depths.append(int(5 * log(concepts) / alpha) + 1)
    try:
        return min([*depths, smallest(caught)])
    except NoTheoremError:
        if not depths:
            raise
        return min(depths)


def separating_rows(dimension: int, concepts: int | None, gaps: int, top: float, bad: float) -> int:
    """As `version_spaces.levels`, for all functions of a class at once by their `growth` G on two samples.

    The relative deviations (p - q) / sqrt(p) and (q - p) / sqrt(q) of errors p and empirical errors q exceed t each
    with probability at most 4 G(2 n) exp(-n t^2 / 4) (Vapnik 1998; Anthony and Bartlett 1999, Section 5.5), and a level
    is misjudged only for t >= sqrt(top) / (2 gaps).
    """
    checks.integer("gaps", gaps, 1)
    rate = checks.probability("top", top) / (16 * gaps**2)
    checks.probability("bad", bad)
    return smallest(lambda n: n * rate >= log_over(8 * growth(dimension, concepts, 2 * n), bad))


def sizes(
    dimension: int,
    concepts: int | None,
    elements: int | None,
    alpha: float,
    depth: int | None = None,
    longest: Callable[[int], int | None] = lambda queries: None,
) -> Sizes:
    """For error alpha, from a class of Littlestone dimension d, with |C| concepts over N elements if these are known.

    Levels alpha_0 = alpha / 5 > ... > alpha_{d+1} = 0, which the empirical error separates with failure `BAD` over all
    concepts (the fewer rows of `version_spaces.levels` and `separating_rows`). With e, the most elements of the first
    half, the trees of level j have depth K_j = (2^j - 1)(e + r) below the e queries of those elements; a tree deeper
    than N does no more than one of depth N. A tree of e + K_j queries has at most `growth` leaves that are not empty.
    The second half keeps errors up to 3 alpha_0: the stable candidate has error at most 2 alpha_0, and none above
    5 alpha_0 is kept.

    With concepts and elements None all sizes are those of an infinite class: rows of order
    d^3 (d^2 + ln(1 / (beta delta))) / (epsilon alpha), up to logarithms of d and 1 / alpha.

    depth: r; by default `irreducible_depth`, and smaller numbers carry no promise. longest: `Versions.longest_list`, of
      e + K_j queries, where it is less than the growth. Proof:
      docs/proofs/irreducibility.md#levels and docs/proofs/irreducibility.md#sizes.
    Reference: after Ghazi, Golowich, Kumar, Manurangsi 2021; the learner and the constants are our own.
    """
    r = irreducible_depth(dimension, concepts, elements, alpha)
    if depth is not None:
        r = checks.integer("depth", depth, 1)
    top, gaps = alpha / 5, dimension + 1
    first = separating_rows(dimension, concepts, gaps, top, BAD)
    by_number, cuts = levels(1 if concepts is None else concepts, gaps, top, BAD)
    if concepts is not None:
        first = min(first, by_number)
    deepest = [] if elements is None else [elements]
    queried = min([first, *deepest])
    depths = tuple(min([(2**j - 1) * (queried + r), *deepest]) for j in range(dimension + 1))
    queries = [min([queried + k, *deepest]) for k in depths]
    lengths = tuple(min(filter(None, (growth(dimension, concepts, each), longest(each)))) for each in queries)
    second = ceil(max(14 / 3 * log(2 / BAD), 2.5 * log_over(2 * sum(lengths), BAD)) / top)
    return Sizes(depths, lengths, first, second, cuts, 3 * top)


def batches(length: int, epsilon: float, delta: float, beta: float) -> int:
    """Batches m for which the selected candidate was on a list of a good batch, with probability 1 - beta.

    Three events of probability beta / 3: fewer than v m batches are good (Chernoff; a batch is good with probability
    ETA = 9/10), so the stable candidate has fewer than v m votes; the selection abstains though it has them; the
    selected one, out of at most m times ``length`` names, is (2 v - 1) m votes or more behind, else it has more votes
    than there are bad batches. The best v.
    """
    checks.integer("length", length, 1)
    checks.epsilon(epsilon)
    checks.delta(delta, positive_for="a selection from lists")
    checks.probability("beta", beta)
    part, rate = beta / 3, epsilon / 2
    gate = 1 + log_over(length, min(delta, expm1(min(rate, 1.0)))) / rate  # e^1 - 1 is above every delta

    def least(votes: float) -> int:
        chance = votes * log(votes / ETA) + (1 - votes) * log((1 - votes) / (1 - ETA))

        def enough(m: int) -> bool:
            return (
                m * chance >= log(1 / part)
                and rate * (votes * m - gate) >= log(1 / part)
                and rate * (2 * votes - 1) * m > log_over(m * length, part)
            )

        # m / ln(m length / part) grows from 3 on; all other conditions are monotone
        return max(3, smallest(lambda m: enough(m + 2)) + 2)

    return min(map(least, _VOTES))


def rows(
    dimension: int, concepts: int | None, elements: int | None, epsilon: float, delta: float, alpha: float, beta: float
) -> int:
    """Rows in all for error alpha with probability 1 - beta; concepts and elements as in `sizes`."""
    numbers = sizes(dimension, concepts, elements, alpha)
    return (numbers.first + numbers.second) * batches(numbers.length, epsilon, delta, beta)


def bits_and_dimension(dimension: int, labels: int) -> tuple[int, int]:
    """Of a class with so many labels, >= 2, and of multiclass Littlestone dimension d: the number of bits of a label,
    and the dimension that no bit exceeds, 6 d ln(labels), or d for two labels.

    Reference: Bun, Gaboardi, Sivakumar 2021, Theorem 3.4.
    """
    checks.integer("dimension", dimension, 0, 64)
    checks.integer("labels", labels, 2, 2**64)
    return (labels - 1).bit_length(), dimension if labels == 2 else int(6 * dimension * log(labels))


def multiclass_rows(dimension: int, labels: int, epsilon: float, delta: float, alpha: float, beta: float) -> int:
    """Rows in all with which labels of a class of multiclass Littlestone dimension d are learned bit by bit, each bit
    from `rows` of its own at alpha and beta over the number of bits; the class may be infinite.

    dimension, labels: so that 6 d ln(labels) is below 65, or d itself for two labels; else InputError.

    Reference: Bun, Gaboardi, Sivakumar 2021, Corollary 3.5 with the numbers of our own learner.
    """
    bits, each = bits_and_dimension(dimension, labels)
    if each > 64:
        advice = "lower the dimension or the number of labels"
        raise InputError("dimension", "6 d ln(labels) of at most 64", f"{each}", advice)
    return bits * rows(each, None, None, epsilon, delta, alpha / bits, beta / bits)


host_functions(globals())
