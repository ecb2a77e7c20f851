"""The page of the rows that the best learner needs: computed, continued, collected and written."""

import atlas as script
import pytest

from dpjax.advice.collection import Collection, bracket, read_programs
from dpjax.core.checks import InputError


def test_one_point_from_nothing_to_a_collection(tmp_path, capsys):
    """Two concepts on one point have a closed form: 3 rows at epsilon 1, 2 at epsilon 2, and 1 without privacy."""
    store = Collection(tmp_path / "store")
    words = ["compute", "--store", str(store.folder), "--points", "1", "--epsilons", "0", "2", "1"]
    script.main(words)
    first, said = list(store.programs()), capsys.readouterr().out
    assert [f"epsilon {epsilon}: n* is {n}" in said for epsilon, n in ((2, 2), (1, 3))] == [True, True]
    assert "without privacy: n* is 1" in said
    script.main(words)
    assert list(store.programs()) == first  # nothing is computed twice
    script.collect(store, tmp_path / "atlas.jsonl")
    kept = list(read_programs((tmp_path / "atlas.jsonl").read_text()))
    for epsilon, low, high in ((1.0, 2, 3), (2.0, 1, 2)):
        below, enough = bracket(one for one in kept if one.epsilon == epsilon)
        assert (below.n, enough.n) == (low, high)
    wrong = next(one for one in first if one.certificate)
    store.append(script.Program(*wrong.key[:1], wrong.n + 1, *wrong.key[2:], 0.5, 0.4, wrong.certificate))
    with pytest.raises(InputError, match="proof"):  # a certificate of another number of rows
        script.collect(store, tmp_path / "atlas.jsonl")


def test_the_page_has_every_class(tmp_path, monkeypatch):
    monkeypatch.setattr(script, "measured", lambda method, n: [n, 126, method, "0.71913", "0.71850", "1.0", 100])
    (tmp_path / "optimum.md").write_text(
        "## Rows for\n| 2 | 00 01 10 (thresholds) | 24 | 14 | 7 | 6 | 3 | 2 |\n<details>"
    )
    script.main(["page", "--short", "--out", str(tmp_path)])
    page = (tmp_path / "atlas.md").read_text()
    lines = [line for line in page.splitlines() if line.startswith(("| 1 | ", "| 2 | ", "| 3 | "))]
    assert len(lines) == 25 and "| 0 1 (all functions) |" in lines[0] and "differ: 1 of " in page.replace("\n", " ")
    assert "Not a function of the VC dimension" in page and "| 4 | 126 | highs |" in page


def test_a_measurement_is_of_its_own_process():
    import atlas_speed

    row = atlas_speed.measured("first-order", 2)
    assert row[:3] == [2, 21, "first-order"] and float(row[4]) <= float(row[3]) and float(row[5]) > 0 and row[6] > 0
