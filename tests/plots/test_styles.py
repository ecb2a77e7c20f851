"""Every learner can be told from every other without colour, and looks the same in every figure."""

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle

from dpjax.plots import label, style
from dpjax.plots.styles import _KNOWN, _MARKERS, rank

KNOWN = list(_KNOWN)
LEAST_STEP, LEAST_STEP_USUAL, PAPER = 6, 18, 80  # CIE lightness
USUAL = ("point", "kln-basic", "kln-optimal", "erm")


def lightness(color):
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    y = linear @ [0.2126, 0.7152, 0.0722]
    return 116 * np.cbrt(y) - 16 if y > 0.008856 else 903.3 * y


@pytest.mark.parametrize(("names", "step"), [(KNOWN, LEAST_STEP), (USUAL, LEAST_STEP_USUAL)])
def test_colours_differ_in_grey_and_from_paper(names, step):
    values = sorted(lightness(style(name).color) for name in names)
    assert min(np.diff(values)) > step
    assert values[-1] < PAPER


def test_markers_and_dashes_are_unique():
    looks = [style(name) for name in KNOWN]
    markers = [look.marker for look in looks] + [marker for marker, _ in _MARKERS]
    assert len(set(markers)) == len(markers)
    assert len({look.dashes for look in looks}) == len(looks)
    assert all(MarkerStyle(marker).is_filled() for marker in markers), "a theorem's markers must be hollow"


def test_colours_are_distinct_hues_or_far_in_lightness():
    for one, other in itertools.combinations(KNOWN, 2):
        assert np.linalg.norm(np.subtract(to_rgb(style(one).color), to_rgb(style(other).color))) > 0.15


@pytest.mark.parametrize("name", ["my-learner", "halfplane", "", "é"])
def test_an_unknown_learner_has_a_fixed_style_and_its_own_name(name):
    assert style(name) == style(name)
    assert label(name) == name
    assert style(name).marker not in {style(known).marker for known in KNOWN}
    Line2D([], [], **style(name).line())
    Line2D([], [], **style(name).hollow())


def test_the_style_of_an_unknown_learner_is_the_same_in_every_process():
    assert (style("halfplane").color, style("halfplane").marker) == ("#3fae5a", "h")


def test_labels():
    assert label("point") == "PointLearner (stability)"
    assert label("erm") == "ERM (not private)"
    assert label("kln-optimal") == "KLN \N{MULTIPLICATION SIGN} k, optimal composition"
    assert label("median-zcdp") == "Median \N{MULTIPLICATION SIGN} k, zCDP composition"
    assert label("kln-other") == "kln-other"


def test_the_order_of_learners_does_not_depend_on_what_else_is_there():
    assert sorted(["zeta", "erm", "alpha", "point"], key=rank) == ["point", "erm", "alpha", "zeta"]
