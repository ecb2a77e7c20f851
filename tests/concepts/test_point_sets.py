"""Sets of d elements and labels made of them: encodings, predictions and errors against lists, also by buckets."""

from math import comb

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax import testing
from dpjax.concepts import Domain, Hypothesis, PointSets
from dpjax.concepts import distributions as make
from dpjax.concepts.bucket_sets import BucketSets
from dpjax.concepts.hashing import Hash
from dpjax.core import wide
from dpjax.core.checks import InputError

TOP = 2**64 - 1


def error(concepts, distribution, one, target):
    with jax.enable_x64(True):
        found = jax.jit(concepts.error)(distribution, one, target)
        assert found.dtype == jnp.uint64
        return [int(value) for value in np.asarray(found)]


def by_buckets(generator, count, slots, hash_bits, bits, hashes, size):
    """Random labels on random distinct buckets, some pairs unused, some hypotheses zero."""
    words = []
    for _ in range(count):
        buckets = generator.choice(2**hash_bits, slots, replace=False)
        labels = generator.integers(0, 2**bits, slots)
        words.append([int(generator.integers(size)), *np.stack([buckets, labels], axis=1).reshape(-1)])
    zero = np.arange(count) == count - 1
    return BucketSets(
        jnp.asarray(np.array(words, np.uint32)), jnp.asarray(zero), jnp.zeros(count, jnp.int32), hashes, bits
    )


@pytest.mark.parametrize(
    ("ones", "bits"), [(2, 3), *(pytest.param(*case, marks=pytest.mark.slow) for case in ((1, 1), (3, 1), (1, 2)))]
)
def test_predictions_and_errors_against_lists(ones, bits):
    generator, size = np.random.default_rng(ones + 10 * bits), 200
    concepts = PointSets(Domain(size), ones, bits)
    sets = [[sorted(generator.choice(size, ones, replace=False).tolist()) for _ in range(bits)] for _ in range(6)]
    plain = Hypothesis(jnp.asarray(concepts.encoded(sets)), jnp.arange(6) == 5, jnp.zeros(6, jnp.int32))
    x = jnp.arange(size, dtype=jnp.uint32)[:, None]
    says = np.asarray(jax.jit(concepts.predict)(plain, x)).reshape(size, 6, bits)
    expected = np.array([[[e in own and j < 5 for own in sets[j]] for j in range(6)] for e in range(size)])
    assert np.array_equal(says, expected)
    hashes = Hash.draw(jax.random.key(3), 4, 4, 8)
    improper = by_buckets(generator, 6, ones * bits, 4, bits, hashes, 4)
    drawn = np.asarray(jax.jit(improper.predict)(x)).reshape(size, 6, bits)
    bucket = np.asarray(hashes(x))
    for j, words in enumerate(np.asarray(improper.concept).tolist()):
        named = dict(zip(words[1::2], words[2::2], strict=True)) if j < 5 else {}
        label = [named.get(int(bucket[e, words[0]]), 0) for e in range(size)]
        assert np.array_equal(drawn[:, j], np.array(label)[:, None] >> np.arange(bits) & 1)
    laws = (
        make.uniform(Domain(size)),
        make.zipf(Domain(size), 17),
        make.from_segments(Domain(size), [(0, 9, 3), (11, 60, 1), (61, 61, 1000), (150, 199, 7)]),
    )
    for law in laws:
        with jax.enable_x64(True):
            mass = np.asarray(jax.jit(law.mass_at)(jnp.arange(size, dtype=jnp.uint64))).astype(object)
        for one, labels in ((plain, says[:, ::-1]), (improper, drawn)):
            other = jax.tree.map(lambda part: part[::-1], plain) if one is plain else plain
            one = one if one is improper else jax.tree.map(lambda part: part[::-1], plain)
            wrong = np.any(labels != says, axis=-1)
            found = error(concepts, law, one, plain)
            assert found == [sum(mass[wrong[:, j]]) for j in range(6)], other


def test_masses_of_everything_do_not_wrap_to_zero():
    concepts = PointSets(Domain(2**64), 2)
    constant = Hash(jnp.zeros((1, 64), jnp.uint32), jnp.zeros(1, jnp.uint32))
    every = BucketSets(
        jnp.asarray([[0, 0, 1, 1, 1]], jnp.uint32), jnp.zeros(1, bool), jnp.zeros(1, jnp.int32), constant, 1
    )
    target = Hypothesis.of(jnp.asarray(concepts.encoded([[0, TOP]])))
    nothing = Hypothesis(target.concept, jnp.ones(1, bool), target.outcome)
    law = make.uniform(Domain(2**64))
    assert error(concepts, law, every, target) == [TOP - 1]
    assert error(concepts, law, every, nothing) == [TOP]
    assert error(concepts, law, target, nothing) == [2] and error(concepts, law, target, target) == [0]
    halves = make.from_weights(Domain(2**64), [0, TOP], [2**63, 2**63])
    assert error(concepts, halves, target, nothing) == [TOP] and error(concepts, halves, every, target) == [0]


def test_numbers_of_concepts_and_targets():
    assert PointSets(Domain(10), 3).size == comb(10, 3) and PointSets(Domain(5), 2, 3).size == 1000
    small = PointSets(Domain(6), 2)
    every = {tuple(row) for row in small.targets(100).tolist()}
    assert len(every) == 15 and len(small.targets(4)) == 4
    assert PointSets(Domain(4), 4).targets(9).shape == (1, 8)  # one concept, all elements
    wide_ = PointSets(Domain(2**64), 3, 2)
    found = wide_.targets(20)
    assert found.shape == (20, 12) and len(np.unique(found, axis=0)) == 20
    atoms = make.adversarial_points(Domain(2**64), 0.2)
    under = wide_.targets_under(atoms, 64).reshape(-1, 2, 3, 2)
    assert set(wide.decode(under).reshape(-1).tolist()) == {int(v) for v in atoms.single()}
    for rows in wide.decode(under).reshape(-1, 3).tolist():
        assert rows == sorted(set(rows))


def test_the_suite_of_concept_classes():
    for concepts in (PointSets(Domain(2**40), 2), PointSets(Domain(12), 3)):
        testing.assert_passed(testing.check_concepts(concepts))


def test_words():
    concepts = PointSets(Domain(9), 2, 2)
    (one,) = concepts.describe(Hypothesis.of(jnp.asarray(concepts.encoded([[[4, 1], [2, 3]]]))))
    assert one == "bit 0 iff x in {1, 4}; bit 1 iff x in {2, 3}"
    single = PointSets(Domain(9), 2)
    assert single.describe(Hypothesis.of(jnp.asarray(single.encoded([[7, 3]])))) == ["1 iff x in {3, 7}"]
    hashes = Hash.draw(jax.random.key(0), 2, 3)
    words = jnp.asarray([[1, 5, 1, 2, 1], [0, 0, 0, 0, 0]], jnp.uint32)
    found = BucketSets(words, jnp.zeros(2, bool), jnp.zeros(2, jnp.int32), hashes, 1)
    assert single.describe(found) == ["1 iff hash function 1 gives 2 or 5", "0 everywhere"]


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: PointSets(Domain(3), 4),
        lambda: PointSets(Domain(3), 0),
        lambda: PointSets(Domain(3), 1, 17),
        lambda: PointSets(Domain(2**20), 600),
        lambda: PointSets(7, 1),
        lambda: PointSets(Domain(3), 2).encoded([[1, 1]]),
        lambda: PointSets(Domain(3), 2).encoded([[1, 3]]),
        lambda: PointSets(Domain(3), 2).encoded([[1, 0, 2]]),
        lambda: PointSets(Domain(3), 2).encoded([]),
        lambda: PointSets(Domain(9), 1).targets(0),
    ],
)
def test_what_makes_no_sense_is_refused(attempt):
    with pytest.raises(InputError):
        attempt()
