"""Lists of minimal sets: the definition, the irreducible classes of a large domain, and the theorem's set."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import binom

import dpjax as dp
from dpjax.core.checks import InputError
from dpjax.dimensions import families
from dpjax.learners import SparseAggregate
from dpjax.lists import Cells, MinimalSets
from dpjax.papers.simulated_counts import errors, errors_of_labels
from dpjax.theory import version_spaces
from tests.oracles.irreducible import Stable

GOAL, BUDGET = dp.Accuracy(0.1, 0.1), dp.Privacy(1.0, 1e-6)


def named(lists, elements, counts):
    """The sets on the list of each batch ``counts[..., c, 2]``, from cells with these elements."""
    limbs = lists.concepts.domain.limbs
    words = np.array([[e >> 32, e & 0xFFFFFFFF][2 - limbs :] for e in elements], np.uint32)
    plan = lists.plan(GOAL)
    run = jax.jit(jax.vmap(lambda one: lists.names(jax.random.key(0), Cells(jnp.asarray(words), one[None]), plan)))
    names, filled = (np.asarray(part) for part in run(np.asarray(counts, np.int32)))
    value = lambda row: row.reshape(-1, limbs).astype(object) @ [2**32, 1][2 - limbs :]  # noqa: E731
    found = []
    for rows, keep in zip(names, filled, strict=True):
        sets = [tuple(value(row[1:])[: row[0]]) for row in rows[keep]]
        assert len({*sets}) == len(sets)  # no set twice
        found.append({*sets})
    return found


def defined(elements, counts, d, cuts):
    """Straight from the definition."""
    gain = {e: int(one[1] - one[0]) for e, one in zip(elements, counts, strict=True) if one[1] > one[0]}
    gain = dict(sorted(gain.items(), key=lambda item: (-item[1], item[0]))[:d])
    positives, rows, found = int(np.sum(counts, axis=0)[1]), int(np.sum(counts)), set()
    for cut in np.asarray(cuts, np.float32):
        for size in range(d + 1):
            fit = {
                one
                for one in itertools.combinations(sorted(gain), size)
                if np.float32(positives - sum(gain[e] for e in one)) <= cut * np.float32(rows)
            }
            if fit:
                found |= fit
                break
    return found


@pytest.mark.parametrize(("d", "size"), [(1, 2**64), (2, 2**40), (3, 2**20)])
def test_the_list_is_what_is_defined(d, size):
    generator = np.random.default_rng(d)
    lists = MinimalSets(dp.PointSets(dp.Domain(size), d))
    elements = sorted({0, size - 1, *(int(x) for x in generator.integers(0, size, 6, dtype=np.uint64))})
    counts = np.zeros((300, len(elements), 2), np.int32)
    for one in counts:  # realizable rows, few or many
        positive = generator.choice(len(elements), d, replace=False)
        drawn = generator.multinomial(
            generator.choice([0, 3, 40, 2000]), generator.dirichlet(np.full(len(elements), 0.4))
        )
        one[:, 0], one[positive, 1] = drawn, drawn[positive]
        one[positive, 0] = generator.integers(0, 2, d) * (drawn[positive] // 20)  # some with a little noise
        if generator.random() < 0.2:  # as if more elements than d were positive
            one[:, 1] += generator.integers(0, 60, len(elements), dtype=np.int32)
    found = named(lists, elements, counts)
    assert found == [defined(elements, one, d, lists.plan(GOAL).cuts) for one in counts]
    assert len({len(one) for one in found}) > (1 if d > 1 else 0)


def test_they_are_the_optimal_predictions_of_irreducible_classes():
    """Of all pairs of ten elements, with trees of depth 2: the leaves' predictions by the recursion."""
    d, width = 2, 10
    matrix = families.points(width, d)
    oracle, lists = Stable(matrix), MinimalSets(dp.PointSets(dp.Domain(width), d))
    generator, cut = np.random.default_rng(4), float(lists.plan(GOAL).cuts[0])
    seen = set()
    for _ in range(25):
        target = matrix[generator.integers(len(matrix))]
        some = generator.choice(width, 4, replace=False)
        mass = np.zeros(width)
        mass[some] = generator.dirichlet(np.full(4, 0.5))
        drawn = generator.multinomial(400, mass)
        counts = np.stack([np.where(target, 0, drawn), np.where(target, drawn, 0)], axis=-1)
        space = frozenset(i for i, row in enumerate(matrix) if drawn[row != target].sum() <= np.float32(cut) * 400)
        w = oracle.reduced(space, 2)
        expected = defined(range(width), counts, d, [cut])
        assert {len(one) for one in expected} == {d - w}  # no tree of depth 2 does better
        for one in expected:  # below the queries of the positive elements
            leaf = frozenset(
                i for i in space if {x for x in np.flatnonzero(matrix[i] & target & (drawn > 0))} == {*one}
            )
            assert oracle.littlestone(leaf) == w and oracle.reduced(leaf, 1) == w
            assert oracle.prediction(leaf) == sum(1 << x for x in one)
        seen.add(w)
    assert len(seen) > 1


@pytest.mark.parametrize("d", [1, 2, 3])
def test_one_set_is_on_the_list_of_every_good_batch(d):
    """For 60 targets' masses: 0 of 3000 good batches lack it, nor have a set that errs more than alpha."""
    generator, lists = np.random.default_rng(10 + d), MinimalSets(dp.PointSets(dp.Domain(2**33), d))
    rows, cuts = version_spaces.minimal_sets(d, GOAL.alpha)
    level = [GOAL.alpha * (1 - j / (d + 1)) for j in range(d + 2)]
    elements = [7 + 2**32 * x for x in range(d + 1)]  # the last one negative
    subsets = [one for size in range(d + 1) for one in itertools.combinations(range(d), size)]
    good = 0
    for _ in range(60):
        mass = np.append(generator.choice([0.01, 0.02, 0.05, 0.08, 0.12], d) * generator.uniform(0.8, 1.2, d), 0.0)
        mass[-1] = 1 - mass.sum()
        error = {one: sum(mass[x] for x in range(d) if x not in one) for one in subsets}
        least = [min(len(one) for one in subsets if error[one] <= at) for at in level]
        j = next(j for j in range(d + 1) if least[j] == least[j + 1])
        star = next(one for one in subsets if len(one) == least[j] and error[one] <= level[j + 1])
        drawn = generator.multinomial(rows, mass, 50)
        counts = np.zeros((50, d + 1, 2), np.int32)
        counts[:, :d, 1], counts[:, d, 0] = drawn[:, :d], drawn[:, d]
        for one, found in zip(drawn, named(lists, elements, counts), strict=True):
            wrong = {a: sum(one[x] for x in range(d) if x not in a) / rows for a in subsets}
            sides = ((error[a], wrong[a], k) for a in subsets for k in range(d + 1))
            if any((e <= level[k + 1] and w > cuts[k]) or (w <= cuts[k] and e > level[k]) for e, w, k in sides):
                continue
            good += 1
            sets = {tuple(elements.index(x) for x in a) for a in found}
            assert star in sets and max(error[a] for a in sets) <= GOAL.alpha
    assert good > 2900


@pytest.mark.parametrize("d", [1, 3])
def test_a_batch_separates_the_levels(d):
    """Exact binomial tails at neighboring levels, for all subsets of the target."""
    rows, cuts = version_spaces.minimal_sets(d, 0.1)
    level = [0.1 * (1 - j / (d + 1)) for j in range(d + 2)]
    bad = sum(binom.sf(c * rows, rows, level[j + 1]) + binom.cdf(c * rows, rows, level[j]) for j, c in enumerate(cuts))
    assert 2**d * bad <= version_spaces.BAD


@pytest.mark.statistical
@pytest.mark.parametrize("d", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_success_over_2_to_the_64_at_the_planned_rows(d):
    """Where the cuts hurt: positive elements of masses around the levels. 200 trials (short: 40); none fails."""
    concepts = dp.PointSets(dp.Domain(2**64), d)
    learner = SparseAggregate(MinimalSets(concepts))
    generator = np.random.default_rng(d)
    atoms = np.sort(generator.integers(0, 2**64, d + 1, dtype=np.uint64))
    light = [120, *(int(1000 * GOAL.alpha * (1 - j / (d + 1))) for j in range(1, d))]
    distribution = dp.from_weights(concepts.domain, atoms.tolist(), [*light, 1000 - sum(light)])
    task = dp.Task(concepts, distribution, concepts.encoded([atoms[:d].tolist()]))
    plan = learner.plan(BUDGET, GOAL)
    found = errors(learner, task, plan, learner.lists.rows(GOAL), 3, 40 if d == 1 else 200)
    assert np.max(list(found)) <= GOAL.alpha


def sets_of_bit(bit):
    return SparseAggregate(MinimalSets(bit))


@pytest.mark.statistical
@pytest.mark.parametrize(("bits", "d"), [(2, 1), pytest.param(16, 1, marks=pytest.mark.slow)])
def test_labels_bit_by_bit_at_the_planned_rows(bits, d):
    """Theorem 3.7 for labels whose bits are sets: 40 trials (slow: 200) over 2^64 elements, none errs above alpha."""
    concepts = dp.Bitwise(dp.PointSets(dp.Domain(2**64), d), bits)
    learner, each = dp.BitReduction(concepts, sets_of_bit), dp.Accuracy(GOAL.alpha / bits, GOAL.beta / bits)
    atoms = concepts.domain.spread(bits * d + 1)
    law = dp.from_weights(concepts.domain, atoms, [*range(2, bits * d + 2), 9 * bits * d])
    sets = [concepts.bit.encoded([atoms[i * d : (i + 1) * d]]) for i in range(bits)]
    task = dp.Task(concepts, law, np.concatenate(sets, axis=1))
    rows, plan = learner.learners[0].lists.rows(each), learner.plan(BUDGET, GOAL)
    batches = learner.learners[0].lists.batches(BUDGET, each)
    assert learner.sample_size(BUDGET, GOAL) == bits * batches * rows
    found = errors_of_labels(learner, task, plan, [rows] * bits, 3, 40 if bits == 2 else 200)
    assert np.max(list(found)) <= GOAL.alpha
    missing = errors_of_labels(learner, task, plan, [2] * bits, 3, 5)
    assert np.max(list(missing)) > GOAL.alpha


def test_labels_from_rows_and_from_counts():
    """The same law of answers: 200 runs each, at numbers where a bit is right in a part of them."""
    concepts = dp.Bitwise(dp.PointSets(dp.Domain(2**40), 1), 2)
    learner = dp.BitReduction(concepts, few_batches, (1, 1))
    targets = np.concatenate([concepts.bit.encoded([[x]]) for x in (5, 2**33)], axis=1)
    task = dp.Task(concepts, dp.from_weights(concepts.domain, [5, 2**33, 2**39], [5, 4, 1]), targets)
    plan = learner.plan(dp.Privacy(1.0, 0.02), GOAL)

    def run(key):
        sample, target = task.draw(jax.random.fold_in(key, 0), 96, 1, 96)
        found = learner.learn(jax.random.fold_in(key, 1), sample, plan)
        return jnp.where(found.outcome[0] < 0, 1.0, task.error(found, target)[0])

    keys = jax.vmap(jax.random.key)(jnp.arange(200))
    rows = np.asarray(jax.jit(jax.vmap(run))(keys))
    counts = np.array(list(errors_of_labels(learner, task, plan, [2, 2], 1, 200)))
    wrong = [float(np.mean(one > 0.05)) for one in (rows, counts)]
    assert 0.1 < wrong[0] < 0.9 and abs(wrong[0] - wrong[1]) < 5 * 0.5 / np.sqrt(100)


def few_batches(bit):
    return SparseAggregate(MinimalSets(bit), 24)


def test_rows_as_counts_and_as_rows_are_the_same():
    concepts = dp.PointSets(dp.Domain(2**64), 2)
    learner = SparseAggregate(MinimalSets(concepts), 8)
    task = dp.Task(
        concepts, dp.from_weights(concepts.domain, [5, 2**40, 2**64 - 1], [2, 3, 5]), concepts.encoded([[5, 2**40]])
    )
    sample, _ = task.draw(jax.random.key(2), 300, 1, 300)
    plan = learner.plan(dp.Privacy(4.0, 1e-3), GOAL)
    found = learner.learn(jax.random.key(3), sample, plan)
    assert concepts.describe(found) == [f"1 iff x in {{5, {2**40}}}"]
    elements = np.uint32([[0, 5], [2**8, 0], [2**32 - 1, 2**32 - 1]])
    at = np.argmax((np.asarray(sample.x)[:, None] == elements).all(2), axis=1)
    counts = np.zeros((plan.most, 1, 3, 2), np.int32)
    np.add.at(counts, (np.arange(300) % 8, 0, at, np.asarray(sample.y[:, 0]).astype(int)), 1)
    again = learner.select(jax.random.key(3), Cells(jnp.asarray(elements), jnp.asarray(counts)), plan)
    assert all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(again), strict=True))


def test_no_rows_and_sets_that_are_not_learned():
    concepts = dp.PointSets(dp.Domain(2**64), 3)
    learner = SparseAggregate(MinimalSets(concepts), 4)
    sample = dp.Sample(jnp.zeros((1, 2), jnp.uint32), jnp.zeros((1, 1), bool), jnp.zeros(1, bool))
    found = learner.learn(jax.random.key(0), sample, learner.plan(dp.Privacy(50.0, 0.1), GOAL))
    assert bool(found.zero[0])
    for wrong in (dp.PointSets(dp.Domain(9), 2, 2), dp.PointSets(dp.Domain(2**20), 13)):
        with pytest.raises(InputError, match="sets of at most 12 elements"):
            MinimalSets(wrong)
    with pytest.raises(InputError, match="PointSets"):
        MinimalSets(dp.Points(dp.Domain(8)))
