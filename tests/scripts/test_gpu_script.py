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
    other = [key[0] for key in usual if not gpu.differing(device[key], core[key]).startswith("0 of ")]
    assert other == ["HashedPoints(composition=zcdp)"]


def test_what_larger_blocks_gave(gpu):
    key = ("Boosted(KLN)", 1024, None, None)
    core = gpu.read(gpu.FOLDERS[0], "cpu")[key]["trials_per_s"]
    before, after = (gpu.read(folder, "gpu")[key]["trials_per_s"] for folder in gpu.FOLDERS)
    assert int(after / before) == 5
    assert int(after / core) == 161
