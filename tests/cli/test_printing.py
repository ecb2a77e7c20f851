"""What is printed on narrow terminals, in ASCII, and after the reader has gone."""

import io
import json
import os
import sys
from types import SimpleNamespace

import pytest

from dpjax import cli
from dpjax.cli import arguments, streams
from dpjax.cli import output as printing
from dpjax.cli.commands import curve
from dpjax.core.screen import Table
from dpjax.core.types import Accuracy
from dpjax.experiments.sweep.sweep import Search

NUMBERS = ("19642", "0.1234567", "1e-06", "(1219, 1328]")


def rows_of(width, monkeypatch, titles=("learner", "theorem", "error", "delta", "n* in")):
    monkeypatch.setenv("COLUMNS", str(width))
    out = io.StringIO()
    screen = printing.console()
    screen.file = out
    table = Table(*titles, title="samples")
    table.add_row("a learner with a long name", *NUMBERS)
    screen.print(table)
    screen.print("one line with 19642 and a/path/that/is/longer/than/forty/columns/figure.png at its end")
    return out.getvalue()


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_tables_cut_no_number(monkeypatch, width):
    text = rows_of(width, monkeypatch)
    for number in NUMBERS:
        assert number in text
    assert "a/path/that/is/longer/than/forty/columns/figure.png at its end\n" in text
    assert ("learner: a learner" in text) == (width < 80)
    if width < 80:
        assert all(len(line) <= width for line in text.splitlines() if "path" not in line)


def test_a_file_is_wide_unless_columns_says_otherwise(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert printing.console().width == 160


def test_letters_and_boxes_in_ascii(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    streams.fit_streams()
    print("\u03b5 \u2264 \u00bd \u00d7 caf\u00e9\u2026 \u251c\u2500\u2500 \u2502 \u256d\u2500\u256e \u2603")
    sys.stdout.flush()
    assert raw.getvalue().decode() == "epsilon <= 1/2 x cafe... +-- | +-+ ?\n"


@pytest.mark.parametrize(("locale", "encoding"), [("C", "ascii"), ("POSIX", "ascii"), ("en_US.UTF-8", "utf-8")])
def test_a_c_locale_has_ascii_only(monkeypatch, locale, encoding):
    for name in ("LC_ALL", "PYTHONIOENCODING"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", locale)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    streams.fit_streams()
    assert sys.stdout.encoding == encoding


@pytest.mark.parametrize("columns", ["40", "100"])
def test_commands_print_everything_in_ascii(monkeypatch, columns):
    raw = io.BytesIO()
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    flags = ("--concepts", "Points(2**20)", "--learners", "KLN", "--k", "2")
    assert cli.main(["plan", *flags]) == 0 and cli.main(["list"]) == 0
    text = raw.getvalue().decode()
    assert "KLN, k = 2" in text and "composition" in text and "Laplace" in text
    raw.truncate(0)
    with pytest.raises(SystemExit):
        cli.main(["audit", "--help"])
    sys.stdout.flush()
    assert raw.getvalue().isascii()


CODE = "def failing(command):\n    def show():\n        raise error\n    return {'fine': True}, show\n"


@pytest.mark.parametrize(
    ("error", "status"), [(KeyError("ours"), 3), (BrokenPipeError(), 0), (KeyboardInterrupt(), 130)]
)
def test_faults_while_printing(monkeypatch, capsys, error, status):
    from dpjax.cli.commands import list as command

    space = {"error": error}
    exec(compile(CODE, command.__file__, "exec"), space)  # as if it were the command's own code
    monkeypatch.setattr(command, "run", space["failing"])
    assert cli.main(["list"]) == status
    said = capsys.readouterr().err
    assert ("Traceback" in said) == (status == 3)
    monkeypatch.setattr(command, "run", lambda command: ({"wrong": object()}, lambda: None))
    assert cli.main(["list", "--json"]) == 3, "an answer that is no JSON is a fault of ours"
    assert not capsys.readouterr().out


def test_output_that_nobody_reads_any_more(monkeypatch):
    """The pipe's buffer is full and its reader is gone: no word, and the command's own status."""
    reading, writing = os.pipe()
    os.close(reading)
    stream = os.fdopen(writing, "w")
    monkeypatch.setattr(sys, "stdout", stream)
    assert cli.main(["list"]) == 0
    stream.flush()
    stream.close()


@pytest.mark.site
def test_examples_stand_on_lines_of_their_own(capsys):
    for name, kind in arguments.COMMANDS.items():
        with pytest.raises(SystemExit):
            cli.main([name, "--help"])
        text = capsys.readouterr().out
        examples = [line.removeprefix("    Example: ") for line in kind.__doc__.splitlines() if "Example: " in line]
        for example in examples:
            assert f"\n  {example}\n" in text
        assert ("Example" in text) == bool(examples)


def test_help_says_how_a_shell_completes(capsys, tmp_path):
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    words = next(line for line in capsys.readouterr().out.splitlines() if "--tyro-write-completion" in line).split()
    path = tmp_path / "dpjax"
    assert words[:3] == ["dpjax", "--tyro-write-completion", "bash"]
    with pytest.raises(SystemExit) as end:
        cli.main([*words[1:3], str(path)])
    assert end.value.code in (0, None)
    assert "--histograms" in path.read_text() and "audit" in path.read_text()


def test_json_is_the_only_thing_on_standard_output(capsys):
    assert cli.main(["audit", "stability", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["verdict"] and out.count("\n") == 1
    assert err.startswith("dpjax: 12817 databases, ")


@pytest.mark.parametrize("gamma", [0.0, 0.1])
def test_a_curve_says_what_its_brackets_say(gamma, capsys):
    """A look within gamma is never called a bracket of n*."""
    study = SimpleNamespace(accuracy=Accuracy(0.1, 0.2), title=None, task=SimpleNamespace(noise=0))
    row = {
        "learner": "KLN",
        "k": 1,
        "epsilon": 1.0,
        "theorem": 20,
        "below": 4,
        "below_by": "packing",
        "guarantee_delta": 0.0,
        "trials": 64,
        "ended": "one step",
    }
    star, within = row | {"n_low": 9, "n_high": None}, row | {"fails_at": 9, "passes_at": 10}
    answer = {"n_star": [] if gamma else [star], "n_within": [within] if gamma else []}
    curve._show_searches(answer, study, Search(gamma=gamma, confidence=0.99), curve.screen())
    said = capsys.readouterr().out
    assert "confidence 0.99 each: success is below 0.8 at " in said and "trials spent" not in said
    if gamma:
        assert "above 0.7 at passes_at" in said and "(9, 10]" in said and "not n*" in said and "n_high" not in said
    else:
        assert "at least 0.8 at n_high" in said and "(9, >131072]" in said and "no n was found to be enough" in said
        assert "gamma" not in said and "may be above" not in said


@pytest.mark.site
def test_a_curve_is_short_and_says_nothing_twice(capsys):
    """The learner without privacy has one row for all epsilons, a fit over all k is one of the fitted k, and no number
    is -0.00; three learners with two k take sixteen lines, two learners with three k one less."""
    stars, fits = [], []
    for learner, delta, slope in (("basic", 1e-6, 1.0), ("zCDP", 1e-6, 0.5), ("ERM", None, -1e-9)):
        for epsilon in (1.0,) if delta else (1.0, 2.0):
            fits.append(
                {
                    "learner": learner,
                    "epsilon": epsilon,
                    "slope": slope,
                    "low": -1e-4,
                    "high": 1.1,
                    "k_from": 32,
                    "k_to": 64,
                    "theorem": slope,
                    "claimed": 0.5,
                }
            )
            stars += [
                {
                    "learner": learner,
                    "k": k,
                    "epsilon": epsilon,
                    "n_low": k,
                    "n_high": k + 1,
                    "theorem": 9 * k,
                    "guarantee_delta": delta,
                    "below": 4 if delta else None,
                    "below_by": "packing" if delta else None,
                    "trials": 640,
                    "ended": "one step",
                }
                for k in (32, 64)
            ]
    answer = {
        "n_star": stars,
        "n_within": [],
        "points": [],
        "exponents": fits,
        "exponents_all_k": fits,
        "failures": [],
        "computed": {"trials": 9, "programs": 3, "compiled": 3},
        "elsewhere": False,
        "figures": ["a.png", "a.svg"],
    }
    study = SimpleNamespace(
        accuracy=Accuracy(0.1, 0.2), title="t", task=SimpleNamespace(noise=0), fit_from=28, search=Search()
    )
    curve._show(answer, study)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 16 and len(set(lines)) == len(lines)
    assert sum(line.strip().startswith("ERM") for line in lines) == 3 and "-0.0" not in "".join(lines)


@pytest.mark.site
def test_the_help_of_all_commands_is_a_short_list(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    out = capsys.readouterr().out
    assert len(out.splitlines()) < 80 and "Example:" not in out and "audit" in out
