"""A learner or sanitizer that accepts a neighboring relation states it, in its guarantee and in its docstring."""

import re
from dataclasses import fields, replace

import numpy as np
import pytest

from dpjax import evidence, sanitizers
from dpjax.concepts import Domain, Finite
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy

ADDED, MATRIX = Neighboring.ADD_OR_REMOVE_ONE, Finite.of(np.eye(3))
SANITIZERS = [
    sanitizers.BLR(MATRIX.xor(), 2),
    sanitizers.MWEM(MATRIX.xor(), 1),
    sanitizers.PointCounts(Domain(8)),
    *(
        getattr(sanitizers, name)(4)
        for name in (
            "Hierarchy",
            "IndependentQuantiles",
            "JointQuantiles",
            "RankBlocks",
            "RecursiveQuantiles",
            "Slices",
        )
    ),
]


def learners():
    """One of each kind that evidence has."""
    found = [evidence.learner_world(name).learner for name in evidence.learner_names()]
    return {type(one).__name__: one for one in found if "neighboring" in {field.name for field in fields(one)}}


def with_added(algorithm):
    """The same under add-or-remove-one; None if it refuses that."""
    try:
        return replace(algorithm, neighboring=ADDED)
    except InputError as error:
        if error.name != "neighboring":
            raise
        return None


def stated(algorithm):
    """The lines of the entry ``Privacy:``, of the class or the base that has one."""
    docs = (kind.__doc__ for kind in type(algorithm).__mro__ if "Privacy:" in (kind.__doc__ or ""))
    return re.search(r"Privacy: (.*?)\n    \w+:", next(docs), re.DOTALL)[1]


@pytest.mark.parametrize("name", sorted(learners()))
def test_a_relation_that_is_accepted_is_stated(name):
    added = with_added(learners()[name])
    if added is not None:
        assert re.search("add-or-remove-one|``neighboring``", stated(added)), stated(added)
        plan = added.plan(Privacy(1.0, 1e-3), Accuracy(0.3, 0.3))
        assert added.guarantee(plan).neighboring is ADDED


def test_some_learners_accept_both_relations_and_some_refuse():
    found = {name: with_added(one) is not None for name, one in learners().items()}
    assert found["KLN"] and found["ThresholdMedian"] and found["ThresholdInterior"]
    assert not found["PointLearner"] and not found["GenericLearner"]


@pytest.mark.parametrize("made", SANITIZERS, ids=lambda one: type(one).__name__)
def test_sanitizers_are_for_one_public_size(made):
    assert re.search("replace-one|REPLACE_ONE", stated(made)) and with_added(made) is None
