"""`dpjax learn` on a person's table: labels, holes, warnings, what is kept, and `dpjax predict` on another table."""

import csv
import gzip
import json
import re
import shlex

import numpy as np
import pytest

from dpjax import cli

AGES = np.arange(200) % 100


def run(capsys, *words):
    status = cli.main([*map(str, words)])
    told = capsys.readouterr()
    return status, told.out, told.err


def learn(capsys, table, *flags):
    """On the planted tables: one feature, few splits."""
    common = ("--features", "age", "--bounds", "age=0:100", "--bits", 10, "--trials", 20)
    return run(capsys, "learn", table, *common, *flags)


@pytest.fixture(scope="module")
def patients(tmp_path_factory):
    """Of 200 persons those from 40 on are ill; nobody is old, and no column but ``ill`` has anything to do with age."""
    path = tmp_path_factory.mktemp("patients") / "patients.csv"
    coins = np.random.default_rng(0).random(200) < 0.02
    rows = [f"{age},{'ill' if age >= 40 else 'well'},{int(coin)},0" for age, coin in zip(AGES, coins, strict=True)]
    path.write_text("\n".join(["age,state,rare,never", *rows, ""]))
    return path


@pytest.fixture(scope="module")
def holes(patients):
    """The same with two rows that lack something, semicolons, another encoding, and packed."""
    text = patients.read_text().replace("state", "état").replace(",", ";")
    path = patients.parent / "holes.csv.gz"
    path.write_bytes(gzip.compress(f"{text};ill;0;0\n?;ill;0;0\n77;;0;0\n".encode("latin-1")))
    return path


def test_words_as_labels_and_prediction(patients, tmp_path, capsys):
    flags = ("--target", "state", "--positive", "ill", "--flip", "age", "--epsilon", 20)
    status, out, _ = learn(capsys, patients, *flags, "--out", tmp_path / "new", "--json")
    answer = json.loads(out)
    (row,) = answer["concepts"]
    assert status == 0 and (answer["rows"], answer["dropped"], answer["moved"]) == (200, 0, 0)
    edge = row["interval"][0]
    assert 38 < edge <= 40 and row["rule"] == f"1 iff age >= {edge:.6g}" and row["interval"][1] == 100
    assert row["error_private"]["mean"] < 0.1 and row["error_not_private"]["mean"] < 0.1
    assert row["error_constant"]["mean"] == pytest.approx(0.4, abs=0.05)
    assert answer["warnings"] == [] and answer["sample_size"] < 200

    kept = json.loads((tmp_path / "new" / "errors.json").read_text())
    assert answer == kept | {"files": answer["files"]}
    released = json.loads((tmp_path / "new" / "learned.json").read_text())
    assert released["guarantee"] == answer["guarantee"] and released["guarantee"]["epsilon"] == 20
    assert released.keys() == {"versions", "epsilon", "delta", "alpha", "beta", "guarantee", "concepts", "model"}, (
        "nothing that the guarantee does not cover: no errors, counts or seed"
    )
    assert released["concepts"][0].keys() == {"concept", "rule", "outcome", "interval"}

    new = tmp_path / "new.csv"
    new.write_text("name\tage\nAnn\t90\nBo\t-3\nCy\t1e3\nDee\t\nEli\t20\n")
    model = tmp_path / "new" / "learned.json"
    status, _, err = run(capsys, "predict", model, new)
    assert status == 2 and "'age' in 1 (row 4)" in err
    status, out, _ = run(capsys, "predict", model, new, "--drop-missing", "--out", tmp_path / "said.csv")
    assert status == 0 and "age: 2 values outside the bounds count as the nearest bound\n" in out
    assert "no prediction for 1 row" in out and "categor" not in out
    assert "1 is 'ill'" in out and "state: 1 in 2 of 5 rows" in out
    with (tmp_path / "said.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["row", "state"], ["1", "1"], ["2", "0"], ["3", "1"], ["4", ""], ["5", "0"]]
    status, out, err = run(capsys, "predict", model, new, "--drop-missing")
    assert (
        status == 0 and out.replace('"', "").split() == ["row,state", "1,1", "2,0", "3,1", "4,", "5,0"] and "ill" in err
    )
    status, out, _ = run(capsys, "predict", model, new, "--drop-missing", "--json")
    assert json.loads(out)["predictions"] == {"state": [1, 0, 1, None, 0]} and json.loads(out)["moved"] == {"age": 2}
    other = json.loads(model.read_text())
    other["model"] |= {"names": ["\x1b[2Jstate\u202e"], "positive": "\x1b[31mill"}
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text(json.dumps(other))
    for words in ((), ("--out", tmp_path / "said.csv")):
        status, out, err = run(capsys, "predict", elsewhere, new, "--drop-missing", *words)
        text = out + err + (tmp_path / "said.csv").read_text() * bool(words)
        assert status == 0 and r"\x1b[2Jstate\u202e: 1 in 2" in text and not {"\x1b", "\u202e"} & {*text}
    new.write_text("name,years\nAnn,3\n")
    status, _, err = run(capsys, "predict", model, new)
    assert status == 2 and "column: expected one of name, years, got 'age'" in err


def test_warnings_where_the_constant_wins_and_rows_are_few(patients, capsys):
    """A finding that 2% have: the learner at a small budget chooses blindly. One that nobody has is learned."""
    flags = ("--target", "rare", "never", "--epsilon", 0.1, "--seed", 3)
    status, out, _ = learn(capsys, patients, *flags, "--json")
    answer = json.loads(out)
    assert status == 0 and len(answer["warnings"]) == 3
    few, rare, never = answer["warnings"]
    assert f"200 rows are fewer than the {answer['sample_size']}" in few
    for row, said in zip(answer["concepts"], (rare, never), strict=True):
        mine, constant = row["error_private"]["mean"], row["error_constant"]["mean"]
        assert mine >= constant and constant < 0.05
        assert said.startswith(f"{row['concept']}: no better than the best constant, which errs on {constant:.3f}")
    assert answer["concepts"][1]["error_not_private"]["mean"] == 0, "the class has the empty concept"
    status, out, _ = learn(capsys, patients, *flags)
    words = re.sub(r"\s+", " ", out)
    assert status == 0 and all(f"warning: {text}" in words for text in answer["warnings"]) and "constant" in words


@pytest.mark.parametrize(
    ("flags", "advised"),
    [
        ((), 1),
        (("--flip", "age"), 0),
        *(pytest.param(("--concepts", name), 0, marks=pytest.mark.slow) for name in ("Points", "Stumps")),
    ],
)
def test_flip_is_advised_for_thresholds_that_are_not_flipped(patients, capsys, flags, advised):
    status, out, _ = learn(capsys, patients, "--target", "rare", "--epsilon", 0.001, *flags)
    assert status == 0 and "no better than the best constant" in out and out.count("give --flip") == advised


def test_spellings_delimiters_and_names_that_look_like_flags(tmp_path, capsys):
    path = tmp_path / "names.csv"
    path.write_text("-age;-d;x\n10;Yes;1\n20;yes;2\n30;-no;3\n40;-no;4\n")
    flags = ("--features", "-age", "--target", "-d", "--bounds", "-age=0:100", "--missing", "-", "-na", "--trials", 2)
    status, out, err = run(capsys, "learn", path, *flags, "--positive", "yes", "--json")
    assert status == 0, err
    answer = json.loads(out)
    assert answer["delimiter"] == ";" and answer["concepts"][0]["concept"] == "-d"
    assert "1 is 'yes' (1 of 4 rows); other spellings count as 0: 'Yes' (1);" in answer["warnings"][0]
    status, out, _ = run(capsys, "learn", path, *flags, "--positive", "-no")
    assert status == 0 and "the columns are separated by ';'" in out and "label 1 is '-no'" in out


def test_no_input_is_overwritten(patients, tmp_path, capsys):
    out = tmp_path / "new"
    status, _, _ = learn(capsys, patients, "--target", "rare", "--out", out)
    assert status == 0
    table, model = tmp_path / "table.csv", out / "learned.json"
    table.write_bytes(patients.read_bytes())
    for number, kept in enumerate((table, model)):
        (tmp_path / f"hard{number}").hardlink_to(kept)
        (tmp_path / f"soft{number}").symlink_to(kept)
        for name in (
            kept,
            tmp_path / f"hard{number}",
            tmp_path / f"soft{number}",
            kept.parent / ".." / kept.parent.name / kept.name,
        ):
            before = kept.read_bytes()
            status, _, err = run(capsys, "predict", model, table, "--out", name)
            assert status == 2 and "out: expected a file that is not read" in err and kept.read_bytes() == before
    (tmp_path / "folder").mkdir()
    for name, kind in (("/dev/null", "a pipe or a device"), (tmp_path / "folder", "a folder")):
        status, _, err = run(capsys, "predict", model, table, "--out", name)
        assert status == 2 and f", {kind}; choose another name" in err
    status, _, err = run(capsys, "predict", model, table, "--out", tmp_path / "predictions.csv")
    assert status == 0 and run(capsys, "predict", model, table, "--out", tmp_path / "predictions.csv")[0] == 0
    (out / "errors.json").unlink()
    (out / "errors.json").hardlink_to(table)
    status, _, err = learn(capsys, table, "--target", "rare", "--out", out)
    assert status == 2 and "not read" in err and table.read_bytes() == patients.read_bytes()


def test_rows_with_holes_and_what_leaving_them_out_means(holes, capsys):
    flags = ("--target", "état", "--positive", "ill", "--missing", "?", "--encoding", "latin-1", "--json")
    status, _, err = learn(capsys, holes, *flags)
    assert status == 2 and "3 of 203 rows without: 'age' in 2 (row 201, 202), 'état' in 1 (row 203)" in err
    status, out, _ = learn(capsys, holes, *flags, "--drop-missing")
    answer = json.loads(out)
    assert status == 0 and (answer["rows"], answer["dropped"]) == (200, 3)
    assert answer["guarantee"]["neighboring"] == "add-or-remove-one", "the number of rows depends on the data"
    status, out, _ = learn(capsys, holes, *flags[:-1], "--drop-missing")
    assert "left out for missing values: 3 of 203 rows; this is not private" in out and "add-or-remove-one" in out


def test_the_relation_does_not_depend_on_whether_a_row_is_left_out(patients, capsys):
    flags = ("--target", "state", "--positive", "ill", "--json")
    for more, relation in (((), "replace-one"), (("--drop-missing",), "add-or-remove-one")):
        status, out, _ = learn(capsys, patients, *flags, *more)
        assert status == 0 and json.loads(out)["guarantee"]["neighboring"] == relation


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--target", "state"), "2 values: 'ill', 'well'; use --positive ill or --positive well"),
        (("--target", "state", "--positive", "il"), "did you mean ill"),
        (("--target", "stat"), "did you mean state"),
        (("--target", "rare", "--delimiter", ";;"), "one character"),
        (("--target", "rare", "--encoding", "utf-99"), "name of an encoding"),
        (("--target", "rare", "--drop-missing", "--learner", "PointLearner", "--concepts", "Points"), "drop-missing"),
        (("--target", "rare", "--drop-missing", "--learner", "KLN(neighboring=REPLACE_ONE)"), "add-or-remove-one"),
        (("--target", "rare", "--bits", 53), "bits"),
    ],
)
def test_errors_say_what_to_do(patients, capsys, flags, words):
    status, _, err = learn(capsys, patients, *flags)
    assert status == 2 and words in err


OUTSIDE = """
from dataclasses import dataclass
import jax, jax.numpy as jnp
from dpjax.concepts import ConceptClass, Domain, Hypothesis
from dpjax.learners import Learner

@dataclass(frozen=True)
class Intervals(ConceptClass):  # number a size + b is 1 from element a to element b; no pieces
    domain: Domain
    @property
    def size(self):
        return self.domain.size ** 2
    def targets(self, count):
        return jnp.zeros((1, 2), jnp.uint32)
    def predict(self, hypothesis, x):
        first, last = hypothesis.concept[:, 0], hypothesis.concept[:, 1]
        return (first <= x[..., -1:]) & (x[..., -1:] <= last) & ~hypothesis.zero
    def error(self, distribution, hypothesis, target):  # tables have no distribution
        raise NotImplementedError
    def describe(self, hypothesis, rule=lambda first, last: f"1 iff x in {first}..{last}"):
        return [rule(int(first), int(last)) for first, last in hypothesis.concept]

@dataclass(frozen=True)
class Hull(Learner):  # from the lowest to the highest positive row
    concepts: Intervals
    def _plan(self, privacy, accuracy, n=None) -> None:
        return None
    def _learn(self, key, sample, plan):
        ones = sample.y & sample.mask[:, None]
        x = sample.x[:, -1:]
        first = jnp.min(jnp.where(ones, x, self.concepts.domain.size), axis=0)
        return Hypothesis.of(jnp.stack([first, jnp.max(jnp.where(ones, x, 0), axis=0)], axis=1).astype(jnp.uint32))
    def _guarantee(self, plan):
        return None
    def for_concepts(self, k):
        return self
"""


def test_a_class_and_a_learner_from_outside(patients, tmp_path, capsys, monkeypatch):
    """Without pieces there is no non-private learner beside it, but itself at another budget."""
    (tmp_path / "intervals_of_mine.py").write_text(OUTSIDE)
    monkeypatch.syspath_prepend(tmp_path)
    flags = ("--target", "state", "--positive", "well", "--import", "intervals_of_mine", "--out", tmp_path / "new")
    own = ("--learner", "intervals_of_mine:Hull", "--concepts", "intervals_of_mine:Intervals", "--json")
    status, out, err = learn(capsys, patients, *flags, *own)
    answer = json.loads(out)
    (row,) = answer["concepts"]
    assert (
        status == 0 and row["interval"] == [0.0, pytest.approx(39, abs=0.1)] and row["rule"].startswith("1 iff age <")
    )
    assert row["error_private"]["mean"] < 0.05 and row["error_epsilon_10"] == row["error_private"]
    assert answer["guarantee"] is None and answer["sample_size"] is None
    assert answer["warnings"] == [
        "no number of rows is proved to be sufficient for alpha = 0.1, beta = 0.1 "
        "(learner: expected one with a theorem, got Hull; search for n)"
    ]
    status, _, err = run(capsys, "predict", tmp_path / "new" / "learned.json", patients)
    assert status == 2 and "--import intervals_of_mine" in err
    words = ("predict", tmp_path / "new" / "learned.json", patients, "--import", "intervals_of_mine", "--json")
    status, out, _ = run(capsys, *words)
    assert status == 0 and json.loads(out)["ones"] == {"state": 80} and json.loads(out)["moved"] == {"age": 0}


@pytest.mark.site
def test_the_line_of_the_readme_and_what_it_prints(root, capsys, monkeypatch):
    """The table in configs/, at 120 columns."""
    monkeypatch.chdir(root)
    monkeypatch.setenv("COLUMNS", "120")
    section = (root / "docs/guide/tables.md").read_text()
    block = re.search(r"^```\n\$ dpjax (learn .*?)\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    status, out, _ = run(capsys, *shlex.split(block[1]))
    assert status == 0 and out.split() == block[2].split()


def test_the_table_in_configs_is_the_one_that_is_cited(root):
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    with (root / "configs" / "breast-cancer.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == [*map(str, data.feature_names), "diagnosis", "benign"]
    np.testing.assert_array_equal(np.array([row[:30] for row in rows], float), data.data)
    np.testing.assert_array_equal([int(row[31]) for row in rows], data.target)
    assert [row[30] for row in rows] == [str(data.target_names[y]) for y in data.target]
    assert "CC BY 4.0" in (root / "configs" / "README.md").read_text()


@pytest.mark.slow
def test_thirty_concepts_of_a_real_table(root, capsys, monkeypatch):
    monkeypatch.chdir(root)
    status, out, _ = run(capsys, "learn", "configs/breast-cancer.csv", "configs/breast-cancer.toml", "--json")
    answer = json.loads(out)
    assert status == 0 and answer["k"] == 30 and answer["trials"] == 1000
    assert answer["guarantee"]["epsilon"] <= 1.0 and len(answer["guarantee"]["parts"]) == 1
    assert all(0 <= row["error_private"]["mean"] <= 0.6 for row in answer["concepts"])
    warned = {text.partition(":")[0] for text in answer["warnings"]}
    for row in answer["concepts"]:
        assert (row["concept"] in warned) == (row["error_private"]["mean"] >= row["error_constant"]["mean"])
