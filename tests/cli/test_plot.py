"""`dpjax plot` draws a result anew and measures nothing."""

import json

import pytest

from dpjax import cli
from dpjax.cli.commands.plot import options_of
from dpjax.cli.parsing import parse
from dpjax.plots import read_metadata
from tests.plots.conftest import make_result


@pytest.fixture
def folder(tmp_path):
    names = ("KLN.color=1", "Independent(KLN, composition=zcdp)")
    (tmp_path / "result.json").write_text(json.dumps(make_result(names, (1, 4), (1.0,))))
    return tmp_path


def test_files_in_the_formats_of_their_names(folder, capsys):
    out = [folder / "new" / "a.pdf", folder / "b.svg"]
    words = ["plot", str(folder), "--out", *map(str, out), "--width", "column", "--font", "serif", "--size", "7.5"]
    words += [
        "--panels",
        "k",
        "--lines",
        "Independent(KLN, composition=zcdp)",
        "--no-caption",
        "--dpi",
        "100",
        "--json",
    ]
    assert cli.main(words) == 0
    assert json.loads(capsys.readouterr().out) == {"figures": list(map(str, out))}
    assert b"/MediaBox [ 0 0 237.6 " in out[0].read_bytes() and b"STIXGeneral" in out[0].read_bytes()
    assert read_metadata(out[1])["seed"] == 7
    again = [path.read_bytes() for path in out]
    assert cli.main(words) == 0 and [path.read_bytes() for path in out] == again
    assert cli.main(["plot", str(folder / "result.json"), "--panels", "k"]) == 0
    assert (folder / "curve.pdf").read_bytes() != again[0]


def test_flags_are_the_arguments_of_a_plot():
    command = parse(
        [
            "plot",
            "--width",
            "4.5",
            "--dark",
            "--k",
            "2**2",
            "--epsilon",
            "0.5",
            "--scale",
            "n=linear",
            "k=linear",
            "--limits",
            "n=0:1e4",
            "--title",
            "mine",
            "--styles",
            "KLN.color=red",
            "A (b=c).dashes=4,2",
            "KLN.color=1.label=$x=1$",
        ]
    )
    assert options_of(command) == {
        "width": 4.5,
        "font": "sans",
        "dark": True,
        "k": (4,),
        "epsilon": (0.5,),
        "scale": {"n": "linear", "k": "linear"},
        "limits": {"n": [0.0, 1e4]},
        "title": "mine",
        "caption": True,
        "styles": {"KLN": {"color": "red"}, "A (b=c)": {"dashes": [4.0, 2.0]}, "KLN.color=1": {"label": "$x=1$"}},
    }


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["--out", "a.gif"], "formats"),
        (["--out", "figure"], "formats"),
        (["--width", "3.3in"], "width"),
        (["--width", "wide"], "width"),
        (["--size", "2"], "size"),
        (["--styles", "red"], "styles"),
        (["--limits", "n=1"], "limits"),
        (["--limits", "n"], "limits"),
        (["--scale", "n:log"], "scale"),
        (["--lines", "nobody"], "lines"),
        (["--k", "9"], "k"),
        (["--panels", "rows"], "panels"),
    ],
)
def test_wrong_flags_are_refused(words, name, folder, capsys):
    assert cli.main(["plot", str(folder), *words]) == 2
    assert f"dpjax: {name}" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["result.json"]


def test_only_results_are_drawn(folder, capsys):
    for wrong in (folder / "none", folder):
        (folder / "result.json").write_text("{}")
        assert cli.main(["plot", str(wrong)]) == 2
        assert "dpjax: result" in capsys.readouterr().err


def test_a_curve_checks_its_figure_before_it_measures(capsys, tmp_path):
    words = ["curve", "--concepts", "Points(64)", "--learners", "ERM", "--k", "1", "--epsilon", "1", "--n", "9"]
    for flags, name in ((["--formats", "gif"], "formats"), (["--size", "1"], "size"), (["--panels", "k"], "panels")):
        assert cli.main([*words, "--out", str(tmp_path / "out"), *flags]) == 2
        assert f"dpjax: {name}" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
