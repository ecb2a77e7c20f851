"""Panels of lines as figures: bytes, metadata, refusals."""

import pytest
from matplotlib.figure import Figure

from dpjax.core.checks import InputError
from dpjax.experiments.reports import about, figure_path, options, table
from dpjax.plots import read_metadata
from dpjax.plots.lines import Line, Panel, _draw, plot_lines

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
    _draw(axes, Panel("", "x", "y", LINES, log, ticks=(4, 10, 64)))
    assert axes.get_xscale() == ("log" if "x" in log else "linear") and axes.get_yscale() == "log"
    assert axes.get_xticks().tolist() == [4, 10, 64]


@pytest.mark.parametrize("line", [
    Line("short", "rsc", (1, 2), (1,)), Line("negative", "rsc", (1, 2), (-1, 1)), Line("empty", "rsc", (), ()),
    Line("nan", "rsc", (1.0,), (float("nan"),)), Line("kind", "rsc", (1,), (1,), kind="guess"),
])  # fmt: skip
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
