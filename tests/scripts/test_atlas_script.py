"""The page of the rows that the best learner needs: computed, continued, collected and written."""

import dataclasses
import re
import xml.etree.ElementTree as ET

import atlas as script
import atlas_data
import atlas_fits
import atlas_four
import atlas_larger
import atlas_laws
import atlas_relaxed
import atlas_signed
import atlas_speed
import numpy as np
import pyarrow.parquet as pq
import pytest

from dpjax.advice.collection import Collection, bracket, packaged, read_programs
from dpjax.advice.derived import Derived
from dpjax.attacks.optimum import Databases, goal_of
from dpjax.attacks.optimum.private_table import is_private
from dpjax.attacks.optimum.tiny import matrix_of_code, tiny_classes
from dpjax.core.checks import InputError
from dpjax.dimensions.summary import summary
from dpjax.experiments.sweep.lower_bounds import LowerBound


def test_one_point_from_nothing_to_a_collection(tmp_path, capsys):
    """Two concepts on one point have a closed form: 3 rows at epsilon 1, 2 at epsilon 2, and 1 without privacy."""
    store = Collection(tmp_path / "store")
    words = ["compute", "--store", str(store.folder), "--points", "1", "--epsilons", "0", "2", "1"]
    script.main(words)
    first, said = list(store.programs()), capsys.readouterr().out
    assert [f"epsilon {epsilon}, delta 0: n* is {n}" in said for epsilon, n in ((2, 2), (1, 3))] == [True, True]
    assert "without privacy: n* is 1" in said
    script.main(words)
    assert list(store.programs()) == first  # nothing is computed twice
    script.collect(store, tmp_path / "atlas.jsonl")
    kept = list(read_programs((tmp_path / "atlas.jsonl").read_text()))
    for epsilon, low, high in ((1.0, 2, 3), (2.0, 1, 2)):
        below, enough = bracket(one for one in kept if one.epsilon == epsilon)
        assert (below.n, enough.n) == (low, high)
    wrong = next(one for one in first if one.certificate)
    store.append(dataclasses.replace(wrong, n=wrong.n + 1, upper=0.5, lower=0.4))
    with pytest.raises(InputError, match="proof"):  # a certificate of another number of rows
        script.collect(store, tmp_path / "atlas.jsonl")


def test_the_page_has_every_class(tmp_path, monkeypatch):
    """With a few of the classes on 4 points."""
    every = tiny_classes(4)
    monkeypatch.setattr(script, "tiny_classes", lambda points: [*every[:25], *every[25::80]])
    some = [one for one in atlas_larger.larger_classes() if one[0] in ("thresholds on 5 points", "points on 6 points")]
    monkeypatch.setattr(atlas_larger, "larger_classes", lambda: iter(some))
    monkeypatch.setattr(script, "formulas", lambda *given: [LowerBound(2, "made up")])
    monkeypatch.setattr(atlas_speed, "measured", lambda method, n: [n, 126, method, "0.71913", "0.71850", "1.0", 100])
    (tmp_path / "optimum.md").write_text(
        "## Rows for\n| 2 | 00 01 10 (thresholds) | 24 | 14 | 7 | 6 | 3 | 2 |\n<details>"
    )
    script.main(["page", "--short", "--out", str(tmp_path)])
    page = (tmp_path / "atlas.md").read_text()
    first = page.partition("## All classes on 4 points")[0]
    lines = [line for line in first.splitlines() if line.startswith(("| 1 | ", "| 2 | ", "| 3 | "))]
    assert len(lines) == 25 and "| 0 1 (all functions) |" in lines[0] and "differ: 1 of " in page.replace("\n", " ")
    assert "Not a function of the VC dimension" in page and "| 4 | 126 | highs |" in page
    compared = re.search(r"(\d+) of (\d+) lower bounds", page.replace("\n", " "))
    assert compared and (int(compared[1]), int(compared[2])) == (0, 75)
    assert "There are 5 classes" in page.replace("\n", " ")
    assert page.count("| at most two, selected again |") == 2
    assert "| points | class | no privacy | epsilon 0.5 |" in first  # what is asked for is beside the class
    index = page.partition("by their bracket:")[2].partition("The bracket of one")[0].strip().splitlines()[2:]
    assert sum(int(line.split("|")[2]) for line in index) == 5
    figure = ET.parse(tmp_path / "figures" / "atlas.svg").getroot()  # well-formed, without scripts or addresses
    names = [node.tag.rpartition("}")[2] for node in figure.iter()]
    assert "script" not in names and names.count("title") > 50
    marks = [node for node in figure.iter() if node.get("class") == "mark"]
    for mark in marks:  # a dot is a known n*, whatever is not known is a bar
        title, drawn = mark[0].text.partition("n* is ")[2].partition(".")[0], mark[1].tag.rpartition("}")[2]
        assert drawn == ("path" if " to " in title else "circle")
    assert "http" not in (tmp_path / "figures" / "atlas.svg").read_text().replace("http://www.w3.org/2000/svg", "")
    data = pq.read_table(tmp_path / "data" / "atlas.parquet")
    assert data.num_rows == 32 * 7 and data.schema.metadata[b"license"].startswith(b"Apache-2.0")
    for row in data.to_pylist():
        assert row["high"] is None or 1 <= row["low"] <= row["high"]
        assert (row["high"] is None) == (row["high_by"] is None)
    two = [row for row in data.to_pylist() if row["class"] == "00 01 10 (thresholds)" and row["epsilon"] == 2.0]
    assert [(row["delta"], row["low"], row["high"]) for row in two] == [(0.0, 7, 7), (0.01, 7, 7)]
    assert two[1]["certificate"] != two[0]["certificate"]
    larger = {row["family"]: row for row in data.to_pylist() if row["points"] > 4 and row["epsilon"] == 1.0}
    assert set(larger) == {one[0] for one in some} and larger["points on 6 points"]["high_by"] == "plan of KLN"
    assert "| thresholds on 5 points | 6 | 1 | 2 | " in page and "epsilon 2, delta 0.01 |" in page


def record(low, high, **values):
    """A made-up class with one bracket for every epsilon."""
    program = read_one(0.5, 0.4), read_one(1.0, 0.95)
    ends = Derived(low - 1, program[0], ""), Derived(high, program[1], "")
    numbers = dict.fromkeys(atlas_laws.PARAMETERS, 1) | values
    head = {"class": f"{low}-{high}", "points": 2, "repeated": False}
    return head | numbers | {"brackets": dict.fromkeys((None, 0.5, 1.0, 2.0), ends)}


def read_one(upper, lower):
    return script.Program("0 1", 1, 1.0, 0.3, 0.9, upper, lower)


def test_dimensions_do_not_depend_on_the_names_of_labels():
    for concepts in tiny_classes(3):
        first = atlas_data.record(concepts, [])
        for flip in ((0, 1, 0), (1, 0, 1)):
            other = tuple(tuple(label ^ one for label, one in zip(row, flip, strict=False)) for row in concepts)
            again = atlas_data.record(other, [])
            assert all(first[name] == again[name] for name in (*atlas_laws.PARAMETERS, "repeated"))
    assert atlas_data.record(((0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 1)), [])["threshold"] == 3  # thresholds
    assert [atlas_data.repeated(concepts) for concepts in tiny_classes(2)] == [False, False, True, False, False]


def test_a_class_with_a_point_repeated_is_counted_once():
    some = [record(5, 5), record(5, 5) | {"repeated": True}]
    assert atlas_laws.informative(some) == some[:1]


def test_laws_are_refuted_by_proved_bounds_alone():
    equal, wider, above = record(5, 7), record(6, 9), record(8, 8, VC=2)
    said = atlas_laws.refuted([equal, wider], (1.0,))
    assert "Not a function" not in said and said.count("No two classes") == len(atlas_laws.LAWS)
    said = atlas_laws.refuted([equal, above], (1.0,))
    assert "Not a function of the number of concepts: at epsilon 1 5-7 needs 5 to 7 rows, 8-8 8." in said
    assert "Not a function of the VC" not in said


def test_correlations_are_ranges_where_brackets_are_open():
    exact = [record(n, n, VC=n) for n in range(2, 9)]
    assert dict(atlas_laws.correlations(exact, 1.0))["VC"] == "1.00"
    wide = [record(n, n + 3, VC=n) for n in range(2, 9)]
    assert " to 1.00" in dict(atlas_laws.correlations(wide, 1.0))["VC"]


def test_a_sum_of_dimensions_is_fitted_and_judged_on_other_classes():
    """n* = 3 + 2 VC, beside noise and parameters that are constant."""
    noise = np.random.default_rng(3).integers(0, 5, 30)
    small = [record(3 + 2 * d, 3 + 2 * d, VC=d % 7, TD=int(noise[d])) for d in range(7)] * 2
    large = [record(low, low + 1, VC=9) for low in (10, 20, 21, 22)]
    none, one, two, again = atlas_fits.fits(small, large, 1.0)
    assert none[0] == "a constant" and none[1] == "9.00" and float(none[2]) > 4
    assert one == ["VC", "3.00 +2.00 VC", "0.00", "2 of 4", "1", "1"]
    assert float(two[2]) == float(again[2]) == 0
    wide = [record(n, n + 2 * n % 3, VC=n) for n in range(4, 9)]
    assert " to " in atlas_fits.fits(wide, large, 1.0)[1][2]


@pytest.mark.parametrize("columns", [(1,), (1, 2)])
def test_the_error_of_a_class_left_out_is_that_of_a_fit_without_it(columns):
    generator = np.random.default_rng(4)
    table = np.column_stack([np.ones(9), generator.integers(0, 5, (9, len(columns)))])
    values = generator.normal(size=9)
    misses = []
    for i in range(9):
        others = np.arange(9) != i
        misses.append(values[i] - table[i] @ np.linalg.lstsq(table[others], values[others], rcond=None)[0])
    assert atlas_fits.left_out(table, values) == pytest.approx(np.sqrt(np.mean(np.square(misses))))
    table[:, -1] = np.arange(9) == 4  # only one row fixes this weight
    assert atlas_fits.left_out(table, values) == np.inf


def test_conjectures_that_a_class_refutes_are_left_out():
    assert "twice n* at epsilon 2" in atlas_laws.survivors([record(5, 5)])
    assert "at least twice n* without privacy" not in atlas_laws.survivors([record(5, 5)])
    assert "holds in 0 of 1" in atlas_laws.survivors([record(5, 11)])


def test_the_table_of_the_exponential_mechanism_is_private_and_stored(tmp_path, monkeypatch):
    monkeypatch.setattr(atlas_four, "POINTS", 2)
    store = Collection(tmp_path)
    one = atlas_four.exponential_mechanism(store, 12, 2.0, 0.3, 0.9)
    assert one.concepts == "00 01 10 11" and one.lower >= 0.9 and one.table and store.verify(one)
    assert atlas_four.exponential_mechanism(store, 4, 2.0, 0.3, 0.9).table == ""


def test_a_table_of_all_functions_is_private_and_stored(tmp_path, monkeypatch):
    monkeypatch.setattr(atlas_four, "POINTS", 2)
    store = Collection(tmp_path)
    one = atlas_four.all_functions(store, 9, 2.0, 0.3, 0.9)
    assert one.concepts == "00 01 10 11" and one.lower >= 0.9 and one.table and store.verify(one)
    assert atlas_four.all_functions(store, 4, 2.0, 0.3, 0.9).table == ""


def test_a_measurement_is_of_its_own_process():
    row = atlas_speed.measured("first-order", 2)
    assert row[:3] == [2, 21, "first-order"] and float(row[4]) <= float(row[3]) and float(row[5]) > 0 and row[6] > 0
    more = atlas_speed.measured("first-order" + atlas_speed.OF_DELTA, 2)
    assert float(row[4]) < float(more[4]) <= float(more[3]) and float(more[5]) > 0


def test_learners_of_signed_counts_are_learners_of_all_databases():
    """A state has the families that its databases have, and the learner is private and found as the atlas says."""
    n, goal = 7, goal_of(matrix_of_code("00 01 10"), 0.3)
    every, states = Databases(n, goal.cells), atlas_signed.Signed(n, goal.cells)
    np.testing.assert_array_equal(states.index(states.counts), np.arange(states.size))
    smaller = every.without_a_row.counts
    members = states.members(states.without_a_row.counts)[states.without_a_row.index(smaller)]
    np.testing.assert_array_equal(states.index(every.counts)[every.members(smaller)], members)
    table, success, _ = atlas_signed.signed_learner(goal, n, 2.0, 60.0)
    assert success >= 0.9 and table.shape == (every.size, 4) and is_private(table, every, 2.0, 0.0)


def test_a_learner_of_signed_counts_is_stored_if_it_succeeds(tmp_path):
    words = ["00 01 10 11", "--store", str(tmp_path), "--epsilon", "2"]
    atlas_signed.main([*words, "--rows", "3"])
    assert not list(Collection(tmp_path).programs())
    atlas_signed.main([*words, "--rows", "8"])
    (one,) = Collection(tmp_path).programs()
    assert one.n == 8 and one.lower >= 0.9 and Collection(tmp_path).verify(one)


def test_a_certificate_of_close_databases_is_stored_if_it_refutes(tmp_path):
    words = ["00 01 10", "--store", str(tmp_path), "--epsilon", "2", "--seconds", "60"]
    atlas_relaxed.main([*words, "--rows", "7", "--within", "1"])
    assert not list(Collection(tmp_path).programs())  # there is a learner
    atlas_relaxed.main([*words, "--rows", "6", "--within", "2"])
    (one,) = Collection(tmp_path).programs()
    assert one.n == 6 and one.upper < 0.9 and not one.table and Collection(tmp_path).verify(one)
    assert not Collection(tmp_path).verify(dataclasses.replace(one, upper=0.8))


def test_larger_classes_have_the_dimensions_that_they_are_named_by():
    classes = dict(atlas_larger.larger_classes())
    assert len(classes) == 21 and classes["all functions on 5 points"][-1] == (1,) * 5
    seed, one = atlas_larger.random_class(5, 2, 3)
    assert classes[f"random, VC 2, LD 3, 5 points, seed {seed}"] == one
    values = {dimension.name: dimension.lower for dimension in summary(np.array(one))}
    assert (values["VC dimension"], values["Littlestone dimension"]) == (2, 3)


def test_a_class_and_a_delta_are_computed_and_collected_beside_what_is_known(tmp_path, capsys):
    store, path = Collection(tmp_path / "store"), tmp_path / "atlas.jsonl"
    path.write_text("".join(one.line() for one in packaged() if one.concepts in ("0 1", "00 01")))
    script.main(["compute", "--store", str(store.folder), "--classes", "0 1", "--epsilons", "2", "--delta", "0.1"])
    assert "epsilon 2, delta 0.1: n* is " in capsys.readouterr().out
    assert {(one.concepts, one.delta) for one in store.programs()} == {("0 1", 0.1)}
    before = path.read_text().splitlines()
    script.collect(store, path)
    after = path.read_text().splitlines()
    assert set(before) < set(after) and len(after) == len(before) + len(
        [one for one in bracket(store.programs()) if one]
    )
    assert all(store.verify(one) for one in store.programs())
    with_delta = next(one for one in store.programs() if one.table)
    assert not store.verify(dataclasses.replace(with_delta, delta=0.05))
