"""Whether families represent their class: exact probabilities, estimates that contain them, families that do not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.audit import NotListable
from dpjax.concepts import Domain, Finite, Points, PointSets, Thresholds
from dpjax.core.checks import InputError
from dpjax.learners import KLN
from dpjax.learners.representations import LearnerRuns, PointBuckets, PointSetBuckets, Whole
from dpjax.papers.represented import hard_distributions, represents

TWO = Finite.of([[0, 1], [1, 0]])
HALVES = [[(0, 24), (1, 24)]]


def test_a_collision_of_two_elements_exactly():
    """Half of the mass collides with the target with probability 1/4, and then nothing errs on less than half."""
    one = PointBuckets(Points(Domain(2)), 1, 2)
    found = represents(one, 0.25, 0.25, distributions=HALVES)
    assert found.lower == found.upper == pytest.approx(0.75) and found.trials == 0 and found.holds
    assert represents(one, 0.25, 0.2, distributions=HALVES).holds is False
    assert represents(PointBuckets(Points(Domain(2)), 2, 1), 0.25, 0.25, distributions=HALVES).lower == pytest.approx(
        0.75
    )
    assert represents(one, 0.5, 1e-6, distributions=HALVES).lower == pytest.approx(1)  # the all-zero function


@pytest.mark.parametrize(
    "family",
    [
        PointBuckets(Points(Domain(4)), 1, 2),
        *(
            pytest.param(one, marks=pytest.mark.slow)
            for one in (
                LearnerRuns(KLN(TWO), 0.5, 4, 0.25, 2),
                PointSetBuckets(PointSets(Domain(4), 2), 1, 2),
                PointSetBuckets(PointSets(Domain(4), 1, 2), 1, 2),
                Whole(Thresholds(Domain(5))),
            )
        ),
    ],
)
def test_estimates_contain_what_is_exact_and_proofs_promise_no_more(family):
    """At confidence 1 - 1e-6 for all pairs."""
    for near in (0.0, 0.25, 0.5):
        exact = represents(family, near, 0.1, exact=True)
        assert exact.lower >= 1 - family.failure(near) - 1e-9
        drawn = represents(family, near, 0.1, exact=False, trials=512, confidence=1 - 1e-6)
        assert drawn.lower <= exact.lower + 1e-9 and drawn.trials == 512 and drawn.pairs == exact.pairs
        assert exact.lower <= drawn.upper + 1e-9  # the least upper end is above the least probability


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("family", "failure"),
    [
        (PointBuckets(Points(Domain(2**40))).for_accuracy(0.25, 0.125), 0.125),
        pytest.param(
            PointSetBuckets(PointSets(Domain(2**64), 2)).for_accuracy(0.25, 0.125), 0.125, marks=pytest.mark.slow
        ),
        pytest.param(
            PointSetBuckets(PointSets(Domain(8), 1, 2)).for_accuracy(0.25, 0.125), 0.125, marks=pytest.mark.slow
        ),
        pytest.param(LearnerRuns(KLN(TWO), 0.05, 112, 0.25), 0.125, marks=pytest.mark.slow),
        pytest.param(LearnerRuns(KLN(TWO), 0.05, 112, 0.25, one_database=True), 0.25, marks=pytest.mark.slow),
    ],
)
def test_what_the_planners_and_the_lemmas_make_are_representations(family, failure):
    assert family.failure(0.25) <= failure
    found = represents(family, 0.25, failure, exact=False, trials=512, confidence=1 - 1e-6)
    assert found.holds is not False and found.lower > 0.8, str(found)
    small = PointBuckets(Points(Domain(2**40)), 1, 1)
    assert represents(small, 0.25, 0.125, exact=False, trials=512, confidence=1 - 1e-6).holds is False


def test_distributions_have_one_total():
    for size in (1, 2, 3, 4, 5, 16, 2**64):
        laws = hard_distributions(Domain(size))
        assert {sum(weight for _, weight in law) for law in laws} == {48}
        assert all(0 <= element < size for law in laws for element, _ in law)
        assert len({element for element, _ in laws[-1]}) == min(size, 16)


def test_words_and_bad_input():
    found = represents(Whole(Points(Domain(3))), 0.0, 0.1)
    assert found.holds and "exactly" in str(found) and "concept 0" in str(found)
    big = PointBuckets(Points(Domain(2**40)), 4, 8)
    with pytest.raises(NotListable):
        represents(big, 0.25, 0.1, exact=True)
    for wrong in (
        lambda: represents(big, 1.0, 0.1),
        lambda: represents(big, 0.1, 0.0),
        lambda: hard_distributions(Domain(4), 13),
        lambda: represents(big, 0.1, 0.1, distributions=[[(0, 1)], [(0, 2)]]),
        lambda: represents(big, 0.1, 0.1, distributions=[]),
        lambda: represents(big, 0.1, 0.1, trials=0, exact=False),
    ):
        with pytest.raises(InputError):
            wrong()
    targets = np.asarray(Points(Domain(2**40)).targets(2))
    some = represents(big, 0.25, 0.1, distributions=HALVES, targets=targets, exact=False, trials=64)
    assert some.pairs == 2 and some.holds is not False
    assert jax.tree.leaves(jnp.zeros(1))
