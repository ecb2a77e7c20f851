"""Representations and their learner: families against lists, the choice against its law, sizes, and extreme cases."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import log_softmax

from dpjax.audit.enumeration.outcomes import exact_law
from dpjax.concepts import Domain, Finite, Hypothesis, Multiclass, Points, PointSets, Thresholds
from dpjax.concepts import distributions as make
from dpjax.concepts.outside import Outside
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.experiments.sweep.task import Task
from dpjax.learners import KLN, HashedPoints, Independent, PointLearner, RepresentationLearner, database
from dpjax.learners.representations import LearnerRuns, PointBuckets, PointSetBuckets, Whole
from dpjax.learners.representations.base import Representation, errors_of_labels
from dpjax.learners.representations.labelings import choose_labeling
from dpjax.theory import representations as theory
from tests.trials import jit_draw, jit_error, jit_predict

ACCURACY = Accuracy(0.2, 0.1)
MATRIX = Finite.of(np.array([[0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 1, 0]], bool))
LABELS = Multiclass.of([[0, 1], [2, 0], [1, 2]])


def sample_of(domain, columns, rows, seed=0, capacity=None):
    generator = np.random.default_rng(seed)
    values = [int(v) for v in generator.integers(0, min(domain.size, 2**20), rows)]
    return database(domain, values, generator.integers(0, 2, (rows, columns)), capacity or rows + 3)


FAMILIES = {
    "points": PointBuckets(Points(Domain(2**40)), 3, 2),
    "sets": PointSetBuckets(PointSets(Domain(2**40), 2), 2, 2),
    "labels": PointSetBuckets(PointSets(Domain(50), 1, 2), 2, 2),
    "thresholds": Whole(Thresholds(Domain(30))),
    "matrix": Whole(MATRIX),
    "more labels": Whole(LABELS),
    "runs": LearnerRuns(KLN(MATRIX), 1.0, 8, 0.25, 3),
    "runs of labels": LearnerRuns(KLN(LABELS), 1.0, 8, 0.25, 3),
    "one database": LearnerRuns(KLN(MATRIX), 1.0, 8, 0.25, 7, one_database=True),
}


@pytest.mark.grid
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name in ("sets", "matrix", "runs") else name for name in FAMILIES],
)
def test_errors_of_members_are_those_of_their_predictions(name):
    representation = FAMILIES[name]
    columns = getattr(representation.concepts, "columns", 1)
    learner = RepresentationLearner(representation)
    family = jax.jit(representation.draw)(jax.random.key(4))
    predict = jax.jit(lambda index, x: learner.predict(representation.member(family, index), x))
    for rows in (0, 1, 12):
        sample = sample_of(representation.concepts.domain, columns, rows, rows, 15)
        found = np.asarray(jax.jit(representation.errors)(family, sample))
        assert found.shape == (representation.count,) and found.dtype == np.int32
        for index in range(0, representation.count, max(1, representation.count // 40)):
            says = np.asarray(predict(jnp.int32(index), sample.x))
            wrong = np.any(says != np.asarray(sample.y), axis=1) & np.asarray(sample.mask)
            assert found[index] == wrong.sum()


@pytest.mark.parametrize(
    ("ones", "bits", "buckets"),
    [
        (2, 1, 5),
        (2, 2, 3),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((1, 1, 4), (3, 1, 3), (1, 2, 3), (1, 3, 2))),
    ],
)
@pytest.mark.parametrize("epsilon", [pytest.param(0.3, marks=pytest.mark.slow), 4.0])
def test_the_recursion_is_the_exponential_mechanism_over_the_list(ones, bits, buckets, epsilon):
    """Exactly: the probability of every function and labeling, some of which no bit may exceed."""
    generator = np.random.default_rng(buckets)
    correct = generator.integers(0, 6, (2, buckets, 1 << bits)).astype(np.int32)

    def run(key, data, plan):
        function, pairs = choose_labeling(key, data, ones, bits, plan)
        labels = jnp.zeros(buckets, jnp.int32).at[pairs[:, 0]].add(pairs[:, 1])
        return jnp.concatenate([function[None], labels])

    law, outcomes = exact_law(run, correct[None], np.float64(epsilon))
    labels = np.stack(np.meshgrid(*[np.arange(1 << bits)] * buckets, indexing="ij"), axis=-1).reshape(-1, buckets)
    counts = np.stack([(labels >> i & 1).sum(axis=1) for i in range(bits)])
    labels = labels[np.all(counts <= ones, axis=0)]
    scores = correct[:, np.arange(buckets), labels].sum(axis=-1)
    expected = log_softmax(epsilon / 2 * scores.reshape(-1))
    every = np.concatenate([np.repeat([0, 1], len(labels))[:, None], np.tile(labels, (2, 1))], axis=1)
    number = {tuple(row): i for i, row in enumerate(every.tolist())}
    found = [number[tuple(row)] for row in outcomes.view(np.int32).reshape(len(outcomes), -1).tolist()]
    assert sorted(found) == list(range(len(every)))
    # the rate is reduced for rounding by a few 2^-14
    np.testing.assert_allclose(law[0], expected[found], atol=epsilon * (ones * bits + 3) * 2.0**-14 * scores.max())


@pytest.mark.statistical
def test_large_families_are_chosen_from_by_their_errors(stats):
    """The frequencies of the chosen function's errors, from 274 members of a drawn family, in float32 as it runs."""
    representation, epsilon, count = PointSetBuckets(PointSets(Domain(2**30), 2), 2, 4), 1.0, 20_000
    sample = sample_of(Domain(2**30), 1, 14, 5)
    family = jax.jit(representation.draw)(jax.random.key(9))
    errors = np.asarray(representation.errors(family, sample))
    law = np.exp(log_softmax(-epsilon / 2 * errors))

    @jax.jit
    @jax.vmap
    def run(key):
        found = representation.choose(key, family, sample, jnp.float32(epsilon))
        wrong = found.predict(sample.x)[:, 0] != sample.y[:, 0]
        return jnp.sum(wrong & sample.mask)

    seen = np.bincount(np.asarray(run(jax.random.split(jax.random.key(2), count))), minlength=15)
    stats.chi_square(seen, np.bincount(errors, law, minlength=15))


@pytest.mark.parametrize("concepts", [Thresholds(Domain(9)), MATRIX])
def test_a_class_for_itself_is_kln(concepts):
    learner, kln = RepresentationLearner(Whole(concepts)), KLN(concepts)
    databases = jax.tree.map(lambda part: part[None], sample_of(concepts.domain, 1, 7))
    for one in (learner, kln):
        assert one.sample_size(Privacy(0.7), ACCURACY) == kln.sample_size(Privacy(0.7), ACCURACY)
    plans = [one.plan(Privacy(0.7), ACCURACY) for one in (learner, kln)]
    laws = [exact_law(one.learn, databases, plan) for one, plan in zip((learner, kln), plans, strict=True)]
    np.testing.assert_allclose(laws[0][0], laws[1][0], rtol=1e-12)
    assert np.array_equal(laws[0][1], laws[1][1])


def test_plans_take_the_fewest_rows_and_one_program_for_all_epsilons():
    learner = RepresentationLearner(PointBuckets(Points(Domain(2**40))))
    sizes = {learner.plan(Privacy(float(epsilon)), ACCURACY).sizes for epsilon in np.geomspace(1e-3, 100, 9)}
    assert len(sizes) == 1
    planned = learner.sample_size(Privacy(1.0), ACCURACY)
    for tries in range(2, 12):
        for bits in range(3, 16):
            one = PointBuckets(Points(Domain(2**40)), tries, bits)
            try:
                assert RepresentationLearner(one).sample_size(Privacy(1.0), ACCURACY) >= planned
            except InputError:
                assert one.failure(0.95 * 0.2) >= 0.1
    assert planned == RepresentationLearner(PointBuckets(Points(Domain(2**64)))).sample_size(Privacy(1.0), ACCURACY)
    assert planned < RepresentationLearner(learner.representation, "printed").sample_size(Privacy(1.0), ACCURACY) / 4


def test_the_printed_calibration_is_lemma_8_3():
    learner = RepresentationLearner(PointBuckets(Points(Domain(2**40))), "printed")
    plan = learner.plan(Privacy(1.0), Accuracy(0.3, 0.1))
    family = learner.representation.sized(plan.sizes)
    assert family.failure(0.05) <= 0.025 and family.count == 257  # 2^bits buckets in place of 40
    assert learner.sample_size(Privacy(1.0), Accuracy(0.3, 0.1)) == theory.printed(257, 1.0, 0.05, 0.025)
    assert learner.sample_size(Privacy(1.0), Accuracy(0.999, 0.1)) > 50  # 6 near just below 1
    with pytest.raises(InputError, match="failure at most"):
        RepresentationLearner(PointBuckets(Points(Domain(9)), 1, 3), "printed").sample_size(Privacy(1.0), ACCURACY)


@pytest.mark.parametrize(
    "representation",
    [
        PointBuckets(Points(Domain(2**64))),
        Whole(Multiclass.of([[0, 3]])),
        *(
            pytest.param(one, marks=pytest.mark.slow)
            for one in (
                PointBuckets(Points(Domain(1))),
                PointSetBuckets(PointSets(Domain(2), 2, 2)),
                PointSetBuckets(PointSets(Domain(2**64), 2)),
                Whole(Thresholds(Domain(2**64))),
                PointBuckets(Points(Domain(2))),
                PointSetBuckets(PointSets(Domain(1), 1, 2)),
                PointSetBuckets(PointSets(Domain(4), 4)),
                Whole(Points(Domain(1))),
            )
        ),
    ],
    ids=lambda one: f"{type(one).__name__}-{one.concepts.size}",
)
def test_extreme_domains_budgets_and_samples(representation):
    learner = RepresentationLearner(representation)
    columns = getattr(representation.concepts, "columns", 1)
    task = Task(representation.concepts, make.uniform(representation.concepts.domain))
    learn = jax.jit(jax.vmap(learner.learn, (0, None, None)))
    measure = jax.jit(jax.vmap(task.error, (0, None)))
    for epsilon in (1e-3, 1.0, 1e6):
        plan = learner.plan(Privacy(epsilon), ACCURACY)
        assert learner.sample_size(Privacy(epsilon), ACCURACY) >= 1
        assert learner.guarantee(plan).epsilon <= epsilon
        for n in (0, 40):
            sample, target = jit_draw(task, jax.random.key(n), n, capacity=64)
            assert sample.y.shape[1] == columns
            errors = np.asarray(measure(learn(jax.random.split(jax.random.key(1), 16), sample, plan), target))
            assert np.all((errors >= 0) & (errors <= 1))
            small = representation.concepts.domain.size <= 4 and not isinstance(representation, PointSetBuckets)
            if n and epsilon > 1e3 and small:
                assert np.median(errors) == 0


def test_sizes_for_a_domain_without_other_elements_cannot_fail():
    assert PointBuckets(Points(Domain(1)), 1, 1).failure(0.0) == 0
    assert PointSetBuckets(PointSets(Domain(3), 3), 1, 1).failure(0.0) == 0
    assert PointSetBuckets(PointSets(Domain(3), 2), 1, 1).failure(0.0) == 1


def test_runs_are_a_representation_only_if_the_learner_and_their_number_allow():
    learner = KLN(Finite.of([[0, 1], [1, 0]]))
    rows = learner.sample_size(Privacy(0.05), Accuracy(0.25, 0.5))
    enough = LearnerRuns(learner, 0.05, rows, 0.25)
    assert enough.count == 2 * theory.runs_on_one_element(rows, 0.05, 0.25)
    assert enough.failure(0.25) == 0.125 and enough.failure(0.24) == 1
    assert LearnerRuns(learner, 0.05, rows - 1, 0.25).failure(0.25) == 1
    assert LearnerRuns(learner, 0.05, rows, 0.25, enough.executions - 1).failure(0.25) == 1
    single = LearnerRuns(learner, 0.05, rows, 0.25, one_database=True)
    assert single.count == theory.runs_of_learner(rows, 0.05) and single.failure(0.25) == 0.25
    with pytest.raises(InputError, match="error below alpha"):
        RepresentationLearner(enough).sample_size(Privacy(1.0), ACCURACY)  # 1/4 is above alpha = 1/5
    assert RepresentationLearner(enough).sample_size(Privacy(1.0), Accuracy(0.5, 0.25)) < 300


# --- a representation from outside, with a hypothesis of its own -------------------------------------------------


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Above(Outside):
    """1 on elements from ``concept`` to the end, which no point function is."""

    concept: Any
    outcome: Any

    def predict_in(self, concepts, x):
        """``bool[..., k]``."""
        return x[..., :1] >= self.concept[:, 1]

    def error_in(self, concepts, distribution, target):
        """By listing the domain of 8 elements."""
        x = jnp.arange(8, dtype=jnp.uint32)[:, None]
        wrong = self.predict_in(concepts, x) != concepts.predict(target, x)
        return jnp.sum(jnp.where(wrong, distribution.mass_at(x[:, 0].astype(jnp.uint64))[:, None], 0), axis=0)

    def describe_in(self, concepts, rule=None):
        """The least element."""
        return [f"1 iff x >= {wide.decode(words)}" for words in np.asarray(self.concept)]


@dataclass(frozen=True)
class Rays(Representation):
    """The functions 1[x >= t]: a poor representation of points."""

    concepts: Points

    @property
    def count(self):
        """One for each element."""
        return self.concepts.size

    def failure(self, near):
        """Nothing is claimed."""
        return 1.0

    def draw(self, key):
        """Nothing is drawn."""
        return ()

    def errors(self, family, sample):
        """Of all of them."""
        says = sample.x[:, :1] >= jnp.arange(self.count, dtype=jnp.uint32)
        return errors_of_labels(says[..., None], sample)

    def member(self, family, index):
        """One of them."""
        return Above(jnp.stack([jnp.zeros_like(index), index]).astype(jnp.uint32)[None], jnp.zeros(1, jnp.int32))


def test_representations_from_outside():
    concepts = Points(Domain(8))
    learner = RepresentationLearner(Rays(concepts))
    task = Task(concepts, make.uniform(concepts.domain), [7])
    plan = learner.plan(Privacy(100.0), ACCURACY)
    sample, target = jit_draw(task, jax.random.key(0), 60)
    found = jax.jit(learner.learn)(jax.random.key(1), sample, plan)
    assert int(wide.decode(found.concept)[0]) == 7 and float(jit_error(task, found, target)[0]) == 0
    other = Above(jnp.asarray([[0, 4]], jnp.uint32), found.outcome)
    assert float(jit_error(task, other, target)[0]) == pytest.approx(3 / 8)
    assert np.asarray(jit_predict(learner, found, sample.x)).shape == (60, 1)
    with pytest.raises(InputError, match="error below alpha"):
        learner.sample_size(Privacy(1.0), ACCURACY)


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: RepresentationLearner(Points(Domain(4))),
        lambda: RepresentationLearner(PointBuckets),
        lambda: RepresentationLearner(Whole(MATRIX), "best"),
        lambda: Whole(PointSets(Domain(4), 2)),
        lambda: PointBuckets(MATRIX),
        lambda: PointBuckets(Points(Domain(4)), 0),
        lambda: PointBuckets(Points(Domain(4)), 1, 21),
        lambda: PointSetBuckets(Points(Domain(4))),
        lambda: PointSetBuckets(PointSets(Domain(4), 2), 1, 13),
        lambda: PointSetBuckets(PointSets(Domain(2**20), 7, 8)),  # 16^8 cells: too many tuples
        lambda: PointBuckets(Points(Domain(4))).count,
        lambda: PointBuckets(Points(Domain(4))).draw(jax.random.key(0)),
        lambda: RepresentationLearner(PointBuckets(Points(Domain(4)))).plan(Privacy(1.0), Accuracy(1e-9, 0.1)),
        lambda: RepresentationLearner(PointSetBuckets(PointSets(Domain(2**20), 3))).sample_size(
            Privacy(1.0), Accuracy(1e-4, 0.1)
        ),
        lambda: RepresentationLearner(PointBuckets(Points(Domain(4)), 1, 1)).sample_size(Privacy(1.0), ACCURACY),
        lambda: LearnerRuns(PointLearner(Points(Domain(4))), 1.0, 5, 0.1),
        lambda: LearnerRuns(KLN(MATRIX), 0.0, 5, 0.1),
        lambda: LearnerRuns(KLN(MATRIX), 1.0, 0, 0.1),
        lambda: LearnerRuns(KLN(MATRIX), 1.0, 5, 0.3),
        lambda: LearnerRuns(KLN(MATRIX), 10.0, 10**4, 0.25).count,
        lambda: jax.eval_shape(
            RepresentationLearner(Whole(MATRIX)).learn,
            jax.random.key(0),
            sample_of(Domain(3), 2, 4),
            RepresentationLearner(Whole(MATRIX)).plan(Privacy(1.0), ACCURACY),
        ),
        lambda: jax.eval_shape(Whole(Points(Domain(2**40))).errors, (), sample_of(Domain(2**40), 1, 4)),
        lambda: PointSetBuckets(PointSets(Domain(2**40), 3), 1, 8).errors(None, None),
    ],
)
def test_what_makes_no_sense_is_refused(attempt):
    with pytest.raises(InputError):
        attempt()


@pytest.mark.parametrize(
    "representation",
    [
        PointBuckets(Points(Domain(2**40))),
        pytest.param(PointSetBuckets(PointSets(Domain(2**40), 2)), marks=pytest.mark.slow),
        pytest.param(Whole(Thresholds(Domain(2**20))), marks=pytest.mark.slow),
    ],
)
def test_several_concepts_have_families_of_their_own(representation):
    """`Independent` joins hypotheses whose hash functions differ."""
    learner = Independent(RepresentationLearner(representation), 3)
    task = Task(representation.concepts, make.adversarial_points(representation.concepts.domain, 0.2))
    plan = learner.plan(Privacy(40.0), ACCURACY)
    sample, target = jit_draw(task, jax.random.key(0), 200, 3)
    found = jax.jit(learner.learn)(jax.random.key(1), sample, plan)
    errors = np.asarray(jit_error(task, found, target))
    wrong = np.mean(np.asarray(jit_predict(learner, found, sample.x)) != np.asarray(sample.y), axis=0)
    assert errors.shape == wrong.shape == (3,) and errors.max() <= 0.2 and wrong.max() <= 0.25
    assert all(part.shape[0] == 3 for part in jax.tree.leaves(found))
    shared = Independent(HashedPoints(Points(Domain(9)), 1, 2, 3), 2)
    plan = shared.plan(Privacy(1.0), ACCURACY)
    with pytest.raises(InputError, match="leading axis"):
        jax.eval_shape(shared.learn, jax.random.key(0), sample_of(Domain(9), 2, 4), plan)


def test_samples_have_the_columns_of_the_labels():
    learner = RepresentationLearner(PointSetBuckets(PointSets(Domain(9), 1, 3), 1, 2))
    plan = learner.plan(Privacy(1.0), ACCURACY)
    whole = sample_of(Domain(9), 3, 5)
    assert jax.eval_shape(learner.learn, jax.random.key(0), whole, plan).concept.shape == (1, 7)
    with pytest.raises(InputError, match="3 columns"):
        jax.eval_shape(learner.learn, jax.random.key(0), Sample(whole.x, whole.y[:, :1], whole.mask), plan)
    assert Hypothesis.of(jnp.zeros((1, 2), jnp.uint32)).concept.shape == (1, 2)
