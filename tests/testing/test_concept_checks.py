"""Each check of a class finds its planted fault; ours pass all of them."""

import pytest

import dpjax as dp
from dpjax import testing
from dpjax.core.checks import InputError
from dpjax.templates.concept_class import Intervals
from tests.testing import faults as f

DOMAIN = dp.Domain(12)
FAULTS = [
    (f.Asymmetric, "errors are a pseudometric", "a symmetric error"),
    (f.Doubled, "errors are those of draws", "draws differ"),
    (f.OneSentence, "hypotheses are sentences", "13 sentences"),
    (f.LabelsFirst, "labels are columns", "axis last"),
    (f.NoZero, "labels are columns", "hypothesis.zero"),
    (f.ManyTargets, "targets are encoded concepts", "c <= 1"),
    (f.PaddedPieces, "pieces are the errors of all concepts", "garbage in the padding"),
]


@pytest.mark.parametrize(("kind", "check", "words"), FAULTS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_planted_fault_is_found(kind, check, words):
    f.require_failed(testing.check_concepts(kind(DOMAIN), quick=True), check, words)


OURS = [
    Intervals(DOMAIN),
    dp.Thresholds(dp.Domain(2**40)),
    dp.Points(DOMAIN),
    dp.Finite.of([[0, 1, 1], [1, 0, 1]]),
    dp.Conjunctions(5),
    dp.Stumps(40),
    dp.Parities(6),
    dp.ConvexPolygons(2**6, 3),
    dp.Unions(2**6, 2),
]
QUICK = Intervals, dp.Thresholds, dp.Points, dp.Finite


@pytest.mark.parametrize(
    "concepts",
    [
        pytest.param(one, marks=() if isinstance(one, QUICK) else pytest.mark.slow, id=type(one).__name__)
        for one in OURS
    ],
)
def test_ours_pass(concepts):
    testing.assert_passed(testing.check_concepts(concepts, quick=True))


def test_what_is_no_class_is_refused():
    with pytest.raises(InputError, match="the class Intervals"):
        testing.check_concepts(Intervals)
    with pytest.raises(InputError, match=r"expected a concept class, got 3; .* inherits from dpjax\.ConceptClass"):
        testing.check_concepts(3)
