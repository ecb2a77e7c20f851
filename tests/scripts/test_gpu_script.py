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
    assert len(usual) == 34 and min(gpu.faster(device[key], core[key]) for key in usual) > 50
    compared = [key for key in device if key in core]
    assert len(compared) == 34 + 34 + 33
    for other in (core, gpu.read("two-cores")):
        assert all(gpu.differing(device[key], other[key]).startswith("0 of ") for key in compared)


def test_what_commands_printed(gpu):
    printed = (gpu.FOLDER / "study.txt").read_text()
    for compiled in (8, 0):
        assert f"11034624 trials computed now, by 8 programs, of which {compiled} were compiled" in printed
    assert "real\t0m43." in printed and "real\t0m20." in printed
    commands = {one["command"]: one for one in gpu.lines(gpu.FOLDER / "gpu.jsonl") if "command" in one}
    audit = commands["dpjax audit kln-zcdp --method statistical --trials 100000000"]
    assert "90562816 fresh trials a side" in audit["printed"]


def test_shares_are_below_one(gpu):
    for platform in ("gpu", "cpu"):
        known = gpu.limits(platform)
        shares = [float(gpu.share(one, known)) for key, one in gpu.read(platform).items() if key[2] is None]
        assert min(shares) >= 0 and 0.5 < max(shares) < 1


def test_what_is_missing(gpu):
    records = [json.loads(line) for line in (gpu.FOLDER / "gpu.jsonl").read_text().splitlines()]
    failed = [one for one in records if "error" in one]
    assert {one["error"] for one in failed} == {"killed when the time was up"}
    assert [(one["learner"], one["rows"]) for one in failed if one["block"] is None] == [("PolygonLearner", 16384)]
    assert [one["block"] for one in failed].count(16384) == 6


def test_what_another_compiler_did(gpu):
    (wrong,) = gpu.lines(gpu.FOLDER / "cuda-13.0.jsonl")
    key = (wrong["learner"], wrong["rows"], None, None)
    assert gpu.differing(wrong, gpu.read("cpu")[key]) == "235 of 256"
    assert gpu.differing(gpu.read("gpu")[key], gpu.read("cpu")[key]) == "0 of 256"
