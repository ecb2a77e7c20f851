"""What was learned as a file: round trips, no rows inside, rules in a table's units, classes from outside."""

import json
import sys
from dataclasses import dataclass
from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.baselines import ERM
from dpjax.concepts import ConvexPolygons, Domain, Hypothesis, Points, Thresholds, Unions
from dpjax.concepts.base import ConceptClass
from dpjax.concepts.hashing import Buckets, Hash
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.learners import HashedPoints, Learner, PolygonLearner, UnionLearner
from dpjax.tables import learned
from dpjax.tables.grids import on_lines, on_plane
from dpjax.tables.learned import Learned

LINE = on_lines(["age"], ["age=0:64"], 6, [])


def of(numbers, **fields):
    made = Hypothesis.of(jnp.asarray(wide.encode(np.array(numbers, np.uint64), 2)))
    return Hypothesis(**{**vars(made), **fields})


def test_rules_are_in_the_units_of_the_table():
    erm = ERM(Thresholds(LINE.domain))
    rules = Learned(erm, of([0, 64, 18]), LINE, ("p", "q", "r")).rules()
    assert [row["rule"] for row in rules] == ["0 everywhere", "1 everywhere", "1 iff age < 18"]
    assert [row["interval"] for row in rules] == [None, (0, 64), (0, 18)]
    silent = of([3], zero=jnp.array([True]), outcome=jnp.array([-1]))
    (row,) = Learned(erm, silent, LINE, ("p",)).rules()
    assert row == {"concept": "p", "rule": "0 everywhere (no answer)", "outcome": -1}
    flipped = on_lines(["age", "size"], ["age=0:64", "size=-1:1"], 6, ["age"])
    rules = Learned(erm, of([18, 32]), flipped, ("age", "size")).rules()
    assert [row["rule"] for row in rules] == ["1 iff age >= 46", "1 iff size < 0"]
    (row,) = Learned(ERM(Points(LINE.domain)), of([8]), LINE, ("p",)).rules()
    assert row["rule"] == "1 iff age in [7, 8)"


@pytest.mark.parametrize("names", [("p", "q"), ("age", "size")])
def test_predictions_after_a_round_trip(tmp_path, names):
    several = names[0] == "age"
    placing = on_lines(["age", "size"], ["age=0:64", "size=-1:1"], 6, ["age"]) if several else LINE
    made = Learned(ERM(Thresholds(placing.domain)), of([18, 32]), placing, names, "yes")
    path = tmp_path / "learned.json"
    path.write_text(json.dumps({"model": made.to_dict()}))
    again = learned.load(path)
    assert again.to_dict() == made.to_dict() and again.rules() == made.rules() and again.positive == "yes"
    age, size = np.array([-5.0, 17.5, 18, 45.9, 46, 99]), np.array([-1, -0.01, 0, 1, 5, -5])
    found = again.predict([age, size] if several else [age])
    expected = [age >= 46, size < 0] if several else [age < 18, age < 32]
    np.testing.assert_array_equal(found, np.stack(expected, axis=1))
    assert again.predict([age[:0], size[:0]] if several else [age[:0]]).shape == (0, 2)


def test_long_tables_are_predicted_in_blocks(monkeypatch):
    monkeypatch.setattr(learned, "_BLOCK", 7)
    values = np.linspace(0, 64, 20)
    found = Learned(ERM(Thresholds(LINE.domain)), of([18]), LINE, ("p",)).predict([values])
    np.testing.assert_array_equal(found[:, 0], values < 18)


def test_buckets_come_back():
    hashes = Hash.draw(jax.random.key(0), 2, 2)
    buckets = Buckets(**vars(of([2**32, 3], zero=jnp.array([False, True]))), hashes=hashes)
    made = Learned(HashedPoints(Points(LINE.domain), 2, 2, 2), buckets, LINE, ("p", "q"))
    again = Learned.of(json.loads(json.dumps(made.to_dict())))
    assert [row["rule"] for row in again.rules()] == ["1 iff hash function 1 gives 0", "0 everywhere"]
    values = np.arange(64.0)
    found = again.predict([values])
    np.testing.assert_array_equal(found, made.predict([values]))
    assert 0 < found[:, 0].sum() < 64 and not found[:, 1].any()


def test_shapes_come_back():
    plane = on_plane(["x", "y"], (0, 0, 16, 16), 4)
    square = ConvexPolygons(15, 4).of_lines([(1, 0), (0, 1), (-1, 0), (0, -1)], [10.5, 10.5, -3.5, -3.5])
    made = Learned(PolygonLearner(ConvexPolygons(15, 4)), Hypothesis.of(jnp.asarray(square)[None]), plane, ("p",))
    again = Learned.of(json.loads(json.dumps(made.to_dict())))
    x, y = (one.reshape(-1).astype(float) for one in np.meshgrid(np.arange(16) + 0.5, np.arange(16) + 0.5))
    inside = (np.abs(x - 7.5) < 3.5) & (np.abs(y - 7.5) < 3.5)
    np.testing.assert_array_equal(again.predict([x, y])[:, 0], inside)
    (row,) = again.rules()
    assert len(row["pieces"]) == 1 and row["rule"] == "1 iff in all of 4 halfplanes"
    says = np.all([a * x + b * y <= c for a, b, c in row["pieces"][0]], axis=0)
    np.testing.assert_array_equal(says, inside)


def test_pieces_leave_out_what_holds_the_whole_box():
    plane = on_plane(["x", "y"], (0, 0, 16, 16), 4)
    concepts = ConvexPolygons(15, 4)
    for lines, offsets, edges in (([(1, 0), (0, 1)], [10, 40], 1), ([(0, 1)], [40], 0)):
        words = jnp.asarray(concepts.of_lines(lines, offsets))[None]
        (row,) = Learned(PolygonLearner(concepts), Hypothesis.of(words), plane, ("p",)).rules()
        assert [len({*map(tuple, piece)}) for piece in row["pieces"]] == [edges]
    zero = Hypothesis(words, jnp.array([True]), jnp.zeros(1, jnp.int32))
    assert Learned(PolygonLearner(concepts), zero, plane, ("p",)).rules()[0]["pieces"] == []
    union = UnionLearner(Unions(15, 1))
    triangle = Unions(15, 1).of_polygons([[(0, 0), (15, 0), (0, 15)]])
    (row,) = Learned(union, Hypothesis.of(jnp.asarray(triangle)[None]), plane, ("p",)).rules()
    assert len(row["pieces"]) == 1 and len(row["pieces"][0]) <= 3


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Between:
    ends: jax.Array
    outcome: jax.Array


@dataclass(frozen=True)
class Intervals(ConceptClass):
    domain: Domain
    size = 64

    def error(self, distribution, hypothesis, target): ...

    def predict(self, hypothesis, x):
        element = x[..., -1:].astype(jnp.int32)
        return (hypothesis.ends[:, 0] <= element) & (element <= hypothesis.ends[:, 1])

    def describe(self, hypothesis, rule=lambda first, last: f"{first} to {last}"):
        return [rule(int(first), int(last)) for first, last in hypothesis.ends]


@dataclass(frozen=True)
class Mine(Learner):
    concepts: Intervals

    def _plan(self, privacy, accuracy, n=None) -> None: ...

    def _learn(self, key, sample, plan): ...

    def _guarantee(self, plan): ...

    def predict(self, hypothesis, x):
        return self.concepts.predict(hypothesis, x)


def test_classes_and_hypotheses_from_outside(monkeypatch):
    module = ModuleType("outside_of_here")
    for kind in (Between, Intervals, Mine):
        monkeypatch.setattr(kind, "__module__", "outside_of_here")
        setattr(module, kind.__name__, kind)
    monkeypatch.setitem(sys.modules, "outside_of_here", module)
    made = Learned(
        Mine(Intervals(LINE.domain)), Between(jnp.array([[19, 30]], jnp.int32), jnp.zeros(1, jnp.int32)), LINE, ("p",)
    )
    data = json.loads(json.dumps(made.to_dict()))
    with pytest.raises(InputError, match="--import outside_of_here"):
        Learned.of(data)
    again = Learned.of(data, ["outside_of_here"])
    assert again.rules() == [{"concept": "p", "rule": "1 iff age in [18, 30)", "outcome": 0, "interval": (18, 30)}]
    np.testing.assert_array_equal(again.predict([np.array([17.9, 18, 29.9, 30])])[:, 0], [False, True, True, False])


@dataclass(frozen=True)
class Backwards(Thresholds):
    """Calls its rule with the ends in the wrong order."""

    def describe(self, hypothesis, rule=lambda first, last: f"{first} to {last}"):
        return [rule(last, 0) for last in range(1, 1 + len(hypothesis.concept))]


def test_a_description_of_no_range_is_refused():
    """It was printed as "0 everywhere", which a class says itself."""
    backwards = Backwards(LINE.domain)
    with pytest.raises(InputError, match=r"first <= last < 65, got rule\(1, 0\)"):
        Learned(ERM(backwards), of([3]), LINE, ("p",)).rules()
    with pytest.raises(InputError, match=r"first <= last < 65, got rule\(1, 0\)"):
        learned.check_rules(backwards, LINE)
    for beyond in ((0, 65), (-1, 3)):
        with pytest.raises(InputError, match="first and the last element"):
            LINE.range(*beyond)
    for fine in (Thresholds(LINE.domain), Points(LINE.domain), Intervals(LINE.domain)):
        learned.check_rules(fine, LINE)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "learned.json"
    with pytest.raises(InputError, match="check the path"):
        learned.load(path)
    good = Learned(ERM(Thresholds(LINE.domain)), of([18]), LINE, ("p",)).to_dict()
    models = [
        {**good, "kind": "another"},
        {key: value for key, value in good.items() if key != "hypothesis"},
        {**good, "names": ["p", "q"]},
        {**good, "placing": {"shape": False, "features": [{"name": "age"}]}},
    ]
    for text in ("", "[1]", "{}", *(json.dumps({"model": model}) for model in models)):
        path.write_text(text)
        with pytest.raises(InputError, match=r"learned\.json of `dpjax learn --out FOLDER`"):
            learned.load(path)
