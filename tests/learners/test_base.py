"""Databases from host data, and the neighbors that audits begin with."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax import learners
from dpjax.concepts import ConvexPolygons, Domain, Hypothesis, Parities, Points, Thresholds
from dpjax.core.checks import InputError
from dpjax.core.plans import stack_plans
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners import KLN, HashedPoints, Independent, ParityLearner, PointLearner, ThresholdMedian, base, database
from dpjax.learners.columns import for_concepts

DOMAIN, ACCURACY, KEY = Domain(100), Accuracy(0.2, 0.2), jax.random.key(0)
POINT, LINE = PointLearner(Points(DOMAIN)), KLN(Thresholds(DOMAIN))
PLAN, ROW = LINE.plan(Privacy(1.0), ACCURACY), database(DOMAIN, [5], [1])


def test_a_database_holds_what_it_was_given():
    domain = Domain(2**64)
    one = database(domain, [3, 2**64 - 1], [0, 1], capacity=4)
    assert [int(v) for v in domain.decode(one.x)][:2] == [3, 2**64 - 1]
    assert np.asarray(one.y).tolist()[:2] == [[False], [True]]
    assert np.asarray(one.mask).tolist() == [True, True, False, False]
    assert (one.capacity, int(one.size)) == (4, 2)
    many = database(domain, [3, 4], [[0, 1, 1], [1, 0, 0]])
    assert many.capacity == 2 and many.y.shape == (2, 3)


def test_an_empty_database_has_a_buffer():
    one = database(Domain(10), [], np.zeros((0, 2)), capacity=3)
    assert int(one.size) == 0 and one.y.shape == (3, 2)
    assert database(Domain(10), [], []).capacity == 1


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: database(Domain(10), [10], [1]),
        lambda: database(Domain(10), [1], [2]),
        lambda: database(Domain(10), [1], [float("nan")]),
        lambda: database(Domain(10), [1, 2], [0, 1], capacity=1),
        lambda: database(Domain(10), [1], [1], capacity=0),
    ],
)
def test_data_that_are_none_are_refused(attempt):
    with pytest.raises(InputError):
        attempt()


@pytest.mark.parametrize("given", [([1, 2], [0]), ([1], [0, 1]), ([], [1])], ids=str)
def test_values_and_labels_must_be_as_many(given):
    with pytest.raises(InputError):
        database(Domain(10), *given)


@pytest.mark.parametrize("size", [2, 3, 100, 2**64])
@pytest.mark.parametrize("rows", [1, 2, 7])
@pytest.mark.parametrize("k", [1, 3])
def test_hard_pairs_differ_in_exactly_one_row(size, rows, k):
    for one, other in base.flipped_label_pairs(Domain(size), rows, k):
        assert int(one.size) == int(other.size) == rows and one.y.shape == (rows, k)
        differs = np.any(np.asarray(one.x != other.x), axis=1) | np.any(np.asarray(one.y != other.y), axis=1)
        assert differs.sum() == 1


@pytest.mark.parametrize("learner", [LINE, ThresholdMedian(Thresholds(DOMAIN))])
def test_a_row_beyond_the_domain_counts_as_its_last_element(learner):
    """All reads of rows lie behind that: the programs of both databases see the same numbers."""
    plan = learner.plan(Privacy(1.0), ACCURACY)
    outside, last = (database(Domain(2**32), [5, value, 7], [1, 1, 0]) for value in (2**32 - 1, 99))
    run = jax.jit(lambda sample: jax.vmap(learner.learn, (0, None, None))(jax.random.split(KEY, 50), sample, plan))
    found = [np.asarray(run(sample).concept) for sample in (outside, last)]
    np.testing.assert_array_equal(*found)
    assert found[0].max() <= 99


@pytest.mark.parametrize("n", [-1, 1.5, float("nan"), "5", True])
@pytest.mark.parametrize("learner", [LINE, POINT, Independent(LINE, 2)])
def test_a_number_of_rows_that_is_none_is_refused(learner, n):
    with pytest.raises(InputError, match=r"^n: expected a whole number"):
        learner.plan(Privacy(1.0, 1e-2), ACCURACY, n)


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: LINE.plan(Privacy(1e-50), ACCURACY),
        lambda: Independent(LINE, 2).plan(Privacy(1e-45), ACCURACY),
        lambda: POINT.plan(Privacy(1.0, 1e-300), ACCURACY),
        lambda: LINE.plan((1.0, 0.0), ACCURACY),
        lambda: jax.jit(lambda e: LINE.plan(Privacy(e), ACCURACY).epsilon)(1.0),
        lambda: LINE.learn(KEY, ROW, POINT.plan(Privacy(1.0, 1e-2), ACCURACY)),
        lambda: LINE.guarantee(POINT.plan(Privacy(1.0, 1e-2), ACCURACY)),
        lambda: LINE.guarantee(stack_plans([PLAN, PLAN])),
        lambda: LINE.learn(KEY, ROW, stack_plans([PLAN, PLAN])),
        lambda: LINE.learn(KEY, Sample(ROW.x[:, 0], ROW.y, ROW.mask), PLAN),
        lambda: LINE.learn(KEY, database(Domain(2**64), [5], [1]), PLAN),
        lambda: POINT.__class__(Points(DOMAIN), Neighboring.ADD_OR_REMOVE_ONE),
        lambda: ParityLearner(Parities(3), neighboring=Neighboring.ADD_OR_REMOVE_ONE),
        lambda: ParityLearner(Parities(3), neighboring="add-or-remove-one"),
        lambda: LINE.__class__(Thresholds(DOMAIN), "replace-one").plan(Privacy(1.0), ACCURACY),
        lambda: LINE.learn(KEY, ROW.x, PLAN),
        lambda: LINE.learn(KEY, None, PLAN),
        lambda: LINE.learn(0, ROW, PLAN),
        lambda: LINE.learn(jax.random.split(KEY, 2), ROW, PLAN),
        lambda: LINE.learn(KEY, Sample(ROW.x, 2 * ROW.y.astype(jnp.int32) - 1, ROW.mask), PLAN),
        lambda: LINE.learn(KEY, Sample(ROW.x, ROW.y[:, 0], ROW.mask), PLAN),
        lambda: LINE.learn(KEY, Sample(ROW.x, ROW.y, 100 * ROW.mask.astype(jnp.int32)), PLAN),
        lambda: LINE.learn(KEY, Sample(ROW.x, ROW.y, jnp.ones(7, bool)), PLAN),
        lambda: LINE.learn(KEY, Sample(ROW.x.astype(jnp.float32), ROW.y, ROW.mask), PLAN),
        lambda: LINE.predict(LINE.learn(KEY, ROW, PLAN), np.arange(8)),
        lambda: LINE.predict(LINE.learn(KEY, ROW, PLAN), 3),
    ],
)
def test_what_no_learner_can_work_with_is_refused(attempt):
    with pytest.raises(InputError):
        attempt()


def test_a_plan_s_class_is_known_by_its_annotation():
    with pytest.raises(InputError, match="return annotation"):

        class Loose(base.Learner):
            def _plan(self, privacy, accuracy, n=None):
                return privacy

    class Kept(type(LINE)):
        def _plan(self, privacy, accuracy, n=None):
            return POINT.plan(Privacy(1.0, 1e-2), ACCURACY)

    class Text(type(LINE)):
        def _plan(self, privacy, accuracy, n=None) -> "KLN":
            return POINT.plan(Privacy(1.0, 1e-2), ACCURACY)

    with pytest.raises(InputError, match="expected KLN,"):
        Text(Thresholds(DOMAIN)).plan(Privacy(1.0), ACCURACY)
    with pytest.raises(InputError, match="KLNPlan"):
        Kept(Thresholds(DOMAIN)).plan(Privacy(1.0), ACCURACY)


def test_an_empty_buffer_is_one_with_room_for_a_row():
    nothing = jax.tree.map(lambda part: part[:0], ROW)
    empty = database(DOMAIN, [], np.zeros((0, 1)), capacity=1)
    for learner in (POINT, Independent(LINE, 1)):
        plan = learner.plan(Privacy(1.0, 1e-2), ACCURACY)
        found, expected = (jax.eval_shape(learner.learn, KEY, sample, plan) for sample in (nothing, empty))
        assert found == expected


def test_the_relation_of_hashed_points_is_its_guarantees():
    for relation in Neighboring:
        learner = HashedPoints(Points(DOMAIN), 2, neighboring=relation)
        assert learner.guarantee(learner.plan(Privacy(1.0), ACCURACY)).neighboring is relation


def test_everything_exported_is_named():
    names = {"Independent", "KLN", "Learner", "PointLearner", "ThresholdMedian", "database"}
    assert names <= set(vars(learners))


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (lambda: KLN(8), "a concept class, got 8; build one"),
        (lambda: Independent(3, 2), "a Learner, got 3; build one"),
        (lambda: Independent(KLN, 2), "the class KLN; call it"),
        (lambda: learners.EmpiricalLearner(KLN), "the class KLN; call it"),
        (lambda: learners.EmpiricalLearner(None), "a Learner, got None"),
        (lambda: LINE.sample_size(1.0, ACCURACY), r"give Privacy\(epsilon, delta\)"),
        (lambda: LINE.sample_size(Privacy(1.0), 0.1), r"give Accuracy\(alpha, beta\)"),
        (lambda: LINE.agnostic_sample_size(1.0, ACCURACY), "give Privacy"),
        (lambda: Independent(LINE, 2).sample_size(1.0, ACCURACY), "give Privacy"),
    ],
)
def test_what_is_no_learner_and_no_budget_is_named(attempt, words):
    with pytest.raises(InputError, match=words):
        attempt()


@dataclass(frozen=True)
class Outside(learners.Learner):
    """The last row's element and its label, as they are."""

    concepts: Points

    def _plan(self, privacy, accuracy, n=None) -> None:
        return None

    def _learn(self, key, sample, plan):
        return Hypothesis(sample.x[-1:], ~sample.y[-1], jnp.zeros(1, jnp.int32))

    def _guarantee(self, plan):
        return None


def test_a_learner_from_outside_has_defaults_and_checks_by_inheriting():
    learner = Outside(Points(DOMAIN))
    assert (learner.spends, learner.passes, learner.proper) == ("approximate", 1, False)
    assert learner == Outside(Points(DOMAIN))
    assert not jax.tree.leaves(learner) and learner.for_concepts(2) is None and learner.hard_neighbors(2)
    beyond = learner.learn(KEY, database(Domain(2**32), [2**32 - 1], [1]), None)
    assert np.asarray(beyond.concept).tolist() == [[99]], "the domain's last element"
    for attempt, words in (
        (lambda: learner.learn(jax.random.key_data(KEY), ROW, None), "key: expected one key"),
        (lambda: learner.learn(KEY, ROW, PLAN), "plan: expected NoneType"),
        (lambda: learner.plan(1.0, ACCURACY), "give Privacy"),
        (lambda: learner.sample_size(Privacy(1.0), ACCURACY), "one with a theorem, got Outside"),
    ):
        with pytest.raises(InputError, match=words):
            attempt()


def test_what_checks_arguments_is_not_overridden():
    with pytest.raises(InputError, match=r"Unchecked.learn: expected a method _learn, got learn; rename it"):

        class Unchecked(Outside):
            def learn(self, key, sample, plan):
                return None


def test_a_learner_that_does_not_inherit_is_refused():
    class Alone:
        concepts, spends = Points(DOMAIN), "pure"

        def learn(self, key, sample, plan): ...

    with pytest.raises(InputError, match="a new kind of learner inherits"):
        Independent(Alone(), 2)
    with pytest.raises(InputError, match="a new kind of learner inherits"):
        for_concepts(Alone(), 2)


def test_a_parameter_k_of_a_polygon_learner_is_not_a_number_of_concepts():
    learner = learners.PolygonLearner(ConvexPolygons(8, 3), 2, 3)
    assert learner.k == 3 and learner.number_of_concepts == 1
    assert learners.Boosted(learner).concepts == learner.concepts
