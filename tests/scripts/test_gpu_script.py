"""The page on a GPU is what its script writes from the committed measurements, and its sentences hold there."""

import json

import pytest


@pytest.fixture(scope="module")
def gpu(scripts):
    return scripts("gpu")


def test_the_page_is_what_the_script_writes(gpu, root, tmp_path):
    gpu.main(["--out", str(tmp_path)])
    assert (tmp_path / "gpu.md").read_text() == (root / "docs" / "gallery" / "gpu.md").read_text()


def test_how_much_faster_and_that_outcomes_are_equal(gpu):
    device, core = gpu.read("gpu"), gpu.read("cpu")
    usual = [key for key in device if key[1:] == (1024, None, None) and key in core]
    ratios = sorted(device[key]["trials_per_s"] / core[key]["trials_per_s"] for key in usual)
    assert (len(ratios), int(ratios[0]), int(ratios[len(ratios) // 2])) == (33, 106, 296)
    compared = [key for key in device if key in core]
    assert len(compared) == 33 + 32 + 15
    assert all(gpu.differing(device[key], core[key]).startswith("0 of ") for key in compared)


def test_what_commands_printed(gpu):
    printed = (gpu.FOLDER / "study.txt").read_text()
    assert "11034624 trials computed now, by 8 programs, of which 8 were compiled" in printed
    assert "real\t0m47." in printed
    commands = {one["command"]: one for one in gpu.lines(gpu.FOLDER / "gpu.jsonl") if "command" in one}
    audit = commands["dpjax audit kln-zcdp --method statistical --trials 100000000"]
    assert int(audit["seconds"]) == 43 and "90562816 fresh trials a side" in audit["printed"]


def test_shares_are_below_one(gpu):
    for platform in ("gpu", "cpu"):
        known = gpu.limits(platform)
        shares = [float(gpu.share(one, known)) for key, one in gpu.read(platform).items() if key[2] is None]
        assert min(shares) >= 0 and max(shares) == {"gpu": 0.55, "cpu": 0.92}[platform]


def test_which_learners_are_missing(gpu):
    records = [json.loads(line) for line in (gpu.FOLDER / "gpu.jsonl").read_text().splitlines()]
    usual = [one for one in records if "learner" in one and one["k"] is one["block"] is None and not one["profile"]]
    failed = [one for one in usual if "error" in one]
    assert [one["rows"] for one in failed].count(16384) == 17 and len(failed) == 18
    assert [one["learner"] for one in failed if one["rows"] == 200] == ["UnionLearner"]
    assert all("RESOURCE_EXHAUSTED" in one["error"] for one in failed)
    assert {one["learner"] for one in usual} - {one["learner"] for one in usual if one["rows"] == 16384} == {
        "PolygonLearner"
    }


def test_what_another_compiler_did(gpu):
    (wrong,) = gpu.lines(gpu.FOLDER / "cuda-13.0.jsonl")
    key = (wrong["learner"], wrong["rows"], None, None)
    assert gpu.differing(wrong, gpu.read("cpu")[key]) == "235 of 256"
    assert gpu.differing(gpu.read("gpu")[key], gpu.read("cpu")[key]) == "0 of 256"


def test_how_far_two_measurements_are_apart(gpu):
    usual = gpu.read("gpu")
    again = [one for one in gpu.lines(gpu.FOLDER / "graphs.jsonl") if one["label"] == "default"]
    ratios = [usual[one["learner"], one["rows"], None, None]["trials_per_s"] / one["trials_per_s"] for one in again]
    assert 1.8 < max(max(ratio, 1 / ratio) for ratio in ratios) < 2
