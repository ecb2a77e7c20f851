"""Lists that stay on the host: the law of the selection is that of the same lists as arrays."""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chi2_contingency

import dpjax as dp
from dpjax import audit
from dpjax.audit.target.databases import show_numbers
from dpjax.concepts import distributions
from dpjax.concepts.versions.subsets import Subsets
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.plans import STATIC, plan_type
from dpjax.laws import Uniform
from dpjax.lists import Cells, Listing, ListPlan, Lists
from dpjax.lists.on_host import _REMEMBERED, Name, NamesOn, _Tallies
from dpjax.mechanisms.sparse_selection import selection_by_count, sparse_selection, sparse_selection_guarantee
from dpjax.papers.simulated_counts import errors

MOST, ELEMENTS, LENGTH = 5, 4, 3
BUDGET, GOAL = dp.Privacy(1.0, 1e-6), dp.Accuracy(0.1, 0.1)


@dataclass(frozen=True)
class Multiples(Listing):
    """Names that repeat, and more of them than a list may have."""

    length: int = LENGTH
    words: int = 2

    @property
    def cache_token(self):
        return None

    def listed(self, elements, counts, *numbers):
        (step,) = numbers
        for x, rows in zip(elements[:, 0].tolist(), counts[0].sum(axis=1).tolist(), strict=True):
            yield from [(x, int(step) * min(rows, 2))] * rows


def batches(generator):
    """Cells of `MOST` batches and how many of them are read."""
    elements = jnp.asarray(np.broadcast_to(np.arange(ELEMENTS, dtype=np.uint32)[:, None], (MOST, ELEMENTS, 1)))
    counts = jnp.asarray(generator.integers(0, 3, (MOST, 1, ELEMENTS, 2)), jnp.int32)
    return Cells(elements, counts), int(generator.integers(0, MOST + 1))


def as_arrays(cells, count, step):
    lists = [[*Multiples().names(*one, step)] for one in zip(*map(np.asarray, cells), strict=True)]
    names = np.array([[*names, *[(0, 0)] * (LENGTH - len(names))] for names in lists], np.uint32)
    filled = np.arange(LENGTH) < np.array([len(names) for names in lists])[:, None]
    return names, filled & (np.arange(MOST)[:, None] < count)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (4.0, 0.3), (1e-3, 1e-12), (20.0, 0.5)])
def test_each_name_has_the_probability_that_it_has_on_arrays(epsilon, delta):
    generator = np.random.default_rng(3)
    for _ in range(30):
        cells, count = batches(generator)
        step = np.int32(generator.integers(1, 9))
        arguments = *(np.asarray(part) for part in cells), np.int32(count), step
        with jax.enable_x64(True):
            budget = jnp.float64(epsilon), jnp.float64(delta)
            law, tallied = sparse_selection(*as_arrays(cells, count, step), *budget)
            expected = np.exp(law.log_probs())
            (names_on,) = NamesOn(Multiples())(*arguments)
            of_lists = np.exp(selection_by_count(jnp.asarray(names_on), *budget, LENGTH).log_probs())
        found = dict[tuple[int, ...], float]()
        for lists, names in enumerate(names_on.tolist()):
            for place in range(names):
                (name,) = Name(Multiples())(np.int32(lists), np.int32(place), *arguments)
                assert tuple(name.tolist()) not in found
                found[tuple(name.tolist())] = of_lists[lists] / names
        slots = np.flatnonzero(np.asarray(tallied.lists))
        wanted = {tuple(tallied.names[slot].tolist()): expected[slot] for slot in slots}
        assert found.keys() == wanted.keys() and names_on[0] == 0
        np.testing.assert_allclose([found[name] for name in wanted], [*wanted.values()], rtol=1e-12)
        assert of_lists[-1] == pytest.approx(expected[-1], rel=1e-12)


def test_a_place_without_a_name():
    cells, _ = batches(np.random.default_rng(0))
    arguments = *(np.asarray(part) for part in cells), np.int32(MOST), np.int32(1)
    for lists, place in ((0, 0), (1, 10**6), (2, -1)):
        assert Name(Multiples())(np.int32(lists), np.int32(place), *arguments)[0].tolist() == [0, 0]


@plan_type
class Whole(ListPlan):
    ends: Any
    step: Any
    length: int = field(metadata=STATIC)


@dataclass(frozen=True)
class Outside(Lists):
    """On the host, or the same lists as arrays."""

    concepts: dp.Finite
    arrays: bool = False
    words = 2

    def plan(self, accuracy):
        return Whole(np.ones(1, np.int32), np.int32(1), LENGTH)

    def listing(self, plan):
        return None if self.arrays else (Multiples(), (plan.step,))

    def names(self, key, cells, plan):
        places, rows = cells.elements[:, 0], jnp.sum(cells.counts[0], axis=1)
        kept = (rows > 0) & (jnp.cumsum(rows) - rows < LENGTH)  # the first entries of a listing, with repetitions
        some = jnp.nonzero(kept, size=LENGTH, fill_value=ELEMENTS)[0]
        x, rows = (jnp.append(part, 0)[some] for part in (places, rows))
        names = jnp.stack([x, jnp.minimum(rows, 2)], axis=1).astype(jnp.uint32)
        return names, some < ELEMENTS

    def hypothesis(self, name, outcome):
        labels = jnp.arange(ELEMENTS, dtype=jnp.uint32) == name[0]
        return self.concepts.of_labels(labels[None], outcome[None])

    def rows(self, accuracy):
        raise NoTheoremError("no theorem")

    def batches(self, privacy, accuracy):
        raise NoTheoremError("no theorem")


@pytest.mark.statistical
def test_lists_from_outside_as_arrays_and_on_the_host(stats):
    """The same law of outcomes; the same bits one by one and together."""
    concepts, rows = dp.Finite.of(np.eye(ELEMENTS, dtype=int)), 24
    sample = dp.Sample(
        jnp.asarray(np.random.default_rng(2).integers(0, ELEMENTS, (rows, 1)), jnp.uint32),
        jnp.zeros((rows, 1), bool),
        jnp.arange(rows) < 20,
    )
    keys, counts = jax.random.split(jax.random.key(0), 2000), []
    for arrays in (False, True):
        learner = dp.SparseAggregate(Outside(concepts, arrays), MOST)
        plan = learner.plan(dp.Privacy(2.0, 0.3), GOAL)
        learn = jax.jit(learner.learn)
        together = jax.jit(jax.vmap(lambda key: learner.learn(key, sample, plan)))(keys)  # noqa: B023
        for i in (0, 7):
            alone = learn(keys[i], sample, plan)
            assert jax.tree.all(jax.tree.map(lambda one, all_: np.array_equal(one, all_[i]), alone, together))  # noqa: B023
        codes = np.where(np.asarray(together.outcome)[:, 0] < 0, -1, np.argmax(_labels(concepts, together), axis=1))
        counts.append([int(np.sum(codes == code)) for code in range(-1, ELEMENTS)])
    table = np.array(counts)[:, np.sum(counts, axis=0) > 0]
    assert chi2_contingency(table).pvalue > stats.false_alarm and np.sum(table > 50) > 6


def _labels(concepts, hypotheses):
    x = jnp.arange(ELEMENTS, dtype=jnp.uint32)[:, None]
    return np.asarray(jax.vmap(lambda one: concepts.predict(one, x)[:, 0])(hypotheses))


@dataclass(frozen=True)
class Unbounded(Subsets):
    def longest_list(self, queries):
        return None


@dataclass(frozen=True)
class Pairs(dp.PointSets):
    def versions(self):
        return Unbounded(self.domain.size, self.ones)


def test_a_class_that_does_not_bound_its_lists():
    """The theorem of every class: refused by default, since they may be long; 5 trials at its number of rows."""
    pairs = Pairs(dp.Domain(2**64), 2)
    learner = dp.SparseAggregate(dp.Irreducibility(pairs, longest=2**1000))
    with pytest.raises(InputError, match=r"longest: .*got up to 2\^39 names a level; give longest=2\*\*39"):
        dp.SparseAggregate(dp.Irreducibility(pairs)).plan(BUDGET, GOAL)
    plan, n = learner.plan(BUDGET, GOAL), learner.sample_size(BUDGET, GOAL)
    assert plan.lists.length > 10**11 and f"{plan.lists.length}" in learner.guarantee(plan).what
    assert n == dp.SparseAggregate(dp.Irreducibility(pairs)).sample_size(BUDGET, GOAL)
    assert dp.SparseAggregate(dp.Irreducibility(dp.PointSets(pairs.domain, 2))).sample_size(BUDGET, GOAL) < n
    assert max(errors(learner, _few(pairs), plan, learner.lists.rows(GOAL), 0, 5)) <= GOAL.alpha


def _few(pairs):
    elements = pairs.domain.spread(3)
    return dp.Task(pairs, distributions.from_weights(pairs.domain, elements, [2, 3, 40]), pairs.encoded([elements[:2]]))


def test_two_names_that_change_by_one_list_are_a_change_of_one_list():
    """Two names on 5 lists, and one on 5 and one on 4: their number on 5 lists changes, the scores by 1."""
    learner, budget = dp.SparseAggregate(Outside(dp.Finite.of(np.eye(ELEMENTS, dtype=int))), MOST), dp.Privacy(2.0, 0.3)

    plan = learner.plan(budget, GOAL)

    def run(key, x, _):
        rows = dp.Sample(x[:, None].astype(jnp.uint32), jnp.zeros((10, 1), bool), jnp.ones(10, bool))
        return learner.learn(key, rows, plan).outcome

    pair = audit.Pair(*(jnp.array([0] * 5 + [x] + [1] * 4, jnp.int32) for x in (1, 2)), show_numbers)
    target = audit.Target("lists", lambda *_: learner.guarantee(plan), run, list, lambda: [pair])
    found = audit.replay(target, budget)
    assert found.verdict.startswith("consistent") and "selection by count moved by" in found.evidence, found


def test_listings_that_are_wrong():
    concepts = dp.Finite.of(np.eye(ELEMENTS, dtype=int))
    sample = dp.Sample(jnp.zeros((1, 1), jnp.uint32), jnp.zeros((1, 1), bool), jnp.ones(1, bool))
    for wrong, said in ((Multiples(length=7), "3 entries, the plan's length"), (Multiples(words=3), "3 numbers in")):

        @dataclass(frozen=True)
        class Wrong(Outside):
            def listing(self, plan, wrong=wrong):
                return wrong, (plan.step,)

        learner = dp.SparseAggregate(Wrong(concepts), MOST)
        plan = learner.plan(BUDGET, GOAL)
        with pytest.raises((InputError, jax.errors.JaxRuntimeError), match=said):
            jax.block_until_ready(learner.learn(jax.random.key(0), sample, plan))


def test_more_functions_than_a_float_can_count():
    many = dp.PointSets(dp.Domain(2**64), 40)
    with pytest.raises(InputError, match="longest: expected given"):
        dp.SparseAggregate(dp.Irreducibility(many)).plan(BUDGET, GOAL)
    with pytest.raises(InputError, match="longest: expected at least the theorem's"):
        dp.SparseAggregate(dp.Irreducibility(many, longest=2**100)).sample_size(BUDGET, GOAL)
    assert "a number of" in sparse_selection_guarantee(1.0, 1e-6, 10**5000).what


def test_tallies_are_forgotten_by_their_names():
    """The last ones are kept while they have few names in all; what is forgotten is made again."""
    tallies, made = _Tallies(), []

    @dataclass(frozen=True)
    class Counting(Multiples):
        def listed(self, elements, counts, *numbers):
            made.append(int(numbers[0]))
            return ((i, int(numbers[0])) for i in range(self.length))

    cells = np.zeros((1, 1, 1), np.uint32), np.zeros((1, 1, 1, 2), np.int32), np.int32(1)
    for length, repeated in ((1000, []), (_REMEMBERED, [0, 1, 2])):
        made.clear()
        for step in (0, 1, 2, 0, 1, 2):
            levels = tallies.of(Counting(length), (*cells, np.int32(step)))
            assert levels[1][-1] == (length - 1, step)
        assert made == [0, 1, 2, *repeated]


def test_a_count_below_one():
    assert [int(Uniform(jnp.int32(count), 3).sample(jax.random.key(1))) for count in (-5, 0, 1)] == [0, 0, 0]
