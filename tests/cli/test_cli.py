"""The command line as a person meets it: teaching help, one JSON object, clear errors with status 2."""

import inspect
import json
import os
import re
import shlex
import subprocess
import sys

import pytest

import dpjax as dpjax_package
from dpjax import cli
from dpjax.cli.arguments import COMMANDS
from dpjax.cli.arguments.base import MeasuredFlags, StudyFlags
from dpjax.cli.commands import curve
from dpjax.cli.parsing import parse
from dpjax.experiments.study.study import Study
from dpjax.experiments.sweep.sweep import Search


def dpjax(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "dpjax.cli", *map(str, arguments)], capture_output=True, text=True, **options
    )


def small(out, *flags):
    return (
        "curve",
        "--concepts",
        "Points(2**32)",
        "--distribution",
        "heavy(4, 0.23)",
        "--learners",
        "erm=ERM",
        "--alpha",
        0.2,
        "--out",
        out,
        "--n",
        12,
        "--trials",
        100,
        "--formats",
        *flags,
    )


@pytest.mark.site
def test_help_teaches():
    for words in ((), *((name,) for name in COMMANDS)):
        done = dpjax(*words, "--help")
        assert done.returncode == 0
        assert "usage: dpjax" in done.stdout
    assert "Example:" in dpjax("curve", "--help").stdout


def test_the_version(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"dpjax {dpjax_package.__version__}\n"


def test_the_defaults_that_help_names_are_those_of_studies():
    sources = inspect.getsource(StudyFlags) + inspect.getsource(MeasuredFlags)
    fields = re.findall(r'    (\w+): [^\n]*\n    """([^"]*)"""', sources)
    found = {name: re.search(r"by default (\d\S*)\.$", text) for name, text in fields}
    told = {name: float(eval(match.group(1))) for name, match in found.items() if match}
    known = {**vars(Search()), **vars(Study.accuracy)}
    known |= {name: getattr(Study, name) for name in ("delta", "trials", "points")}
    assert told == {name: float(value) for name, value in known.items()}


@pytest.mark.parametrize("module", ["dpjax", "dpjax.cli"])
def test_help_needs_no_jax(fresh, module):
    """``python -m dpjax`` and ``python -m dpjax.cli``."""
    program = (
        "import json, runpy, sys\nsys.argv = ['dpjax', '--help']\n"
        f"try:\n    runpy.run_module('{module}', run_name='__main__')\nexcept SystemExit as end:\n"
        "    print()\n    print(json.dumps([end.code, 'dpjax.cli' in sys.modules, 'jax' in sys.modules]))"
    )
    assert fresh(program) == [0, True, False]


def test_each_command_is_a_file(root):
    parts = {"attack_packing", "audit_target", "audit_tracing", "dimension_structure"}
    files = {path.stem for path in (root / "dpjax" / "cli" / "commands").glob("*.py")} - {"__init__"}
    assert files == set(COMMANDS) | parts


def test_commands_follow_each_other_in_one_process(capsys, tmp_path):
    """Nothing of one is left for the next."""
    for words in (["list", "--json"], ["plan", "configs/demo.toml", "--k", "1", "--json"], ["list", "--json"]):
        assert cli.main(words) == 0
        assert json.loads(capsys.readouterr().out)


@pytest.mark.site
def test_list_names_everything_with_its_guarantee(capsys):
    assert cli.main(["list", "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)["entries"]
    names = {entry["name"] for entry in entries}
    assert {"PointLearner", "ERM", "Points", "heavy", "UniformCube", "Hierarchy", "caterpillar"} <= names
    assert {"GloballyStable", "PointBuckets", "Boosted", "SparseAggregate"} <= names
    assert {"exponential", "stability", "choosing", "hard_thresholds"} <= names
    assert all(entry["guarantee"] for entry in entries if entry["kind"] in ("learner", "mechanism", "sanitizer"))
    assert all(entry["what"] for entry in entries)
    tasks = {entry["name"] for entry in entries if entry["kind"] == "task"}
    named = "hard_bits hard_elements hard_label hard_literals hard_point_sets hard_points hard_threshold_bits"
    assert tasks == {
        *named.split(),
        "hard_thresholds",
        "gapped_thresholds",
        "nested_thresholds",
        "low_thresholds",
        "hard_chain",
        "hard_tree",
        "hard_polygon",
    }
    assert not {"Learner", "Sanitizer", "database"} & names


@pytest.mark.site
def test_plan_prints_theorems_and_trees(capsys):
    flags = ["--k", "2", "--epsilon", "1", "--concepts", "Points(2**20)"]
    assert cli.main(["plan", "configs/demo.toml", *flags, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["plan"]
    assert [row["learner"] for row in rows] == [
        "point",
        "KLN, basic composition",
        "KLN, optimal composition",
        "ERM (not private)",
    ]
    assert rows[0]["guarantee"]["parts"]
    assert rows[-1]["guarantee"] is None


@pytest.mark.site
def test_plan_says_whom_a_bound_is_about(capsys):
    flags = ["--concepts", "Thresholds(64)", "--learners", "KLN", "--k", "1", "--epsilon", "1"]
    for noise, kind in (([], "private learner"), (["--noise", "0.46"], "private agnostic learner")):
        assert cli.main(["plan", *flags, *noise]) == 0
        assert f"no {kind} below n = " in capsys.readouterr().out


def test_curve_json_is_one_object_with_the_promised_fields(tmp_path, capsys):
    assert cli.main([str(part) for part in small(tmp_path, "--json")]) == 0
    answer = json.loads(capsys.readouterr().out)
    promised = {"learner", "k", "n", "epsilon", "delta", "trials", "successes", "lower", "upper"}
    assert promised <= answer["points"][0].keys()
    assert cli.main(["status", str(tmp_path), "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert status["cells"] == 1
    assert status["trials"] == 128 > answer["points"][0]["trials"] == 100, "whole blocks are stored"


def test_curve_says_at_once_what_it_waits_for(tmp_path, capsys, monkeypatch):
    """Before anything is compiled: the first line of progress comes after 30 seconds."""
    said = []
    monkeypatch.setattr(curve, "measure", lambda *_, **__: said.append(capsys.readouterr().err) or 1 / 0)
    cli.main([str(part) for part in small(tmp_path / "new")])
    words = f"1 curve; trials that {tmp_path / 'new'} lacks are run once their programs are compiled"
    assert said == [f"dpjax: {words}\n"]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--epsilon", "0"], "epsilon: expected a number > 0, got 0.0"),
        (["--epsilon", "nan"], "expected a finite number"),
        (["--epsilon", "inf"], "expected a finite number"),
        (["--epsilon", "1e-50"], "got 1e-50"),
        (["--delta", "1"], "delta: expected a number in [0, 1)"),
        (["--delta", "0", "--learners", "PointLearner"], "pure differential privacy"),
        (["--beta", "1"], "beta: expected a number in (0, 1)"),
        (["--n", "0"], "n: expected"),
        (["--n", "2000000"], "at most 1048576 rows"),
        (["--learners", "KLM"], "did you mean KLN"),
        (["--learners", "KLN", "KLN"], "each name once"),
        (["--learners", "mine:Learner"], "add --import mine"),
        (["--learners", "nowhere_at_all:Learner", "--import", "nowhere_at_all"], "a module that can be found"),
        (["--concepts", "Points(2**2049)"], "task.concepts"),
        (["--seed", "-1"], "seed"),
        (["--seed", "2**40"], "seed"),
        (["--formats", "jpg"], "formats"),
        (["--devices", "0"], "devices"),
    ],
)
def test_bad_numbers_and_names(tmp_path, capsys, flags, words):
    arguments = [str(part) for part in small(tmp_path / "new")]
    assert cli.main([*arguments, *flags]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_flags_and_commands_that_do_not_exist(capsys):
    assert cli.main(["chek", "mine:f"]) == 2
    assert "did you mean check" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        cli.main(["check", "mine:f", "--epsilon=1"])
    said = capsys.readouterr()
    assert "check has no --epsilon; these commands have it:" in said.err and "audit" in said.err
    assert "dpjax ask" not in said.out + said.err, "no list of other commands' flags"


def test_misspelt_key_in_toml(tmp_path, capsys):
    path = tmp_path / "bad.toml"
    start = '[task]\nconcepts = "Points(9)"\n[learners]\nkln = "KLN"\n'
    path.write_text(start + "[sweep]\nepsilo = [1.0]\n")
    assert cli.main(["curve", str(path)]) == 2
    assert "did you mean epsilon" in capsys.readouterr().err
    path.write_text("[sweep\n")
    assert cli.main(["curve", str(path)]) == 2
    assert "valid TOML" in capsys.readouterr().err
    for command in ("curve", "plan"):
        assert cli.main([command, "bad.tml"]) == 2
        assert "ends in .toml" in capsys.readouterr().err
        assert cli.main([command]) == 2
        assert "give a TOML file such as configs/demo.toml" in capsys.readouterr().err
        assert cli.main([command, "no_such_file.toml"]) == 2
        assert "check the path" in capsys.readouterr().err
    path.write_text("epsilo = 1.0\n")
    assert cli.main(["learn", "table.csv", str(path)]) == 2
    assert "did you mean epsilon" in capsys.readouterr().err


def test_unwritable_output_directory(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert cli.main([str(part) for part in small(tmp_path / "file" / "below")]) == 2
    assert "a directory that can be written to" in capsys.readouterr().err


def test_broken_store_file_is_named_and_left_alone(tmp_path, capsys):
    arguments = [str(part) for part in small(tmp_path)]
    assert cli.main(arguments) == 0
    (cell,) = tmp_path.glob("cells/*/*.parquet")
    whole = cell.read_bytes()
    cell.write_bytes(whole[: len(whole) // 2])
    assert cli.main(arguments) == 4
    said = capsys.readouterr().out
    assert cell.name in said
    assert "run again with --repair, or move the file away" in said
    assert cell.read_bytes() == whole[: len(whole) // 2]
    assert cli.main(["status", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["broken"]
    cell.unlink()
    assert cli.main(arguments) == 0
    assert cell.read_bytes() == whole


@pytest.mark.slow  # tests/experiments/store has many writers
def test_two_processes_on_one_store(tmp_path):
    """Both come to an end, with one result."""
    both = [
        subprocess.Popen([sys.executable, "-m", "dpjax.cli", *map(str, small(tmp_path))], stdout=subprocess.DEVNULL)
        for _ in range(2)
    ]
    assert [process.wait() for process in both] == [0, 0]
    assert len(list(tmp_path.glob("cells/*/*.parquet"))) == 1


def test_full_disk(tmp_path):
    limited = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)); "
        "from dpjax.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    assert cli.main([str(part) for part in small(tmp_path)]) == 0
    before = {path: path.read_bytes() for path in tmp_path.glob("cells/*/*.parquet")}
    words = [str(part) for part in small(tmp_path, "--n", 13)]
    more = subprocess.run([sys.executable, "-c", limited, *words], capture_output=True, text=True)
    assert more.returncode == 2
    assert "free some space" in more.stderr
    assert {path: path.read_bytes() for path in tmp_path.glob("cells/*/*.parquet")} == before


def test_output_that_nobody_reads(tmp_path):
    command = f"{sys.executable} -m dpjax.cli list | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=os.environ)
    assert "Traceback" not in done.stderr


def test_status_names_what_is_not_measured(tmp_path, capsys):
    """A curve of which nothing but a failure is known is not measured."""
    asked = {"learners": {"KLN": {}, "mine": {}, "other": {}}, "sweep": {"k": [1, 8], "epsilon": [0.5, 1.0]}}
    row = {
        "learner": "KLN",
        "epsilon": 0.5,
        "n": 9,
        "delta": 0.0,
        "alpha": 0.1,
        "beta": 0.1,
        "trials": 8,
        "successes": 4,
        "lower": 0.1,
        "upper": 0.9,
    }
    points = [
        row | {"k": 1},
        row | {"k": 8},
        *(row | {"k": k, "epsilon": e, "learner": "other"} for k in (1, 8) for e in (0.5, 1.0)),
    ]
    failures = [row | {"learner": "mine", "k": 1, "error": "E", "traceback": "E"}]
    result = {
        "config": asked,
        "seed": 0,
        "versions": {},
        "points": points,
        "n_star": [],
        "failures": failures,
        "left": 5,
    }
    (tmp_path / "cells").mkdir()
    (tmp_path / "study.json").write_text(json.dumps(asked))
    (tmp_path / "result.json").write_text(json.dumps(result))
    assert cli.main(["status", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "6 of 12 curves measured"
    assert lines[1].endswith("not measured: k = 1, epsilon = 1; k = 8, epsilon = 1")
    assert lines[2:4] == ["  mine: not measured", "  other: k = 1, 8; epsilon = 0.5, 1"]
    assert lines[-1] == "failed: mine, k = 1, epsilon = 0.5, n = 9: E"
    (tmp_path / "result.json").write_text(json.dumps(result | {"config": {}}))
    assert cli.main(["status", str(tmp_path)]) == 0 and "0 of 12 curves" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "modules"),
    [
        (["--import", "a", "b"], ("a", "b")),
        (["--import", "a", "--import", "b"], ("a", "b")),
        (["--import=a", "--json", "--import", "b"], ("a", "b")),
        (["--json"], ()),
    ],
)
def test_every_command_takes_imports_however_often_they_are_written(words, modules):
    """Of a repeated flag the parser alone would keep the last."""
    needed = {
        "learn": ["t.csv"],
        "predict": ["l.json", "t.csv"],
        "merge": ["a", "b"],
        "check": ["m:a"],
        "new": ["class", "c"],
        "compare": ["a", "b"],
    }
    needed |= {name: ["c"] for name in ("dimension", "optimum", "atlas", "ask")}
    for name in COMMANDS:
        assert parse([name, *needed.get(name, []), *words]).imports == modules


OWN = "import dpjax as dp\n\n\nclass Mine(dp.KLN):\n    pass\n\n\nprint('imported', __name__)\n"


def test_a_command_for_code_of_ones_own_can_be_pasted(tmp_path, capsys, monkeypatch):
    """A store names the modules of its study, and never imports them by itself."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("own_one", "own_two"):
        (tmp_path / f"{name}.py").write_text(OWN)
    (tmp_path / "s t.toml").write_text(
        '[task]\nconcepts = "Points(16)"\n[learners]\n"a b" = "own_one:Mine"\nb = "Independent(own_two:Mine)"\n'
        "[sweep]\nn = [4]\ntrials = 8\n"
    )

    def run(*words, status=0):
        assert cli.main([*words]) == status
        said = capsys.readouterr()
        lines = [line for line in (said.out + said.err).splitlines() if "dpjax " in line.removeprefix("dpjax:")]
        return said.out + said.err, [shlex.split(line[line.index("dpjax ") :])[1:] for line in lines]

    said, (again,) = run("curve", "s t.toml", "--out", "r s", "--prepare", status=2)
    assert "add --import own_one" in said and "imported" not in said and "if you trust this code" in said
    assert again == ["curve", "s t.toml", "--out", "r s", "--prepare", "--import", "own_one", "own_two"]
    said, (work,) = run(*again)
    assert work == ["curve", "r s", "--out", "r s", "--import", "own_one", "own_two"]
    said, (again,) = run("plan", "r s", "--import", "own_one", status=2)
    assert again == ["plan", "r s", "--import", "own_one", "own_two"]
    run(*again)
    said, (merged,) = run("merge", "t u", "r s")
    assert merged == ["curve", "t u", "--out", "t u", "--import", "own_one", "own_two"]
