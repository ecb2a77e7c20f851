"""The tree that a person reads, and what it refuses to hold."""

import json
import math

import pytest

from dpjax.accounting import Guarantee, as_replace_one, basic, exponential_guarantee, optimal
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring

TREE = """\
learner: (0.6, 1e-06)-DP, replace-one
│  basic composition: epsilons and deltas add [Bun, Nissim, Stemmer, Theorem 2.16(1)]
├─ choose: (0.5, 1e-06)-DP
│     gap 30 [somewhere]
└─ medians: (0.1, 0)-DP, 1.25e-05-zCDP, lattice
   │  optimal composition of 10 runs, slack 0 [Kairouz, Oh, Viswanath, Theorem 3.3]
   └─ 10 x median: (0.01, 0)-DP, 1.25e-06-zCDP, lattice"""


def tree():
    choose = Guarantee(0.5, 1e-6, Neighboring.REPLACE_ONE, "choose", "gap 30", source="somewhere")
    median = Guarantee(0.01, 0.0, Neighboring.REPLACE_ONE, "median", rho=1.25e-6, contract="lattice")
    return basic([choose, optimal(median, 10, 0.0, "medians")], "learner")


def test_prints_as_a_tree():
    assert str(tree()) == TREE


def test_relation_and_distance_are_printed_where_they_change():
    part = Guarantee(0.5, 0.0, Neighboring.ADD_OR_REMOVE_ONE, "count")
    first, why, last = str(as_replace_one(part)).splitlines()
    assert first == "count: (1, 0)-DP, replace-one"
    assert "2 epsilon" in why
    assert last == "└─ count: (0.5, 0)-DP, add-or-remove-one"


def test_is_json_ready_and_complete():
    entry = json.loads(json.dumps(tree().to_dict()))
    assert entry["epsilon"] == pytest.approx(0.6)
    assert entry["neighboring"] == "replace-one"
    assert [part["what"] for part in entry["parts"]] == ["choose", "medians"]
    assert entry["parts"][1]["rounds"] == 10
    assert entry["parts"][1]["contract"] == "lattice"
    assert "rho" not in entry
    assert entry["parts"][1]["parts"][0]["rho"] == 1.25e-6


def test_equal_by_value():
    assert tree() == tree()
    assert hash(tree()) == hash(tree())


def test_covers(laws):
    claim = laws.guarantee(1.0, 1e-6)
    assert claim.covers(claim)
    assert claim.covers(laws.guarantee(0.5, 1e-6))
    assert claim.covers(laws.guarantee(1.0))
    assert not claim.covers(laws.guarantee(1.1))
    assert not claim.covers(laws.guarantee(0.5, 1e-5))
    assert not claim.covers(laws.guarantee(0.1, neighboring=Neighboring.ADD_OR_REMOVE_ONE))
    assert claim.covers(laws.guarantee(1.0, distance=2))
    assert not laws.guarantee(1.0, distance=2).covers(claim)


def test_exponential_mechanism_is_a_leaf():
    leaf = exponential_guarantee(0.4)
    assert (leaf.epsilon, leaf.delta, leaf.bounded_range, leaf.parts) == (0.4, 0.0, 0.4, ())
    assert leaf.rho == pytest.approx(0.02)


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": -1.0},
        {"epsilon": math.inf},
        {"epsilon": math.nan},
        {"epsilon": "1"},
        {"delta": 1.0},
        {"delta": -1e-9},
        {"rho": -0.1},
        {"bounded_range": math.nan},
        {"rounds": 0},
        {"distance": 0},
        {"contract": "secure"},
        {"neighboring": "replace-one"},
    ],
)
def test_bad_fields(changes):
    fields = {"epsilon": 1.0, "delta": 0.0, "neighboring": Neighboring.REPLACE_ONE, "what": "part"} | changes
    with pytest.raises(InputError):
        Guarantee(**fields)
