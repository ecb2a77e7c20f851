"""Any ten lines of a figure can be told apart by color, in grey, by color-blind eyes, by markers and by dashes."""

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle

from dpjax.core.checks import InputError
from dpjax.plots.page import Page
from dpjax.plots.styles import DARK, DASHES, LIGHT, MARKERS, styles

NAMES = [f"line {i}" for i in range(30)]
PALETTES = {False: LIGHT, True: DARK}
XYZ = np.array([[0.41246, 0.35758, 0.18044], [0.21267, 0.71515, 0.07218], [0.01933, 0.11919, 0.95030]])
WHITE = np.array([0.95047, 1, 1.08883])
EYES = {  # Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB
    "normal": np.eye(3),
    "protan": np.array([[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]]),
    "deutan": np.array([[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]]),
    "tritan": np.array([[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]]),
}


def lab(color, eye="normal"):
    """CIE L*a*b* of what an eye sees."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    x = XYZ @ np.clip(EYES[eye] @ linear, 0, 1) / WHITE
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_the_color_space_is_right():
    np.testing.assert_allclose(lab("#ff0000"), [53.24, 80.09, 67.20], atol=0.05)
    np.testing.assert_allclose(lab("#777777")[0], 50.0, atol=0.1)


@pytest.mark.parametrize(("dark", "all_ten", "first_four"), [(False, 6, 13), (True, 4.8, 9.5)])
def test_colors_differ_in_grey_and_from_the_paper(dark, all_ten, first_four):
    values = [lab(color)[0] for color in PALETTES[dark]]
    assert len(values) == 10
    assert min(np.diff(sorted(values))) > all_ten and min(np.diff(sorted(values[:4]))) > first_four
    paper = lab(Page.of(dark=dark).colors["paper"])[0]
    assert min(abs(value - paper) for value in values) > 20


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("eye", EYES)
def test_colors_differ_for_every_eye(dark, eye):
    places = [lab(color, eye) for color in PALETTES[dark]]
    assert min(np.linalg.norm(one - other) for one, other in itertools.combinations(places, 2)) > 20


@pytest.mark.parametrize("dark", [False, True])
def test_ten_lines_differ_in_color_marker_and_dashes_and_thirty_in_one_of_them(dark):
    looks = list(styles(NAMES, dark=dark).values())
    for field in ("color", "marker", "dashes"):
        assert len({getattr(look, field) for look in looks[:10]}) == 10
    assert len({(look.color, look.marker, look.dashes) for look in looks}) == len(NAMES)


def test_markers_can_be_hollow_and_all_styles_can_be_drawn():
    assert len(set(MARKERS)) == len(MARKERS) and len(set(DASHES)) == len(DASHES)
    assert all(MarkerStyle(marker).is_filled() for marker in MARKERS), "a theorem's markers must be hollow"
    for look in styles(NAMES).values():
        Line2D([], [], **look.line())
        assert Line2D([], [], **look.hollow()).get_markerfacecolor() == "#ffffff"


def test_a_style_goes_by_the_order_of_the_lines_and_not_by_their_names():
    one, other = styles(["point", "KLN", "erm"]), styles(["mine", "yours", "ours"])
    for left, right in zip(one.values(), other.values(), strict=True):
        assert (left.color, left.marker, left.dashes) == (right.color, right.marker, right.dashes)
    assert [look.label for look in one.values()] == ["point", "KLN", "erm"]


def test_what_is_given_to_one_line_is_not_taken_by_another():
    found = styles(["a", "b", "c"], {"c": {"color": LIGHT[0], "marker": MARKERS[1], "label": "mine"}})
    assert (found["c"].color, found["c"].marker, found["c"].label) == (LIGHT[0], MARKERS[1], "mine")
    assert [found[name].color for name in "ab"] == [*LIGHT[1:3]]
    assert [found[name].marker for name in "ab"] == [MARKERS[0], MARKERS[2]]
    assert styles(["a"], {"a": {"dashes": [4, 2], "color": "tab:blue"}})["a"].dashes == (0, (4.0, 2.0))


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"b": {}}, "styles"),
        ({"a": {"width": 1}}, r"styles\['a'\]"),
        ({"a": {"color": "none"}}, r"styles\['a'\].color"),
        ({"a": {"marker": "x"}}, r"styles\['a'\].marker"),
        ({"a": {"dashes": [1, -1]}}, r"styles\['a'\].dashes"),
        ({"a": {"dashes": "wavy"}}, r"styles\['a'\].dashes"),
        ({"a": {"label": 3}}, r"styles\['a'\].label"),
        (3, "styles"),
    ],
)
def test_styles_that_make_no_sense_are_refused(given, name):
    with pytest.raises(InputError, match=f"^{name}:"):
        styles(["a"], given)
