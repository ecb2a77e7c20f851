"""Amplification by subsampling against exact laws, enumerated over every sample."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpjax.accounting import (
    hockey_stick,
    poisson,
    poisson_pair,
    secrecy_of_the_sample,
    secrecy_pair,
    special_mass,
    with_replacement,
    with_replacement_pair,
    without_replacement,
    without_replacement_pair,
)
from dpjax.accounting.subsampling import with_replacement_base
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring


def report(sample, epsilon, leak):
    """An (epsilon, leak)-private law: each record by randomized response, and with probability ``leak`` in clear."""
    truth = 1 / (1 + math.exp(-epsilon))
    outcomes = list(itertools.product((0, 1), repeat=len(sample)))
    noisy = np.array(
        [math.prod(truth if o == s else 1 - truth for o, s in zip(out, sample, strict=False)) for out in outcomes]
    )
    clear = np.array([float(out == tuple(sample)) for out in outcomes])
    return np.concatenate([(1 - leak) * noisy, leak * clear])


def mixture(database, samples, epsilon, leak):
    """The law of the report on a random sample; ``samples`` lists (indices, probability)."""
    total = sum(chance * report([database[i] for i in index], epsilon, leak) for index, chance in samples)
    with np.errstate(divide="ignore"):
        return np.log(total)


def assert_private(log_p, log_q, pair):
    epsilon, delta = pair
    assert hockey_stick(log_p, log_q, epsilon) <= delta + 1e-13
    assert hockey_stick(log_q, log_p, epsilon) <= delta + 1e-13


@pytest.mark.parametrize(("epsilon", "leak"), [(0.3, 0.0), (1.0, 0.0), (2.5, 0.0), (0.5, 0.01), (1.5, 0.2)])
@pytest.mark.parametrize(("rows", "draws"), [(2, 1), (4, 2), (4, 4), (5, 3)])
def test_without_replacement_on_every_subset(epsilon, leak, rows, draws):
    samples = [(index, 1 / math.perm(rows, draws)) for index in itertools.permutations(range(rows), draws)]
    pair = without_replacement_pair(epsilon, leak, draws, rows)
    for rest in itertools.product((0, 1), repeat=rows - 1):
        log_p, log_q = (mixture((bit, *rest), samples, epsilon, leak) for bit in (0, 1))
        assert_private(log_p, log_q, pair)


def test_without_replacement_needs_a_random_order():
    """A subset kept in the order of the rows: one row in or out moves all later ones, and the claim is exceeded."""
    rows, draws, epsilon = 4, 2, 1.0
    samples = [(index, 1 / math.comb(rows, draws)) for index in itertools.combinations(range(rows), draws)]
    claimed, _ = without_replacement_pair(epsilon, 0.0, draws, rows)
    spent = 0.0
    for rest in itertools.product((0, 1), repeat=rows - 1):
        log_p, log_q = (mixture((bit, *rest), samples, epsilon, 0.0)[: 2**draws] for bit in (0, 1))
        spent = max(spent, float(np.max(np.abs(log_p - log_q))))
    assert spent > 1.03 * claimed


@pytest.mark.parametrize(("epsilon", "leak"), [(0.3, 0.0), (2.0, 0.0), (1.0, 0.05)])
@pytest.mark.parametrize(("rows", "draws"), [(3, 2), (2, 4), (4, 3)])
def test_with_replacement_on_every_sequence(epsilon, leak, rows, draws):
    """Random weights, different on the two databases."""
    rng = np.random.default_rng(5)
    for _ in range(4):
        weights = rng.dirichlet(np.ones(rows))
        moved = 0.7 * weights + 0.3 * rng.dirichlet(np.ones(rows))
        pair = with_replacement_pair(epsilon, leak, draws, special_mass(weights, moved, index=0))
        rest = tuple(rng.integers(0, 2, rows - 1))
        laws = []
        for bit, mass in ((0, weights), (1, moved)):
            samples = [(i, math.prod(mass[list(i)])) for i in itertools.product(range(rows), repeat=draws)]
            laws.append(mixture((bit, *rest), samples, epsilon, leak))
        assert_private(*laws, pair)


@pytest.mark.parametrize(("epsilon", "rows", "draws"), [(0.5, 10, 3), (1.0, 1600, 100), (3.0, 5, 8)])
def test_with_replacement_is_attained(epsilon, rows, draws):
    """A base whose log-probability is linear in the number of special records."""
    base = 0.05 * math.exp(-draws * epsilon)
    count = np.arange(draws + 1)
    law = np.array([math.comb(draws, k) for k in count]) * rows ** (-1.0 * count) * (1 - 1 / rows) ** (draws - count)
    hit = base * np.sum(law * np.exp(count * epsilon))
    spent, delta = with_replacement_pair(epsilon, 0.0, draws, 1 / rows)
    assert spent == pytest.approx(math.log(hit / base), rel=1e-9)
    assert delta == 0


@pytest.mark.parametrize(("epsilon", "rows", "draws"), [(0.5, 10, 3), (1e-6, 1600, 100), (50.0, 1600, 1)])
def test_without_replacement_is_attained(laws, epsilon, rows, draws):
    """The base says by randomized response whether the special record is there."""
    (one, zero), _ = laws.response(epsilon)
    rate = draws / rows
    top = np.logaddexp(math.log(rate) + one, math.log1p(-rate) + zero)
    assert without_replacement_pair(epsilon, 0.0, draws, rows)[0] == pytest.approx(top - zero, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0])
def test_poisson_on_every_subset(rate):
    """A noisy count of three rows against two, under add-or-remove-one."""
    epsilon, leak, size = 0.8, 0.03, 60
    noise = np.exp(-epsilon * np.abs(np.arange(-size, size + 4)))
    noise /= noise.sum()

    def law(rows):
        total = np.zeros(2 * noise.size)
        for kept in range(rows + 1):
            chance = math.comb(rows, kept) * rate**kept * (1 - rate) ** (rows - kept)
            clear = np.eye(1, noise.size, kept)[0]
            total += chance * np.concatenate([(1 - leak) * np.roll(noise, kept), leak * clear])
        with np.errstate(divide="ignore"):
            return np.log(total)

    spent, delta = poisson_pair(epsilon, leak, rate)
    assert hockey_stick(law(3), law(2), spent) <= delta + 1e-13  # the window is cut at e^-48
    assert hockey_stick(law(2), law(3), spent) <= delta + 1e-13


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.floats(1e-6, 50), st.floats(0, 0.1), st.integers(1, 300), st.integers(0, 300), st.integers(0, 50))
def test_amplifies_and_is_monotone(epsilon, delta, draws, spare, more):
    rows = draws + spare
    spent = without_replacement_pair(epsilon, delta, draws, rows)
    assert spent[0] <= epsilon * (1 + 1e-12)
    assert spent[1] <= delta
    assert without_replacement_pair(epsilon, delta, draws, rows + more)[0] <= spent[0]
    independent = with_replacement_pair(epsilon, delta, draws, 1 / rows)
    assert independent[0] >= spent[0] * (1 - 1e-12)
    assert with_replacement_pair(epsilon, delta, draws + more, 1 / rows)[0] >= independent[0]
    assert with_replacement_pair(2 * epsilon, delta, draws, 1 / rows)[0] >= independent[0]


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.floats(1e-6, 1), st.floats(1e-15, 1e-3), st.integers(1, 500), st.integers(0, 5000))
def test_the_corrected_lemma_is_implied(epsilon, delta, draws, spare):
    rows = 2 * draws + spare
    sharp, lemma = with_replacement_pair(epsilon, delta, draws, 1 / rows), secrecy_pair(epsilon, delta, draws, rows)
    assert sharp[0] <= lemma[0]
    assert sharp[1] <= lemma[1]
    printed = secrecy_pair(epsilon, delta, draws, rows, "printed")
    assert printed[0] >= 12 * epsilon
    assert printed[1] >= 8 * delta


def test_numbers_of_the_lemma():
    """n draws from 9n rows: the corrected lemma keeps (epsilon, delta), as the theorem that uses it needs."""
    assert secrecy_pair(1.0, 1e-6, 100, 900)[0] == pytest.approx(2 / 3)
    assert secrecy_pair(1.0, 1e-6, 100, 900)[1] == pytest.approx(4 * math.exp(2 / 3) / 9 * 1e-6)
    assert secrecy_pair(1.0, 0.0, 100, 900, "printed") == (54.0, 0.0)
    assert with_replacement_pair(1.0, 0.0, 100, 1 / 1600)[0] == pytest.approx(0.10733, abs=1e-5)


def test_special_mass_against_its_definition():
    rng = np.random.default_rng(6)
    first, second = rng.dirichlet(np.ones(6), 2)
    each = [1 - sum(min(first[i], second[i]) for i in range(6) if i != j) for j in range(6)]
    for j in range(6):
        assert special_mass(first, second, j) == pytest.approx(each[j])
    assert special_mass(first, second) == pytest.approx(max(each))
    assert special_mass(first) == pytest.approx(first.max())
    assert special_mass(np.full(10, 0.1)) == pytest.approx(0.1)
    assert special_mass([1.0, 0.0], [0.0, 1.0]) == 1.0


def test_trees(laws):
    base = laws.guarantee(1.0, 1e-6, rho=0.5)
    whole = without_replacement(base, 100, 1000)
    assert (whole.epsilon, whole.delta) == without_replacement_pair(1.0, 1e-6, 100, 1000)
    assert whole.parts == (base,)
    assert whole.rho is None
    assert with_replacement(base, 10, rows=90).epsilon == with_replacement_pair(1.0, 1e-6, 10, 1 / 90)[0]
    assert with_replacement(base, 10, mass=0.2).epsilon == with_replacement_pair(1.0, 1e-6, 10, 0.2)[0]
    assert secrecy_of_the_sample(base, 10, 90).delta == secrecy_pair(1.0, 1e-6, 10, 90)[1]
    added = laws.guarantee(1.0, 1e-6, neighboring=Neighboring.ADD_OR_REMOVE_ONE)
    assert poisson(added, 0.1).epsilon == poisson_pair(1.0, 1e-6, 0.1)[0]


@pytest.mark.parametrize(
    "call",
    [
        lambda part: without_replacement(part(1.0), 11, 10),
        lambda part: without_replacement(part(1.0), 0, 10),
        lambda part: without_replacement(part(1.0, neighboring=Neighboring.ADD_OR_REMOVE_ONE), 1, 10),
        lambda part: with_replacement(part(1.0, distance=2), 1, 10),
        lambda part: with_replacement(part(1.0), 3),
        lambda part: with_replacement(part(1.0), 3, rows=10, mass=0.1),
        lambda part: with_replacement(part(5.0, 0.1), 300, mass=1.0),
        lambda part: secrecy_of_the_sample(part(1.0), 6, 11),
        lambda part: secrecy_of_the_sample(part(1.1), 5, 11),
        lambda part: secrecy_of_the_sample(part(1.0), 5, 11, "upside down"),
        lambda part: poisson(part(1.0), 0.1),
        lambda part: poisson_pair(1.0, 0.0, 0.0),
        lambda part: with_replacement_pair(1.0, 0.0, 3, 1.5),
        lambda part: special_mass([0.5, 0.6]),
        lambda part: special_mass([0.5, 0.5], [1.0]),
        lambda part: special_mass([0.5, 0.5], index=2),
    ],
)
def test_bad_input(laws, call):
    with pytest.raises(InputError):
        call(laws.guarantee)


@pytest.mark.parametrize("mass", [1.0, 0.3, 1 / 1234.5, 1e-9])
@pytest.mark.parametrize(("epsilon", "delta", "draws"), [(1.0, 0.0, 7), (0.01, 1e-12, 1), (300.0, 1e-6, 40)])
def test_the_base_for_a_mass_is_the_inverse(epsilon, delta, draws, mass):
    base, base_delta = with_replacement_base(epsilon, delta, draws, mass=mass)
    whole, whole_delta = with_replacement_pair(base, base_delta, draws, mass)
    assert 0.999 * epsilon < whole <= epsilon and whole_delta <= delta
    assert with_replacement_base(epsilon, delta, draws, 4) == with_replacement_base(epsilon, delta, draws, mass=0.25)


@pytest.mark.parametrize("how", [{}, {"rows": 3, "mass": 0.5}, {"mass": 0.0}, {"mass": 1.5}, {"rows": 0}])
def test_the_base_needs_rows_or_a_mass(how):
    with pytest.raises(InputError):
        with_replacement_base(1.0, 0.0, 3, **how)
