"""Steps of Appendix A that do not hold as printed, by computation."""

import math

import pytest
from papers import bgs_boosting

from dpjax.core.checks import InputError
from dpjax.theory import boosting


def test_steps_that_do_not_hold_as_printed():
    """Subsampling a run of large epsilon is exponentially far from linear; its delta grows; the density halves."""
    turns = boosting.rounds(0.05, 1 / 6)
    assert 2 * turns * 0.25 == 27
    assert bgs_boosting.last_step_factor(0.25, turns) > 1e10
    assert bgs_boosting.last_step_factor(1e-6, turns) == pytest.approx(1, abs=1e-4)
    assert bgs_boosting.last_step_delta(0.25) == pytest.approx(math.exp(0.25))
    assert bgs_boosting.last_step_delta(0.25, 16) == pytest.approx(0.75 * math.exp(0.75 * 0.25))  # below 1
    assert bgs_boosting.density_factor(0.1, 10_000, 100, 0.5) == pytest.approx(2, rel=0.01)


@pytest.mark.parametrize(
    "call",
    [
        lambda: bgs_boosting.last_step_factor(-1.0, 3),
        lambda: bgs_boosting.last_step_factor(1.0, 0),
        lambda: bgs_boosting.last_step_delta(0.25, 1),
        lambda: bgs_boosting.density_factor(0.0, 10, 5, 1.0),
    ],
)
def test_bad_numbers(call):
    with pytest.raises(InputError):
        call()
