"""Tables on a cube: an edge is a coordinate; boosted stumps are learned, described, kept and applied."""

import csv
import json

import numpy as np
import pytest

from dpjax import cli
from dpjax.core.checks import InputError
from dpjax.tables.columns import read
from dpjax.tables.grids import Placing, on_cube

NAMES = ("a", "b", "c")
BOUNDS = ("a=0:8", "b=-1:1", "c=0:1")


def run(capsys, *words):
    status = cli.main([*map(str, words)])
    told = capsys.readouterr()
    return status, told.out, told.err


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """300 rows; the label is the majority of three thresholds, which no single one is."""
    path = tmp_path_factory.mktemp("cube") / "rows.csv"
    generator = np.random.default_rng(4)
    values = np.stack([generator.uniform(0, 8, 300), generator.uniform(-1, 1, 300), generator.integers(0, 2, 300)], 1)
    votes = (values[:, 0] >= 4).astype(int) + (values[:, 1] < 0) + (values[:, 2] == 1)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*NAMES, "label", "other"])
        writer.writerows([*row, int(v >= 2), int(row[0] >= 2)] for row, v in zip(values, votes, strict=True))
    return path, values, votes >= 2


def test_coordinates_are_edges(rows):
    path, values, labels = rows
    placing = on_cube(NAMES, BOUNDS, 2)
    table = read(path, placing, ("label",))
    assert table.x.shape == (300, 1) and placing.domain.dimension == 9 and table.names == ("label",)
    edges = [(0, 2), (0, 4), (0, 6), (1, -0.5), (1, 0), (1, 0.5), (2, 0.25), (2, 0.5), (2, 0.75)]
    for i, (feature, edge) in enumerate(edges):
        np.testing.assert_array_equal(table.x[:, 0] >> i & 1, values[:, feature] >= edge)
        assert placing.literal(i, 1) == f"1 iff {NAMES[feature]} >= {edge:g}"
        assert placing.literal(i, 0) == f"1 iff {NAMES[feature]} < {edge:g}"
    np.testing.assert_array_equal(table.y[:, 0], labels)
    again = Placing.of(json.loads(json.dumps(placing.to_dict())))
    assert again == placing
    assert read(path, placing, ("label", "other")).y.shape == (300, 2)
    one_bit = read(path, on_cube(("c",), ("c=0:1",), 1), ("label",))
    np.testing.assert_array_equal(one_bit.x[:, 0], values[:, 2])


def test_many_features_take_several_words(rows):
    placing = on_cube(NAMES, BOUNDS, 5)
    table = read(rows[0], placing, ("label",))
    assert table.x.shape == (300, 3) == (300, placing.domain.limbs)
    cells = np.floor(rows[1][:, 0] / 8 * 32).astype(int)
    np.testing.assert_array_equal(table.x[:, 2] & 2**31 - 1, (1 << np.minimum(cells, 31)) - 1)


def test_boosted_stumps_from_the_command_line(rows, tmp_path, capsys):
    flags = ("--features", *NAMES, "--target", "label", "--bounds", *BOUNDS, "--bits", 3, "--trials", 5)
    how = ("--concepts", "Stumps", "--learner", "Boosted(KLN, gamma=0.1, rounds=15, draws=150, kappa=0.5)")
    status, out, err = run(
        capsys, "learn", rows[0], *flags, *how, "--epsilon", 200, "--delta", 0, "--out", tmp_path, "--json"
    )
    assert status == 0, err
    answer = json.loads(out)
    (row,) = answer["concepts"]
    assert row["rule"].startswith("majority of 15: ") and "b < 0" in row["rule"]
    assert row["error_private"]["mean"] < 0.1 and row["error_not_private"]["mean"] < 0.1
    assert answer["guarantee"]["epsilon"] <= 200 and "kappa" in answer["warnings"][0]
    status, _, err = run(capsys, "predict", tmp_path / "learned.json", rows[0], "--out", tmp_path / "found.csv")
    assert status == 0, err
    with (tmp_path / "found.csv").open() as file:
        found = [int(one["label"]) for one in csv.DictReader(file)]
    assert np.mean(np.array(found) != rows[2]) < 0.1


@pytest.mark.slow
def test_other_classes_over_a_cube(rows, capsys):
    flags = ("--features", *NAMES, "--target", "label", "other", "--bounds", *BOUNDS, "--bits", 1, "--trials", 3)
    status, out, err = run(
        capsys,
        "learn",
        rows[0],
        *flags,
        "--concepts",
        "Conjunctions",
        "--learner",
        "ConjunctionLearner(literals=2, rounds=2)",
        "--json",
    )
    assert (status, len(json.loads(out)["concepts"]) if status == 0 else err) == (0, 2)


@pytest.mark.parametrize(
    ("concepts", "learner", "bits"),
    [
        ("Conjunctions", "ConjunctionLearner(literals=2, rounds=2)", 2),
        pytest.param("Parities", "ParityLearner", 3, marks=pytest.mark.slow),
    ],
)
def test_a_class_that_is_too_large_to_list(rows, capsys, concepts, learner, bits):
    """Its learner needs no list: only the comparison without privacy is left out, and the answer says so."""
    flags = ("--features", *NAMES, "--target", "label", "--bounds", *BOUNDS, "--bits", bits, "--trials", 2)
    status, out, err = run(capsys, "learn", rows[0], *flags, "--concepts", concepts, "--learner", learner, "--json")
    assert status == 0, err
    answer = json.loads(out)
    assert {"error_private", "error_epsilon_10"} < {*answer["concepts"][0]} and "error_not_private" not in out
    (said,) = [text for text in answer["warnings"] if text.startswith("no learner without privacy is compared, ")]
    assert "dimension" in said


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--bits", 16), "bits: expected at most 10 for 3 features"),
        (("--bits", 2, "--flip", "a"), "flip: expected none"),
        (("--bits", 2, "--box", 0, 0, 1, 1), "box: expected none"),
    ],
)
def test_bad_input(rows, capsys, flags, message):
    common = ("--features", *NAMES, "--target", "label", "--bounds", *BOUNDS, "--concepts", "Stumps")
    status, _, err = run(capsys, "learn", rows[0], *common, *flags)
    assert status == 2 and message in err


def test_the_bounds_of_all_features_are_needed():
    with pytest.raises(InputError, match="'b'"):
        on_cube(("a", "b"), ("a=0:1",), 2)
