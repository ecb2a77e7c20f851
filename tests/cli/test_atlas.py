"""`dpjax atlas`: rows of the collection, computed ones, and clear refusals."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dpjax import cli
from dpjax.advice.collection import Collection, packaged


def answer(capsys, *words):
    assert cli.main(["atlas", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_class_of_the_collection(capsys):
    found = answer(capsys, "thresholds(2)", "--epsilon", "1", "2")
    assert found["class"] == "00 01 10 (thresholds)"
    assert [(row["epsilon"], row["n"], row["source"]) for row in found["rows"]] == [
        (None, "5", "collection"),
        (1.0, "13", "collection"),
        (2.0, "7", "collection"),
    ]
    for row in found["rows"][1:]:
        assert len(row["certificate"]) == len(row["table"]) == 64 and row["largest_lower_bound"] <= row["high"]
        assert row["no_learner"]["success_at_most"] < 0.9 <= row["learner"]["success_at_least"]
    assert {one["name"]: one["lower"] for one in found["dimensions"]}["VC dimension"] == "1"


def test_a_renamed_class_is_the_same(capsys, tmp_path):
    np.savetxt(tmp_path / "class.csv", [[1, 1], [0, 1], [0, 1], [1, 0]], fmt="%d", delimiter=",")  # one row twice
    found = answer(capsys, str(tmp_path / "class.csv"), "--epsilon", "2")
    assert found["class"] == "00 01 10 (thresholds)" and found["rows"][1]["n"] == "7"


def test_a_class_by_its_concepts_has_its_own_dimensions(capsys):
    """As `dpjax dimension` has them, whatever the representative in the collection is."""
    found = answer(capsys, "000 001 011 111", "--epsilon", "2")
    assert (found["class"], found["code"]) == ("000 001 010 101 (thresholds)", "000 001 011 111")
    assert {one["name"]: one["lower"] for one in found["dimensions"]}["threshold dimension"] == "3"
    assert found["rows"][1]["n"] == "9"


def test_a_class_on_four_points_is_bracketed_by_others(capsys, tmp_path):
    np.savetxt(tmp_path / "class.csv", [[0, 0, 0, 0], [0, 0, 1, 1], [1, 1, 0, 1]], fmt="%d", delimiter=",")
    found = answer(capsys, str(tmp_path / "class.csv"), "--epsilon", "1", "--seconds", "1e-3")["rows"][1]
    assert found["source"] == "derived" and found["low"] <= found["high"]
    assert found["no_learner_from"] == "restriction 00 01" and "000 011 101" in found["learner_from"]
    assert cli.main(["atlas", str(tmp_path / "class.csv"), "--epsilon", "1", "--seconds", "1e-3"]) == 0
    printed = capsys.readouterr().out
    assert "no learner at epsilon = 1: by restriction" in printed and "a learner at epsilon = 1: by points" in printed


def test_another_success_is_computed(capsys):
    found = answer(capsys, "thresholds(1)", "--epsilon", "1", "--beta", "0.2")
    row = found["rows"][1]
    assert (row["n"], row["source"], row["certificate"]) == ("2", "computed", "")


def test_a_delta_of_the_collection_and_another(capsys):
    """With delta = 0.01 the collection has certificates, and learners with delta = 0 serve."""
    found = answer(capsys, "thresholds(2)", "--epsilon", "2", "--delta", "0.01")
    row = found["rows"][1]
    assert (found["delta"], row["n"], row["no_learner"]["n"]) == (0.01, "7", 6)
    assert (row["no_learner_from"], row["learner_from"]) == ("subclass 00 01", "delta 0") and row["certificate"]
    row = answer(capsys, "thresholds(1)", "--epsilon", "1", "--delta", "0.2", "--beta", "0.2")["rows"][1]
    assert row["source"] == "computed" and row["high"] == 2
    assert cli.main(["atlas", "thresholds(2)", "--epsilon", "2", "--delta", "0.01"]) == 0
    assert "with probability 0.9, delta = 0.01:" in capsys.readouterr().out


def test_the_printed_row(capsys):
    assert cli.main(["atlas", "thresholds(2)", "--epsilon", "1"]) == 0
    printed = capsys.readouterr().out
    for words in ("Littlestone dimension", "no privacy", "13", "n = 12: at most 0.8", "lower bounds at epsilon = 1: "):
        assert words in printed


def test_too_few_seconds_give_what_is_proved(capsys):
    assert cli.main(["atlas", "points(3)", "--epsilon", "0.3", "--beta", "0.05", "--seconds", "1e-6"]) == 0
    printed = capsys.readouterr().out
    assert "at least" in printed and "no learner was found for epsilon = 0.3 within 1e-06 seconds" in printed


def test_a_bracket_that_is_open_is_said_to_be_so(capsys):
    flags = "thresholds(2)", "--epsilon", "1", "--beta", "0.2"
    assert cli.main(["atlas", *flags, "--seconds", "1e-6"]) == 0
    printed = capsys.readouterr().out
    for which in ("without privacy", "for epsilon = 1"):
        assert f"the bracket was not closed {which} within 1e-06 seconds: give more --seconds" in printed


def test_an_open_bracket_of_the_collection_has_no_use_for_seconds(capsys):
    """No program is solved for a budget that the collection has."""
    flags = "0000 0001 0100 1001 1010 1101 1111", "--epsilon", "1", "--seconds", "1e-6"
    row = answer(capsys, *flags)["rows"][1]
    assert row["source"] == "derived" and row["low"] < row["high"] and not row["out_of_time"]
    assert cli.main(["atlas", *flags]) == 0 and "not closed for epsilon" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ones.csv",), "class: expected at least two different concepts, got 2 rows, all equal"),
        (("one.csv",), "got one concept"),
        (("00 00 00",), "got 3 rows, all equal"),
        (("01",), "got one concept"),
        (("00 010",), "class: expected concepts with as many labels each, got [2, 3]"),
        (("00 02",), "expected 0 or 1"),
        (("Thresholds(64)",), "expected at most 4 points"),
        (("thresholds(5)",), "5 points: 32 hypotheses"),
        (("thresholds(2)", "--epsilon", "0"), "epsilon"),
        (("thresholds(2)", "--epsilon", "17"), "epsilon: expected at most 16"),
        (("thresholds(2)", "--delta", "1"), "delta"),
        (("thresholds(2)", "--seconds", "0"), "seconds: expected a number > 0"),
        (("thresholds(2)", "--alpha", "1.5"), "alpha"),
        (("thresholds(2)", "--store", "nowhere"), "store: expected a folder of solved programs"),
    ],
)
def test_refusals(capsys, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ones.csv").write_text("0,1\n0,1\n")
    (tmp_path / "one.csv").write_text("0,1\n")
    assert cli.main(["atlas", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_store_is_used_and_verified(capsys, tmp_path):
    store = Collection(tmp_path)
    for one in packaged():
        if one.concepts == "00 11" and one.epsilon == 1.0:
            store.append(one)
    assert cli.main(["atlas", "points(2)", "--epsilon", "1", "--store", str(tmp_path)]) == 2
    assert "the proof" in capsys.readouterr().err


def test_a_stored_line_without_a_proof_does_not_count(capsys, tmp_path):
    one = next(one for one in packaged() if one.concepts == "00 01 10" and one.epsilon == 1.0 and one.certificate)
    Collection(tmp_path).append(replace(one, n=30, certificate=""))
    found = answer(capsys, "thresholds(2)", "--epsilon", "1", "--store", str(tmp_path))
    assert found["rows"][1]["n"] == "13" and not found["rows"][1]["proofs_verified"]
