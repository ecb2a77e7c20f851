"""A figure shows a readable part of any result, always the same one, and says what it leaves out."""

import itertools

import pytest

from dpjax.plots.options import Options
from dpjax.plots.selection import PANELS, _panels, select, spread


def test_spread_keeps_the_ends():
    assert spread([5, 1, 3, 3], 4) == [1, 3, 5]
    assert spread(range(10), 4) == [0, 3, 6, 9]
    assert spread(range(10), 1) == [9]
    assert spread([], 3) == []


@pytest.mark.parametrize(("ks", "epsilons"), list(itertools.product([1, 2, 3, 4, 5, 8, 20], repeat=2)))
def test_panels_are_few_and_even(ks, epsilons):
    measured = set(itertools.product(range(1, ks + 1), range(1, epsilons + 1)))
    panels, columns = _panels(measured)
    assert len(panels) == len(set(panels)) <= min(PANELS, len(measured))
    assert set(panels) <= measured
    assert len(panels) >= min(len(measured), 6), "not too few"
    assert columns <= 4
    assert -len(panels) % columns < 2, "hardly an empty place"


def test_panels_of_a_ragged_grid():
    measured = {(1, 0.5), (2, 0.5), (2, 1.0)}
    panels, columns = _panels(measured)
    assert set(panels) == measured
    assert columns == 3
    assert _panels(set()) == ((), 1)
    scattered = {(k, 1 / k) for k in range(1, 40)}
    assert 1 <= len(_panels(scattered)[0]) <= PANELS


def test_the_order_of_points_does_not_matter(result):
    before = select(result)
    result["points"].reverse()
    after = select(result)
    assert (before.points, before.panels, before.learners) == (after.points, after.panels, after.learners)


def test_learners_have_the_order_of_their_study_unless_another_is_chosen(result):
    assert list(select(result).learners) == ["point", "kln-basic", "kln-optimal", "erm"]
    result["config"]["learners"] = {"erm": {}, "never measured": {}, "point": {}}
    assert list(select(result).learners) == ["erm", "point", "kln-basic", "kln-optimal"]
    chosen = select(result, Options.of(lines=["kln-optimal", "erm"]))
    assert list(chosen.learners) == ["kln-optimal", "erm"]
    assert {p.learner for p in chosen.points} == {b.learner for b in chosen.brackets} == {"kln-optimal", "erm"}
    assert {s.learner for s in chosen.slopes} == {"kln-optimal", "erm"}


def test_values_can_be_chosen(result):
    shown = select(result, Options.of(k=[4, 16], epsilon=[0.5]))
    assert {(b.k, b.setting.epsilon) for b in shown.brackets} == {(4, 0.5), (16, 0.5)} == set(shown.panels)
    assert not shown.slopes, "they are fitted over all k"


def test_one_goal_is_shown_and_the_others_are_mentioned(result):
    result["points"][0]["beta"] = 0.3
    shown = select(result)
    assert shown.beta == 0.1
    assert len(shown.points) == len(result["points"]) - 1
    assert any("one of 2 such pairs" in note for note in shown.notes)


def test_each_learner_has_its_own_delta(result):
    for record in [*result["points"], *result["n_star"]]:
        if record["learner"] == "kln-basic":
            record["delta"] = 0.0
    assert select(result).deltas == {"point": 1e-6, "kln-basic": 0.0, "kln-optimal": 1e-6, "erm": 1e-6}
    result["points"][0]["delta"] = 1e-9
    assert any("Shown for point" in note for note in select(result).notes)


def test_more_panels_than_can_be_read_are_mentioned(make):
    shown = select(make(("point",), (1, 2, 4, 8, 16), (0.25, 0.5, 1.0)))
    assert len(shown.panels) == 8
    assert {k for k, _ in shown.panels} >= {1, 16}
    assert {epsilon for _, epsilon in shown.panels} == {0.25, 1.0}
    assert any("8 of the 15" in note for note in shown.notes)
