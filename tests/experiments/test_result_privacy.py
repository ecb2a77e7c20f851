"""A result says of each point and bracket what the guarantee of its plan spends of the budget's delta."""

import json

import dpjax as dp
from dpjax.baselines import ERM
from dpjax.experiments.results.result import Result
from dpjax.plots.selection import select

POINTS = dp.Points(dp.Domain(8))
LEARNERS = {"pure": dp.KLN(POINTS), "histogram": dp.PointLearner(POINTS), "none": ERM(POINTS)}


def study(k, *names, **how):
    task = dp.Task(POINTS, dp.uniform(POINTS.domain))
    own = {name: LEARNERS[name] for name in names}
    return dp.Study(task, own, k=k, epsilon=8.0, accuracy=dp.Accuracy(0.2, 0.3), n=[20], trials=8, **how)


def test_a_direct_sum_of_pure_learners_is_not_pure():
    """Optimal composition of two spends a delta."""
    spent = {line.setting.k: line.guarantee().delta for line in study([1, 2], "pure").curves}
    assert spent[1] == 0.0 < spent[2] <= 1e-6


def test_rows_have_it_and_a_result_without_it_stays_valid(tmp_path):
    search = dp.Search(n_min=20, n_max=40, most_trials=200, confidence=0.5, steps_per_doubling=1)
    made = study(1, *LEARNERS, search=search)
    data = made.run(tmp_path, quiet=True).data
    assert not data["failures"]
    spent = LEARNERS["histogram"].guarantee(LEARNERS["histogram"].plan(dp.Privacy(8.0, 1e-6), made.accuracy, 20))
    for table in ("points", "n_star"):
        found = {row["learner"]: row["guarantee_delta"] for row in data[table]}
        assert found == {"pure": 0.0, "histogram": spent.delta, "none": None} and 0 < spent.delta <= 1e-6
    assert select(data).kinds == {"pure": "pure", "histogram": "approximate", "none": "not private"}
    summed = json.loads(json.dumps(data))
    summed["points"] += [row | {"k": 2, "guarantee_delta": 1e-7} for row in data["points"] if row["learner"] == "pure"]
    assert select(summed).kinds["pure"] == "approximate", "the figure of a direct sum is not that of a pure learner"
    older = json.loads(json.dumps(data))
    for row in [*older["points"], *older["n_star"]]:
        del row["guarantee_delta"]
    assert set(select(older).kinds.values()) == {""}
    (tmp_path / "result.json").write_text(json.dumps(older))
    assert made.run(tmp_path, quiet=True).data == Result.load(tmp_path).data == json.loads(json.dumps(data))
    assert not (tmp_path / "result.earlier.json").exists()
