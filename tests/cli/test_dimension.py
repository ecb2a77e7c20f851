"""`dpjax dimension`: classes from files, functions, concept classes and a user's module; clear errors."""

import json
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpjax import cli, dimensions
from dpjax.concepts import Conjunctions, Domain, Finite, Multiclass, Parities, Points, Thresholds
from dpjax.concepts.listing import matrix_of
from dpjax.concepts.tree import generators
from dpjax.core.checks import InputError
from dpjax.dimensions import Dimension, families
from dpjax.experiments.config.builder import CONCEPTS, Builder
from dpjax.experiments.config.matrix_file import read_matrix
from dpjax.theory import kln

LISTS = "SparseAggregate(Irreducibility), improper"
UNFIT = f"{LISTS} (a theorem only: its lists may be too long)"


def answer(capsys, *words):
    status = cli.main(["dimension", *map(str, words), "--json"])
    assert status == 0
    found = json.loads(capsys.readouterr().out)
    return found, {one["name"]: (one["lower"], one["upper"]) for one in found["dimensions"]}


def test_a_binary_class(capsys):
    found, values = answer(capsys, "intervals(12)")
    assert (found["concepts"], found["elements"], found["labels"]) == (79, 12, 2)
    assert values == {
        "Littlestone dimension": (5, 5),
        "VC dimension": (2, 2),
        "dual VC dimension": (2, 2),
        "threshold dimension": (12, 12),
        "star number": (12, 12),
        "teaching dimension": (12, 12),
        "recursive teaching dimension": (2, 2),
        "randomized Littlestone dimension": ("12575/4096", "12575/4096"),
    }
    assert found["sample sizes"]["KLN, pure"] == 166


def test_a_class_with_more_labels(capsys):
    found, values = answer(capsys, "copies(one_bit_gap(7), 2)", "--labels", 8)
    assert found["sample sizes"] == {"KLN, pure": 125, "KLN, pure, agnostic": 998, "BitReduction, pure, improper": 1157}
    assert found["labels"] == 8 and values["multiclass Littlestone dimension"] == (2, 2)
    assert values["Littlestone dimension of bit 0"] == (4, 4) and values["Natarajan dimension"] == (2, 2)
    _, lowest = answer(capsys, "copies(one_bit_gap(7), 2)", "--bit", 0)
    assert lowest["Littlestone dimension"] == (4, 4)


@pytest.mark.parametrize(
    ("words", "dimension", "left", "by_lists"),
    [
        ("Thresholds(Domain(2**64))", 64, [63, 56, 0], {UNFIT: 15_397_704_744}),
        ("PointSets(Domain(2**64), 3)", 3, [3, 3, 3], {LISTS: 30_685_887}),
        ("PointSets(Domain(6), 2)", 2, [2, 0, 0], {LISTS: 1_647_576}),
        ("Spider(4, 90)", 90, [90, 85, 29], {}),  # more than the 64 of the theorem
    ],
)
def test_a_class_that_is_not_listed(capsys, words, dimension, left, by_lists):
    """By its structure."""
    found, values = answer(capsys, words)
    assert values == {"Littlestone dimension": (dimension, dimension)} and found["labels"] == 2
    assert [*found["dimensions after queries"].values()] == left
    runs = "KLN, pure" if words.startswith("Thresholds") else "KLN, pure (a theorem only)"
    assert found["sample sizes"][runs] == kln.realizable(found["concepts"], 1.0, 0.1, 0.1)
    assert {name: size for name, size in found["sample sizes"].items() if name.startswith(LISTS)} == by_lists
    assert cli.main(["dimension", words, "--epsilon", "0.5"]) == 0
    shown = capsys.readouterr().out.replace("\n", " ")
    assert f"Littlestone dimension {dimension}, by the structure" in shown
    assert f"dpjax ask '{words}' --theorems --epsilon 0.5 --delta 1e-06 --alpha 0.1 --beta 0.1" in shown


@pytest.mark.parametrize(
    ("concepts", "rows"),
    [
        (Thresholds(Domain(9)), 9),
        (Points(Domain(7)), 7),
        (Parities(3), 8),
        (Conjunctions(2), 10),
        (Finite.of(families.intervals(4)), 11),
        (generators.figure_one(), 8),
    ],
    ids=lambda one: type(one).__name__,
)
def test_concept_classes_as_matrices(concepts, rows):
    matrix = matrix_of(concepts)
    assert matrix.shape == (rows, concepts.domain.size) and len(np.unique(matrix, axis=0)) == rows


def test_conjunctions_are_all_listed():
    x = np.arange(4)
    literals = [x & 1, x >> 1 & 1, 1 - (x & 1), 1 - (x >> 1 & 1)]
    rows = {
        tuple(np.prod([literals[i] for i in range(4) if chosen >> i & 1], axis=0, initial=1) * np.ones(4, int))
        for chosen in range(16)
    }
    assert {tuple(row) for row in matrix_of(Conjunctions(2)).astype(int)} == rows


def test_files(capsys, tmp_path):
    (tmp_path / "class.csv").write_text("# a class\n0,1,2\n0; 1; 1\n\n3 1 0\n")
    found, _ = answer(capsys, tmp_path / "class.csv")
    assert (found["concepts"], found["elements"], found["labels"]) == (3, 3, 4)
    np.save(tmp_path / "class.npy", families.thresholds(5))
    _, values = answer(capsys, tmp_path / "class.npy")
    assert values["threshold dimension"] == (5, 5)


def test_a_file_of_labels_is_a_class_for_every_command(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("two.csv").write_text("0,0,0\n1,0,0\n1,1,0\n")
    np.save("many.npy", [[0, 1, 2], [2, 1, 0]])
    build = Builder().build
    assert build("concepts", "two.csv", CONCEPTS) == Finite.of([[0, 0, 0], [1, 0, 0], [1, 1, 0]])
    assert build("concepts", "many.npy", CONCEPTS) == Multiclass.of([[0, 1, 2], [2, 1, 0]])
    assert build("concepts", "Multiclass.of(many.npy, 8)", CONCEPTS) == Multiclass.of([[0, 1, 2], [2, 1, 0]], 8)
    assert build("concepts", "Finite.of('two.csv')", CONCEPTS) == build("concepts", "two.csv", CONCEPTS)
    run = ["--learners", "KLN", "--n", "9", "--trials", "20", "--formats", "--out", "o"]
    assert cli.main(["curve", "--concepts", "two.csv", *run]) == 0
    Path("two.csv").unlink()  # the result holds the labels
    assert cli.main(["trial", "o", "--learners", "KLN", "--n", "9", "--trial", "3"]) == 0
    assert "stored: the same outcome" in capsys.readouterr().out
    assert cli.main(["curve", "--concepts", "two.csv", *run]) == 2
    assert "two.csv: No such file" in capsys.readouterr().err


def test_code_of_ones_own(capsys, tmp_path, monkeypatch):
    (tmp_path / "own_classes.py").write_text(
        "rows = [[0, 1], [1, 1]]\ndef ladder(size):\n    return [[i >= j for j in range(size)] for i in range(size)]\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for words, concepts in (("own_classes:rows", 2), ("own_classes:ladder(6)", 6)):
        found, _ = answer(capsys, words, "--import", "own_classes")
        assert found["concepts"] == concepts


def test_learners_that_spend_a_delta_are_left_out_without_one(capsys):
    found, _ = answer(capsys, "points(4)", "--delta", 0)
    assert set(found["sample sizes"]) == {"KLN, pure", "KLN, pure, agnostic"}


def test_a_folder_is_no_class(capsys, tmp_path):
    assert cli.main(["dimension", str(tmp_path)]) == 2
    assert "a folder, no regular file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Finite.of([[0, 1], [1, 2]]), "label in row 1, column 1: expected 0 or 1, got 2"),
        (lambda: Multiclass.of(np.array([[0, 1], [0.5, 2]])), "row 1, column 0: expected a whole number, got 0.5"),
        (lambda: Multiclass.of(np.array([[0, np.nan], [1, 2]])), "row 0, column 1: expected a whole number, got nan"),
    ],
)
def test_labels_that_are_none_are_named(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_the_printed_table(capsys):
    assert cli.main(["dimension", "thresholds(20)"]) == 0
    printed = capsys.readouterr().out
    assert "21 concepts on 20 elements" in printed and "KLN" in printed
    assert "points 19, 18, 17" in printed or "and 12 more" in printed


def test_a_time_limit_gives_bounds(capsys, tmp_path):
    np.save(tmp_path / "class.npy", np.unique(np.random.default_rng(1).integers(0, 2, (200, 30)), axis=0))
    _, values = answer(capsys, tmp_path / "class.npy", "--seconds", 0.02)
    assert values["star number"][0] < values["star number"][1]
    assert cli.main(["dimension", str(tmp_path / "class.npy"), "--seconds", "0.02"]) == 0
    assert "stopped" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["interval(3)"], "did you mean intervals"),
        (["intervals(0)"], "elements: expected a whole number >= 1"),
        (["intervals(2, 3)"], "2 arguments"),
        (["Parities(40)"], "take a smaller domain"),
        (["Thresholds(2**40)", "--labels", "7"], "take a smaller domain"),
        (["Thresholds(2**40)", "--delta", "2"], "delta"),
        (["ConvexPolygons(8, 3)"], "pieces"),
        (["missing.csv"], "No such file"),
        (["own:rows"], "--import own"),
        (["copies(one_bit_gap(7), 2)", "--labels", "7"], r"in 0\.\.6, got 7"),
        (
            ["intervals(3)", "--bit", "70"],
            r"bit: expected a whole number in 0\.\.0, a bit of the labels 0\.\.1, got 70",
        ),
        (["intervals(3)", "--bit", "9"], "bit: expected"),
        (["intervals(3)", "--bit", "-1"], "bit: expected"),
        (["intervals(3)", "--seconds", "0"], r"seconds: expected a number > 0, got"),
        (["intervals(3)", "--epsilon", "0"], "epsilon"),
        (["intervals(3)", "--alpha", "2"], "alpha"),
        (["points(100, 9)"], "choose smaller numbers"),
        (["intervals(3)", "--alpha", "1e-300"], "sample size.*choose larger numbers"),
        (["intervals(3)", "--epsilon", "1e-320"], "epsilon: expected a number >= 2.23e-308"),
        (["intervals(3)", "--import", "nosuch"], "import: expected a module that can be found, got 'nosuch'"),
    ],
)
def test_errors_are_one_clear_sentence(capsys, words, message):
    assert cli.main(["dimension", *words]) == 2
    printed = capsys.readouterr()
    assert not printed.out and "Traceback" not in printed.err
    assert re.search(message, printed.err), printed.err


@pytest.mark.parametrize("text", ["", "0,1\n0\n", "a,b\n", "0,1\n0,1\n", "0,-1\n", "0.5,1\n"])
def test_files_that_are_no_class(capsys, tmp_path, text):
    (tmp_path / "class.csv").write_text(text)
    assert cli.main(["dimension", str(tmp_path / "class.csv")]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("dpjax: ") and len(printed.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0,,1\n,1,0\n", "an empty cell in line 1, column 2"),
        ("0,1\n1,\n", "an empty cell in line 2, column 2"),
        ("0;1\n;1\n", "an empty cell in line 2, column 1"),
        ("1\n99999999999999999999999\n", r"beyond 2\^63 - 1 in line 2"),
        ("0,1\n0,1 1\n", "another word in line 2, column 2"),
        (b"\xff0,1\n", "no UTF-8 text"),
        ("a,b\n0,1\n", "a line of names"),
    ],
)
def test_lines_that_are_no_labels_are_named(tmp_path, text, words):
    path = tmp_path / "class.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=words):
        read_matrix(path)


def test_text_with_a_byte_order_mark(tmp_path):
    (tmp_path / "class.csv").write_bytes("\ufeff0, 1\n1; 1\n  # end\n0 0\n".encode())
    assert read_matrix(tmp_path / "class.csv").tolist() == [[0, 1], [1, 1], [0, 0]]


@pytest.mark.parametrize("how", [{}, {"delimiter": ","}, {"fmt": "%.1f", "delimiter": ";"}, {"fmt": "%g"}])
def test_a_matrix_that_numpy_wrote_as_text(tmp_path, how):
    np.savetxt(tmp_path / "class.csv", np.array([[0, 1, 2.0], [1, 1, 0]]), header="labels", **how)
    assert read_matrix(tmp_path / "class.csv").tolist() == [[0, 1, 2], [1, 1, 0]]


@pytest.mark.parametrize("word", ["0.5", "nan", "inf", "1e300", "1.0.0"])
def test_a_number_that_is_not_whole_is_named(tmp_path, word):
    (tmp_path / "class.csv").write_text(f"0,1\n1,{word}\n")
    with pytest.raises(InputError, match="another word in line 2, column 2"):
        read_matrix(tmp_path / "class.csv")


def test_a_matrix_of_whole_floats_is_a_class(capsys, tmp_path):
    np.save(tmp_path / "class.npy", np.array([[0.0, 1.0], [1.0, 1.0]]))
    found, _ = answer(capsys, tmp_path / "class.npy")
    assert (found["concepts"], found["labels"]) == (2, 2)
    assert Multiclass.of(np.array([[0.0, 2.0]])) == Multiclass.of([[0, 2]])
    for wrong in (np.inf, 1e300):
        with pytest.raises(InputError, match="row 0, column 1: expected a whole number"):
            Multiclass.of(np.array([[0, wrong]]))


@pytest.mark.parametrize("content", ["empty", "pickled", "archive"])
def test_npy_files_that_are_no_array_of_numbers(tmp_path, content):
    path = tmp_path / "class.npy"
    with path.open("wb") as file:
        if content == "pickled":
            np.save(file, np.array([{}, None], object), allow_pickle=True)
        elif content == "archive":
            np.savez(file, a=np.eye(2, dtype=int))
    with pytest.raises(InputError, match=r"class\.npy: (no array of numbers|an archive).*; correct the file") as caught:
        read_matrix(path)
    assert "allow_pickle" not in str(caught.value)


def test_modules_are_imported_for_files_too(capsys, tmp_path):
    (tmp_path / "class.csv").write_text("0,1\n1,0\n")
    assert cli.main(["dimension", str(tmp_path / "class.csv"), "--import", "nosuch"]) == 2
    assert "'nosuch'" in capsys.readouterr().err


def test_rows_are_those_of_the_given_class(capsys):
    """Not sorted, the first of equal rows; with --bit their numbers are in "rows"."""
    matrix = np.array([[1, 0, 1], [0, 1, 1], [1, 0, 1], [0, 0, 0]])
    found, _ = answer(capsys, f"Finite.of({matrix.tolist()})")
    assert found["rows"] == [0, 1, 3]
    tree = next(one["witness"]["nodes"] for one in found["dimensions"] if one["name"] == "Littlestone dimension")
    kept = matrix[found["rows"]]

    def holds(number, path):
        node = tree[number]
        if "row" in node:
            return all(kept[node["row"], point] in side for point, side in path)
        sides = zip(node["children"], node["map"], strict=True)
        return all(holds(child, [*path, (node["point"], side)]) for child, side in sides)

    assert len(tree) == 3 and holds(0, [])
    found, _ = answer(capsys, "Multiclass.of([[3, 0], [1, 1], [2, 0], [0, 1]])", "--bit", 1)
    assert found["rows"] == [0, 1] and found["labels"] == 2  # bit 1: rows 1 0, 0 0, 1 0, 0 0
    assert cli.main(["dimension", f"Finite.of({matrix.tolist()})"]) == 0
    assert "row 2 of a witness is row 3 of the class" in capsys.readouterr().out


def test_the_number_of_labels_reaches_the_sample_size(capsys):
    few, _ = answer(capsys, "one_bit_gap(7)")
    many, _ = answer(capsys, "one_bit_gap(7)", "--labels", 64)
    own, _ = answer(capsys, "Multiclass.of([[0, 3], [1, 2]], 64)")
    sizes = [found["sample sizes"]["BitReduction, pure, improper"] for found in (few, many)]
    assert sizes[0] < sizes[1] and (many["labels"], own["labels"]) == (64, 64)


def test_labels_beyond_16_bits_have_dimensions(capsys, tmp_path):
    np.save(tmp_path / "class.npy", np.array([[65536], [3]]))
    found, values = answer(capsys, tmp_path / "class.npy")
    assert values["multiclass Littlestone dimension"] == (1, 1) and [*found["sample sizes"]] == [
        "KLN, pure",
        "KLN, pure, agnostic",
    ]


def test_dimensions_are_printed_as_they_are_computed(capsys, monkeypatch):
    def interrupted(table, seconds):
        yield Dimension("first dimension", 1, Fraction(10**9 + 1, 10**9), dimensions.Chain((), ()), 0.5)
        raise KeyboardInterrupt

    monkeypatch.setattr("dpjax.cli.commands.dimension.summary", interrupted)
    assert cli.main(["dimension", "thresholds(3)"]) == 130
    printed = capsys.readouterr().out
    assert "first dimension" in printed and "1 to 1.000000" in printed and "stopped" in printed


def test_deep_trees_as_data(capsys):
    """Nested, they would be too deep for JSON's encoder; points(400) was too deep for the search, too."""
    found, _ = answer(capsys, "points(500)", "--seconds", "0.2")
    assert len(found["dimensions"]) == 8
