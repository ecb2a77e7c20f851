"""The collection of solved programs: it is read back, continued, and its proofs are checked."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dpjax.advice.collection import Collection, bracket, packaged, read_programs
from dpjax.attacks.optimum import goal_of, optimum
from dpjax.attacks.optimum.tiny import code_of, tiny_classes
from dpjax.core.checks import InputError
from dpjax.core.types import Privacy

CODE = "00 01 10"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    store = Collection(tmp_path_factory.mktemp("store"))
    goal = goal_of([[0, 0], [0, 1], [1, 0]], 0.3)
    for n in (6, 7):
        store.add(CODE, 0.9, optimum(goal, n, Privacy(2.0), rounds=20, tolerance=2e-3, method="first-order", level=0.9))
    return store


def verified(store, one):
    """Whether proofs are accepted: some wrong ones are refused with an explanation."""
    try:
        return store.verify(one)
    except InputError:
        return False


def test_it_is_read_back_and_verified(made):
    below, enough = bracket(made.programs())
    assert (below.n, enough.n) == (6, 7) and below.upper < 0.9 <= enough.lower
    assert below.certificate and not below.table and enough.table and not enough.certificate
    assert made.verify(below) and made.verify(enough)
    assert all(sum(mass) > 4 for one in (below, enough) for mass in one.distributions)


def test_wrong_claims_are_found(made):
    below, enough = bracket(made.programs())
    for wrong in (
        replace(below, upper=below.upper - 0.01),
        replace(below, epsilon=2.1),
        replace(below, alpha=0.45),
        replace(enough, epsilon=1.9),
        replace(enough, lower=enough.lower + 0.01),
        replace(enough, alpha=0.1),
    ):
        assert not verified(made, wrong)
    assert made.verify(replace(below, alpha=0.1))  # fewer hypotheses are good: the same numbers prove it


def test_files_that_were_damaged(made, tmp_path):
    below, _ = bracket(made.programs())
    other = Collection(tmp_path)
    assert list(other.programs()) == []
    other.append(below)
    with (tmp_path / "programs.jsonl").open("a") as file:
        file.write(below.line()[:40])
    assert list(other.programs()) == [below]
    with pytest.raises(InputError, match="none"):
        other.verify(below)
    (tmp_path / "proofs").mkdir()
    (tmp_path / "proofs" / f"{below.certificate}.npz").write_bytes(b"no")
    with pytest.raises(InputError, match="another"):
        other.verify(below)
    assert list(read_programs('{"n": 3}\nnothing\n[]\n')) == []
    for wrong in ({"n": -1}, {"n": 2.5}, {"upper": float("nan")}, {"lower": 2.0}, {"epsilon": "1"}, {"table": 3}):
        assert list(read_programs(json.dumps(json.loads(below.line()) | wrong))) == []


def test_proofs_of_strangers_are_refused(made, tmp_path):
    """Another file's name, arrays of something else, and programs that no computer can have solved."""
    below, enough = bracket(made.programs())
    other = Collection(tmp_path)
    with pytest.raises(InputError, match="hexadecimal"):
        other.read("../" + below.certificate)
    odd = other._save(cases=np.array("[]"), weights=np.zeros((2, 2)))
    assert not other.verify(replace(below, certificate=odd)) and not other.verify(replace(enough, table=odd))
    some = made.read(enough.table)["kept"]
    for wrong in ({"table": some}, {"kept": some[:5]}, {"kept": some[::-1]}):
        assert not other.verify(replace(enough, table=other._save(**wrong)))
    with pytest.raises(InputError, match="n"):
        other.verify(replace(enough, n=10**9))
    assert below.proved and enough.proved
    assert not replace(below, certificate="").proved and not replace(enough, table="").proved


def test_arrays_are_whole_numbers(made):
    below, enough = bracket(made.programs())
    proof, table = made.read(below.certificate), made.read(enough.table)["kept"]
    assert proof["flows"].dtype == np.int32 and proof["weights"].dtype == np.int64 and table.dtype == np.uint32
    assert {len(case) for case in json.loads(str(proof["cases"]))} == {2}


def test_a_delta_is_read_back_and_verified(tmp_path):
    store, goal = Collection(tmp_path), goal_of([[0, 0], [0, 1], [1, 0]], 0.3)
    how = {"rounds": 20, "tolerance": 2e-3, "method": "first-order", "level": 0.9}
    for n in (6, 7):
        store.add(CODE, 0.9, optimum(goal, n, Privacy(2.0, 0.01), **how))
    below, enough = bracket(store.programs())
    assert (below.n, enough.n, below.delta, enough.delta) == (6, 7, 0.01, 0.01)
    assert store.verify(below) and store.verify(enough)
    assert store.read(below.certificate)["flows"].ndim == 4
    for wrong in (
        replace(below, delta=0.0),
        replace(below, delta=0.05),
        replace(below, upper=below.upper - 0.01),
        replace(enough, delta=0.0),
        replace(enough, delta=0.005),
        replace(enough, lower=enough.lower + 0.01),
    ):
        assert not verified(store, wrong)
    assert list(read_programs(json.dumps(json.loads(below.line()) | {"delta": 1.0}))) == []
    old = {name: value for name, value in json.loads(below.line()).items() if name != "delta"}
    assert [one.delta for one in read_programs(json.dumps(old))] == [0.0]


def test_a_certificate_of_pairs_is_read_back(tmp_path):
    """HiGHS has flows of pairs of neighbors."""
    store, goal = Collection(tmp_path), goal_of([[0, 0], [0, 1], [1, 0]], 0.3)
    one = store.add(CODE, 0.9, optimum(goal, 3, Privacy(2.0)))
    assert "pairs" in store.read(one.certificate) and store.verify(one)
    assert not store.verify(replace(one, upper=one.upper - 0.01))


def test_the_packaged_collection():
    """Each class and budget has at most two programs, which are on two sides of the level."""
    programs, codes = packaged(), {code_of(one) for one in tiny_classes(3)}
    assert {one.concepts for one in programs} - codes == {code_of(tiny_classes(4)[-1])}
    assert codes <= {one.concepts for one in programs} and {one.epsilon for one in programs} >= {None, 1.0, 2.0}
    assert {one.delta for one in programs} == {0.0, 0.01} and all(one.epsilon or not one.delta for one in programs)
    ends = {}
    for one in programs:
        assert (one.upper < one.level) != (one.lower >= one.level) and one.alpha == 0.3 and one.level == 0.9
        assert bool(one.certificate) == (one.upper < one.level and one.epsilon is not None)
        ends.setdefault((one.concepts, one.epsilon, one.delta), []).append(one)
    for some in ends.values():
        below, enough = bracket(some)
        assert len(some) == (below is not None) + (enough is not None)
        assert below is None or enough is None or below.n < enough.n
