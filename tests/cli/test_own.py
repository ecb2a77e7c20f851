"""`dpjax audit module:object` with a person's own function: what it is given, what is missing, whose fault it is."""

import json
import sys

import pytest

from dpjax import cli

MODULE = """
import jax
import numpy as np

from dpjax.mechanisms import exponential


class Kind:
    pass


number = 3


def noisy_sum(data, rng):
    return data.sum() + rng.laplace(scale=0.4)


def seeded_sum(seed, data, scale=0.4):
    return data.sum() + np.random.default_rng(seed).laplace(scale=scale)


def traced_sum(key, data):
    return data.sum() + 0.4 * jax.random.laplace(key)


def entropy_sum(data):
    return data.sum() + np.random.default_rng().laplace(scale=0.4)


def selection(key, data):
    return exponential(data, 1.0, sensitivity=1).sample(key)


def not_traced(key, data):
    return float(data.sum())


def faulty(data, rng):
    return inner(data)


def inner(data):
    return 1 / 0


def rarely(data, rng):
    if rng.random() < 0.005:
        raise ArithmeticError("once in a while")
    return 0.0


def silent(key, data):
    return None


def unnamed(a, b):
    return b.sum() + a.laplace(scale=0.4)


def nothing_fits(*, a):
    return a


def pairs():
    yield np.array([0.0, 1.0, 0.0]), np.array([0.0, 1.0, 1.0])


def removed():
    rows = np.arange(4.0)
    return [(rows, rows[:-1])]


def moved():
    return [([3, 5], [4, 4])]


def scalars():
    return [(0, 1)]


def one_sided():
    return [(1, 2, 3)]


def endless():
    while True:
        yield np.zeros(1), np.ones(1)


def broken():
    raise OSError("no such table")


def of_something(a):
    return []


empty = []
"""
FEW = ("--epsilon", "1", "--delta", "0", "--trials", "2000")
PAIRS = ("--pairs", "persons:pairs")


@pytest.fixture(autouse=True)
def persons(tmp_path, monkeypatch):
    (tmp_path / "persons.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("persons", None)


def run(capsys, *arguments):
    status = cli.main(["audit", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.parametrize(
    "words",
    [
        ("noisy_sum",),
        ("seeded_sum",),
        ("traced_sum",),
        ("entropy_sum", "--kind", "own"),
        ("unnamed", "--kind", "generator"),
    ],
)
def test_a_function_that_claims_too_much(capsys, words):
    """A Laplace mechanism of epsilon 2.5 under a claim of 1."""
    name, *flags = words
    status, out, err = run(capsys, f"persons:{name}", *FEW, *PAIRS, *flags, "--json")
    answer = json.loads(out)
    assert status == 1 and 1 < answer["epsilon_found"] < 2.7 and answer["method"] == "statistical"
    assert answer["claim"] == {"epsilon": 1.0, "delta": 0.0, "relation": "replace-one"}
    assert "runs, " in err and "Traceback" not in err
    assert (answer["seed"] is None) == (flags == ["--kind", "own"])


def test_a_function_whose_parameters_do_not_tell_is_refused(capsys):
    status, _, err = run(capsys, "persons:unnamed", *FEW, *PAIRS)
    assert status == 2 and "a parameter called key, seed, rng or generator" in err and "--kind" in err


def test_finite_laws_are_audited_exactly_on_all_histograms(capsys):
    for relation, found in (("replace-one", 0.7), ("add-or-remove-one", 0.3)):
        words = ("persons:selection", *FEW, "--histograms", "3,2", "--relation", relation, "--json")
        status, out, _ = run(capsys, *words)
        answer = json.loads(out)
        assert status == 0 and answer["method"] == "exact" and "0 to 3 rows on 2 cells" in answer["evidence"]
        assert answer["epsilon_found"] > found and answer["claim"]["relation"] == relation
    status, out, _ = run(capsys, "persons:selection", *FEW, *PAIRS, "--json")
    assert status == 0 and "the 1 pair(s) of persons:selection" in json.loads(out)["evidence"]
    status, out, _ = run(capsys, "persons:selection", *FEW, "--histograms", "100,2", "--json")
    assert status == 0 and json.loads(out)["method"] == "exact", "more pairs than a statistical audit takes"
    status, _, err = run(capsys, "persons:selection", *FEW, "--histograms", "100,2", "--method", "statistical")
    assert status == 2 and "1 to 4096 pairs" in err
    status, out, _ = run(capsys, "persons:noisy_sum", *FEW, "--histograms", "1,2", "--json")
    evidence = json.loads(out)["evidence"]
    assert status == 0 and "from 1 pair(s)" in evidence, "a sum of counts moves only with n"
    assert "receives the counts of the cells" in evidence and "no dependence on the data was seen" in evidence


def test_the_relation_of_given_pairs_is_checked_or_named_a_promise(capsys):
    status, out, _ = run(
        capsys, "persons:noisy_sum", *FEW, "--pairs", "persons:removed", "--relation", "add-or-remove-one"
    )
    assert status == 1 and "promise" not in out
    for words, says in (
        (("removed",), "more than 1 step"),
        (("moved",), "more than 1 step"),
        (("moved", "--relation", "add-or-remove-one", "--data", "counts"), "more than 1 step"),
    ):
        status, out, err = run(capsys, "persons:noisy_sum", *FEW, "--pairs", f"persons:{words[0]}", *words[1:])
        assert status == 2 and says in err and not out
    assert run(capsys, "persons:noisy_sum", *FEW, "--pairs", "persons:moved", "--data", "counts")[0] == 0
    status, out, _ = run(capsys, "persons:noisy_sum", *FEW, "--pairs", "persons:scalars")
    assert status == 1 and "1 of 1 pairs of persons:scalars are neighbors" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("noisy_sum",), "expected the privacy that it claims and pairs of neighboring databases"),
        (("noisy_sum", *FEW), "give --pairs module:function or --histograms ROWS,CELLS"),
        (("noisy_sum", *PAIRS), "give --epsilon E"),
        (("noisy_sum", *FEW, *PAIRS, "--histograms", "2,2"), "one of the two"),
        (("noisy_sum", *FEW, *PAIRS, "--data", "tables"), "data: expected one of counts, other, rows"),
        (("noisy_sum", *FEW, *PAIRS, "--kind", "keys"), "did you mean key"),
        (("noisy_sum", *FEW, *PAIRS, "--method", "replay"), "it runs on the host"),
        (("noisy_sum", *FEW, *PAIRS, "--method", "exact"), "it runs on the host"),
        (("noisy_sum", *FEW, "--histograms", "4"), "ROWS,CELLS such as 6,2"),
        (("noisy_sum", *FEW, "--histograms", "90,3"), "pairs of neighbors for a statistical audit"),
        (("noisy_sum", *FEW, "--pairs", "persons:nothing"), "an object of persons: Kind"),
        (("noisy_sum", *FEW, "--pairs", "pairs"), "expected module:object"),
        (("noisy_sum", *FEW, "--pairs", "persons:empty"), "at least one pair"),
        (("noisy_sum", *FEW, "--pairs", "persons:number"), "gives an int"),
        (("noisy_sum", *FEW, "--pairs", "persons:of_something"), "a function without arguments"),
        (("noisy_sum", *FEW, "--pairs", "persons:one_sided"), "pairs, number 0: expected two databases"),
        (("noisy_sum", *FEW, "--pairs", "persons:endless"), "at most 4096"),
        (("Kind",), "the class Kind"),
        (("number",), "an int; name an instance"),
        (("",), "expected module:object"),
        (("nothing_fits",), "persons:nothing_fits(a)"),
        (("silent", *FEW, *PAIRS), "returns nothing"),
        (("endless", *FEW, *PAIRS), "and one for the data, got persons:endless()"),
        (("absent",), "check the name"),
    ],
)
def test_what_is_missing_or_wrong_is_named(capsys, words, says):
    status, out, err = run(capsys, f"persons:{words[0]}", *words[1:])
    assert status == 2 and says in err and not out and "Traceback" not in err, err


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("math:sqrt", "the built-in function sqrt"),
        ("numpy:add", "the built-in function add"),
        ("os:path", "the module"),
        ("stability", "none for stability"),
    ],
)
def test_things_that_are_no_function_of_ones_own(capsys, target, says):
    status, out, err = run(capsys, target, *FEW, *PAIRS)
    assert status == 2 and says in err and not out


@pytest.mark.parametrize(
    ("words", "line", "says"),
    [
        (("faulty", *PAIRS), "in inner", "ZeroDivisionError"),
        (("not_traced", *PAIRS), "in not_traced", "let it take a seed or a generator"),
        (("noisy_sum", "--pairs", "persons:broken"), "in broken", "no such table"),
    ],
)
def test_a_fault_of_the_persons_code_is_shown_with_its_own_traceback(capsys, words, line, says):
    status, out, err = run(capsys, f"persons:{words[0]}", *FEW, *words[1:])
    assert status == 2 and not out
    assert "code from outside only" in err and line in err and says in err
    assert not [part for part in err.splitlines() if 'File "' in part and "persons.py" not in part], err


def test_an_exception_in_some_runs_is_an_outcome_that_the_report_names(capsys):
    status, out, _ = run(capsys, "persons:rarely", *FEW, *PAIRS)
    assert status == 0 and "raised    ArithmeticError: once in a while, for example with the seed" in out
    assert "outcomes  2" in out


@pytest.mark.parametrize(
    ("target", "status", "says"),
    [
        ("KLN(Thresholds(3))", 0, "exact, confidence 1"),
        ("SparseAggregate(GloballyStable(Finite.of(points(3))), 2)", 0, "exact"),
        ("KLN(Thresholds(3)", 2, "correct the brackets"),
        ("Thresholds(3)", 2, "target"),
        ("ERM(Thresholds(3))", 2, "privacy"),
        ("KLN(persons:faulty)", 2, "--import persons"),
    ],
)
def test_a_learner_as_it_is_written_in_a_study(capsys, target, status, says):
    found, out, err = run(capsys, target)
    assert (found, says in out + err) == (status, True), (out, err)


def test_a_fault_inside_a_target_of_ones_own(capsys, tmp_path):
    (tmp_path / "targets.py").write_text(
        "from dataclasses import replace\nfrom dpjax import evidence\n"
        "def run(key, data, plan):\n    raise ArithmeticError('of mine')\n"
        "def claim(epsilon, delta):\n    raise ArithmeticError('in the claim')\n"
        "base = evidence.mechanism_target('laplace_mechanism')\n"
        "in_run, in_claim = replace(base, run=run, table=None), replace(base, claim=claim)\n"
    )
    try:
        for name, where in (("in_run", "in run"), ("in_claim", "in claim")):
            status, out, err = run(capsys, f"targets:{name}", *FEW)
            assert status == 2 and where in err and "ArithmeticError" in err and not out
            assert "code from outside only" in err
    finally:
        sys.modules.pop("targets", None)


ODD = """
import numpy as np


def answered(ages, rng):
    return float(np.nansum(ages) / 4 + rng.laplace(scale=25))


def leaks(ages, rng):
    return float(np.nansum(ages) / 4 + rng.laplace(scale=0.1))


def missing():
    yield np.array([30.0, 40.0, np.inf]), np.array([30.0, 40.0, np.nan])


def reused():
    first = np.zeros(2)
    for place in range(2):
        first[:] = 0
        first[place] = 1
        yield first, np.zeros(2)


def total(data, rng):
    return data[0] + rng.laplace(scale=0.1)
"""


@pytest.mark.parametrize(("name", "status"), [("answered", 1), ("leaks", 1)])
def test_databases_with_missing_values_are_reported(capsys, tmp_path, name, status):
    """JSON has no NaN: the report says "nan", and a refutation stays one."""
    (tmp_path / "odd.py").write_text(ODD)
    words = (f"odd:{name}", *FEW, "--pairs", "odd:missing")
    assert run(capsys, *words)[0] == status
    found, out, err = run(capsys, *words, "--json", "--out", str(tmp_path / "out"))
    assert found == status and "Traceback" not in err
    sides = [json.loads(out)["witness"][side] for side in ("database", "neighbor")]
    assert sorted(side[2] for side in sides) == ["inf", "nan"]
    assert json.loads((tmp_path / "out" / "audit.json").read_text(), parse_constant=pytest.fail)["violated"]
    sys.modules.pop("odd", None)


def test_a_generator_of_pairs_may_use_one_array_for_all(capsys, tmp_path):
    (tmp_path / "odd.py").write_text(ODD)
    status, out, _ = run(capsys, "odd:total", *FEW, "--pairs", "odd:reused", "--json")
    assert status == 1 and [1.0, 0.0] in json.loads(out)["witness"].values()
    sys.modules.pop("odd", None)
