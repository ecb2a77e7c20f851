"""Statements of Yan 2025 that nothing here computes with, on random cases: Theorem 5, Lemma 2, Corollary 1, Claim 1 and
Fact 1."""

import math

import jax
import numpy as np
import pytest
from scipy.stats import binom

from dpjax.accounting.numeric.profile import hockey_stick
from dpjax.dimensions import littlestone_dimension, vc_dimension
from dpjax.mechanisms.median import rank_quality
from dpjax.theory.improper_thresholds import log_star


@pytest.fixture
def generator():
    return np.random.default_rng(7)


def test_processing_spends_nothing(generator):
    """Theorem 5: the hockey stick of two laws never grows by a random function of the outcome."""
    for _ in range(200):
        laws = generator.dirichlet(np.full(5, 0.4), 2)
        after = laws @ generator.dirichlet(np.full(4, 0.4), 5)
        epsilon = generator.uniform(0, 3, 1)
        one, other = (float(hockey_stick(*np.log(each)[:, None], epsilon)[0]) for each in (laws, after))
        assert other <= one + 1e-12


def test_relabeling_keeps_the_dimensions(generator):
    """Lemma 2: C xor f has the VC and the Littlestone dimension of C, for f in C or not."""
    for _ in range(60):
        concepts = np.unique(generator.integers(0, 2, (generator.integers(2, 9), 4)), axis=0).astype(bool)
        other = concepts ^ generator.integers(0, 2, 4).astype(bool)
        for dimension in (vc_dimension, littlestone_dimension):
            assert dimension(concepts).value == dimension(other).value


def test_the_threshold_dimension_has_the_iterated_logarithm_of_the_littlestone_dimension():
    """Corollary 1, from TD <= 2^(d + 1): log* TD <= log* d + 2."""
    for d in [*range(2, 5000), 2**64, 2**1000]:
        assert 1 + log_star(d + 1) <= log_star(d) + 2


@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.4])
def test_few_rows_below_a_good_node(alpha):
    """Claim 1: more than 2 alpha N of N rows in a part of mass alpha have probability at most e^(-alpha N / 3)."""
    for rows in (1, 10, 333, 10**5):
        assert binom.sf(math.floor(2 * alpha * rows), rows, alpha) <= math.exp(-alpha * rows / 3)


def test_every_multiset_has_a_median(generator):
    """Fact 1, as it is meant: a 0-median, at least half of the rows on either side, it included."""
    quality = jax.jit(jax.vmap(rank_quality, in_axes=(None, None, 0)))
    for count in range(1, 40):
        rows = generator.integers(0, 6, 40)[:, None].astype(np.uint32)
        assert quality(rows, np.arange(40) < count, np.arange(6, dtype=np.uint32)[:, None]).max() >= count / 2
