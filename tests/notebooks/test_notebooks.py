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
    found = [space["result"].n_star.to_pylist(), space["own_result"].n_star.to_pylist()]
    stars, own = ({(row["learner"], row["epsilon"]): row for row in rows} for rows in found)
    assert len(stars) == 8 and len(own) == 4
    assert all(row["n_high"] < row["theorem"] for row in [*stars.values(), *own.values()])
    assert all(stars["KLN", e]["theorem"] > 10 * stars["KLN", e]["n_high"] for e in (0.5, 1, 2, 4))
    assert (np.diff(space["cost"]) < 0).all() and space["cost"][0.5] > 4 and space["cost"][4] <= 1
    assert own["KLN", 3]["n_high"] < own["KLN", 0.3]["n_low"] and own["not private", 3]["n_high"] < 32
    for result in (space["result"], space["own_result"]):
        assert result._repr_png_().startswith(b"\x89PNG")
    gaps = space["gaps"]
    assert len(gaps) >= 3 and (gaps["upper"] > 0).all() and (gaps["ratio"] < 1).any()
    assert space["picture"].read_bytes().startswith(b"\x89PNG") and str(space["picture"]) in printed
    assert len(space["again"].x) == space["n"] and "1 iff x <= " in printed
    assert all(1 < ratio <= np.exp(epsilon) for epsilon, ratio in space["ratios"].items())
    assert space["one"][56] < space["other"][56] / 5
    assert np.isclose(space["report"].epsilon_found, 0.840896, atol=1e-6)


def learner(space, printed):
    assert "it succeeds at its sample size: passed" in printed and "no guarantee is exceeded: passed" in printed
    assert "move it into a module" in printed or "cannot be given the learner" in printed
    assert np.isclose(space["report"].epsilon_found, 1)
    assert space["refuted"].violated and np.isclose(space["refuted"].epsilon_found, 2)
    good = space["result"].curves.to_pandas().groupby("learner")["successes"].sum()
    assert good["permute-and-flip"] > good["KLN"] and len(space["differences"]) >= 5
    stars = {row["learner"]: row for row in space["result"].n_star.to_pylist()}
    assert stars["permute-and-flip"]["n_high"] < stars["KLN"]["n_high"] < stars["KLN"]["theorem"]
    assert space["expected"]["permute-and-flip"] < 0.8 * space["expected"]["exponential mechanism"]
    edited_cells(space)


def edited_cells(space):
    """A cell that is run again computes nothing; an edited one is computed again, and its results are others."""
    (cell,) = (code for code in space["cells"] if "class PermuteAndFlip" in code)
    counted = []
    watch = SimpleNamespace(step=lambda *_: None, trials=counted.append)

    def successes(code):
        exec(code, space)
        counted.clear()
        again = dp.Study(space["task"], {"permute-and-flip": space["mine"]}, n=[32], trials=50)
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
    assert 0 < space["error"] <= 0.1 and "(1, 0)-DP" in printed
    assert {"target: 1 from 17 to 3", " found: 1 from 16 to 2"} <= set(re.split("[;\n]", printed))
    stars = {(row["learner"], row["epsilon"]): row for row in space["result"].n_star.to_pylist()}
    assert len(stars) == 4 and all(row["n_low"] < row["n_high"] < row["theorem"] for row in stars.values())
    assert stars["not private", 2]["n_high"] < stars["KLN", 2]["n_low"]
    assert stars["KLN", 2]["n_high"] < stars["KLN", 0.5]["n_low"]
    assert space["result"]._repr_png_().startswith(b"\x89PNG") and space["again"].success


def mechanism(space, printed):
    assert np.isclose(space["report"].epsilon_found, 1) and 0.8 < space["sampled"].epsilon_found <= 1
    slack = np.array([space["slack"][people] for people in (1, 2, 6)])
    assert np.allclose(slack[:, -1], 0, atol=1e-9) and (np.diff(slack[:, :-1], axis=0) < 0).all()
    assert (np.diff(slack, axis=1) < 0).all() and slack[2, 3] < slack[0, 3] / 3
    assert space["refuted"].violated and space["refuted"].epsilon_found == np.inf
    yes = [space["refuted"].witness[side][1] for side in ("database", "neighbor")]
    assert abs(yes[0] - yes[1]) == 1 and f"neighbor  {space['refuted'].witness['neighbor']}" in printed
    assert space["refuted_by_samples"].violated and not space["sampled"].violated
    foreign = space["foreign"]
    assert foreign["by_the_largest"].violated and foreign["by_the_largest"].epsilon_found > 2
    assert not foreign["by_a_bound"].violated and 0.7 < foreign["by_a_bound"].epsilon_found <= 1
    assert "no guarantee is exceeded: passed" in printed
    assert ("OpenDP is not installed" in printed) == (space["opendp"] is None)
    assert len(space["of_opendp"]) == (0 if space["opendp"] is None else 2)
    of_jax = space["of_jax"]
    assert not of_jax["count_of_ones"].violated and 0.7 < of_jax["count_of_ones"].epsilon_found <= 1
    assert of_jax["half_the_noise"].violated and of_jax["half_the_noise"].epsilon_found > 1
    assert len(space["reports"]) == 8 + len(space["of_opendp"])


def tails(space, printed):
    values, counts = space["values"], space["counts"]
    assert space["test"].pvalue > 0.01 and space["among"] == 1
    assert values.size == 2**23 and 15 < -values.min() < 17 and 15 < values.max() < 17
    expected = space["number"] * space["truth"]
    assert (counts[0][7:] == 0).all() and (expected[7:] > 2).all()
    assert (np.abs(counts[1] - expected) < 5 * np.sqrt(expected)).all() and counts[1][7:].sum() > 15
    refuted, unseen = space["refuted"], space["unseen"]
    assert refuted.violated and refuted.epsilon_found == np.inf and 1e-7 < refuted.delta_found < 1e-5
    assert not unseen.violated and unseen.epsilon_found > 0.8 and len(space["only_one"]) > 0
    assert np.allclose(space["worse"][:8], space["should"][:8], rtol=1e-3)
    assert space["worse"][16] < 0.01 * space["should"][16] and np.nanmax(space["losses"]) > 5
    assert (np.abs(space["ours"] - 2**20 * space["should"][:9]) < 5 * np.sqrt(2**20 * space["should"][:9])).all()
    assert np.allclose(list(space["ratios"].values()), 1, rtol=1e-5) and "e-15" in printed
    assert min(space["gives_away"]) > 0.8
    assert [each.violated for each in space["bitwise"].values()] == [True, True, False]
    assert np.isclose(space["report"].epsilon_found, 1)


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
    names = {"whole", "interrupted", "two-devices", "joined", "array"} | ({"dask"} if "\ndask " in printed else set())
    assert set(space["digests"]) == names and set(space["digests"].values()) == {space["digest"]("whole")}
    assert space["digest"]("monday") not in {space["digest"]("tuesday"), space["digest"]("whole")}
    first, second = space["first"].seen, space["second"].seen
    assert 0 < second < first + second == 9 * 64 and "Interrupted" not in printed
    assert "all equal: True" in printed and "shard 3/4: " in printed and str(space["root"]) not in printed


def someone_elses_trial(space, printed):
    look, failed = space["look"], space["failed"]
    assert 7 in failed and not look.success and look.errors[0] > 0.5 and space["twin"].x == look.x
    assert look.hypotheses[0] in space["rerun"] and "stored: the same outcome" in space["stored"]
    assert space["mine"]["outcome"].head(20).tolist() == [one.outcome for one in space["several"]]
    assert len(space["mine"]) == 64 and space["about"]["config"]["sweep"]["n"] == [32, 64, 128, 256]
    assert "and 502 more rows" in space["of_demo"]


NAMES = {
    "vc1": vc1,
    "many_concepts": many_concepts,
    "geometry": geometry,
    "quickstart": quickstart,
    "learner": learner,
    "class": concept_class,
    "mechanism": mechanism,
    "tails": tails,
    "dimensions": dimensions,
    "lower_bounds": lower_bounds,
    "cluster": cluster,
    "someone_elses_trial": someone_elses_trial,
}
WITHOUT_AUDIT = {"cluster", "someone_elses_trial"}


def cells(root, name):
    found = json.loads((root / "notebooks" / f"{name}.ipynb").read_text())["cells"]
    return [cell for cell in found if cell["cell_type"] == "code"]


def test_each_notebook_is_named_here(root):
    assert sorted(path.stem for path in (root / "notebooks").glob("*.ipynb")) == sorted(NAMES)


def test_the_index_has_a_card_for_each_and_the_titles_agree(root):
    index = (root / "docs/learn/index.md").read_text()
    listed = index.partition("{toctree}")[2].split("```")[0].split()
    assert sorted(name for name in listed if not name.startswith(":")) == sorted(NAMES)
    cards = dict(re.findall(r"\{grid-item-card\} (.*)\n:link: (\w+)\n", index))
    assert sorted(cards.values()) == sorted(NAMES)
    for title, name in cards.items():
        first = json.loads((root / "notebooks" / f"{name}.ipynb").read_text())["cells"][0]
        assert first["source"][0] == f"# {title}\n"


@pytest.mark.parametrize("name", NAMES)
def test_no_outputs_are_stored(root, name):
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells(root, name))


def test_quickstart_begins_with_the_cell_of_the_readme(root):
    readme = (root / "README.md").read_text().partition("## In a notebook")[2]
    block = re.search(r"^```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert "".join(cells(root, "quickstart")[0]["source"]) + "\n" == block[1]


@pytest.mark.parametrize("name", NAMES)
def test_what_it_links_to_exists(root, name):
    found = json.loads((root / "notebooks" / f"{name}.ipynb").read_text())["cells"]
    text = "".join("".join(cell["source"]) for cell in found if cell["cell_type"] == "markdown")
    linked = re.findall(r"\]\(([^)]*)\)", text)
    assert linked and not [path for path in linked if not (root / "notebooks" / path.partition("#")[0]).exists()]


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


@pytest.mark.slow
def test_opendp_is_audited(root, monkeypatch):
    """The cell with OpenDP alone, after the imports; a true claim is refuted with probability 1e-6."""
    pytest.importorskip("opendp.prelude", reason="needs dpjax[bench]")
    monkeypatch.setenv("DPJAX_TRIALS", "50")
    sources = ["".join(cell["source"]) for cell in cells(root, "mechanism")]
    space = {"__name__": "__main__", "brief": str}
    for source in (source for source in sources if source.startswith("import os") or "import opendp" in source):
        exec(source, space)
    one, two = space["of_opendp"].values()
    assert not one.violated and 0.6 < one.epsilon_found <= one.claim.epsilon == 1
    assert two.violated and 1.2 < two.epsilon_found <= 2
