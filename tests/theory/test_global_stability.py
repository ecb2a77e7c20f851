"""The bounds of the globally stable learner and of the learner by irreducible classes."""

from fractions import Fraction
from itertools import pairwise
from math import ceil, exp, log, log2

import numpy as np
import pytest
from scipy.stats import binom

from dpjax.core.checks import InputError
from dpjax.theory import global_stability as stable
from dpjax.theory import irreducibility as irreducible
from dpjax.theory import version_spaces


def test_bounds_of_small_dimensions():
    assert stable.correct(3, 2) == pytest.approx((1, 0.375, 0.375**2 / 4, (0.375**2 / 4) ** 2 / 4))
    assert stable.levels(0, 1) == ((1.0,), 1.0)
    weights, eta = stable.levels(1, 1)
    assert weights == pytest.approx((1 / 3, 2 / 3)) and eta == pytest.approx(1 / 6)
    for d in range(1, 5):
        weights, eta = stable.levels(d, 2)
        bounds = stable.correct(d, 2)
        reached = [w * c / 2 for w, c in zip(weights[:-1], bounds[:-1], strict=True)] + [weights[-1] * bounds[-1]]
        assert sum(weights) == pytest.approx(1) and reached == pytest.approx([eta] * (d + 1))


def test_blocks_are_counted_by_the_recursion():
    assert [stable.blocks(d, 1) for d in range(4)] == [1, 3, 7, 15]
    assert [stable.blocks(d, 2) for d in range(4)] == [1, 5, 11, 23]
    assert [stable.best_attempts(d) for d in (1, 2)] == [1, 2]


@pytest.mark.parametrize("eta", [1 / 6, 0.0279, 1e-3])
def test_the_number_of_batches_is_the_least_that_its_proof_allows(eta):
    """The binomial tails themselves are below what the bounds give."""
    epsilon, delta, beta = 1.0, 1e-6, 0.05
    m = stable.batches(eta, epsilon, delta, beta)
    assert binom.cdf(eta * m / 2, m, eta) <= beta / 4
    gate = 1 + 2 / epsilon * log(1 / delta)
    assert exp(-epsilon / 2 * (eta * m / 2 - gate)) <= beta / 4
    assert m * exp(-epsilon / 2 * eta * m / 4) <= beta / 4
    each = eta / 16 * (1 - 1e-9)
    assert ceil(1 / each) * binom.sf(ceil(eta * m / 4) - 1, m, each) <= beta / 4
    less = stable.batches(eta, epsilon, delta, 0.2)
    assert less < m < stable.batches(eta, 0.5, delta, beta) + 1


def test_sizes_at_the_papers_accuracy():
    """Thresholds have d = 2 on 3 to 6 points; alpha = .1, beta = .05, epsilon = 1, delta = 1e-6."""
    sizes = {}
    for d in (1, 2, 3):
        attempts = stable.best_attempts(d)
        eta = stable.levels(d, attempts)[1]
        sizes[d] = (
            stable.blocks(d, attempts) * stable.block(eta, 0.1) * stable.batches(eta, 1.0, 1e-6, 0.05)
        )  # spec: 7.9e4, 8.9e6, 9.7e9 with equal levels and attempts at every level
    assert sizes[1] < 7.9e4 and sizes[2] < 3e6 and 1e8 < sizes[3] < 9.7e9


def test_sizes_of_irreducible_trees():
    found = irreducible.sizes(2, 7, 6, 0.1)
    assert found.depths == (0, 6, 6) and found.lengths == (7, 7, 7) and found.length == 21
    assert found.cuts == pytest.approx((0.05 / 3, 0.01, 0.01 / 3))
    assert found.keep == pytest.approx(0.06)
    found = irreducible.sizes(2, 1 << 20, None, 0.1, depth=1)
    assert found.depths == (0, found.first + 1, 3 * (found.first + 1))
    assert found.lengths == tuple(irreducible.growth(2, 1 << 20, found.first + depth) for depth in found.depths)
    few = irreducible.sizes(2, 1 << 20, None, 0.1, longest=lambda queries: None if queries < 10**5 else 6)
    assert few.lengths == (1 << 20, 6, 6) and few.first == found.first and few.second < found.second
    assert irreducible.irreducible_depth(0, 1, 4, 0.1) == 1


def test_sizes_of_infinite_classes():
    """Both conditions hold at the numbers and fail before; rows follow the dimension alone, about its fifth power."""
    for d in (1, 3, 64):
        r = irreducible.irreducible_depth(d, None, None, 0.1)
        caught = [2 * irreducible.growth(d, None, 2 * k) < 2 ** (k / 100) and k >= 400 for k in (r - 1, r)]
        assert caught == [False, True]
        n, top = irreducible.separating_rows(d, None, d + 1, 0.02, 0.05), 0.02
        failure = [log(8 * irreducible.growth(d, None, 2 * k)) - k * top / (16 * (d + 1) ** 2) for k in (n - 1, n)]
        assert failure[0] > log(0.05) >= failure[1]
    rows = [irreducible.rows(d, None, None, 1.0, 1e-6, 0.1, 0.1) for d in (1, 2, 32, 64)]
    assert 4e6 < rows[0] < 5e6 and 4.5 < log2(rows[3] / rows[2]) < 5.2
    assert irreducible.rows(2, 1 << 20, None, 1.0, 1e-6, 0.1, 0.1) < rows[1]
    assert irreducible.rows(2, 1 << 900, None, 1.0, 1e-6, 0.1, 0.1) == rows[1]
    assert irreducible.rows(1, None, None, 1.0, 1e-6, 0.01, 0.1) < 15 * rows[0]  # 1 / alpha, not its square
    assert irreducible.growth(2, None, 4) == 11 and irreducible.growth(2, 7, 4) == 7
    extreme = (
        irreducible.rows(3, None, None, 1e-9, 1e-300, 0.1, 1e-300),
        irreducible.rows(3, None, None, 1e9, 0.1, 0.1, 0.5),
    )
    assert extreme[0] > 1e18 > 1e10 > extreme[1]


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-3])
@pytest.mark.parametrize("alpha", [0.5, 0.1, 1e-3])
def test_a_matrix_that_fits_needs_fewer_rows_than_every_class(epsilon, delta, alpha):
    """`VersionSpace` for 2^64 concepts, against any class of dimension 1, and so of a larger one."""
    beta = 0.05
    own = version_spaces.batches(2**64, 1, epsilon, delta, alpha, beta)
    every = [irreducible.rows(d, None, None, epsilon, delta, alpha, beta) for d in (1, 2, 3)]
    assert own < every[0] < every[1] < every[2]


def test_from_how_many_functions_on_every_class_needs_fewer_rows():
    """As the proof page says for dimension 1."""
    numbers = 1.0, 1e-6, 0.1, 0.05
    every = irreducible.rows(1, None, None, *numbers)
    below, above = (version_spaces.batches(2**bits, 1, *numbers) for bits in (249551, 249552))
    assert below <= every < above


def test_batches_of_version_spaces_at_a_tiny_epsilon():
    """Against the bound in fractions, to first order in epsilon."""
    for concepts, batch_rows, alpha in ((2**64, 3, 1e-3), (2**2000, 1, 1e-3), (1000, 1, 1e-9)):
        found = version_spaces.batches(concepts, batch_rows, 1e-8, 0.5, alpha, 0.05)
        moved = (1 - (1 - Fraction(alpha)) ** batch_rows) * Fraction(1e-8) / 2
        assert found == pytest.approx(float((log(concepts - 1) - log(0.05)) / moved), rel=1e-6)


@pytest.mark.statistical
def test_rows_of_labels_by_their_multiclass_dimension():
    """The bits' dimensions add nothing but what the theorem says, and two labels are one bit of the same dimension."""
    goal = (1.0, 1e-6, 0.1, 0.1)
    assert irreducible.multiclass_rows(2, 2, *goal) == irreducible.rows(2, None, None, *goal)
    assert irreducible.bits_and_dimension(1, 3) == (2, 6) and irreducible.bits_and_dimension(2, 16) == (4, 33)
    assert irreducible.multiclass_rows(1, 3, *goal) == 2 * irreducible.rows(6, None, None, 1.0, 1e-6, 0.05, 0.05)
    with pytest.raises(InputError, match=r"6 d ln\(labels\) of at most 64, got 66"):
        irreducible.multiclass_rows(4, 16, *goal)
    for wrong in ((65, 2), (1, 1), (-1, 2)):
        with pytest.raises(InputError):
            irreducible.bits_and_dimension(*wrong)


def test_levels_are_separated_by_growth():
    """Thresholds on a line, d = 1 by their VC dimension: the empirical errors of all functions at once, 200 samples."""
    top, gaps = 0.2, 2
    n = irreducible.separating_rows(1, None, gaps, top, 0.05)
    generator, levels = np.random.default_rng(3), [top, top / 2, 0.0]
    cuts = [(high + low) / 2 for high, low in pairwise(levels)]
    for _ in range(200):
        rows = np.sort(generator.random(n))
        for (high, low), cut in zip(pairwise(levels), cuts, strict=True):
            error = np.searchsorted(rows, [low, high]) / n  # 1[x < t] against 0 errs t
            assert error[0] <= cut < error[1]


@pytest.mark.parametrize("d", [1, 2])
def test_a_batch_separates_the_levels(d):
    """Exact binomial tails at neighboring levels, over all concepts, are below the failure that is planned."""
    concepts, alpha = 12, 0.1
    found = irreducible.sizes(d, concepts, 11, alpha)
    top = alpha / 5
    levels = [top * (1 - j / (d + 1)) for j in range(d + 2)]
    bad = sum(
        binom.sf(cut * found.first, found.first, low) + binom.cdf(cut * found.first, found.first, high)
        for cut, high, low in zip(found.cuts, levels[:-1], levels[1:], strict=True)
    )
    assert concepts * bad <= irreducible.BAD
    loose = binom.sf(found.keep * found.second, found.second, 2 * top)
    tight = found.length * binom.cdf(found.keep * found.second, found.second, 5 * top)
    assert loose <= irreducible.BAD / 2 and tight <= irreducible.BAD / 2


def selects(m, length, epsilon, delta, votes, part=0.05 / 3):
    """By the exact binomial tail and the gate and loss of the selection: all three events are rare."""
    rate = epsilon / 2
    gate = 1 + log(length / min(delta, exp(rate) - 1)) / rate
    bad = binom.cdf(ceil(votes * m) - 1, m, irreducible.ETA)
    behind = ceil(votes * m) - log(m * length / part) / rate
    return bad <= part and exp(-rate * (ceil(votes * m) - gate)) <= part and behind > m - ceil(votes * m)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_batches_of_the_selection(epsilon):
    """As many as planned do, half as many do not."""
    for length in (1, 15, 10**6):
        m = irreducible.batches(length, epsilon, 1e-6, 0.05)
        part = [i / 200 for i in range(101, 200)]
        assert any(selects(m, length, epsilon, 1e-6, votes) for votes in part)
        assert not any(selects(m // 2, length, epsilon, 1e-6, votes) for votes in part)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: stable.levels(-1, 1),
        lambda: stable.levels(1, 0),
        lambda: stable.block(0.1, 1.5),
        lambda: stable.batches(0.1, 1.0, 0.0, 0.1),
        lambda: irreducible.sizes(1, 4, 3, 0.1, 0),
        lambda: irreducible.batches(0, 1.0, 1e-6, 0.1),
        lambda: irreducible.batches(1, 1.0, 1e-6, np.nan),
    ],
)
def test_wrong_numbers(wrong):
    with pytest.raises(InputError):
        wrong()


@pytest.mark.parametrize("d", [2, 64])
def test_a_class_that_cannot_be(d):
    """Dimension d needs 2^d concepts and d elements, with which the sizes are given."""
    assert irreducible.sizes(d, 2**d, d, 0.1).depths[-1] == d
    few, narrow = (
        rf"concepts: expected at least 2\^{d}, for dimension {d}, got",
        f"elements: expected .*{d}, got {d - 1}",
    )
    for concepts, elements, words in ((2**d - 1, None, few), (None, d - 1, narrow)):
        for wrong in (
            lambda *triple: irreducible.sizes(*triple, 0.1),
            lambda *triple: irreducible.irreducible_depth(*triple, 0.1),
            lambda *triple: irreducible.rows(*triple, 1.0, 1e-6, 0.1, 0.1),
        ):
            with pytest.raises(InputError, match=words):
                wrong(d, concepts, elements)
    for refused in (irreducible.growth, lambda *pair: irreducible.separating_rows(*pair, 0.1, 0.1)):
        with pytest.raises(InputError, match=few):
            refused(d, 2**d - 1, 2)


def test_parts_of_large_batches_are_exact():
    """float32 fractions of 2.6e8 rows were rows short."""
    from dpjax.concepts import Finite
    from dpjax.core.types import Accuracy
    from dpjax.lists import GloballyStable

    lists = GloballyStable(Finite.of([[i >> x & 1 for x in range(4)] for i in range(16)]), 8)
    ends = lists.plan(Accuracy(1e-5, 0.1)).ends
    rows = lists.rows(Accuracy(1e-5, 0.1))
    block = stable.block(lists.eta, 1e-5)
    assert rows == len(ends) * block > 2e8
    assert [-(-int(end) * rows // int(ends[-1])) for end in ends] == [block * (j + 1) for j in range(len(ends))]


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_gate_at_a_large_delta(epsilon):
    """The null candidate weighs by the lesser of delta and e^(epsilon / 2) - 1."""
    import jax
    import jax.numpy as jnp

    from dpjax.mechanisms import sparse_selection

    votes, delta = 10, 0.9
    law, _ = sparse_selection(jnp.zeros((votes, 1, 1), jnp.uint32), jnp.ones((votes, 1), bool), epsilon, delta)
    with jax.enable_x64(True):
        none = float(jnp.exp(law.log_probs()[-1]))
    rate = epsilon / 2
    gate = 1 + log(1 / min(delta, exp(rate) - 1)) / rate
    assert none <= exp(-rate * (votes - gate)) and none > 0.5 * min(1, exp(-rate * (votes - gate)))
