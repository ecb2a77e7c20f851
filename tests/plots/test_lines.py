"""Panels of lines as figures: bytes, metadata, refusals."""

import itertools

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from pages import about, figure_path, options, table
from PIL import Image

from dpjax.core.checks import InputError
from dpjax.plots import read_metadata
from dpjax.plots.files import house_style
from dpjax.plots.lines import Line, Panel, _draw, _figure, plot_lines
from dpjax.plots.page import Page
from dpjax.plots.styles import styles

LINES = (
    Line("measured", "recprefix", (4, 16, 64), (100, 110, 120), (90, 100, 115), (105, 120, 130)),
    Line("proved", "exponential", (4, 16, 64), (300, 310, 900), kind="theorem"),
    Line("formula", "another name", (4, 64), (50, 60), kind="formula"),
)


def test_equal_figures_are_equal_bytes_and_carry_what_made_them(tmp_path):
    carried = about({"a": 1}, 5)
    panels = [Panel("left", "x", "y", LINES, ticks=(4, 64)), Panel("right", "x", "y", LINES[:1], log="")]
    first = plot_lines(panels, tmp_path / "one", carried, "A title", "A caption. " * 20)
    again = plot_lines(panels, tmp_path / "two", carried, "A title", "A caption. " * 20)
    assert [path.suffix for path in first] == [".png", ".svg"]
    for one, two in zip(first, again, strict=True):
        assert one.read_bytes() == two.read_bytes()
        assert read_metadata(one)["config"] == {"a": 1} and read_metadata(one)["seed"] == 5
    other = plot_lines(panels[:1], tmp_path / "one", carried, "A title")
    assert other[0].read_bytes() != again[0].read_bytes()


@pytest.mark.parametrize("log", ["xy", "y"])
def test_ticks_are_where_they_are_asked_for(log):
    axes = Figure().subplots()
    _draw(axes, Panel("", "x", "y", LINES, log, ticks=(4, 10, 64)), styles(line.name for line in LINES), 12)
    assert axes.get_xscale() == ("log" if "x" in log else "linear") and axes.get_yscale() == "log"
    assert axes.get_xticks().tolist() == [4, 10, 64]


def test_lines_of_one_name_look_alike_in_all_panels_and_others_do_not():
    names = [f"line {i}" for i in range(8)]
    lines = [
        Line(f"{name}, {kind}", name, (1, 2), (3, 4), kind=kind) for name in names for kind in ("measured", "theorem")
    ]
    with house_style():
        figure = _figure([Panel("", "x", "y", lines), Panel("", "x", "y", lines[:3:-1])], 2, "", "", Page())
    one, other = (axes for part in figure.subfigs for axes in part.axes)
    looks = [(line.get_color(), line.get_marker()) for line in one.lines]
    assert len(set(looks)) == 8 and looks[::2] == looks[1::2]
    assert [(line.get_color(), line.get_marker()) for line in other.lines] == looks[:3:-1]


LONG = [Line(f"a line with a rather long label, $x^{i}$", f"{i}", (1, 2, 9), (3, 4 + i, 90)) for i in range(7)]


@pytest.mark.grid
@pytest.mark.parametrize("look", [{"width": "column"}, {"width": "page", "font": "serif"}, {"width": "screen"}])
@pytest.mark.parametrize("count", [1, 4])
def test_nothing_overlaps_and_nothing_is_cut(look, count):
    page, columns = Page.of(**look), {"column": 1, "page": 2, "screen": 2}[look["width"]]
    panels = [Panel(f"panel {i}", r"$\log_2 |X|$", "$y$", LONG[i:] if i else LONG, "xy"[i % 2 :]) for i in range(count)]
    with house_style(page):
        figure = _figure(panels, min(columns, count), "A title", "A caption of words. " * 20, page)
        renderer = FigureCanvasAgg(figure).get_renderer()
        legends = [legend for part in figure.subfigs for legend in part.legends]
        parts = [axes for part in figure.subfigs for axes in part.axes] + legends
        boxes = [part.get_tightbbox(renderer) for part in parts]
        boxes += [text.get_window_extent(renderer) for part in figure.subfigs for text in part.texts]
    assert len(parts) == 2 * count and len(boxes) == len(parts) + 1 + (not page.fixed)
    for box in boxes:
        assert figure.bbox.padded(1).contains(box.x0, box.y0) and figure.bbox.padded(1).contains(box.x1, box.y1)
    for left, right in itertools.combinations(boxes, 2):
        assert not left.padded(-1).overlaps(right.padded(-1))


def test_a_figure_has_the_width_that_is_asked_for(tmp_path):
    for how, pixels in (({}, 1050), ({"width": "column"}, 990), ({"width": 4.5, "dpi": 100}, 450)):
        (path,) = plot_lines(
            [Panel("", "x", "y", LINES)], tmp_path / "one", {"versions": {}}, "A title", formats="png", **how
        )
        with Image.open(path) as image:
            assert image.width == pixels
    for wrong in ({"width": "wide"}, {"font": "no such family"}, {"size": 99}, {"formats": ["gif"]}):
        with pytest.raises(InputError):
            plot_lines([Panel("", "x", "y", LINES)], tmp_path / "wrong", {}, "", **wrong)
    assert [path.name for path in tmp_path.iterdir()] == ["one.png"]


@pytest.mark.parametrize(
    "line",
    [
        Line("short", "rsc", (1, 2), (1,)),
        Line("negative", "rsc", (1, 2), (-1, 1)),
        Line("empty", "rsc", (), ()),
        Line("nan", "rsc", (1.0,), (float("nan"),)),
        Line("kind", "rsc", (1,), (1,), kind="guess"),
    ],
)
def test_lines_that_make_no_sense_are_refused(line, tmp_path):
    with pytest.raises(InputError):
        plot_lines([Panel("", "x", "y", [line])], tmp_path / "none", {}, "")
    assert not list(tmp_path.iterdir())


def test_reports(tmp_path):
    assert table(("a", "b"), [(1, 0.25), (None, "x")]) == "| a | b |\n|---|---|\n| 1 | 0.25 |\n| - | x |\n"
    with pytest.raises(InputError, match="rows"):
        table(("a", "b"), [(1,)])
    given = options("What it does.", 4, 10, ["--trials", "3", "--out", str(tmp_path)])
    assert (given.seed, given.trials, given.out) == (4, 3, tmp_path)
    assert figure_path(tmp_path, "name") == tmp_path / "figures" / "name" and (tmp_path / "figures").is_dir()
    for wrong in (["--trials", "0"], ["--seed", "-1"]):
        with pytest.raises(InputError):
            options("", 0, 1, wrong)


def test_a_long_title_of_a_panel_is_wrapped():
    """No text crosses the edge of the figure."""
    page = Page()
    panels = [Panel(f"24 rounds at coefficient 0.1159, {'add-or-remove-one ' * i}", "x", "y", LINES) for i in (1, 2, 3)]
    with house_style(page):
        figure = _figure(panels, 3, "", "", page)
        FigureCanvasAgg(figure).draw()
        titles = [axes.title for part in figure.subfigs for axes in part.axes]
        ends = [
            end
            for title in titles
            for end in title.get_window_extent().transformed(figure.transFigure.inverted()).intervalx
        ]
    assert len(titles) == 3 and any("\n" in title.get_text() for title in titles)
    assert min(ends) >= 0 and max(ends) <= 1
