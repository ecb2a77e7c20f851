"""Notebooks: no stored outputs, and every code cell runs, with few trials."""

import json

import pytest


def vc1(space, printed):
    in_class = space["in_class"]
    assert in_class.members == in_class.trials == 50
    assert space["error"] <= space["accuracy"].alpha
    assert space["curve"][200].successes > space["curve"][65].successes
    assert "50 of 50 hypotheses are concepts" in printed


def many_concepts(space, printed):
    success, errors = space["success"], space["errors"]
    assert space["right"].all() and space["exact"] and errors[4] < 0.8 * errors[0]
    assert success["PointLearner", 64, 640] == 1 and success["direct sum of KLN", 64, 80] == 0
    assert success["direct sum of KLN", 1, 160] > success["direct sum of KLN", 64, 160]
    assert "256 of 256 points found" in printed


def geometry(space, printed):
    assert space["error"] <= space["accuracy"].alpha
    assert space["curve"][1600].successes > space["curve"][400].successes
    assert max(space["allowed"], key=space["allowed"].get) == "noise_free" and space["spent"] < 1
    assert abs(space["cells_of"].chance.sum() - 1) < 1e-9 and "the theorem: 13 rounds" in printed


NAMES = {"vc1": vc1, "many_concepts": many_concepts, "geometry": geometry}


def cells(root, name):
    found = json.loads((root / "notebooks" / f"{name}.ipynb").read_text())["cells"]
    return [cell for cell in found if cell["cell_type"] == "code"]


def test_each_notebook_is_named_here(root):
    assert sorted(path.stem for path in (root / "notebooks").glob("*.ipynb")) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_no_outputs_are_stored(root, name):
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells(root, name))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_it_runs(root, name, monkeypatch, capsys):
    """Cell by cell in one namespace, as Python runs them; no kernel is needed."""
    monkeypatch.setenv("DPJAX_TRIALS", "50")
    space = {"__name__": "__main__"}
    for number, cell in enumerate(cells(root, name)):
        exec(compile("".join(cell["source"]), f"{name}.ipynb, code cell {number}", "exec"), space)
    NAMES[name](space, capsys.readouterr().out)
    assert not space["report"].violated
