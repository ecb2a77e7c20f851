"""The point learner's parts against brute force: groups of rows, the gap of the test of stability, what is returned."""

import itertools
from collections import Counter, defaultdict
from dataclasses import replace
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Domain, Points, Thresholds
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.core.plans import down
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.learners import PointLearner
from dpjax.learners.point_learner import _lowest_positive, group_rows, stability_gap

SIZES = [3, 2**32 - 1, 2**32, 2**64 - 1, 2**64]


@lru_cache
def grouped(size):
    return jax.jit(jax.vmap(lambda sample: group_rows(sample, size)))


def random_rows(generator, size, k, n, values=4, vectors=3):
    """Rows over a few values, some of them at the end of the domain, with a few label vectors that share prefixes."""
    pool = [0, size - 1, size // 2, size // 3][:values]
    table = generator.random((vectors, k)) < 0.5
    table[0, -1] = True
    if vectors > 1:
        table[1] = table[0]
        table[1, -1] = False
    return [(pool[generator.integers(len(pool))], tuple(table[generator.integers(vectors)].tolist())) for _ in range(n)]


def buffer(size, rows, k, capacity, generator):
    domain = Domain(size)
    x = generator.integers(0, 2**32, (capacity, domain.limbs)).astype(np.uint32)
    y, mask = generator.random((capacity, k)) < 0.5, np.zeros(capacity, bool)
    for place, (value, labels) in zip(generator.permutation(capacity), rows, strict=False):
        x[place], y[place], mask[place] = domain.encode([value])[0], labels, True
    return Sample(x, y, mask)


def by_value(rows):
    groups = defaultdict(Counter)
    for value, labels in rows:
        groups[value][labels] += 1
    return dict(sorted(groups.items()))


def as_words(labels):
    return tuple(sum(int(b) << i for i, b in enumerate(labels[w : w + 32])) for w in range(0, len(labels), 32))


@pytest.mark.parametrize(
    ("size", "k"),
    [
        pytest.param(
            size, k, marks=() if (size, k) in ((SIZES[-1], 1), (SIZES[-1], 70), (SIZES[0], 33)) else pytest.mark.slow
        )
        for k in (1, 2, 33, 70)
        for size in SIZES
    ],
)
def test_groups_against_brute_force(size, k):
    generator = np.random.default_rng(size % 991 + k)
    capacity = 14
    cases = [random_rows(generator, size, k, n) for n in [*range(capacity + 1)] * 2]
    samples = jax.tree.map(
        lambda *parts: np.stack(parts), *(buffer(size, rows, k, capacity, generator) for rows in cases)
    )
    groups = jax.tree.map(np.asarray, grouped(size)(samples))
    for i, rows in enumerate(cases):
        expected = by_value(rows)
        used = len(expected)
        assert not groups.rows[i, used:].any() and not groups.mode[i, used:].any() and not groups.second[i, used:].any()
        for slot, (value, vectors) in enumerate(expected.items()):
            counts = sorted(vectors.values(), reverse=True)
            assert groups.rows[i, slot] == sum(counts)
            assert groups.mode[i, slot] == counts[0]
            assert groups.second[i, slot] == (counts[1] if len(counts) > 1 else 0)
            assert int(wide.decode(groups.value[i, slot])) == value
            smallest = min(as_words(v) for v, c in vectors.items() if c == counts[0])
            assert tuple(int(w) for w in groups.labels[i, slot]) == smallest


def brute_gap(rows, heavy, k):
    """Over every choice of one label vector for each heavy value: the best score minus the best of any other choice."""
    groups = by_value(rows)
    if not heavy:
        return 0
    every = list(itertools.product(*[list(itertools.product((False, True), repeat=k))] * len(heavy)))
    scores = sorted(
        (min(groups[v][labels] for v, labels in zip(heavy, choice, strict=True)) for choice in every), reverse=True
    )
    return scores[0] - scores[1]


@pytest.mark.parametrize("k", [1, 2])
def test_the_gap_is_the_lead_over_any_other_choice(k):
    generator = np.random.default_rng(k)
    size, capacity = 4, 12
    gaps = jax.jit(jax.vmap(lambda sample, heavy: stability_gap(group_rows(sample, size), heavy)))
    cases = []
    for _ in range(200):
        n = int(generator.integers(capacity + 1))
        # mostly one vector a value, so that the leads are of all sizes
        table = generator.random((size, k)) < 0.5
        rows = []
        for _ in range(n):
            value = int(generator.integers(3 if generator.random() < 0.8 else size))
            labels = table[value] if generator.random() < 0.8 else generator.random(k) < 0.5
            rows.append((value, tuple(bool(b) for b in labels)))
        values = sorted({v for v, _ in rows})
        chosen = generator.random(len(values)) < 0.7
        cases.append((rows, [v for v, c in zip(values, chosen, strict=True) if c], chosen))
    samples = jax.tree.map(
        lambda *parts: np.stack(parts), *(buffer(size, rows, k, capacity, generator) for rows, _, _ in cases)
    )
    heavy = np.zeros((len(cases), capacity), bool)
    for i, (_, _, chosen) in enumerate(cases):
        heavy[i, : len(chosen)] = chosen
    got = np.asarray(gaps(samples, jnp.asarray(heavy)))
    expected = [brute_gap(rows, chosen, k) for rows, chosen, _ in cases]
    assert got.tolist() == expected
    assert len(set(expected)) >= 5


@pytest.mark.parametrize("k", [1, 40, pytest.param(2, marks=pytest.mark.slow)])
def test_each_concept_gets_the_lowest_heavy_value_that_has_its_bit(k):
    generator = np.random.default_rng(k)
    size, capacity = 2**64, 12
    cases = [random_rows(generator, size, k, n, vectors=4) for n in [*range(capacity + 1)] * 3]
    samples = jax.tree.map(
        lambda *parts: np.stack(parts), *(buffer(size, rows, k, capacity, generator) for rows in cases)
    )
    groups = grouped(size)(samples)
    heavy = generator.random((len(cases), capacity)) < 0.6
    for i, rows in enumerate(cases):
        heavy[i, len(by_value(rows)) :] = False
    lowest = jax.jit(jax.vmap(_lowest_positive, (0, 0, None)), static_argnums=2)
    concept, found = (np.asarray(part) for part in lowest(groups, jnp.asarray(heavy), k))
    for i, rows in enumerate(cases):
        chosen = {}
        for slot, (value, vectors) in enumerate(by_value(rows).items()):
            if heavy[i, slot]:
                most = max(vectors.values())
                chosen[value] = min((v for v, c in vectors.items() if c == most), key=as_words)
        for j in range(k):
            positive = [v for v, labels in chosen.items() if labels[j]]
            assert bool(found[i, j]) == bool(positive)
            if positive:
                assert int(wide.decode(concept[i, j])) == min(positive)


LEARNER = PointLearner(Points(Domain(2**64)))
learn = jax.jit(jax.vmap(LEARNER.learn, (0, None, None)))


def learn_all(key, values, labels, privacy):
    """50 answers to rows of three concepts, in a buffer of 1000: one program for all tests."""
    rows = len(values)
    x, y = LEARNER.concepts.domain.encode([*values, *[0] * (1000 - rows)]), np.zeros((1000, 3), bool)
    y[:rows] = labels
    plan = LEARNER.plan(privacy, Accuracy(0.1, 0.1))
    return jax.tree.map(np.asarray, learn(jax.random.split(key, 50), Sample(x, y, np.arange(1000) < rows), plan))


def test_clear_data_are_learned_and_light_values_give_zero(key):
    """Concepts 0 and 2 are heavy points, concept 1 is positive on no heavy value."""
    values = [5] * 500 + [2**63] * 400 + [9] * 100
    labels = np.array([[1, 0, 0]] * 500 + [[0, 0, 1]] * 400 + [[0, 0, 0]] * 100, bool)
    found = learn_all(key, values, labels, Privacy(4.0, 1e-9))
    assert not np.any(found.outcome)
    np.testing.assert_array_equal(found.zero, [[False, True, False]] * 50)
    assert [int(v) for v in wide.decode(found.concept[0])][::2] == [5, 2**63]


def test_no_answer_is_the_all_zero_hypothesis(key):
    """Two vectors on one heavy value tie, so the test almost never releases."""
    labels = np.array([[1]] * 400 + [[0]] * 400, bool)
    found = learn_all(key, [7] * 800, labels, Privacy(4.0, 1e-9))
    assert np.all(np.asarray(found.outcome) == -1) and np.all(found.zero)


def test_nothing_heavy_is_an_answer_of_zeros(key):
    found = learn_all(key, range(30), np.ones((30, 1), bool), Privacy(0.5, 1e-9))
    assert not np.any(found.outcome) and np.all(found.zero)


def test_both_steps_have_half_of_the_budget():
    learner = PointLearner(Points(Domain(5)))
    plan = learner.plan(Privacy(0.7, 1e-7), Accuracy(0.3, 0.1))
    whole = learner.guarantee(plan)
    assert [float(part.epsilon) for part in (plan.histogram, plan.release)] == [float(down(0.35))] * 2
    assert [(part.epsilon, part.delta) for part in whole.parts] == [(float(down(0.35)), float(down(0.5e-7)))] * 2
    assert float(plan.heavy) == float(down(0.02))
    for step, at in (("histogram", 0), ("release", 1)):  # the guarantee reads each step's own numbers
        edited = replace(plan, **{step: Privacy(np.float32(3.0), np.float32(1e-3))})
        found = learner.guarantee(edited)
        assert (found.parts[at].epsilon, found.parts[at].delta) == (3.0, float(np.float32(1e-3)))
        assert found.parts[1 - at] == whole.parts[1 - at]


@pytest.mark.parametrize("delta", [0.0, 1e-60])
def test_a_delta_that_is_0_in_programs_is_refused(delta):
    with pytest.raises(InputError, match="delta"):
        PointLearner(Points(Domain(5))).plan(Privacy(1.0, delta), Accuracy(0.1, 0.1))


def test_only_points():
    with pytest.raises(InputError, match="Points"):
        PointLearner(Thresholds(Domain(5)))
