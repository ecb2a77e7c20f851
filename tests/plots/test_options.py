"""What a person may choose about a figure: panels, lines, axes, titles, fonts, files; all else is refused."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from dpjax.core.checks import InputError
from dpjax.plots import plot_curve
from dpjax.plots.words import N_STAR
from tests.plots.drawing import all_axes, axes_titles, drawn, texts

SVG = "http://www.w3.org/2000/svg"
pytestmark = pytest.mark.filterwarnings("error")


def test_what_is_asked_for_is_drawn_and_only_that(result):
    figure = drawn(result, panels=["slack", "k"], epsilon=[0.5], k=[1, 16], lines=["erm", "point"], width="column")
    assert axes_titles(figure) == [
        r"slack of the theorems, $\varepsilon = 0.5$",
        rf"{N_STAR} against $k$, $\varepsilon = 0.5$",
    ]
    assert [t.get_text() for t in texts(figure)][:2] == ["erm", "point"]
    (only,) = all_axes(drawn(result, panels=["curves"], epsilon=[1.0], k=[4]))
    assert only.get_title() == r"$k = 4$, $\varepsilon = 1$"


def test_a_narrow_figure_shows_less_and_says_so(result):
    figure = drawn(result, width="column")
    assert len(axes_titles(figure)) == 2 + 1 and figure.get_size_inches()[1] < 8
    words = " ".join(t.get_text().replace("\n", " ") for t in texts(figure))
    assert "2 of the 6 measured pairs" in words and "1 of 2 values" in words
    assert rf"Not shown: {N_STAR} against $\varepsilon$" in words
    chosen = drawn(result, width="column", k=[1, 4, 16], epsilon=[0.5, 1.0], panels=["curves", "k", "epsilon"])
    assert len(axes_titles(chosen)) == 6 + 3


def test_no_panel_has_an_axis_with_one_value(result):
    (only,) = all_axes(drawn(result, k=[4], epsilon=[1.0]))
    assert only.get_title() == r"$k = 4$, $\varepsilon = 1$"
    titles = axes_titles(drawn(result, k=[4]))
    assert titles[-1] == rf"{N_STAR} against $\varepsilon$, $k = 4$" and not any("against $k$" in t for t in titles)
    searched = {**result, "points": []}
    assert axes_titles(drawn(searched, k=[4], epsilon=[1.0]))[0] == rf"{N_STAR} against $k$, $\varepsilon = 1$"


def test_scales_and_limits(result):
    limits = {"n": (0, 500), "n_star": (10, 1000), "k": (1, 20)}
    figure = drawn(result, scale={"n": "linear", "k": "linear"}, limits=limits)
    curve, *_, against_k, _, against_epsilon = all_axes(figure)
    assert (curve.get_xscale(), curve.get_xlim()) == ("linear", (0, 500))
    assert (against_k.get_xscale(), against_k.get_xlim()) == ("linear", (1, 20))
    assert (against_k.get_yscale(), against_k.get_ylim()) == ("log", (10, 1000))
    assert against_epsilon.get_xscale() == "log" and against_epsilon.get_ylim() == (10, 1000)
    assert any("chosen by hand" in t.get_text() for t in texts(figure))
    (slack,) = all_axes(drawn(result, panels=["slack"], epsilon=[1.0], scale={"slack": "linear"}))
    assert slack.get_yscale() == "linear" and slack.get_ylim()[0] == 0


def test_titles_and_captions(small):
    def words(**how):
        return [t.get_text().replace("\n", " ") for t in texts(drawn(small, panels=["k"], **how))]

    assert words()[0] == words(title="Four learners", width="page")[0] == "Four learners"
    assert "Four learners" not in words(width="page") and "Four learners" not in words(title="")
    settings = r"$\alpha = 0.2$, $\beta = 0.1$, $\delta = 10^{-6}$, seed 7"
    assert settings in words() and any(one.startswith(f"{settings}.") for one in words(width="page"))
    assert not [one for one in words(width="page", caption=False) if settings in one]
    small["left"] = 3
    assert any("3 curves are not measured yet" in one for one in words())


def test_styles_are_those_that_are_given(result):
    figure = drawn(result, styles={"point": {"color": "#123456", "marker": "h", "dashes": "dotted", "label": "mine"}})
    lines = [line for axes in all_axes(figure)[-3:] for line in axes.lines if line.get_color() == "#123456"]
    assert any(line.get_marker() == "h" and line.get_linestyle() == ":" for line in lines)
    assert "mine" in {t.get_text() for t in texts(figure)} and "point" not in {t.get_text() for t in texts(figure)}


def test_dark_figures_have_light_letters(result):
    figure = drawn(result, dark=True)
    assert all(np.mean(to_rgb(t.get_color())) > 0.6 for t in texts(figure))
    assert {np.mean(to_rgb(axes.get_facecolor())) < 0.2 for axes in all_axes(figure)} == {True}


@pytest.mark.parametrize(("width", "inches"), [("column", 3.3), ("page", 6.9), (4.25, 4.25)])
def test_pdf_files_have_their_width_and_embedded_type_42_fonts(width, inches, small, tmp_path):
    (path,) = plot_curve(small, tmp_path / "figure", "pdf", width=width, font="serif", panels=["k"])
    data = path.read_bytes()
    (box,) = re.findall(rb"/MediaBox \[ 0 0 (\S+) \S+ \]", data)
    assert float(box) == pytest.approx(72 * inches)
    fonts = re.findall(rb"/BaseFont /\S+\+(\S+)", data)
    assert fonts and {name.partition(b"-")[0] for name in fonts} == {b"STIXGeneral"}
    assert b"/FontFile2" in data and b"/Subtype /Type3" not in data and b"/Subtype /Type1" not in data


def test_svg_files_have_their_text_as_text(small, tmp_path):
    (path,) = plot_curve(small, tmp_path / "figure", "svg", width="column")
    assert 'width="237.6pt"' in path.read_text()
    written = {"".join(text.itertext()).strip() for text in ET.fromstring(path.read_bytes()).iter(f"{{{SVG}}}text")}
    assert {"point", "erm", "success probability", "confidence band"} <= written
    assert "DejaVuSans-" not in path.read_text(), "no letter is a path"


def test_png_files_have_their_pixels(small, tmp_path):
    for how, pixels in (({}, 2100), ({"width": "column"}, 990), ({"width": 4, "dpi": 100}, 400)):
        (path,) = plot_curve(small, tmp_path / "figure", "png", **how)
        with Image.open(path) as image:
            assert image.width == pixels


@pytest.mark.parametrize(
    "how",
    [
        {"width": "collumn"},
        {"width": 1},
        {"width": True},
        {"width": float("nan")},
        {"font": "No such"},
        {"font": 3},
        {"size": 3},
        {"size": 20, "width": "column"},
        {"size": "8"},
        {"dark": 1},
        {"dpi": 10},
        {"dpi": 99.5},
        {"lines": []},
        {"lines": "point"},
        {"lines": ["pont"]},
        {"lines": ["erm", "erm"]},
        {"panels": ["curve"]},
        {"panels": "k"},
        {"panels": []},
        {"k": [3]},
        {"k": [1.0]},
        {"epsilon": [0.7]},
        {"epsilon": [-1]},
        {"scale": {"n": "cubic"}},
        {"scale": {"success": "log"}},
        {"scale": ["n"]},
        {"limits": {"m": (1, 2)}},
        {"limits": {"n": (2, 1)}},
        {"limits": {"n": (0, 10)}},
        {"limits": {"n": 3}},
        {"limits": {"n": ("1", 2)}},
        {"title": 3},
        {"caption": "no"},
        {"styles": {"pont": {}}},
        {"styles": {"point": {"colour": "red"}}},
        {"styles": {"point": {"color": "rad"}}},
        {"styles": {"point": {"marker": "+"}}},
        {"styles": {"point": {"dashes": [1]}}},
        {"styles": {"point": {"label": ""}}},
        {"styles": ["point"]},
        {"style": {}},
        {"lines": ["point"], "styles": {"erm": {"color": "red"}}},
        {"panels": ["slack"]},
    ],
)
def test_wrong_options_are_refused_before_anything_is_drawn(how, small, tmp_path):
    for bracket in small["n_star"]:
        bracket["theorem"] = None
    with pytest.raises(InputError) as caught:
        plot_curve(small, tmp_path / "curve", "png", **how)
    assert caught.value.name.partition("[")[0] in {*how, "option"} and not list(tmp_path.iterdir())
