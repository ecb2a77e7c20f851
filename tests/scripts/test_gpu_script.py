"""The page on a GPU is what its script writes from the committed measurements, and its sentences hold there."""

import pytest


@pytest.fixture(scope="module")
def gpu(scripts):
    return scripts("gpu")


def test_the_page_is_what_the_script_writes(gpu, root, tmp_path):
    gpu.main(["--out", str(tmp_path)])
    assert (tmp_path / "gpu.md").read_text() == (root / "docs" / "gallery" / "gpu.md").read_text()


def test_how_much_faster_and_whose_outcomes_differ(gpu):
    device, core = gpu.read(gpu.FOLDERS[0], "gpu"), gpu.read(gpu.FOLDERS[0], "cpu")
    usual = [key for key in device if key[1:] == (1024, None, None) and key in core]
    ratios = sorted(device[key]["trials_per_s"] / core[key]["trials_per_s"] for key in usual)
    assert (len(ratios), sum(ratio >= 50 for ratio in ratios), int(ratios[len(ratios) // 2])) == (33, 31, 365)
    counts = {key[0]: gpu.differing(device[key], core[key]) for key in usual}
    assert {name: count for name, count in counts.items() if not count.startswith("0 of ")} == {
        "HashedPoints(composition=zcdp)": "235 of 256"
    }


def test_what_the_study_printed(gpu):
    printed = (gpu.FOLDERS[0] / "study.txt").read_text()
    assert "11034624 trials computed now, by 8 programs, of which 8 were compiled" in printed
    assert "real\t0m47." in printed


def test_what_larger_blocks_gave(gpu):
    key = ("Boosted(KLN)", 1024, None, None)
    core = gpu.read(gpu.FOLDERS[0], "cpu")[key]["trials_per_s"]
    before, after = (gpu.read(folder, "gpu")[key]["trials_per_s"] for folder in gpu.FOLDERS)
    assert int(after / before) == 5
    assert int(after / core) == 161
