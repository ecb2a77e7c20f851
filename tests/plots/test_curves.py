"""Any result gives a figure: the same bytes each time, complete, with nothing on top of anything else."""

import copy
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from dpjax.core.checks import InputError
from dpjax.plots import plot_curve
from dpjax.plots.files import FORMATS, house_style
from dpjax.plots.options import Options
from dpjax.plots.records import Slope
from dpjax.plots.sample_size import _exponent_text
from dpjax.plots.words import N_STAR
from tests.plots.drawing import all_axes, axes_titles, drawn, texts

REPOSITORY = Path(__file__).parents[2]
pytestmark = pytest.mark.filterwarnings("error")


def test_files_are_named_and_returned(small, tmp_path):
    paths = plot_curve(small, tmp_path / "new" / "curve.v2", panels=["k"])
    assert [path.name for path in paths] == ["curve.v2.png", "curve.v2.svg", "curve.v2.pdf"]
    assert sorted(tmp_path.joinpath("new").iterdir()) == sorted(paths)
    assert [path.read_bytes()[:4] for path in paths] == [b"\x89PNG", b"<?xm", b"%PDF"]


def test_equal_results_give_equal_bytes(small, tmp_path):
    """One format or all, in whatever style the process draws."""
    (alone,) = plot_curve(copy.deepcopy(small), tmp_path / "alone", "svg", panels=["k"])
    together = plot_curve(small, tmp_path / "together", FORMATS, panels=["k"])
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.hashsalt": None, "savefig.dpi": 10}):
        styled = plot_curve(small, tmp_path / "styled", FORMATS, panels=["k"])
    for paths in zip(together, styled, strict=True):
        assert len({path.read_bytes() for path in paths}) == 1 and len({path.suffix for path in paths}) == 1
    assert alone.read_bytes() in [path.read_bytes() for path in together]


def test_no_global_state_in_another_process_with_the_same_bytes(small, tmp_path):
    source = (
        "import json, sys, matplotlib\n"
        "read = lambda: {name: matplotlib.rcParams[name] for name in matplotlib.rcParams if name != 'backend'}\n"
        "before = read()\n"
        "from dpjax.plots import plot_curve\n"
        "plot_curve(json.load(sys.stdin), sys.argv[1], ['svg', 'pdf'], panels=['k'])\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "assert read() == before\n"
    )
    subprocess.run(
        [sys.executable, "-c", source, tmp_path / "there"],
        input=json.dumps(small),
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY), "PYTHONHASHSEED": "5", "SOURCE_DATE_EPOCH": "0"},
    )
    for path in plot_curve(small, tmp_path / "here", ["svg", "pdf"], panels=["k"]):
        assert path.read_bytes() == path.with_stem("there").read_bytes()


def test_an_exponent_of_zero_has_no_sign():
    slope = Slope("a", 1.0, slope=-0.001, low=-0.004, high=-0.0, claimed=0.0)
    assert _exponent_text(slope) == "$k^{0.00}$ [0.00, 0.00] (0)"


def test_the_panels_of_a_whole_result(result):
    pairs = [rf"$k = {k}$, $\varepsilon = {e}$" for e in ("0.5", "1") for k in (1, 4, 16)]
    below = [rf"{N_STAR} against $k$, $\varepsilon = {e}$" for e in ("0.5", "1")]
    figure = drawn(result)
    assert axes_titles(figure) == [*pairs, *below, rf"{N_STAR} against $\varepsilon$, $k = 16$"]
    words = [t.get_text() for t in texts(figure)]
    assert words.count("$k^{0.90}$ [0.80, 1.00] (1)") == 2
    assert words.count("$k^{0.90}$ [0.80, 1.00]") == 2
    assert {"success probability", "examples $n$", f"{N_STAR} (examples)", "number of concepts $k$"} <= set(words)


def test_one_epsilon_shows_ratios(small):
    assert axes_titles(drawn(small))[-1] == r"slack of the theorems, $\varepsilon = 1$"


def legend_of(result, **how):
    """The words of a figure without dollar signs."""
    return [t.get_text() for t in texts(drawn(result, **how))]


def with_guarantees(result, **deltas):
    for row in [*result["points"], *result["n_star"]]:
        row["guarantee_delta"] = deltas[row["learner"]]
    return result


DELTA, PURE = r"$\delta = 10^{-6}$", r"pure ($\delta = 0$)"


def test_pure_learners_and_those_without_privacy_are_named(small):
    assert "point" in legend_of(small) and "erm" in legend_of(small), "nothing is known"
    words = legend_of(with_guarantees(small, point=0.0, erm=9e-7), width="column")
    assert {f"point, {PURE}", "erm"} <= {*words} and any(DELTA in text for text in words)
    words = legend_of(with_guarantees(small, point=0.0, erm=None))
    assert {f"point, {PURE}", "erm, not private"} <= {*words} and not any(DELTA in text for text in words)
    words = legend_of(with_guarantees(small, point=0.0, erm=0.0))
    assert {"point", "erm"} <= {*words} and any(PURE in text for text in words)
    words = legend_of(with_guarantees(small, point=1e-6, erm=None), styles={"erm": {"label": "ERM (not private)"}})
    assert {"point", "ERM (not private)"} <= {*words} and any(DELTA in text for text in words)
    with pytest.raises(InputError, match=r"result\.points\.0\.guarantee_delta"):
        drawn(with_guarantees(small, point=2.0, erm=0.0))


def test_results_that_do_not_say_it_are_drawn_as_with_the_delta_of_the_budget(small, tmp_path):
    older = plot_curve(small, tmp_path / "older", ["svg"])[0].read_bytes()
    assert older == plot_curve(with_guarantees(small, point=1e-6, erm=9e-7), tmp_path / "same", ["svg"])[0].read_bytes()
    assert older != plot_curve(with_guarantees(small, point=0.0, erm=9e-7), tmp_path / "pure", ["svg"])[0].read_bytes()


BAND, TARGET, BRACKET = "confidence band", r"target $1 - \beta = 0.9$", f"bracket of {N_STAR}"
THEOREM, BELOW = "theorem's $n$ (hollow)", "no private learner below (dotted)"


@pytest.mark.parametrize(
    ("how", "there"),
    [
        ({}, {BAND, TARGET, BRACKET, THEOREM, BELOW}),
        ({"panels": ["curves"]}, {BAND, TARGET, BRACKET, THEOREM}),
        ({"panels": ["curves"], "limits": {"success": (0, 0.8)}}, {BAND, BRACKET, THEOREM}),
        ({"panels": ["k"]}, {BRACKET, THEOREM, BELOW}),
        ({"panels": ["k"], "limits": {"n_star": (50, 400)}}, {BRACKET}),
        ({"panels": ["k"], "limits": {"n_star": (600, 900)}}, {THEOREM}),
        ({"panels": ["slack"]}, {BRACKET}),
    ],
)
def test_the_legend_has_what_is_drawn(how, there, small):
    for row in small["n_star"]:
        row["below"] = 9
    words = legend_of(small, **how)
    assert {*words} & {BAND, TARGET, BRACKET, THEOREM, BELOW} == there
    assert (BELOW in there) == ("Dotted: a bound for learners" in " ".join(" ".join(words).split()))


def test_brackets_of_panels_that_are_not_shown_are_not_in_the_legend(small):
    small["n_star"] = [row for row in small["n_star"] if row["k"] == 4 and row["learner"] == "erm"]
    small["points"] = [row for row in small["points"] if row["k"] == 1 or row["learner"] == "point"]
    words = {*legend_of(small, panels=["curves"], k=[1])}
    assert {"erm", "point", BAND} <= words and not words & {BRACKET, THEOREM}
    words = {*legend_of(small, panels=["k"])}
    assert {"erm", BRACKET, THEOREM} <= words and not words & {"point", BAND}


def test_dashes_are_seen_between_the_markers_of_a_sample(small):
    figure = drawn(small)
    (legend,) = (one for part in figure.subfigs for one in part.legends if one.get_texts()[0].get_text() == "point")
    for line in legend.get_lines():
        x, dashes = line.get_xdata(), line._dash_pattern[1]  # points
        assert len(x) == 2 and np.ptp(x) - line.get_markersize() > (2 * sum(dashes) if dashes else 15)


def cases(all_of, *short):
    """All combinations, slow but for those among ``short``."""
    return [
        case if case in short else pytest.param(*case, marks=pytest.mark.slow) for case in itertools.product(*all_of)
    ]


LEARNERS = [
    ("point",),
    ("point", "kln-basic", "erm", "other"),
    tuple(f"learner {name} with a long name, $k^{{0.{i}}}$" for i, name in enumerate("ABCDEFGHIJKL")),
]
FEW, MANY = ((1, 4, 16), (0.5, 1.0)), ((1, 2, 4, 8, 16, 32, 64, 128, 256, 512), (0.1, 0.3, 1.0, 10.0))
GRIDS = [FEW, MANY, ((4,), (0.5, 1.0)), ((4,), (1.0,)), ((1, 4, 16, 64), (1.0,)), ((1, 10_000), (0.001, 0.002))]
HOW = [
    {"width": "column"},
    {"width": "column", "font": "serif", "size": 10},
    {"width": "page"},
    {"width": "screen"},
    {"width": 2.5, "font": "serif"},
    {"width": 5.3, "size": 14},
    {"width": 16, "size": 16, "title": "T " * 90},
]
SHOWN = [  # many learners and values in a narrow figure, large letters, long titles
    (LEARNERS[1], FEW, HOW[1]),
    (LEARNERS[2], MANY, HOW[0]),
    (LEARNERS[0], GRIDS[5], HOW[4]),
    (LEARNERS[1], GRIDS[2], HOW[5]),
    (LEARNERS[0], GRIDS[3], HOW[6]),
]


@pytest.mark.parametrize(("learners", "grid", "how"), cases([LEARNERS, GRIDS, HOW], *SHOWN))
def test_letters_are_large_enough_and_nothing_overlaps(learners, grid, how, make):
    figure = drawn(make(learners, *grid), **how)
    page = Options.of(**how).page
    assert figure.get_figwidth() == page.width
    renderer = FigureCanvasAgg(figure).get_renderer()
    written = texts(figure)
    assert min(t.get_fontsize() for t in written) >= min(page.size, 8)
    with house_style(page):
        boxes = [(t.get_text(), t.get_window_extent(renderer)) for t in written]
    page, least = figure.bbox.padded(1), -0.005 * figure.dpi
    for text, box in boxes:
        assert page.contains(box.x0, box.y0), text
        assert page.contains(box.x1, box.y1), text
    for (one, left), (other, right) in itertools.combinations(boxes, 2):
        assert not left.padded(least).overlaps(right.padded(least)), (one, other)
    for axes in all_axes(figure):
        assert axes.bbox.height > 0.5 * figure.dpi and axes.bbox.width > 0.7 * figure.dpi, axes.get_title()


def _no_brackets(result):
    result["n_star"] = []


def _no_points(result):
    result["points"] = []


def _without(*names):
    def change(result):
        for bracket in result["n_star"]:
            bracket.update(dict.fromkeys(names))

    return change


def _mixed(result):
    result["n_star"][0]["n_low"] = result["n_star"][1]["n_high"] = None
    result["n_star"][2].update(n_low=None, n_high=None)
    result["n_star"][3]["theorem"] = 10**12
    result["n_star"][4]["theorem"] = None
    result["n_star"][5]["n_low"] //= 4  # undecided n lie between


def _equal_ends(result):
    for bracket in result["n_star"]:
        bracket["n_low"] = bracket["n_high"] = bracket["theorem"] = 1
    for point in result["points"]:
        point["n"] = 1


def _bare(result):
    del result["exponents"], result["device"]
    result["title"] = None
    for bracket in result["n_star"]:
        del bracket["confidence"], bracket["theorem"]


def _odd_names(result):
    result["title"] = "100 $ or _more_ $\\alpha$ " + "long " * 60
    for record in [*result["points"], *result["n_star"], *result["exponents"]]:
        record["learner"] = {"point": "cost $x$ { and $\\frac$", "erm": "a " + "very " * 12 + "long_name"}[
            record["learner"]
        ]


def _unfitted(result):
    result["exponents"][0].update(low=None, high=None)
    result["exponents"][1].update(slope=None)


def _no_trials(result):
    result["points"][0].update(trials=0, successes=0, lower=0.0, upper=1.0)


def _twice(result):
    result["n_star"] += copy.deepcopy(result["n_star"])
    result["points"] += copy.deepcopy(result["points"])


CHANGES = [
    _no_brackets,
    _no_points,
    _without("n_low"),
    _without("n_high"),
    _without("n_low", "n_high"),
    _without("theorem"),
    _without("n_low", "n_high", "theorem"),
    _mixed,
    _equal_ends,
    _bare,
    _odd_names,
    _unfitted,
    _no_trials,
    _twice,
]


ONE, FOUR = ((4,), (1.0,)), ((1, 4), (0.5, 1.0))
OF_FOUR = _mixed, _odd_names


@pytest.mark.parametrize(
    ("change", "grid"),
    cases(
        [CHANGES, [ONE, FOUR, ((4,), (0.5, 1.0)), ((1, 4), (1.0,))]],
        *[(change, ONE) for change in CHANGES],
        *[(change, FOUR) for change in OF_FOUR],
    ),
)
def test_partial_results(change, grid, make):
    ks, epsilons = grid
    result = make(("point", "erm"), ks, epsilons)
    if change is _mixed:
        result = make(("point", "erm", "kln-basic"), (1, 4), epsilons)
    if change is _unfitted:  # one k has no exponent
        result = make(("point", "erm"), (1, 4), epsilons)
        assert result["exponents"]
    change(result)
    assert axes_titles(drawn(result, width="column" if grid == ONE else "screen"))


def test_parts_without_data_are_left_out(result):
    without = copy.deepcopy(result)
    without["n_star"] = []
    assert len(axes_titles(drawn(without))) == 6
    result["points"] = []
    assert len(axes_titles(drawn(result))) == 3


def test_an_empty_result_is_refused(small, tmp_path):
    small["points"], small["n_star"] = [], []
    with pytest.raises(InputError, match="at least one point"):
        plot_curve(small, tmp_path / "curve")


def test_no_format_writes_no_file(small, tmp_path):
    assert plot_curve(small, tmp_path / "curve", "none") == plot_curve(small, tmp_path / "curve", []) == []
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("formats", [["gif"], ["png", "PNG"], "jpeg", [3], ["none", "png"]])
def test_an_unknown_format_is_refused(formats, small, tmp_path):
    with pytest.raises(InputError, match="formats: expected one of pdf, png, svg"):
        plot_curve(small, tmp_path / "curve", formats)
    assert not list(tmp_path.iterdir())


def test_a_directory_that_cannot_be_written_is_refused(small, tmp_path):
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "curve.png").mkdir()
    for place in (tmp_path / "file" / "curve", tmp_path / "curve"):
        with pytest.raises(InputError) as caught:
            plot_curve(small, place, ["png"])
        assert caught.value.name == "figure"
        assert caught.value.advice
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".tmp")]


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda r: r.pop("seed"), "result.seed"),
        (lambda r: r.update(versions="0.1.0"), "result.versions"),
        (lambda r: r.update(points={}), "result.points"),
        (lambda r: r["points"].append(3), "result.points.16"),
        (lambda r: r["points"][1].pop("n"), "result.points.1.n"),
        (lambda r: r["points"][1].update(n=0), "result.points.1.n"),
        (lambda r: r["points"][1].update(successes=10**6), "result.points.1"),
        (lambda r: r["points"][1].update(upper=1.5), "result.points.1.upper"),
        (lambda r: r["points"][1].update(learner=None), "result.points.1.learner"),
        (lambda r: r["n_star"][0].update(n_low=10**9), "result.n_star.0"),
        (lambda r: r["n_star"][0].update(epsilon=float("nan")), "result.n_star.0.epsilon"),
        (lambda r: r["n_star"][0].update(theorem=2.5), "result.n_star.0.theorem"),
    ],
)
def test_a_malformed_result_is_refused_by_the_name_of_the_value(change, name, small, tmp_path):
    change(small)
    with pytest.raises(InputError, match=f"^{name}:"):
        plot_curve(small, tmp_path / "curve")
    assert not list(tmp_path.iterdir())
