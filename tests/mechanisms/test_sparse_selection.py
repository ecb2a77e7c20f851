"""Sparse selection: the tally of lists, and the exact hockey-stick divergence of neighboring families of lists."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core.checks import InputError
from dpjax.mechanisms import sparse_selection, sparse_selection_guarantee
from dpjax.mechanisms.sparse_selection import tally

NAMES, LISTS, LENGTH = 6, 4, 3


def family(generator, count):
    """Random lists of different lengths, with repetitions."""
    names = generator.integers(0, NAMES, (count, LISTS, LENGTH, 1)).astype(np.uint32)
    return names, generator.random((count, LISTS, LENGTH)) < generator.random((count, LISTS, 1))


def test_the_tally_counts_lists_and_not_entries():
    generator = np.random.default_rng(1)
    names, valid = family(generator, 50)
    for one, filled in zip(names, valid, strict=True):
        found = tally(jnp.asarray(one), jnp.asarray(filled))
        lists = [
            {int(name) for name, kept in zip(row[:, 0], keep, strict=True) if kept}
            for row, keep in zip(one, filled, strict=True)
        ]
        expected = {name: sum(name in own for own in lists) for name in range(NAMES)}
        counts = np.asarray(found.lists)
        listed = {int(name): int(c) for name, c in zip(found.names[:, 0], counts, strict=True) if c}
        assert listed == {name: c for name, c in expected.items() if c}
        assert np.all(np.diff(np.flatnonzero(counts)) == 1) and list(listed) == sorted(listed)


def test_names_of_two_words_are_told_apart():
    names = jnp.asarray([[[1, 0]], [[0, 1]], [[1, 0]]], jnp.uint32)
    found = tally(names, jnp.ones((3, 1), bool))
    assert found.names[:2].tolist() == [[0, 1], [1, 0]] and found.lists.tolist() == [1, 2, 0]


def by_name(names, valid, epsilon, delta):
    """The probability of each name, then of no answer, ``float64[NAMES + 1]``."""
    law, found = sparse_selection(names, valid, epsilon, delta)
    with jax.enable_x64(True):
        mass = jnp.exp(law.log_probs())
        place = jnp.where(found.lists > 0, found.names[:, 0].astype(jnp.int32), NAMES)
        return jnp.zeros(NAMES + 1, jnp.float64).at[place].add(mass[:-1]).at[NAMES].add(mass[-1])


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(1.0, 1e-6), (1.0, 1e-12), *(pytest.param(*case, marks=pytest.mark.slow) for case in ((0.3, 0.05), (4.0, 0.2)))],
)
def test_twenty_thousand_neighboring_families(epsilon, delta):
    """5000 for each budget: one list is exchanged; exactly, in both directions."""
    generator = np.random.default_rng(2)
    names, valid = family(generator, 5000)
    other, kept = names.copy(), valid.copy()
    other[:, -1], kept[:, -1] = (part[:, -1] for part in family(generator, 5000))
    with jax.enable_x64(True):
        run = jax.jit(jax.vmap(lambda n, v: by_name(n, v, jnp.float64(epsilon), jnp.float64(delta))))
        one, two = np.asarray(run(names, valid)), np.asarray(run(other, kept))
    assert np.allclose(one.sum(1), 1) and not np.array_equal(one, two)
    leaks = [np.maximum(p - np.exp(epsilon) * q, 0).sum(1) for p, q in ((one, two), (two, one))]
    claim = sparse_selection_guarantee(epsilon, delta, LENGTH)
    assert np.max(leaks) <= claim.delta * (1 + 1e-9)
    assert np.max(leaks) > 0.3 * delta / (1 + delta)  # lists of three new names are rare
    assert claim.epsilon == epsilon and claim.delta <= delta


def test_a_claim_for_shorter_lists_is_broken():
    """Lists of three names at the null weight of lists of one."""
    from dpjax.mechanisms import choosing

    with jax.enable_x64(True):
        delta = jnp.float64(1e-3)
        full = jnp.exp(choosing(jnp.asarray([1, 1, 1], jnp.int32), 1.0, delta).log_probs())
        assert float(full[:3].sum()) > 2.5 * float(delta)


@pytest.mark.parametrize("names", [np.zeros((2, 3), np.uint32), np.zeros((2, 0, 1), np.uint32), np.zeros((2, 3, 1))])
def test_what_is_no_family_of_lists_is_refused(names):
    with pytest.raises(InputError, match="lists"):
        sparse_selection(jnp.asarray(names), jnp.ones(names.shape[:2], bool), 1.0, 1e-6)
