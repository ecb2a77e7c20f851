"""Notebooks: no stored outputs, and every code cell runs, with few trials."""

import json
import re
import tempfile
from types import SimpleNamespace

import numpy as np
import pytest

import dpjax as dp


def vc1(space, printed):
    assert space["inside"] == {"improper": 0, "proper": 50} and space["error"] <= space["accuracy"].alpha
    assert all(space["reached"][line] <= theorem for line, theorem in space["theorems"].items())
    flat, steep = space["needed"]["recprefix"], space["needed"]["exponential"]
    assert flat[0] > 10 * steep[0] and steep[-1] > 10 * flat[-1] and flat[-1] < 1.5 * flat[0]
    curves = space["curves"].pivot(index="n", columns="learner", values="success")
    assert (curves["improper"] >= curves["proper"]).all() and curves["proper"].iloc[-1] >= 0.9
    assert "shattered by concepts 0, 1, 2, 3" in printed and "from 129 bits on" in printed


def many_concepts(space, printed):
    enough, theorem = space["enough"], space["theorem"]
    assert space["right"].all() and space["exact"] and space["errors"][4] < 0.8 * space["errors"][0]
    assert enough["direct sum, zCDP", 64] > 20 * enough["stability", 64]
    assert enough["direct sum, zCDP", 64] > enough["sanitizer", 64] > enough["sanitizer", 1]
    assert len(set(theorem["stability"])) == 1 and theorem["direct sum, basic"][-1] > 100 * theorem["stability"][0]
    assert "256 of 256 points found" in printed


def geometry(space, printed):
    error, curves = space["error"], space["curves"].set_index(["epsilon", "n"])["success"]
    assert all(error[learner, "pentagon"] < 0.1 for learner in space["learners"])
    assert error["UnionLearner", "L"] < 0.75 * error["PolygonLearner", "L"] < 0.29
    assert curves[2, 1000] >= 0.9 > curves[1, 450] and (curves[2] >= curves[1]).all()
    assert max(space["allowed"], key=space["allowed"].get) == "noise_free" and space["spent"] < 1
    assert "east,north,service" in printed


def quickstart(space, printed):
    assert space["curve"].shape == (4, 200, 1) and (np.diff(space["success"]) >= 0).all()
    assert space["success"][-1] == 1 and "610" in printed
    stars = {(row["learner"], row["epsilon"]): row for row in space["result"].n_star.to_pylist()}
    assert len(stars) == 4 and all(row["n_high"] < row["theorem"] for row in stars.values())
    without, two, one = (stars[at]["n_high"] for at in (("not private", 1), ("KLN", 2), ("KLN", 1)))
    assert without < two < one
    gaps = space["differences"]
    assert len(gaps) >= 3 and (gaps["upper"] > 0).all() and (gaps["ratio"] < 1).any()
    assert space["picture"].read_bytes().startswith(b"\x89PNG") and str(space["picture"]) in printed
    assert len(space["again"].x) == space["n"] and "1 iff x <= " in printed


def learner(space, printed):
    assert "it succeeds at its sample size: passed" in printed and "no guarantee is exceeded: passed" in printed
    assert "move it into a module" in printed or "cannot be given the learner" in printed
    assert np.isclose(space["report"].epsilon_found, 1)
    assert space["refuted"].violated and np.isclose(space["refuted"].epsilon_found, 2)
    good = space["result"].curves.to_pandas().groupby("learner")["successes"].sum()
    assert good["permute-and-flip"] > good["KLN"] and len(space["differences"]) == 5
    edited_cells(space)


def edited_cells(space):
    """A cell that is run again computes nothing; an edited one is computed again, and its results are others."""
    (cell,) = (code for code in space["cells"] if "class PermuteAndFlip" in code)
    counted = []
    watch = SimpleNamespace(step=lambda *_: None, trials=counted.append)

    def successes(code):
        exec(code, space)
        counted.clear()
        again = dp.Study(space["task"], {"permute-and-flip": space["mine"]}, n=[25], trials=50)
        found = again.run(space["folder"], progress=watch)
        return sum(counted), found.curves["successes"].to_pylist()[0]

    new, before = successes(cell)
    assert new == 0
    new, after = successes(cell.replace("-errors, plan.epsilon", "-errors, 2 * plan.epsilon"))
    assert new >= 50 and after > before
    assert successes(cell) == (0, before)


def concept_class(space, printed):
    assert all(one.verdict == "passed" for one in space["findings"])
    (mistake,) = space["mistakes"]
    assert mistake.check == "pieces are the errors of all concepts" and "in place of" in printed
    assert space["error"] <= 0.1 and "(1, 0)-DP" in printed
    stars = [space["brackets"][d] for d in (8, 24, 64)]
    assert all(low <= high < theorem for low, high, theorem in stars)
    assert stars[0][1] < stars[2][0] and space["again"].success


def mechanism(space, printed):
    assert np.isclose(space["report"].epsilon_found, 1) and 0.8 < space["sampled"].epsilon_found <= 1
    slack = list(space["slack"].values())
    assert slack == sorted(slack, reverse=True) and slack[-1] < slack[0] / 2
    assert space["refuted"].violated and space["refuted"].epsilon_found == np.inf
    yes = [space["refuted"].witness[side][1] for side in ("database", "neighbor")]
    assert abs(yes[0] - yes[1]) == 1 and f"neighbor {space['refuted'].witness['neighbor']}" in printed
    assert space["refuted_by_samples"].violated and not space["sampled"].violated
    assert "no guarantee is exceeded: passed" in printed


def dimensions(space, printed):
    assert space["whole"].value == 1 and space["by_bits"] == 2 and "True" in printed
    grown = space["grown"]
    assert grown["thresholds", "vc"] == [1] * 5 and grown["thresholds", "littlestone"] == [2, 3, 4, 5, 6]
    sizes, reduced = space["sizes"], space["by_reduction"].curves.to_pandas()
    reduced = reduced.pivot(index="n", columns="learner", values="success")
    assert sizes["directly"] < sizes["bit by bit"] and (reduced["directly"] >= reduced["bit by bit"]).all()
    assert space["measured"].high >= space["lists"].eta and space["by_theorem"] > 10_000
    success = space["curves"].set_index(["learner", "n"])["success"]
    assert success["globally stable", 1000] > success["globally stable", 60] and success["KLN", 60] >= 0.8
    assert space["rows"] > 10_000 and "rounds of boosting: (1, 0)-DP" in printed


def lower_bounds(space, printed):
    names = " ".join(space["by_name"])
    assert (
        "packing" in names and "scores" in names and max(space["found"], key=lambda one: one.n).n < space["asked"][-1]
    )
    assert np.all(np.less(space["own"], space["best"])) and space["best"] == sorted(space["best"])
    assert np.allclose(space["reached"], space["best"], atol=0.01) and "ERM betrays a participant" in printed
    assert not space["private"].betrays and not space["private"].violated
    assert 0 < space["packed"].epsilon <= space["packed"].claim.epsilon <= 1
    assert 0.5 < space["report"].epsilon_found <= space["report"].claim.epsilon


def cluster(space, printed):
    names = {"whole", "interrupted", "two-devices", "joined"} | ({"dask"} if "\ndask " in printed else set())
    assert set(space["digests"]) == names and set(space["digests"].values()) == {space["digest"]("whole")}
    assert space["digest"]("monday") not in {space["digest"]("tuesday"), space["digest"]("whole")}
    first, second = space["first"].seen, space["second"].seen
    assert 0 < second < first + second == 9 * 64 and "Interrupted" not in printed
    assert "all equal: True" in printed and "#SBATCH --array=0-12" in printed and str(space["root"]) not in printed


def someone_elses_trial(space, printed):
    look, failed = space["look"], space["failed"]
    assert 7 in failed and not look.success and look.errors[0] > 0.5 and space["twin"].x == look.x
    assert look.hypotheses[0] in space["rerun"] and "stored: the same outcome" in space["stored"]
    assert space["mine"]["outcome"].head(20).tolist() == [one.outcome for one in space["several"]]
    assert len(space["mine"]) == 64 and space["about"]["config"]["sweep"]["n"] == [32, 64, 128, 256]
    assert "and 502 more rows" in space["of_demo"]


NAMES = {
    "vc1": vc1, "many_concepts": many_concepts, "geometry": geometry, "quickstart": quickstart, "learner": learner,
    "class": concept_class, "mechanism": mechanism, "dimensions": dimensions, "lower_bounds": lower_bounds,
    "cluster": cluster, "someone_elses_trial": someone_elses_trial,
}  # fmt: skip
WITHOUT_AUDIT = {"cluster", "someone_elses_trial"}


def cells(root, name):
    found = json.loads((root / "docs/learn" / f"{name}.ipynb").read_text())["cells"]
    return [cell for cell in found if cell["cell_type"] == "code"]


def test_each_notebook_is_named_here(root):
    assert sorted(path.stem for path in (root / "docs/learn").glob("*.ipynb")) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_no_outputs_are_stored(root, name):
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells(root, name))


def test_quickstart_begins_with_the_cell_of_the_readme(root):
    readme = (root / "README.md").read_text().partition("## In a notebook")[2]
    block = re.search(r"^```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert "".join(cells(root, "quickstart")[0]["source"]) + "\n" == block[1]


@pytest.mark.parametrize("name", NAMES)
def test_what_it_links_to_exists(root, name):
    found = json.loads((root / "docs/learn" / f"{name}.ipynb").read_text())["cells"]
    text = "".join("".join(cell["source"]) for cell in found if cell["cell_type"] == "markdown")
    linked = re.findall(r"\]\(([^)]*)\)", text)
    assert linked and not [path for path in linked if not (root / "docs/learn" / path.partition("#")[0]).exists()]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_it_runs(root, name, tmp_path, monkeypatch, capsys):
    """Cell by cell in one namespace, as Python runs them; no kernel is needed."""
    monkeypatch.setenv("DPJAX_TRIALS", "50")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    sources = ["".join(cell["source"]) for cell in cells(root, name)]
    space = {"__name__": "__main__"}
    for number, source in enumerate(sources):
        exec(compile(source, f"{name}.ipynb, code cell {number}", "exec"), space)
    NAMES[name](space | {"cells": sources}, capsys.readouterr().out)
    assert name in WITHOUT_AUDIT or not space["report"].violated
