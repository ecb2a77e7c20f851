"""Exact audits by enumeration, and one way to compare draws with a law. All shared as the fixture ``audit``."""

import itertools
from functools import lru_cache
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import binom, chi2

from dpjax.accounting.numeric.profile import hockey_stick

FALSE_ALARM = 1e-6  # of each statistical test, over its fixed seed


@pytest.fixture(autouse=True)
def strict():
    """Nothing in the package may lean on implicit promotion of types or ranks."""
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


def histograms(votes, cells):
    """All ways to put exactly ``votes`` votes into ``cells`` cells, ``int32[count, cells]``."""
    bars = np.array(list(itertools.combinations(range(votes + cells - 1), cells - 1)), np.int32)
    edges = np.concatenate(
        [np.full((len(bars), 1), -1, np.int32), bars, np.full((len(bars), 1), votes + cells - 1, np.int32)], axis=1
    )
    return np.diff(edges, axis=1) - 1


def up_to(votes, cells):
    """All histograms of at most ``votes`` votes."""
    return np.concatenate([histograms(n, cells) for n in range(votes + 1)])


def moved(databases, moves, allowed=lambda old, new: np.all(new >= 0, axis=1)):
    """All ordered pairs (old, old + move) that are allowed."""
    old = np.repeat(databases, len(moves), axis=0)
    new = old + np.tile(np.asarray(moves, np.int32), (len(databases), 1))
    keep = allowed(old, new)
    return old[keep].astype(np.int32), new[keep].astype(np.int32)


def replace_one(databases):
    """One vote goes from a cell to another; symmetric, so one direction of the divergence is enough."""
    unit = np.eye(databases.shape[1], dtype=np.int32)
    return moved(databases, [unit[b] - unit[a] for a in range(len(unit)) for b in range(len(unit)) if a != b])


def add_or_remove_one(databases):
    """One vote more or one vote less."""
    unit = np.eye(databases.shape[1], dtype=np.int32)
    return moved(databases, np.concatenate([unit, -unit]))


def log_probs(law, databases, *numbers):
    """float64 log-probabilities of law(database, *numbers) for each database, the numbers float64 scalars."""
    with jax.enable_x64(True):
        numbers = [jnp.asarray(x, jnp.float64) for x in numbers]
        return np.asarray(_compiled(law, len(numbers))(jnp.asarray(databases), *numbers))


@lru_cache(maxsize=256)
def _compiled(law, numbers):
    """One program for each law and shape: privacy numbers are traced."""
    return jax.jit(jax.vmap(lambda d, *args: law(d, *args).log_probs(), (0,) + (None,) * numbers))


def both_sides(law, pairs, *numbers):
    """The laws of the two sides of all pairs, each distinct database looked at once."""
    rows, place = np.unique(np.concatenate(pairs), axis=0, return_inverse=True)
    both = log_probs(law, rows, *numbers)[place]
    return both[: len(pairs[0])], both[len(pairs[0]) :]


def delta(law, pairs, epsilon, *numbers):
    """The largest hockey-stick divergence at ``epsilon`` over the given ordered pairs, and the pair that attains it."""
    old, new = both_sides(law, pairs, *numbers)
    each = hockey_stick(old, new, epsilon)
    worst = int(np.argmax(each))
    return float(each[worst]), (pairs[0][worst].tolist(), pairs[1][worst].tolist())


def loss(law, pairs, *numbers):
    """The largest |log-ratio| of any outcome over the given pairs."""
    old, new = both_sides(law, pairs, *numbers)
    assert np.array_equal(np.isneginf(old), np.isneginf(new))
    return float(np.max(np.abs(np.where(np.isneginf(old), 0, old) - np.where(np.isneginf(new), 0, new))))


def draws(sample, count, seed=0):
    """``count`` keyed draws."""
    return np.asarray(jax.jit(jax.vmap(sample))(jax.random.split(jax.random.key(seed), count)))


def assert_law(outcomes, probabilities, no_answer=False):
    """Chi-square of drawn outcomes against a law; cells expected fewer than 10 times are pooled."""
    probabilities = np.asarray(probabilities, np.float64)
    probabilities = probabilities / probabilities.sum()
    outcomes = np.asarray(outcomes)
    if no_answer:
        outcomes = np.where(outcomes == -1, len(probabilities) - 1, outcomes)
    assert np.all((outcomes >= 0) & (outcomes < len(probabilities)))
    seen = np.bincount(outcomes, minlength=len(probabilities)).astype(np.float64)
    assert not np.any(seen[probabilities == 0])
    expected = probabilities * len(outcomes)
    rare = expected < 10
    if rare.any():
        tail = binom.sf(seen[rare].sum() - 1, len(outcomes), min(1.0, probabilities[rare].sum()))
        assert tail >= FALSE_ALARM
    statistic = np.sum((seen[~rare] - expected[~rare]) ** 2 / expected[~rare])
    assert chi2.sf(statistic, max(1, int((~rare).sum()) - 1)) >= FALSE_ALARM


def assert_frequency(hits, trials, probability):
    """Exact two-sided binomial test."""
    assert binom.sf(hits - 1, trials, probability) >= FALSE_ALARM / 2
    assert binom.cdf(hits, trials, probability) >= FALSE_ALARM / 2


@pytest.fixture(scope="session")
def audit():
    """The functions above."""
    return SimpleNamespace(
        histograms=histograms,
        up_to=up_to,
        moved=moved,
        replace_one=replace_one,
        add_or_remove_one=add_or_remove_one,
        log_probs=log_probs,
        delta=delta,
        loss=loss,
        draws=draws,
        assert_law=assert_law,
        assert_frequency=assert_frequency,
    )
